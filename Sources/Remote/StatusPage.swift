import Commands
import KioskPlatform

/// The lines of the answer to `status`, for people (``AnswerPage``).
enum StatusPage {
    static func lines(_ status: JSONValue) -> [(name: String, text: String)] {
        func number(_ name: String) -> String { status[name].map(\.shown) ?? "?" }
        func time(_ name: String) -> String? { status[name]?.number.map { "\(MediaTime.seconds($0))" } }
        var lines: [(name: String, text: String)] = []
        let state = status["ended"] == .bool(true) ? "ended" : status["state"]?.text ?? "?"
        lines.append(
            ("State", "\(state) for \(duration(status["stateAge"]?.number ?? 0))"))
        if let item = status["item"], case .object = item {
            let place = item["place"]?.integer.map { "\($0) of \(number("count"))" } ?? "between two of \(number("count"))"
            lines.append(("Item", "\(item["title"]?.text ?? "?") (\(place))"))
            lines.append(("Source", item["source"]?.text ?? "?"))
            lines.append(("Time", "\(time("time") ?? "?") of \(time("duration") ?? "a live stream")"))
            if let latency = time("latency") { lines.append(("Latency", "\(latency) between what is received and what is heard")) }
        } else {
            lines.append(("Item", "nothing is on the screen; \(number("count")) on the playlist"))
        }
        if let display = status["display"], case .object = display {
            lines.append(("Display", "\(display["name"]?.text ?? "?"), turned by \(number("rotation"))°"))
        } else {
            lines.append(("Display", "none: what is played is not seen"))
        }
        lines.append(
            ("Sound", "\(status["audio"]?.text ?? "?"), \(status["muted"] == .bool(true) ? "muted" : "volume \(number("volume"))")"))
        lines.append(
            (
                "Frames",
                "\(number("framesShown")) shown, \(number("framesLate")) late, \(number("framesDropped")) dropped; \(number("seams")) seams"
            ))
        lines.append(
            (
                "Player",
                "kiosk \(number("version")), process \(number("pid")), running for \(duration(status["uptime"]?.number ?? 0))"
            ))
        if let failure = status["failure"], let message = failure["message"]?.text {
            lines.append(("Failure", "\(message) (\(duration(failure["age"]?.number ?? 0)) ago)"))
        }
        return lines
    }

    private static func duration(_ seconds: Double) -> String {
        let minutes = Int(saturating: seconds / 60 - 0.5)
        if minutes < 1 { return "\(Int(saturating: seconds)) s" }
        if minutes < 120 { return "\(minutes) min" }
        return minutes < 2880 ? "\(minutes / 60) h" : "\(minutes / 1440) days"
    }
}
