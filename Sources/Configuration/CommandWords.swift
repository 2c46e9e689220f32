// What a key, a gesture, a tap on an item or the idle time asks for, as it is written in kiosk.conf: a word, and for some words an
// argument. `volume 40`, `seek 1:30`, `play special.mp4 then resume`. The words are those of the table of commands.
import Commands
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
    var restart = Command.player(.restartItem)

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
        return .player(.playSource(PlaylistSource(text, relativeTo: folder).location, resumes: resumes))
    }
}

extension CommandEntry {
    /// Whether its word stands alone.
    var isWord: Bool { forms.contains { if case .plain = $0 { true } else { false } } }

    /// What its argument is; nil where it takes none.
    var argument: String? {
        for case .argument(let text, _) in forms { return text }
        for case .source(let text) in forms { return text }
        return nil
    }
}
