import CKioskFFmpeg
import Foundation
import Glibc
import KioskAudioCore
import KioskCommands
import KioskDisplayCore
import KioskPlatform
import KioskPlayback
import KioskReaders
import KioskVocabulary
import Logging
import Remote

/// An offscreen player of a clip, and a client that sends wrong lines to its control socket. The lines are no JSON, too long or too deep,
/// or they are commands with wild values for any parameter.
///
/// Each line must get one answer, a line of JSON with `ok`; a refusal must give a reason. A line of more than 64 KiB must end its
/// connection. The player must play on.
package final class ControlTrial {
    private let folder: String
    private let path: String
    private let clip: String
    private let display: DisplayOutput
    private let player: PlaybackEngine
    private let socket: ControlSocket
    private var client: Int32 = -1
    private var received: [UInt8] = []

    /// The longest wait for an answer: five seconds for the effect of a command, and the time to refuse a source.
    private static let longestAnswer = MediaTime.seconds(20)
    /// The number of lines, which may change the playlist, before ``playOn()`` sets it again.
    package static let batch = 50

    /// Starts a player of the file at `clip`, which must be playable.
    package init(playing clip: String) throws {
        self.clip = clip
        folder = FileManager.default.temporaryDirectory.path + "/kiosk-lines-\(UUID().uuidString)"
        path = folder + "/control.sock"
        var settings = DisplaySettings()
        settings.mode = .size(width: 128, height: 72, refresh: 120)
        let display = DisplayOutput.offscreen(settings)
        let audio = SilentOutput()
        let player = PlaybackEngine(items: [PlaylistItem(source: clip)], video: display, audio: audio, readers: .shared)
        let control = RemoteControl(
            player,
            RemoteSurroundings(
                display: { display.mode }, rotation: { display.rotation }, rotationAfter: { display.rotation(after: $0) },
                audio: { audio.name }, underruns: { audio.underruns }, perform: { if case .rotate(let turn) = $0 { display.rotate(turn) } },
                screenshot: { () throws(ControlRefusal) in throw ControlRefusal(code: "no-picture", message: "there is none here") },
                items: { $0.map { PlaylistItem(source: $0) } }, reload: {}))
        (self.display, self.player) = (display, player)
        socket = try ControlSocket.open(path) { request throws(ControlRefusal) in try control.handle(request) }
        control.publish { [socket] in socket }
        player.start()
    }

    deinit {
        if client >= 0 { Glibc.close(client) }
        socket.close()
        player.stop()
        display.close()
        try? FileManager.default.removeItem(atPath: folder)
    }

    // MARK: Sending

    /// Returns line `number` of `seed`, without its line feed: always the same bytes. Some lines hold line feeds.
    package func line(seed: UInt64, number: Int) -> [UInt8] {
        var random = SplitMix64(state: seed &+ UInt64(number) &* 0x9E37_79B9_7F4A_7C15)
        switch random.below(12) {
        case 0: return (0..<random.below(3000)).map { _ in UInt8(random.below(256)) }
        case 1: return [UInt8](repeating: [0x5B, 0x7B, 0x22, 0x20, 0][random.below(5)], count: 65_530 + random.below(12))
        case 2: return Array(String(repeating: ["[", "{\"a\":"][random.below(2)], count: random.below(10_000)).utf8)
        case 3, 4, 5:  // a request with bytes that are changed, removed, or invalid in text
            var bytes = Array(request(&random).utf8)
            for _ in 0...random.below(3) {
                let place = random.below(bytes.count)
                switch random.below(4) {
                case 0: bytes[place] ^= 1 << random.below(8)
                case 1: bytes.remove(at: place)
                case 2: bytes.insert([0, 0xFF, 0xC0, 0xED, 0x1F, 0x7F, 0x5C][random.below(7)], at: place)
                default: bytes.insert(contentsOf: bytes[..<place], at: place)
                }
                if bytes.isEmpty { bytes = [0x7B] }
            }
            return bytes
        default: return Array(request(&random).utf8)
        }
    }

    /// Returns a request for any command with some of its parameters. Its values may be allowed or not.
    private func request(_ random: inout SplitMix64) -> String {
        let command = CommandTable.ofPrograms[random.below(CommandTable.ofPrograms.count)]
        var members = ["\"command\":\"\(command.name)\""]
        if random.below(2) == 0 { members.append("\"id\":" + wild(&random)) }
        for parameter in command.parameters where parameter.isRequired || random.below(3) > 0 {
            members.append("\"\(parameter.name)\":" + (random.below(3) > 0 ? value(of: parameter, &random) : wild(&random)))
        }
        if random.below(20) == 0 { members.append("\"command\":\"status\"") }
        return "{" + members.joined(separator: ",") + "}"
    }

    /// Returns a value, mostly an allowed one or one at the edge of its range.
    private func value(of parameter: ParameterFacts, _ random: inout SplitMix64) -> String {
        let clip = JSONValue.string(clip).line
        let bounds = parameter.expectation.matches(of: /-?[0-9]+(?:\.[0-9]+)?/).compactMap { Double($0.output) }
        let words = parameter.choices.map { "\"\($0)\"" }
        let values =
            bounds.flatMap { [JSONValue.number($0).line, "\($0.nextUp)", "\(Int($0))1"] } + words + parameter.choices
            + ["[\(words.prefix(random.below(words.count + 2)).joined(separator: ","))]"] + [
                "0", "0.5", "0.9999999", "1", "2", "90", "-0", "1e-300", "true", "false", "\"0:00.5\"", "\"99999999999:59\"", "\"-1:30\"",
                "\"+0:00\"",
                "\"de\"", "\"off\"", "\"und\"", "\"id:0\"", "\"id:-9223372036854775809\"", clip, "\"/dev/null\"", "\"/\"", "\"relative\"",
                "\"/\(String(repeating: "a", count: 4095))\"", "[\(clip)]", "[\(clip),\(clip)]", "[\"/nothing\"]", "[]",
                "[\(Array(repeating: clip, count: 900).joined(separator: ","))]",
            ]
        for _ in 0..<12 {
            let value = values[random.below(values.count)]
            if let read = JSONValue(value), parameter.allows(read) { return value }
        }
        return values[random.below(values.count)]
    }

    /// Returns a value that programs trip over.
    private func wild(_ random: inout SplitMix64) -> String {
        let values = [
            "1e308", "-1e308", "1e999", "-0", "0.1", "9223372036854775807", "9223372036854775808", "-9223372036854775809", "1e-320", "NaN",
            "18446744073709551616", String(repeating: "9", count: 400), "0." + String(repeating: "0", count: 400) + "1", "00", "1.", ".5",
            "+1",
            "\"\"", "\"\\u0000\"", "\"\\ud800\"", "\"\\ud800\\udc00\"", "\"\\udc00\\ud800\"", "\"\u{202E}\"", "\"\\", "\"%s%n\"", "\"id:\"",
            "\"\(String(repeating: "ä", count: 5000))\"", "null", "true", "[]", "{}", "[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]", "[1,2",
            "[\(Array(repeating: "0", count: 1001).joined(separator: ","))]", "{\"a\":{\"a\":1,\"a\":2}}", "tru", "-", "\"\u{FFFF}\"",
        ]
        return values[random.below(values.count)]
    }

    // MARK: Answers

    /// Sends a line and then a `status` command, and reads the answers. Returns their fault, or nil.
    package func send(_ line: [UInt8]) -> String? {
        if client < 0 {
            guard connect() else { return "nobody listens any more" }
        }
        let lines = line.split(separator: 0x0A, omittingEmptySubsequences: false)
        let isOverlong = lines.contains { $0.count > 64 << 10 }
        // Blank lines have no answer.
        let expected = lines.count { String(decoding: $0, as: UTF8.self).contains { !$0.isWhitespace } }
        let isSent = write(line + Array("\n{\"id\":\"end\",\"command\":\"status\"}\n".utf8))
        var count = 0
        while let answer = nextLine() {
            guard let value = JSONValue(answer), case .object = value else { return "answered with what is no JSON: \(answer.prefix(200))" }
            if value["event"] != nil { continue }
            guard let isDone = value["ok"], isDone == .bool(true) || value["error"]?["message"]?.text?.isEmpty == false else {
                return "refused without a word: \(answer.prefix(200))"
            }
            if value["error"]?["code"] == .string("line-too-long") {
                guard isOverlong, nextLine() == nil else { return "a line of \(line.count) bytes is called too long" }
                disconnect()
                return nil
            }
            if value["id"] == .string("end"), value["uptime"] != nil {
                return isOverlong
                    ? "took in a line of \(line.count) bytes" : count == expected ? nil : "\(count) answers to \(expected) lines"
            }
            count += 1
        }
        disconnect()
        return isOverlong
            ? "ended without a word" : "ended, or silent for \(Self.longestAnswer), after \(count) of \(expected) answers; sent: \(isSent)"
    }

    /// Sets the playlist to the clip again, and waits for it to play. Returns the fault, or nil.
    package func playOn() -> String? {
        let clip = JSONValue.string(clip).line
        for request in [
            "{\"command\":\"playlist set\",\"sources\":[\(clip)],\"at\":\"now\"}", "{\"command\":\"rate\",\"to\":1}",
            "{\"command\":\"play\"}",
        ] {
            if let problem = send(Array(request.utf8)) { return "\(request): \(problem)" }
        }
        let before = player.snapshot.statistics.framesShown
        let end = HostTime.now + .seconds(20)
        while player.snapshot.statistics.framesShown < before + 5 {
            if HostTime.now > end { return "the player does not play on" }
            usleep(5_000)
        }
        return nil
    }

    private func connect() -> Bool {
        client = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let name = Array(path.utf8CString)
        guard name.count <= MemoryLayout.size(ofValue: address.sun_path) else { return false }
        withUnsafeMutableBytes(of: &address.sun_path) { place in name.withUnsafeBytes { place.copyMemory(from: $0) } }
        let length = socklen_t(MemoryLayout<sockaddr_un>.size)
        received = []
        return withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { Glibc.connect(client, $0, length) }
        } == 0
    }

    private func disconnect() {
        Glibc.close(client)
        client = -1
    }

    private func write(_ bytes: [UInt8]) -> Bool {
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes { Glibc.send(client, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            if count <= 0 { return false }
            sent += count
        }
        return true
    }

    /// Returns the next line; nil at the end of the connection, or if none arrives in time.
    private func nextLine() -> String? {
        while true {
            if let end = received.firstIndex(of: 0x0A) {
                defer { received.removeFirst(end + 1) }
                return String(decoding: received[..<end], as: UTF8.self)
            }
            var entry = pollfd(fd: client, events: Int16(POLLIN), revents: 0)
            guard poll(&entry, 1, Int32(Self.longestAnswer.seconds * 1000)) > 0 else { return nil }
            var buffer = [UInt8](repeating: 0, count: 65536)
            let count = recv(client, &buffer, buffer.count, 0)
            guard count > 0 else { return nil }
            received += buffer.prefix(count)
        }
    }
}

extension Fuzz {
    /// Sends lines to the control socket of a player in this process. If the process ends, `line.last` in the folder has the number of the
    /// line that it was sending.
    func sendLines() throws -> Int {
        LoggingSystem.bootstrap { _ in SwiftLogNoOpLogHandler() }
        av_log_set_level(AV_LOG_QUIET)
        let trial = try ControlTrial(playing: "\(folder)/original.mp4")
        var findings = 0
        for number in from..<lines {
            try Data("\(seed) \(number)\n".utf8).write(to: URL(fileURLWithPath: folder + "/line.last"))
            let line = trial.line(seed: seed, number: number)
            var problem = trial.send(line)
            if problem == nil, number % ControlTrial.batch == ControlTrial.batch - 1 { problem = trial.playOn() }
            if let problem {
                findings += 1
                tell("wrong \(number): \(problem): \(String(decoding: line.prefix(300), as: UTF8.self).debugDescription)")
            }
            if number % 1000 == 999 { tell("\(number + 1) lines, \(findings) findings") }
        }
        tell("seed \(seed): \(lines - from) lines, \(findings) findings")
        return findings
    }
}
