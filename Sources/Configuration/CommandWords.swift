// The commands of keys, gestures, taps on items and the idle time, as kiosk.conf writes them: a word, and for some words an argument.
// `volume 40`, `seek 1:30`, `play special.mp4 then resume`. The words come from the table of commands.
import KioskCommands
import KioskVocabulary

/// Why a text is not a command, worded to follow the name of the key.
struct CommandFault: Error, Hashable {
    var text: String
}

/// A parser of commands. Paths in them are relative to `folder`.
struct CommandWords {
    /// The folder of the file, an absolute path.
    var folder: String
    /// Whether `play` returns to the former position by default, as in `on-tap`.
    var resumesByDefault = false
    /// The command for `restart`: it restarts the item, the playlist (`[idle]`) or the player (`[[at]]`).
    var restart = Command.player(.restartItem)

    /// Parses a value; nil for `none`.
    ///
    /// - Throws: the fault of the value.
    func command(_ value: TOMLValue.Kind) throws(CommandFault) -> Command? {
        guard let text = value.string else {
            throw CommandFault(text: "expected a command in quotes, such as \"toggle\" or \"volume 40\", found \(value.shown)")
        }
        return try command(text)
    }

    /// Parses a text; nil for `none`.
    ///
    /// - Throws: the fault of the text.
    func command(_ text: String) throws(CommandFault) -> Command? {
        var trimmed = text.drop { $0 == " " }
        while trimmed.last == " " { trimmed.removeLast() }
        let word = String(trimmed.prefix { $0 != " " })
        let argument = trimmed.dropFirst(word.count).drop { $0 == " " }
        if word == "none" {
            guard argument.isEmpty else { throw needless(word, text) }
            return nil
        }
        guard let entry = CommandTable.bound(word) else { throw unknown(word) }
        return argument.isEmpty ? try plain(entry) : try command(entry, String(argument), text)
    }

    private func plain(_ entry: CommandEntry) throws(CommandFault) -> Command {
        if entry.name == "restart" { return restart }
        for case .plain(let command, _, _) in entry.forms { return command }
        throw CommandFault(text: "“\(entry.name)” needs \(entry.argument ?? "an argument")")
    }

    private func command(_ entry: CommandEntry, _ argument: String, _ text: String) throws(CommandFault) -> Command {
        guard let expected = entry.argument else { throw needless(entry.name, text) }
        for form in entry.forms {
            switch form {
            case .plain: continue
            case .argument(_, let read): if let command = read(argument) { return command }
            case .source: if let command = play(argument) { return command }
            }
        }
        throw CommandFault(text: "expected \(expected), found \(TOMLValue.Kind.string(text).shown)")
    }

    private func needless(_ word: String, _ text: String) -> CommandFault {
        CommandFault(text: "“\(word)” takes no argument, found \(TOMLValue.Kind.string(text).shown)")
    }

    private func unknown(_ word: String) -> CommandFault {
        let alone = CommandTable.ofViewers.filter(\.isWord).map(\.name)
        let words = alone + ["none"] + CommandTable.ofViewers.map(\.name).filter { !alone.contains($0) }
        let shown = TOMLValue.Kind.string(word).shown
        if let near = suggestion(for: word, among: words) { return CommandFault(text: "no command \(shown), did you mean “\(near)”?") }
        return CommandFault(text: "no command \(shown); there are \(words.joined(separator: ", "))")
    }

    /// Parses `SOURCE`, `SOURCE then resume` or `SOURCE then next`. The source is one file or a URL: a folder or a list cannot play in
    /// between.
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
        return .player(.playSource(PlaylistSource(text, relativeTo: folder).location, resumes: resumes))
    }
}

extension CommandEntry {
    /// Whether its word can stand alone.
    var isWord: Bool { forms.contains { if case .plain = $0 { true } else { false } } }

    /// The description of its argument; nil if it takes none.
    var argument: String? {
        for case .argument(let text, _) in forms { return text }
        for case .source(let text) in forms { return text }
        return nil
    }
}
