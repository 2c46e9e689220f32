import KioskCommands
import KioskPlatform
import KioskVocabulary

/// The assets of Anthias (formerly Screenly OSE), as its API returns them: `GET /api/v2/assets`. A pure value.
struct AnthiasAssets {
    private let assets: [JSONValue]

    /// Parses a text; nil if it is no such list.
    init?(_ text: String) {
        guard let value = JSONValue(text) else { return nil }
        let list = value["results"] ?? value["assets"] ?? value
        guard case .array(let assets) = list, !assets.isEmpty, assets.allSatisfy({ $0["uri"] != nil && $0["mimetype"] != nil }) else {
            return nil
        }
        self.assets = assets
    }

    // MARK: Conversion

    func write(to draft: inout ConfigurationDraft) {
        for asset in assets.sorted(by: { ($0["play_order"]?.number ?? 0) < ($1["play_order"]?.number ?? 0) }) {
            let name = asset["name"]?.text ?? asset["uri"]?.text ?? "an asset"
            guard let uri = asset["uri"]?.text, !uri.isEmpty else { continue }
            let type = asset["mimetype"]?.text ?? ""
            if Self.isFalse(asset["is_enabled"]) {
                draft.leaveOut(name, "it is switched off.")
            } else if type.hasPrefix("webpage") || type.hasPrefix("text") {
                draft.leaveOut(name, "kiosk shows no web pages (\(uri)).")
            } else {
                draft.entries.append(entry(of: asset, uri, name, type))
            }
        }
    }

    private func entry(of asset: JSONValue, _ uri: String, _ name: String, _ type: String) -> ConfigurationDraft.Entry {
        var entry = ConfigurationDraft.Entry(source: uri)
        var remarks: [String] = []
        if !isURL(uri) {
            remarks.append("Copy the file from the box with Anthias. kiosk tells a file's kind by its content, so the name may stay.")
        }
        entry.keys.append(("title", name.printable.json))
        // Anthias stores the length of videos, too.
        if type.hasPrefix("image"), let seconds = Self.number(asset["duration"]), seconds > 0 {
            entry.keys.append(("image-duration", seconds.json))
        }
        if type.hasPrefix("streaming"), let seconds = Self.number(asset["duration"]), seconds > 0 {
            entry.keys.append(("duration", seconds.json))
        }
        if let days = Self.days(asset["play_days"]) { entry.keys.append(("days", days.json)) }
        if let from = Self.time(asset["play_time_from"]), let to = Self.time(asset["play_time_to"]) {
            entry.keys.append(("hours", "\(from)-\(to == "00:00" ? "24:00" : to)".json))
        }
        for (key, name) in [("start_date", "from"), ("end_date", "until")] {
            guard let text = asset[key]?.text, let day = Self.day(text) else { continue }
            // Anthias' default for no end.
            if name == "until", day >= "2099" { continue }
            entry.keys.append((name, day.json))
            if !text.dropFirst(10).dropFirst().hasPrefix("00:00") { remarks.append("\(key) is \(text): from and until are whole days.") }
        }
        entry.remark = remarks.isEmpty ? nil : remarks.joined(separator: " ")
        return entry
    }

    private static func isFalse(_ value: JSONValue?) -> Bool { value == .bool(false) || value == .number(0) }

    /// Returns a number; old versions write numbers as strings.
    private static func number(_ value: JSONValue?) -> Double? { value?.number ?? value?.text.flatMap(Double.init) }

    /// Parses `[1, 2, 3]`, also as a string; 1 is Monday. nil for all days.
    private static func days(_ value: JSONValue?) -> String? {
        let list = value?.text.flatMap { JSONValue($0) } ?? value
        guard case .array(let numbers)? = list else { return nil }
        let names = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
        let days = Set(numbers.compactMap(\.integer).filter { 1...7 ~= $0 }).sorted()
        return days.isEmpty || days.count == 7 ? nil : days.map { names[$0 - 1] }.joined(separator: ", ")
    }

    /// Returns `08:30` for `08:30:00`.
    private static func time(_ value: JSONValue?) -> String? {
        guard let text = value?.text, text.count >= 5, text.prefix(5).allSatisfy({ $0.isNumber || $0 == ":" }) else { return nil }
        return String(text.prefix(5))
    }

    /// Returns `2026-12-01` for `2026-12-01T00:00:00Z`.
    private static func day(_ text: String) -> String? {
        let day = text.prefix(10)
        return day.count == 10 && day.allSatisfy { $0.isNumber || $0 == "-" } ? String(day) : nil
    }
}
