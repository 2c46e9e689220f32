import KioskCommands
import KioskPlatform
import KioskVocabulary

/// The output of `kiosk ctl` for an answer, for people: lines with a name and a text, and a table of the answer's list below.
///
/// ``page(of:)`` defines the output for some requests; for others, the members are printed as they are.
package struct AnswerPage {
    private struct Column {
        var heading: String
        var text: (JSONValue) -> String

        init(_ heading: String, _ text: @escaping (JSONValue) -> String) { (self.heading, self.text) = (heading, text) }
        /// A column with a member.
        init(_ heading: String, _ member: String) { self.init(heading) { $0[member]?.told ?? "" } }
    }

    /// The lines.
    private var lines: (JSONValue) -> [(name: String, text: String)]
    /// The member with the list, and the columns of its table.
    private var list = ""
    private var columns: [Column] = []

    /// Returns the lines, without a final newline.
    package static func text(_ request: Request, _ answer: JSONValue) -> String {
        guard let page = page(of: request) else {
            return answer.members.filter { $0.name != "ok" && $0.name != "id" }.map { "\($0): \($1.shown.printable)" }.joined(
                separator: "\n")
        }
        var text = aligned(page.lines(answer))
        guard case .array(let elements)? = answer[page.list], !elements.isEmpty else { return text }
        var table = TextTable(page.columns.map(\.heading))
        for element in elements { table.add(page.columns.map { $0.text(element) }) }
        if !text.isEmpty { text += "\n\n" }
        return text + table.text
    }

    private static func page(of request: Request) -> AnswerPage? {
        switch request {
        case .status: return AnswerPage(lines: { lines(ofStatus: $0) })
        case .playlist(.list):
            return AnswerPage(
                lines: { [("Playlist", counted($0["count"], "item"))] }, list: "items",
                columns: [Column("", "place"), Column("title", "title"), Column("source", "source")])
        case .tracks:
            return AnswerPage(
                lines: { [("Item", "\($0["item"]?["title"]?.text ?? "?") (\($0["item"]?["source"]?.text ?? "?"))")] }, list: "tracks",
                columns: [
                    Column("kind", "kind"), Column("", "number"), Column("") { $0["selected"] == .bool(true) ? "plays" : "" },
                    Column("codec", "codec"), Column("language", "language"), Column("title", "title"),
                    Column("") { track in
                        if let width = track["width"], let height = track["height"] { return "\(width.shown)×\(height.shown)" }
                        guard let rate = track["sampleRate"] else { return "" }
                        return "\(rate.shown) Hz, \(counted(track["channels"], "channel"))"
                    },
                ])
        case .cache:
            return AnswerPage(
                lines: { [("Folder", $0["folder"]?.text ?? "?"), ("Kept", "\(bytes($0["bytes"])) of at most \(bytes($0["limit"]))")] },
                list: "items",
                columns: [
                    Column("source", "source"), Column("size") { bytes($0["size"]) },
                    Column("kept") { $0["complete"] == .bool(true) ? "all of it" : bytes($0["bytes"]) }, Column("problem", "problem"),
                ])
        case .statistics:
            let frames = [Column("shown", "framesShown"), Column("late", "framesLate"), Column("dropped", "framesDropped")]
            return AnswerPage(
                lines: { answer in
                    func number(_ name: String) -> String { answer[name]?.shown ?? "?" }
                    var lines = [
                        ("Frames", Self.frames(answer)),
                        ("Seams", "\(number("seams")), at worst \(counted(answer["worstSeamLateness"], "vblank")) late"),
                        ("Stalls", "\(number("stalls")), \(milliseconds(answer["stalledTime"])) in all"),
                        ("Flips", "\(number("flipsLost")) lost"),
                        ("Ready", "\(counted(answer["queuedFrames"], "frame")), \(milliseconds(answer["queuedSound"])) of sound"),
                        ("Sound", "resampled by \(number("soundRatio"))"),
                    ]
                    if let latency = answer["latency"], latency != .null { lines.append(("Latency", milliseconds(latency))) }
                    for (name, member, what) in [
                        ("Synchrony", "synchrony", "of the frames are this close to their sound"),
                        ("Input", "inputLatency", "of the commands were on the screen within this"),
                    ] {
                        guard let spans = answer[member], spans != .null else { continue }
                        lines.append((name, "\(milliseconds(spans["half"])) half, \(milliseconds(spans["most"])) 99 % \(what)"))
                    }
                    return lines
                }, list: "items",
                columns: [Column("item") { $0["item"]?["title"]?.text ?? "?" }] + frames + [
                    Column("seams", "seams"), Column("vblanks late", "worstSeamLateness"),
                ])
        default: return nil
        }
    }

    /// The lines of the answer to `status`.
    private static func lines(ofStatus status: JSONValue) -> [(name: String, text: String)] {
        func number(_ name: String) -> String { status[name].map(\.shown) ?? "?" }
        func time(_ name: String) -> String? { status[name]?.number.map { "\(MediaTime.seconds($0))" } }
        var lines: [(name: String, text: String)] = []
        let state = status["ended"] == .bool(true) ? "ended" : status["state"]?.text ?? "?"
        lines.append(("State", "\(state) for \(duration(status["stateAge"]))"))
        if let item = status["item"], case .object = item {
            let place = item["place"]?.integer.map { "\($0) of \(number("count"))" } ?? "between two of \(number("count"))"
            lines.append(("Item", "\(item["title"]?.text ?? "?") (\(place))"))
            lines.append(("Source", item["source"]?.text ?? "?"))
            lines.append(("Time", "\(time("time") ?? "?") of \(time("duration") ?? "a live stream")"))
            if let latency = time("latency") { lines.append(("Latency", "\(latency) between receiving and hearing")) }
        } else {
            lines.append(("Item", "nothing is on the screen; \(number("count")) on the playlist"))
        }
        if let display = status["display"], case .object = display {
            lines.append(("Display", "\(display["name"]?.text ?? "?"), rotated by \(number("rotation"))°"))
        } else {
            lines.append(("Display", "none: nothing shows the picture"))
        }
        let volume = status["muted"] == .bool(true) ? "muted" : "volume \(number("volume"))"
        lines.append(("Sound", "\(status["audio"]?.text ?? "?"), \(volume)"))
        lines.append(("Frames", "\(frames(status)); \(number("seams")) seams"))
        lines.append(("Player", "kiosk \(number("version")), process \(number("pid")), running for \(duration(status["uptime"]))"))
        if let failure = status["failure"], let message = failure["message"]?.text {
            lines.append(("Failure", "\(message) (\(duration(failure["age"])) ago)"))
        }
        return lines
    }

    private static func frames(_ counts: JSONValue) -> String {
        zip(["framesShown", "framesLate", "framesDropped"], ["shown", "late", "dropped"]).map { "\(counts[$0]?.shown ?? "?") \($1)" }
            .joined(separator: ", ")
    }

    private static func duration(_ value: JSONValue?) -> String {
        let seconds = value?.number ?? 0
        let minutes = Int(saturating: seconds / 60 - 0.5)
        if minutes < 1 { return "\(Int(saturating: seconds)) s" }
        if minutes < 120 { return "\(minutes) min" }
        return minutes < 2880 ? "\(minutes / 60) h" : "\(minutes / 1440) days"
    }

    /// `1 item`, `2 items`.
    private static func counted(_ number: JSONValue?, _ noun: String) -> String {
        "\(number?.shown ?? "?") \(noun)\(number?.integer == 1 ? "" : "s")"
    }

    private static func bytes(_ number: JSONValue?) -> String { number?.integer.map { ByteCount(Int64($0)).description } ?? "unknown" }

    private static func milliseconds(_ seconds: JSONValue?) -> String { "\(Int(saturating: ((seconds?.number ?? 0) * 1000).rounded())) ms" }

    /// Returns the lines with the texts aligned in a column.
    private static func aligned(_ lines: [(name: String, text: String)]) -> String {
        let width = lines.map(\.name.columns).max() ?? 0
        return lines.map { name, text in name + String(repeating: " ", count: width - name.columns + 2) + text.printable }.joined(
            separator: "\n")
    }
}

extension JSONValue {
    /// The value for people: strings without quotes, and an empty text for null.
    fileprivate var told: String { self == .null ? "" : shown }
}
