import Foundation
import Glibc
import KioskCommands
import KioskPlatform
import KioskVocabulary
import Remote
import Testing

@testable import KioskWeb

/// Each row of the table of hostile clients in docs/web.md, by raw sockets.
@Suite(.serialized) struct HostileClientTests {
    /// Limits that a test can wait for.
    private static var quick: HTTPServer.Limits {
        var limits = HTTPServer.Limits()
        (limits.head, limits.body, limits.idle) = (.milliseconds(600), .milliseconds(600), .seconds(1))
        return limits
    }

    /// Whether the server still answers somebody else.
    private func serves(_ stage: WebStage) throws -> Bool { try stage.ask("GET", "/api/v1/status").status == 200 }

    @Test("Slowloris: a head that comes byte by byte has ten seconds in all")
    func slowHead() throws {
        let stage = try WebStage(limits: Self.quick)
        let client = try stage.connect()
        let begin = HostTime.now
        client.send("GET / HTTP/1.1\r\nHost: localhost\r\n")
        while HostTime.now - begin < .seconds(5), client.send(Array("X: y\r\n".utf8)) { usleep(100_000) }
        #expect(HostTime.now - begin < .seconds(4))
        #expect(WebStage.Answer(client.rest()).status == 408)
        #expect(try serves(stage))
    }

    @Test("A body that comes byte by byte loses its connection")
    func slowBody() throws {
        let stage = try WebStage(limits: Self.quick)
        let client = try stage.connect()
        let begin = HostTime.now
        client.send("POST /api/v1/seek HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{")
        while HostTime.now - begin < .seconds(5), client.send([0x20]) { usleep(100_000) }
        #expect(HostTime.now - begin < .seconds(4))
        #expect(stage.requests.isEmpty)
        #expect(try serves(stage))
    }

    @Test("A silent connection ends")
    func silence() throws {
        let stage = try WebStage(limits: Self.quick)
        let client = try stage.connect()
        let begin = HostTime.now
        #expect(client.rest().isEmpty)
        #expect(HostTime.now - begin < .seconds(5))
    }

    @Test("A thousand connections: the oldest idle ones give way, and others are served")
    func connections() throws {
        let stage = try WebStage()
        // More than the process may have open at once are none of the server's doing.
        let clients = (0..<300).compactMap { _ in RawHTTP(port: stage.server.address.port) }
        #expect(clients.count == 300)
        #expect(try serves(stage))
        for _ in 0..<700 { _ = RawHTTP(port: stage.server.address.port) }
        #expect(try serves(stage))
        // The first ones have been closed.
        #expect(clients[0].rest().isEmpty)
        let threads = Folder.names(in: "/proc/self/task").filter { SmallFile.word("/proc/self/task/\($0)/comm") == "web" }.count
        #expect(threads <= 200, "\(threads) threads")
    }

    @Test("A head of a gigabyte is refused after 16 KiB")
    func longHead() throws {
        let stage = try WebStage()
        let client = try stage.connect()
        client.send("GET / HTTP/1.1\r\nHost: localhost\r\nX: ")
        let piece = [UInt8](repeating: 0x61, count: 65536)
        var sent = 0
        while sent < 64 << 20, client.send(piece) { sent += piece.count }
        #expect(sent < 16 << 20)
        #expect(try serves(stage))
        let polite = try stage.connect()
        polite.send("GET / HTTP/1.1\r\nHost: localhost\r\nX: " + String(repeating: "a", count: 17_000))
        #expect(WebStage.Answer(polite.rest()).status == 431)
    }

    @Test("A body that is too long is refused before it comes")
    func longBody() throws {
        let stage = try WebStage()
        let client = try stage.connect()
        client.send(
            "POST /api/v1/seek HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 99999999999\r\n\r\n")
        #expect(WebStage.Answer(client.rest()).status == 413)
    }

    @Test(
        "A path leads nowhere else",
        arguments: [
            "/../../../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/..%2f..%2fetc%2fpasswd", "/api/v1/thumbnails/..%2F..%2Fetc%2Fpasswd",
            "/api/v1/files/%2e%2e", "/etc/passwd", "/api/v1/thumbnails/.kiosk.mp4", "/%00", "//etc/passwd", "/api/v1/uploads/..",
        ])
    func traversal(path: String) throws {
        let stage = try WebStage()
        let answer = try stage.ask("GET", path)
        #expect(400...405 ~= answer.status, "\(answer.status)")
        #expect(!String(decoding: answer.body, as: UTF8.self).contains("root:"))
        #expect(400...405 ~= (try stage.ask("DELETE", path).status))
    }

    @Test("A page from elsewhere can change nothing, and read nothing")
    func crossOrigin() throws {
        let stage = try WebStage()
        for headers in [
            ["Origin": "https://evil.example"], ["Origin": "null"], ["Sec-Fetch-Site": "cross-site"], ["Sec-Fetch-Site": "same-site"],
            ["Origin": "http://127.0.0.1"],
        ] {
            #expect(try stage.ask("POST", "/api/v1/pause", "{}", headers: headers).code == "wrong-origin")
            #expect(try stage.ask("GET", "/api/v1/status", headers: headers).code == "wrong-origin")
        }
        // A form of another page, in a browser that names no origin.
        let form = ["Content-Type": "text/plain", "Referer": "https://evil.example/"]
        #expect(try stage.ask("POST", "/api/v1/pause", "{}", headers: form).code == "no-csrf-token")
        let own = ["Origin": "http://127.0.0.1:\(stage.server.address.port)"]
        #expect(try stage.ask("POST", "/api/v1/pause", "{}", headers: own).code == "no-csrf-token")
        #expect(stage.requests.isEmpty)
        let csrf = try #require(try stage.ask("GET", "/api/v1/session").json["csrf"]?.text)
        #expect(try stage.ask("POST", "/api/v1/pause", "{}", headers: own.merging(["X-CSRF-Token": csrf]) { $1 }).status == 200)
    }

    @Test(
        "A name that somebody else points here is refused (DNS rebinding)",
        arguments: ["evil.example", "evil.example:8080", "127.0.0.1.evil.example", ""])
    func rebinding(host: String) throws {
        let stage = try WebStage(hosts: ["signs.example.org"])
        for path in ["/", "/api/v1/status", "/metrics", "/healthz"] {
            let status = try stage.ask("GET", path, headers: ["Host": host]).status
            #expect(status == (host.isEmpty ? 400 : 421))
        }
        for own in ["localhost", "127.0.0.1:8080", "[::1]:8080", "signs.example.org", "SIGNS.example.org:443"] {
            #expect(try stage.ask("GET", "/api/v1/status", headers: ["Host": own]).status == 200, "\(own)")
        }
    }

    @Test("Passwords cannot be guessed fast")
    func bruteForce() throws {
        let stage = try WebStage(password: "correct horse")
        var statuses: [Int] = []
        for number in 0..<6 { statuses.append(try stage.ask("POST", "/api/v1/session", #"{"password":"guess\#(number)"}"#).status) }
        #expect(statuses.prefix(3) == [401, 401, 401] && statuses.suffix(3).contains(429), "\(statuses)")
        let refused = try stage.ask("POST", "/api/v1/session", #"{"password":"correct horse"}"#)
        #expect(refused.status == 429 && (refused.headers["retry-after"].flatMap { Int($0) } ?? 0) >= 1)
        for _ in 0..<3 { _ = try stage.ask("GET", "/api/v1/status", headers: ["Authorization": "Bearer guess"]) }
        #expect(try stage.ask("GET", "/api/v1/status", headers: ["Authorization": "Bearer guess"]).status == 429)
    }

    @Test("A request that a proxy could read in two ways is refused, and its connection ends")
    func smuggling() throws {
        let stage = try WebStage()
        for headers in [
            "Content-Length: 4\r\nTransfer-Encoding: chunked", "Content-Length: 4\r\nContent-Length: 5", "Transfer-Encoding : chunked",
            "Content-Length: +4", "Content-Length: 0x4",
        ] {
            let client = try stage.connect()
            client.send(
                "POST /api/v1/pause HTTP/1.1\r\nHost: localhost\r\n\(headers)\r\n\r\nGET /api/v1/status HTTP/1.1\r\nHost: localhost\r\n\r\n"
            )
            let text = String(decoding: client.rest(), as: UTF8.self)
            #expect(text.components(separatedBy: "HTTP/1.1 ").count == 2, "one answer: \(text)")
            #expect([400, 501].contains(WebStage.Answer(Array(text.utf8)).status))
        }
        #expect(stage.requests.isEmpty)
    }

    @Test("Requests that follow at once are answered in order")
    func pipeline() throws {
        let stage = try WebStage()
        let client = try stage.connect()
        client.send(
            "POST /api/v1/seek HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 8\r\n\r\n{\"to\":1}"
                + "GET /api/v1/status HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        let text = String(decoding: client.rest(), as: UTF8.self)
        #expect(text.components(separatedBy: "HTTP/1.1 200 OK").count == 3)
        #expect(text.hasSuffix("{\"state\":\"playing\"}\n"))
    }

    @Test("A client that never reads its events ends without holding others up")
    func deafListener() throws {
        let stage = try WebStage()
        let deaf = try stage.connect()
        deaf.send("GET /api/v1/events?watch=status HTTP/1.1\r\nHost: localhost\r\n\r\n")
        _ = deaf.until("connected")
        let text = String(repeating: "x", count: 10_000)
        for _ in 0..<500 { stage.player.publish(.status, ["state": text.json]) }
        #expect(try serves(stage))
    }

    @Test("Noise is no request")
    func noise() throws {
        let stage = try WebStage()
        for seed in 0..<50 {
            var generator = SystemRandomNumberGenerator()
            let client = try stage.connect()
            client.send((0..<200 + seed).map { _ in UInt8.random(in: 0...255, using: &generator) } + Array("\r\n\r\n".utf8))
            let answer = WebStage.Answer(client.rest())
            #expect([0, 400, 501].contains(answer.status))
        }
        #expect(try serves(stage))
    }
}
