import Foundation
import Glibc
import Testing

@testable import Remote

@Suite struct EvidenceTests {
    @Test func `a page of metrics has the text format's form`() {
        var page = MetricsPage()
        page.add("kiosk_a", "gauge", "A thing.", [("source", "a\"b\\c\nd")], 1.5)
        #expect(page.text == "# HELP kiosk_a A thing.\n# TYPE kiosk_a gauge\nkiosk_a{source=\"a\\\"b\\\\c\\nd\"} 1.5\n")
    }

    @Test(arguments: [
        ("GET /metrics HTTP/1.1", "200"), ("GET /metrics?a=b HTTP/1.0", "200"), ("GET / HTTP/1.1", "404"),
        ("POST /metrics HTTP/1.1", "405"),
        ("GET /metrics", "400"), ("", "400"), ("GET /metrics HTTP/1.1 x", "400"),
    ]) func `requests are answered by their first line`(_ line: String, _ status: String) {
        #expect(MetricsServer.response(to: line) { "x 1\n" }.hasPrefix("HTTP/1.1 \(status) "))
    }

    @Test func `a client is answered, and one that says nothing holds up the next for two seconds only`() throws {
        let server = try MetricsServer.open("127.0.0.1", 0) { "kiosk_a 1\n" }
        defer { server.stop() }
        func connected() -> Int32 {
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = server.port.bigEndian
            inet_pton(AF_INET, "127.0.0.1", &address.sin_addr)
            let client = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            let length = socklen_t(MemoryLayout<sockaddr_in>.size)
            _ = withUnsafePointer(to: &address) { $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(client, $0, length) } }
            return client
        }
        let silent = connected(), client = connected()
        defer { close(silent) }
        let request = Array("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n".utf8)
        #expect(send(client, request, request.count, Int32(MSG_NOSIGNAL)) == request.count)
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = recv(client, &buffer, buffer.count, 0)
        close(client)
        #expect(String(decoding: buffer.prefix(max(0, count)), as: UTF8.self).hasSuffix("\r\n\r\nkiosk_a 1\n"))
    }

    @Test func `dates are those of UTC`() { #expect(ProofOfPlay.date(1_795_472_874) == "2026-11-23T22:27:54Z") }
}
