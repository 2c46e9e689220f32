import Testing

@testable import KioskWeb

/// The head of a request: readings, and refusals.
@Suite struct HTTPRequestTests {
    private func read(_ text: String) throws(HTTPRefusal) -> HTTPRequest { try HTTPRequest(head: Array(text.utf8)) }

    @Test("A head is read: method, parts of the path, query, headers")
    func reading() throws {
        let request = try read("GET /api/v1/files/a%20b.mp4?watch=status%2Citem&x=1+2 HTTP/1.1\r\nHost: box:8080\r\nCookie: a=1; b=2")
        #expect(request.method == .get)
        #expect(request.path == ["api", "v1", "files", "a b.mp4"])
        #expect(request.queried("watch") == "status,item")
        #expect(request.queried("x") == "1 2")
        #expect(request.host == "box:8080")
        #expect(request.cookie("b") == "2")
        #expect(request.cookie("c") == nil)
        #expect(request.keepsAlive)
        #expect(try read("GET / HTTP/1.1\r\nHost: a\r\nConnection: close").keepsAlive == false)
        #expect(try read("GET / HTTP/1.0\r\nHost: a").keepsAlive == false)
    }

    @Test(
        "What could mean two things, or nothing, is refused",
        arguments: [
            ("", 400), ("GET /", 400), ("GET / HTTP/2.0\r\nHost: a", 400), ("BREW / HTTP/1.1\r\nHost: a", 501), ("GET / HTTP/1.1", 400),
            ("GET / HTTP/1.1\r\nHost:", 400), ("GET / HTTP/1.1\r\nHost: a\r\nHost: b", 400), ("GET / HTTP/1.1\nHost: a", 400),
            ("GET / HTTP/1.1\r\nHost: a\r\n folded", 400), ("GET / HTTP/1.1\r\nHost : a", 400), ("GET / HTTP/1.1\r\nHost: a\u{0}b", 400),
            ("GET http://b/ HTTP/1.1\r\nHost: a", 400), ("GET /../etc/passwd HTTP/1.1\r\nHost: a", 400),
            ("GET /%2e%2e/etc/passwd HTTP/1.1\r\nHost: a", 400), ("GET /a%2Fb HTTP/1.1\r\nHost: a", 400),
            ("GET //a HTTP/1.1\r\nHost: a", 400),
            ("GET /%00 HTTP/1.1\r\nHost: a", 400), ("GET /%f HTTP/1.1\r\nHost: a", 400), ("GET /%ff HTTP/1.1\r\nHost: a", 400),
            ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2", 400),
            ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -1", 400),
            ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999", 400),
            ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked", 501), ("POST / HTTP/1.1\r\nHost: a\r\nExpect: tea", 417),
        ])
    func refusal(head: String, status: Int) {
        do throws(HTTPRefusal) {
            let request = try read(head)
            Issue.record("read as \(request)")
        } catch { #expect(error.status == status) }
    }

    @Test("More headers than the limit are refused")
    func headers() {
        let many = (0...HTTPRequest.mostHeaders).map { "\r\nx-\($0): 1" }.joined()
        #expect(throws: HTTPRefusal.self) { try read("GET / HTTP/1.1\r\nHost: a" + many) }
    }
}
