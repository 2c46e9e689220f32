import Foundation
import Glibc
import KioskCommands
import KioskConfiguration
import KioskPlatform
import KioskVocabulary
import Remote
import Synchronization
import Testing

@testable import KioskWeb

/// A kiosk-web, with a made-up player behind a real control socket: the table checks every request.
final class WebStage: Sendable {
    let folder: String
    /// The content folder.
    let content: String
    let server: WebServer
    let player: ControlSocket
    private let asked: Asked
    private let thread: KioskPlatform.Thread

    /// What the player was asked.
    final class Asked: Sendable {
        let requests = Mutex<[Request]>([])
    }

    static let picture: [UInt8] = [0x89, 0x50, 0x4E, 0x47] + (0..<50_000).map { UInt8(truncatingIfNeeded: $0) }

    /// - Parameters:
    ///   - password: nil for none.
    ///   - limits: those of the server.
    ///   - kiosk: the body of a shell script in place of the program kiosk.
    init(
        password: String? = nil, token: (name: String, scopes: Set<CommandScope>, secret: String)? = nil, hosts: [String] = [],
        limits: HTTPServer.Limits = HTTPServer.Limits(), kiosk: String = "exit 0", listen: String = "127.0.0.1"
    ) throws {
        let folder = NSTemporaryDirectory() + "kiosk-web-\(UUID().uuidString)"
        content = folder + "/media"
        self.folder = folder
        try FileManager.default.createDirectory(atPath: content, withIntermediateDirectories: true)
        let asked = Asked()
        self.asked = asked
        player = try ControlSocket.open(folder + "/socket/control.sock") { request throws(ControlRefusal) in
            asked.requests.withLock { $0.append(request.request) }
            switch request.request {
            case .item(.place(9), _): throw ControlRefusal(code: "no-such-item", message: "no such item; the playlist has 2")
            case .command(.player(.restartItem)): throw ControlRefusal(code: "not-yet", message: "it takes long")
            case .status: return .answer(ControlAnswer(["state": "playing".json]))
            case .metrics: return .answer(ControlAnswer(["text": "kiosk_playing 1\n".json]))
            case .screenshot:
                usleep(50_000)
                return .answer(ControlAnswer(["format": "png".json], attachment: Self.picture))
            case .playlist(.list):
                let item = JSONValue.object(["id": 0.json, "place": 1.json, "source": "\(folder)/media/a.mp4".json])
                return .answer(ControlAnswer(["count": 1.json, "items": .array([item])]))
            default: return .answer(ControlAnswer([:]))
            }
        }
        var credentials = Credentials()
        if let password { credentials.password = try Credentials.hash(password) }
        if let token {
            credentials.tokens = [.init(name: token.name, scopes: token.scopes, digest: SHA256.hexadecimal(token.secret.utf8))]
        }
        if credentials != Credentials() { try credentials.write(folder + "/password") }
        let text = """
            [control]
            socket = "\(folder)/socket/control.sock"
            [web]
            password-file = "\(folder)/password"
            hosts = [\(hosts.map { "\"\($0)\"" }.joined(separator: ", "))]
            [[playlist]]
            source = "\(content)"

            """
        try text.write(toFile: folder + "/kiosk.conf", atomically: true, encoding: .utf8)
        try "#!/bin/sh\n\(kiosk)\n".write(toFile: folder + "/kiosk", atomically: true, encoding: .utf8)
        chmod(folder + "/kiosk", 0o755)
        let configuration = try Configuration.load(folder + "/kiosk.conf")
        var settings = WebSettings(
            listen: ListenAddress(host: listen, port: 0), configuration: configuration, file: folder + "/kiosk.conf",
            socket: folder + "/socket/control.sock")
        settings.kiosk = KioskProgram(path: folder + "/kiosk")
        let server = try WebServer(settings, limits)
        self.server = server
        thread = KioskPlatform.Thread("web accept") { server.run() }
    }

    deinit {
        server.stop()
        _ = thread.join(until: .now + .seconds(5))
        player.close()
        try? FileManager.default.removeItem(atPath: folder)
    }

    /// What the player was asked, but for the playlist, which kiosk-web asks for itself.
    var requests: [Request] { asked.requests.withLock { $0.filter { $0 != .playlist(.list) } } }

    // MARK: Clients

    /// An answer, read from the bytes.
    struct Answer {
        var status = 0
        var headers: [String: String] = [:]
        var body: [UInt8] = []
        var json: JSONValue { JSONValue(String(decoding: body, as: UTF8.self)) ?? .null }
        var code: String? { json["error"]?["code"]?.text }

        init(_ bytes: [UInt8]) {
            guard let end = bytes.firstRange(of: Array("\r\n\r\n".utf8)) else { return }
            body = Array(bytes[end.upperBound...])
            let lines = String(decoding: bytes[..<end.lowerBound], as: UTF8.self).components(separatedBy: "\r\n")
            status = lines.first?.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
            for line in lines.dropFirst() {
                let parts = line.split(separator: ":", maxSplits: 1)
                if parts.count == 2 { headers[parts[0].lowercased()] = parts[1].trimmingCharacters(in: .whitespaces) }
            }
        }
    }

    /// A connection of raw bytes.
    func connect() throws -> RawHTTP { try #require(RawHTTP(port: server.address.port)) }

    /// Sends a request on a connection of its own, and returns the answer.
    func ask(
        _ method: String, _ path: String, _ body: String? = nil, headers: [String: String] = [:], bytes: [UInt8]? = nil
    ) throws -> Answer {
        var all = ["Host": "127.0.0.1:\(server.address.port)", "Connection": "close"].merging(headers) { $1 }
        let content = bytes ?? body.map { Array($0.utf8) }
        if let content { all["Content-Length"] = "\(content.count)" }
        if body != nil, all["Content-Type"] == nil { all["Content-Type"] = "application/json" }
        let head = "\(method) \(path) HTTP/1.1\r\n" + all.map { "\($0): \($1)\r\n" }.joined() + "\r\n"
        let client = try connect()
        client.send(Array(head.utf8) + (content ?? []))
        return Answer(client.rest())
    }

    /// Waits until a condition holds, for ten seconds at most.
    static func eventually(_ holds: () -> Bool) -> Bool {
        let deadline = HostTime.now + .seconds(10)
        while HostTime.now < deadline {
            if holds() { return true }
            usleep(20_000)
        }
        return holds()
    }
}

/// A TCP client that sends and receives bytes.
final class RawHTTP: Sendable {
    private let descriptor: Int32

    init?(port: UInt16) {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let raw = descriptor
        let isConnected = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(raw, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        var limit = timeval(tv_sec: 20, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        if !isConnected {
            close(raw)
            return nil
        }
    }

    deinit { close(descriptor) }

    func send(_ text: String) { send(Array(text.utf8)) }

    /// Sends bytes; false once the server has closed the connection.
    @discardableResult func send(_ bytes: [UInt8]) -> Bool {
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            if count <= 0 { return false }
            sent += count
        }
        return true
    }

    /// Receives until the end of the connection, or until 20 s have passed without a byte.
    func rest() -> [UInt8] {
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 65536)
        while true {
            let count = recv(descriptor, &piece, piece.count, 0)
            if count <= 0 { return bytes }
            bytes += piece.prefix(count)
        }
    }

    /// Receives until the bytes contain a text; the bytes so far at the end of the connection.
    func until(_ text: String) -> String {
        var bytes: [UInt8] = []
        var byte: UInt8 = 0
        let wanted = Array(text.utf8)
        while recv(descriptor, &byte, 1, 0) == 1 {
            bytes.append(byte)
            if bytes.count >= wanted.count, bytes.suffix(wanted.count).elementsEqual(wanted) { break }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
