import Foundation
import Glibc
import KioskMedia
import KioskPlatform
import KioskVocabulary

/// Opens the lists of a hostile server or folder (``ListText``), from a file and from an HTTP server in this process.
///
/// No list may show the clip outside its folder, and none may take long.
public final class ListTrial: @unchecked Sendable {
    // Sendable because `answer` guards everything that changes.
    /// The width of the clip that no list may show.
    private static let secretWidth = 48
    private static let timeLimit = MediaTime.seconds(20)

    private let folder: String
    private let secret: String
    private let part: [UInt8]
    private let listener: Int32
    private let server: String
    /// The server's present answer: a list, or `REDIRECT ` and a location.
    private let answer = Monitor<[UInt8]>([])

    /// Makes its files below `folder`, beside the originals, and starts the server.
    public init(in folder: String) throws {
        let originals = try Original.all(in: folder)
        part = originals.first { $0.name == "ts" }?.bytes ?? []
        self.folder = folder + "/lists"
        secret = folder + "/home/secret.ts"
        for name in ["lists/sub", "home"] {
            try FileManager.default.createDirectory(atPath: folder + "/" + name, withIntermediateDirectories: true)
        }
        for name in ["original.ts", "sub/original.ts"] { try Data(part).write(to: URL(fileURLWithPath: self.folder + "/" + name)) }
        try? FileManager.default.createSymbolicLink(atPath: self.folder + "/link.ts", withDestinationPath: secret)
        if !FileManager.default.fileExists(atPath: secret) {
            try Original.draw(secret, ["-f", "lavfi", "-i", "testsrc2=s=\(Self.secretWidth)x48:r=25:d=1"])
        }
        listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let listener = listener
        let status = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, length) | listen(listener, 64) | getsockname(listener, $0, &length)
            }
        }
        guard status == 0 else { throw POSIXError(.EADDRNOTAVAIL) }
        server = "http://127.0.0.1:\(UInt16(bigEndian: address.sin_port))"
        let (answer, part) = (answer, part)
        Thread("list server") {
            while true {
                let connection = accept(listener, nil, nil)
                // This thread closes the listener, as it uses the descriptor: closed elsewhere, its number could already be another file's.
                if connection < 0 {
                    close(listener)
                    return
                }
                Self.serve(connection, answer.withLock { $0 }, part)
                close(connection)
            }
        }.detach()
    }

    deinit { shutdown(listener, Int32(SHUT_RDWR)) }

    private static func serve(_ connection: Int32, _ list: [UInt8], _ part: [UInt8]) {
        var limit = timeval(tv_sec: 5, tv_usec: 0)
        setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        var buffer = [UInt8](repeating: 0, count: 32_768)
        let count = recv(connection, &buffer, buffer.count, 0)
        guard count > 0 else { return }
        let path = String(decoding: buffer.prefix(count), as: UTF8.self).split(separator: " ").dropFirst().first ?? ""
        var head = "HTTP/1.1 200 OK\r\nConnection: close\r\n"
        var body = list
        let redirect = Array("REDIRECT ".utf8)
        if path.hasPrefix("/original") {
            body = part
        } else if list.starts(with: redirect) {
            let location = String(decoding: list.dropFirst(redirect.count), as: UTF8.self)
            (head, body) = ("HTTP/1.1 302 Found\r\nConnection: close\r\nLocation: \(location)\r\n", [])
        }
        head += "Content-Length: \(body.count)\r\n\r\n"
        let bytes = Array(head.utf8) + body
        var sent = 0
        while sent < bytes.count {
            let given = bytes.withUnsafeBytes { send(connection, $0.baseAddress! + sent, $0.count - sent, Int32(MSG_NOSIGNAL)) }
            if given <= 0 { return }
            sent += given
        }
    }

    /// Opens list `number` of `seed`, always the same one; returns its fault, or nil.
    public func problem(seed: UInt64, number: Int) -> String? {
        var random = SplitMix64(state: seed &+ UInt64(number) &* 0x9E37_79B9_7F4A_7C15)
        let kind = ListText.kinds[number % ListText.kinds.count]
        let text = ListText.make(kind, secret: secret, server: server, &random)
        // Under the extension of its kind, or as an MP4.
        let name = random.below(2) == 0 && kind != "sdp" ? "list.\(kind)" : "list.mp4"
        let path = folder + "/\(number)-\(name)"
        answer.withLock { $0 = text }
        var sources = [server + "/" + name]
        if kind != "redirect", (try? Data(text).write(to: URL(fileURLWithPath: path))) != nil { sources.append(path) }
        defer { unlink(path) }
        for source in sources {
            let begin = HostTime.now
            var settings = StreamSettings()
            settings.timeout = StreamSettings.shortestTimeout
            do throws(MediaError) {
                var reader = try MediaReader.open(source, samples: AudioFormat(sampleRate: 48_000, channelCount: 2), settings: settings)
                if reader.description.video?.width == Self.secretWidth {
                    return "list \(number): \(source) shows what it may not: \(String(decoding: text, as: UTF8.self))"
                }
                for _ in 0..<10 where reader.nextFrame() == nil { break }
                for track in reader.description.tracks where track.kind == .subtitle {
                    let feed = reader.feed(track.id) { _ in }
                    feed?.decoded(.zero, ticks: 0, atMost: .milliseconds(50))
                    feed?.stop()
                }
            } catch {
                if error.description.isEmpty { return "list \(number): refused without a word" }
            }
            if HostTime.now - begin > Self.timeLimit { return "list \(number): \(source) takes \(HostTime.now - begin)" }
        }
        return nil
    }
}
