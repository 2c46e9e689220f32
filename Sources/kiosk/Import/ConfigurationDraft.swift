import KioskCommands
import KioskConfiguration
import KioskPlatform

/// A kiosk.conf made of another player's settings: keys by table, playlist entries, and settings without an equivalent. A pure value.
struct ConfigurationDraft {
    /// A playlist entry: its keys, and a remark above it.
    struct Entry {
        var source: String
        var keys: [(name: String, value: JSONValue)] = []
        var remark: String?
    }

    private struct Setting {
        var name: String, value: JSONValue
        var remark: String?
    }

    /// The tables in the order of kiosk.conf.
    private static let order = ["display", "audio", "playback", "network", "input", "input.keys", "theme", "control"]
    private static let columns = 98

    private var settings: [String: [Setting]] = [:]
    private var missing: [(setting: String, remark: String)] = []
    var entries: [Entry] = []
    /// Steps to run once all entries are known.
    var finishing: [@Sendable (inout ConfigurationDraft) -> Void] = []

    mutating func finish() {
        for step in finishing { step(&self) }
        finishing = []
    }

    /// Sets a key; the last of several values counts. TOML writes strings as JSON does.
    mutating func set(_ table: String, _ name: String, _ value: some JSONConvertible, _ remark: String? = nil) {
        settings[table, default: []].removeAll { $0.name == name }
        settings[table, default: []].append(Setting(name: name, value: value.json, remark: remark))
    }

    /// Removes a key.
    mutating func unset(_ table: String, _ name: String) { settings[table]?.removeAll { $0.name == name } }

    /// Notes that kiosk has no equivalent for a setting, and what to do instead.
    mutating func leaveOut(_ setting: String, _ remark: String) {
        if !missing.contains(where: { $0.setting == setting }) { missing.append((setting, remark)) }
    }

    /// Sets a key for all entries.
    mutating func setAll(_ name: String, _ value: some JSONConvertible) {
        for index in entries.indices { entries[index].keys.append((name, value.json)) }
    }

    /// Returns a time as kiosk.conf writes it: `10` is a number, `0:10` a string.
    static func time(_ text: String) -> JSONValue {
        Double(text).flatMap { $0.isFinite ? .number($0) : nil } ?? .string(text)
    }

    // MARK: Output

    /// Returns the file; `origin` names the source. Lines that kiosk would refuse become comments, with the reason.
    func text(from origin: String) -> String {
        var lines = plainLines(origin)
        // Each round turns the faulty lines into comments, which cause no further complaint.
        for _ in 0..<50 {
            let text = Array((lines.joined(separator: "\n") + "\n").utf8)
            do throws(ConfigurationError) {
                _ = try Configuration.parse(text, path: "kiosk.conf", folder: "/")
                break
            } catch {
                var refused: [Int: String] = [:]
                for complaint in error.complaints {
                    if let line = complaint.position?.line, lines.indices.contains(line - 1) { refused[line - 1] = complaint.text }
                }
                if refused.isEmpty { break }
                for (index, reason) in refused.sorted(by: { $0.key > $1.key }) {
                    let line = lines[index].hasPrefix("#") ? [] : ["#" + lines[index]]
                    lines.replaceSubrange(index...index, with: Self.comment("kiosk refuses this: " + reason) + line)
                }
            }
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private func plainLines(_ origin: String) -> [String] {
        var lines = Self.comment("kiosk.conf, written by kiosk import from \(origin).")
        lines += Self.comment("kiosk check --config FILE tests it, and man kiosk.conf explains every key.")
        if !missing.isEmpty {
            lines += ["#", "# Without an equal in kiosk:"]
            for (setting, remark) in missing { lines += Self.comment("\(setting): \(remark)", indent: 2) }
        }
        for table in Self.order {
            guard let settings = settings[table], !settings.isEmpty else { continue }
            lines += ["", "[\(table)]"]
            for setting in settings {
                lines += setting.remark.map { Self.comment($0) } ?? []
                lines.append("\(Self.key(setting.name)) = \(setting.value.line)")
            }
        }
        for entry in entries {
            lines += [""] + (entry.remark.map { Self.comment($0) } ?? []) + ["[[playlist]]", "source = \(entry.source.json.line)"]
            lines += entry.keys.map { "\($0.name) = \($0.value.line)" }
        }
        return lines
    }

    private static func key(_ name: String) -> String {
        name.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-") } ? name : name.json.line
    }

    /// Returns a remark as comments of at most a hundred columns. Other programs' text is made printable.
    private static func comment(_ text: String, indent: Int = 0) -> [String] {
        var lines: [String] = []
        var line = ""
        for word in text.printable.split(separator: " ") {
            if !line.isEmpty, line.count + word.count + indent > columns - 2 {
                lines.append(line)
                line = String(repeating: " ", count: indent)
            }
            line += (line.allSatisfy { $0 == " " } ? "" : " ") + word
        }
        return (lines + [line]).map { "# " + $0 }
    }
}
