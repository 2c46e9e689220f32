import Glibc
import KioskCommands
import KioskConfiguration
import KioskPlatform
import Synchronization

/// The machine: the doctor's findings, and the log as it is written.
final class MachineRoutes: Sendable {
    private let file: String?
    private let kiosk: KioskProgram
    private let findings = Mutex<(at: HostTime, value: JSONValue)?>(nil)
    private let logs = Mutex(0)
    private static let doctorLimit = MediaTime.seconds(60)
    private static let mostLogs = 4
    private static let journal = "/usr/bin/journalctl"

    /// `file` is kiosk.conf.
    init(file: String?, kiosk: KioskProgram) { (self.file, self.kiosk) = (file, kiosk) }

    var routes: [Route] {
        [
            Route(.get, "doctor", "Diagnose the machine, as kiosk doctor does.", scope: .view) { [self] _ throws(APIError) in
                .json(200, try diagnose())
            },
            Route(.get, "log", "The log of the player and of kiosk-web, from the last lines on.", scope: .admin) {
                [self] _ throws(APIError) in
                guard access(Self.journal, X_OK) == 0 else { throw APIError(404, "no-journal", "this machine has no journalctl") }
                let isFree = logs.withLock { count in
                    if count >= Self.mostLogs { return false }
                    count += 1
                    return true
                }
                guard isFree else { throw APIError(409, "busy", "\(Self.mostLogs) clients read the log already") }
                return .events { [self] writer in
                    defer { logs.withLock { $0 -= 1 } }
                    follow(writer)
                }
            }.with { $0.type = "text/event-stream" },
        ]
    }

    /// Returns the findings, at most ten seconds old. One thread at a time looks.
    private func diagnose() throws(APIError) -> JSONValue {
        try findings.withLock { last throws(APIError) in
            if let last, HostTime.now - last.at < .seconds(10) { return last.value }
            let (status, output) = try kiosk.run(
                ["doctor", "--json"] + (file.map { ["--config", $0] } ?? []), limit: Self.doctorLimit)
            guard var value = output.split(separator: "\n").reversed().lazy.compactMap({ JSONValue($0) }).first, value["findings"] != nil
            else {
                throw APIError(502, "failed", "kiosk doctor ended with status \(status)")
            }
            // Permissions are this program's own, and not the player's.
            if case .object(var members) = value, case .array(let all)? = members["findings"] {
                members["findings"] = .array(all.filter { $0["code"]?.text?.hasSuffix("-permission") != true })
                value = .object(members)
            }
            last = (.now, value)
            return value
        }
    }

    /// Sends lines of the journal until the client goes.
    private func follow(_ writer: HTTPWriter) {
        var refusal: Int32 = 0
        let words = [Self.journal, "--follow", "--lines=200", "--output=json", "--unit=kiosk.service", "--unit=kiosk-web.service"]
        guard let journal = BoundedCommand.start(words, refusal: &refusal) else { return }
        var lines: [UInt8] = []
        var beat = HostTime.now + .seconds(15)
        guard writer.write(": kiosk\n\n") else { return journal.kill() }
        while true {
            var entries = [
                pollfd(fd: journal.output.raw, events: Int16(POLLIN), revents: 0),
                pollfd(fd: writer.transport.descriptor, events: Int16(POLLIN), revents: 0),
            ]
            let left = max(0, (beat - .now).nanoseconds / 1_000_000)
            if poll(&entries, 2, Int32(clamping: left + 1)) < 0, errno != EINTR { break }
            if entries[1].revents != 0 { break }
            if entries[0].revents != 0 {
                var piece = [UInt8](repeating: 0, count: 16384)
                let count = read(journal.output.raw, &piece, piece.count)
                if count <= 0 { break }
                lines += piece.prefix(count)
                // A line without an end is none.
                if lines.count > 1 << 20 { lines = [] }
                guard let end = lines.lastIndex(of: 0x0A) else { continue }
                let text = lines[..<end].split(separator: 0x0A).compactMap { Self.event(of: String(decoding: $0, as: UTF8.self)) }.joined()
                lines.removeFirst(end + 1)
                if !text.isEmpty, !writer.write(text) { break }
                beat = .now + .seconds(15)
            } else if beat <= .now {
                if !writer.write(": kiosk\n\n") { break }
                beat = .now + .seconds(15)
            }
        }
        journal.kill()
    }

    private static let levels = ["critical", "critical", "critical", "error", "warning", "notice", "info", "debug"]

    /// Returns the event of a line of journalctl's JSON.
    static func event(of line: String) -> String? {
        guard let entry = JSONValue(line), let message = entry["MESSAGE"]?.text else { return nil }
        let level = entry["PRIORITY"]?.text.flatMap { Int($0) }.flatMap { levels.indices ~= $0 ? levels[$0] : nil } ?? "info"
        let time = entry["__REALTIME_TIMESTAMP"]?.text.flatMap { Int($0) }.map { date("%Y-%m-%dT%H:%M:%SZ", $0 / 1_000_000, isUTC: true) }
        let data = JSONValue.object([
            "level": level.json, "time": time.json, "message": message.withoutCredentials.json,
            "unit": (entry["_SYSTEMD_UNIT"]?.text).json,
        ])
        return "event: log\ndata: \(data.line)\n\n"
    }
}
