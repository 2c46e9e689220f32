// What a key, a gesture, a tap on an item or the idle time asks for, as it is written in kiosk.conf: a word, and for some words an
// argument. `volume 40`, `seek 1:30`, `play special.mp4 then resume`.
import KioskPlatform
import KioskVocabulary

/// Why a text is not a command; what to say after the name of the key.
struct CommandFault: Error, Hashable {
    var text: String
}

/// Reads commands. Paths in them are relative to `folder`.
struct CommandWords {
    /// The folder of the file, an absolute path.
    var folder: String
    /// Whether `play` returns to where it was when nothing is said about it: so it does in `on-tap`.
    var resumesByDefault = false
    /// What `restart` begins again: the item, or (in `[idle]`) the playlist.
    var restart = Command.restartItem

    /// Hundredths of full scale that `volume-up` and `volume-down` move by.
    static let volumeStep = 5

    /// The words that stand alone, and what they mean; in the order in which they are listed to users.
    static let plain: [(word: String, command: Command)] = [
        ("toggle", .togglePlayback), ("play", .play), ("pause", .pause), ("seek-forward", .seekSteps(1)), ("seek-back", .seekSteps(-1)),
        ("next", .nextItem), ("previous", .previousItem), ("restart", .restartItem), ("restart-playlist", .restartPlaylist),
        ("go-on", .waitEnded), ("volume-up", .changeVolume(by: volumeStep)), ("volume-down", .changeVolume(by: -volumeStep)),
        ("mute", .toggleMute), ("next-audio-track", .nextAudioTrack), ("next-chapter", .skipChapters(1)),
        ("previous-chapter", .skipChapters(-1)), ("rotate", .rotate(nil)), ("show-controls", .showControls),
        ("hide-controls", .hideControls), ("shelf", .toggleShelf),
        ("quit", .quit),
    ]

    /// The words with an argument, and what the argument is.
    static let withArgument: [(word: String, argument: String)] = [
        ("play", "a file or a URL, as in \"play special.mp4\" or \"play special.mp4 then resume\""),
        ("item", "the place of an item, 1 to 10000, as in \"item 3\""),
        ("seek", "a time, as in \"seek 1:30\", or \"seek +30\" and \"seek -30\""),
        ("volume", "a whole number from 0 to 100, as in \"volume 40\""),
        ("rate", "a number from 0.5 to 2, as in \"rate 1.5\""),
        ("audio-track", "a language, a number or \"off\", as in \"audio-track de\""),
        ("chapter", "the number of a chapter, 1 to 1000, as in \"chapter 3\""),
        ("rotate", "0, 90, 180 or 270, as in \"rotate 90\""),
        ("record", "\(alternatives(RecordingOrder.allCases.map(\.rawValue))), as in \"record start\""),
    ]

    /// The command that a value is; nil for `none`.
    ///
    /// - Throws: what is wrong with it.
    func command(_ value: TOMLValue.Kind) throws(CommandFault) -> Command? {
        guard let text = value.string else {
            throw CommandFault(text: "expected a command in quotes, such as \"toggle\" or \"volume 40\", found \(value.shown)")
        }
        return try command(text)
    }

    /// The command that `text` is; nil for `none`.
    ///
    /// - Throws: what is wrong with it.
    func command(_ text: String) throws(CommandFault) -> Command? {
        var trimmed = text.drop { $0 == " " }
        while trimmed.last == " " { trimmed.removeLast() }
        guard let blank = trimmed.firstIndex(of: " ") else { return try plain(String(trimmed)) }
        let word = String(trimmed[..<blank])
        let argument = String(trimmed[blank...].drop { $0 == " " })
        guard let known = Self.withArgument.first(where: { $0.word == word }) else {
            if Self.plain.contains(where: { $0.word == word }) || word == "none" {
                throw CommandFault(text: "“\(word)” takes no argument, found \(TOMLValue.Kind.string(text).shown)")
            }
            throw unknown(word)
        }
        guard let command = command(word, argument) else {
            throw CommandFault(text: "expected \(known.argument), found \(TOMLValue.Kind.string(text).shown)")
        }
        return command
    }

    private func plain(_ word: String) throws(CommandFault) -> Command? {
        if word == "none" { return nil }
        if word == "restart" { return restart }
        if let known = Self.plain.first(where: { $0.word == word }) { return known.command }
        if let known = Self.withArgument.first(where: { $0.word == word }) {
            throw CommandFault(text: "“\(word)” needs \(known.argument)")
        }
        throw unknown(word)
    }

    private func unknown(_ word: String) -> CommandFault {
        var words = Self.plain.map(\.word) + ["none"]
        words += Self.withArgument.map(\.word).filter { !words.contains($0) }
        let shown = TOMLValue.Kind.string(word).shown
        if let near = suggestion(for: word, among: words) { return CommandFault(text: "no command \(shown), did you mean “\(near)”?") }
        return CommandFault(text: "no command \(shown); there are \(words.joined(separator: ", "))")
    }

    private func command(_ word: String, _ argument: String) -> Command? {
        switch word {
        case "play": play(argument)
        case "item": number(argument, in: 1...10_000).map(Command.selectItem)
        case "volume": number(argument, in: 0...100).map(Command.setVolume)
        case "rate": Double(argument).flatMap { 0.5...2 ~= $0 ? .setRate($0) : nil }
        case "rotate": Int(argument).flatMap(Rotation.init(rawValue:)).map { .rotate($0) }
        case "record": RecordingOrder(rawValue: argument).map(Command.record)
        case "audio-track": TrackChoice(argument).map(Command.selectAudioTrack)
        case "chapter": number(argument, in: 1...1000).map(Command.selectChapter)
        case "seek": seek(argument)
        default: nil
        }
    }

    private func number(_ text: String, in range: ClosedRange<Int>) -> Int? {
        Int(text).flatMap { range.contains($0) && text.allSatisfy(\.isNumber) ? $0 : nil }
    }

    private func seek(_ text: String) -> Command? {
        let sign = text.first.flatMap { $0 == "+" ? 1 : $0 == "-" ? -1 : nil }
        let digits = sign == nil ? text : String(text.dropFirst())
        let seconds = digits.wholeMatch(of: /[0-9]{1,7}(\.[0-9]{1,9})?/).flatMap { _ in Double(digits) }.map(MediaTime.init(seconds:))
        guard let time = MediaTime(clock: digits) ?? seconds, time <= .longest else { return nil }
        return sign.map { .seekBy(time * Int64($0)) } ?? .seekTo(time)
    }

    /// `SOURCE`, `SOURCE then resume` or `SOURCE then next`. It is one file or a URL: a folder or a list is not played in between.
    private func play(_ text: String) -> Command? {
        var (text, resumes) = (text, resumesByDefault)
        for (ending, value) in [(" then resume", true), (" then next", false)] where text.hasSuffix(ending) {
            text = String(text.dropLast(ending.count))
            while text.last == " " { text.removeLast() }
            resumes = value
        }
        guard !text.isEmpty, !text.contains("\0"), isURL(text) || !text.hasSuffix("/") && !text.lowercased().hasSuffix(".m3u") else {
            return nil
        }
        return .playSource(PlaylistSource(text, relativeTo: folder).location, resumes: resumes)
    }
}
