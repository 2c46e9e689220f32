// From a TOML tree to values. Reading goes on after a complaint, so that all of them come at once; what could not be read keeps its
// default and is never seen, because a file with a complaint gives no configuration.
import Platform
import SystemPackage
import Vocabulary

extension Configuration {
    /// Reads the file at `path`; complaints name it just so. Blocks for as long as the file system does.
    ///
    /// - Throws: every complaint about the file, or that it cannot be read and what to do about it.
    package static func load(_ path: String) throws(ConfigurationError) -> Configuration {
        func unreadable(_ reason: String) -> ConfigurationError {
            ConfigurationError([Complaint(path: path, position: nil, text: "cannot be read: \(reason)")])
        }
        let text: [UInt8]
        do throws(FileError) { text = try Files.read(path, limit: TOMLDocument.longestText + 1) } catch {
            switch error.errno {
            case .noSuchFileOrDirectory: throw unreadable("there is no such file; give the path of another one, or create it")
            case .permissionDenied: throw unreadable("permission denied; let the user the player runs as read it")
            case .isDirectory: throw unreadable("it is a folder; give the path of the file in it")
            default: throw unreadable("\(error.errno)")
            }
        }
        guard text.count <= TOMLDocument.longestText else {
            throw unreadable("it is longer than \(TOMLDocument.longestText) bytes; this cannot be a kiosk.conf")
        }
        let folder = FilePath(Files.workingFolder).pushing(FilePath(path)).removingLastComponent().lexicallyNormalized()
        return try parse(text, path: path, folder: folder.string)
    }

    /// Reads `text`, which stands in the file `path`; relative sources are relative to `folder`, an absolute path.
    ///
    /// - Throws: every complaint about the text.
    package static func parse(_ text: [UInt8], path: String, folder: String) throws(ConfigurationError) -> Configuration {
        let syntax = readSyntax(text, path: path)
        let complaints = ComplaintList(path: path, syntax.complaints)
        var configuration = Configuration()
        if let root = syntax.root, case .table(let entries) = root.kind { configuration.read(entries, folder: folder, complaints) }
        configuration.path = path
        if !complaints.all.isEmpty { throw ConfigurationError(complaints.all) }
        return configuration
    }

    private mutating func read(_ entries: [TOMLEntry], folder: String, _ complaints: ComplaintList) {
        for entry in entries {
            switch entry.key {
            case "display": if let table = reader(Grammar.display, entry, complaints) { display.read(table) }
            case "audio": if let table = reader(Grammar.audio, entry, complaints) { audio.read(table) }
            case "playback": if let table = reader(Grammar.playback, entry, complaints) { playback.read(table) }
            case "input": if let table = reader(Grammar.input, entry, complaints) { input.read(table, complaints) }
            case "log": if let table = reader(Grammar.log, entry, complaints) { log.read(table) }
            case "playlist": playlist = readPlaylist(entry.value, folder: folder, complaints)
            default:
                let name = shownKey(entry.key)
                if case .table = entry.value.kind {
                    let advice = Grammar.advice(outside: entry.key, isTable: true)
                    complaints.add("[\(name)]: unknown table\(advice)", at: entry.position)
                } else {
                    let advice = Grammar.advice(outside: entry.key, isTable: entry.value.kind.isArrayOfTables)
                    complaints.add("\(name): unknown key outside of every table\(advice)", at: entry.position)
                }
            }
        }
    }
}

private func reader(_ table: Grammar.Table, _ entry: TOMLEntry, _ complaints: ComplaintList) -> TableReader? {
    if case .table(let entries) = entry.value.kind { return TableReader(table, entries, at: entry.value.position, complaints) }
    let brackets = entry.value.kind.isArrayOfTables ? "; write \(table.heading), in single brackets, once" : ""
    complaints.add("\(table.heading): expected a table, found \(entry.value.kind.shown)\(brackets)", at: entry.value.position)
    return nil
}

private func readPlaylist(_ value: TOMLValue, folder: String, _ complaints: ComplaintList) -> [PlaylistEntry] {
    let heading = Grammar.playlist.heading
    guard case .array(let items) = value.kind else {
        let brackets = if case .table = value.kind { "; write [[playlist]], in double brackets, for every entry" } else { "" }
        complaints.add("\(heading): expected a list of tables, found \(value.kind.shown)\(brackets)", at: value.position)
        return []
    }
    return items.compactMap { item in
        guard case .table(let entries) = item.kind else {
            complaints.add("\(heading): expected a table, found \(item.kind.shown)", at: item.position)
            return nil
        }
        return PlaylistEntry(TableReader(Grammar.playlist, entries, at: item.position, complaints), folder: folder)
    }
}

extension TOMLValue.Kind {
    fileprivate var isArrayOfTables: Bool {
        guard case .array(let items) = self, let first = items.first, case .table = first.kind else { return false }
        return true
    }
}

extension Configuration.Display {
    fileprivate mutating func read(_ table: TableReader) {
        connector =
            table.text(
                "connector", DisplayConnector.self,
                "\"auto\", a connector such as \"HDMI-A-1\" or \"card1:HDMI-A-1\", \"/dev/fb0\" or \"offscreen\"") ?? connector
        mode = table.text("mode", DisplayModeChoice.self, "\"preferred\", \"1920x1080\" or \"1920x1080@50\"") ?? mode
        gravity = table.word("gravity", VideoGravity.self) ?? gravity
        rotation =
            table.value("rotation", alternatives(Rotation.allCases.map { "\($0.rawValue)" })) { kind in
                guard case .integer(let degrees) = kind else { return nil }
                return Int(exactly: degrees).flatMap(Rotation.init(rawValue:))
            } ?? rotation
        background = table.text("background", Color.self, "a colour such as \"#000000\"") ?? background
    }
}

extension Configuration.Audio {
    fileprivate mutating func read(_ table: TableReader) {
        device = table.text("device", AudioDevice.self, "\"auto\", an ALSA device such as \"hw:0,0\" or \"off\"") ?? device
        volume = table.number("volume", in: 0...100) ?? volume
        isMuted = table.flag("muted") ?? isMuted
    }
}

extension Configuration.Playback {
    fileprivate mutating func read(_ table: TableReader) {
        loop = table.word("loop", LoopMode.self) ?? loop
        seekStep = table.time("seek-step") ?? seekStep
        imageDuration = table.time("image-duration") ?? imageDuration
        transition = table.word("transition", Transition.self) ?? transition
        transitionDuration = table.time("transition-duration") ?? transitionDuration
    }
}

extension Configuration.Log {
    fileprivate mutating func read(_ table: TableReader) { level = table.word("level", LogLevel.self) ?? level }
}

extension Configuration.Input {
    fileprivate mutating func read(_ table: TableReader, _ complaints: ComplaintList) {
        usesTouch = table.flag("touch") ?? usesTouch
        allowsQuit = table.flag("allow-quit") ?? allowsQuit
        grabsDevices = table.flag("grab") ?? grabsDevices
        guard let keys = table.entry("keys") else { return }
        guard case .table(let entries) = keys.value.kind else {
            complaints.add("[input.keys]: expected a table, found \(keys.value.kind.shown)", at: keys.value.position)
            return
        }
        let own = readBindings(entries, complaints)
        let names = Set(own.map(\.name))
        bindings = bindings.filter { !names.contains($0.name) } + own
    }
}

private func readBindings(_ entries: [TOMLEntry], _ complaints: ComplaintList) -> [KeyBinding] {
    var bindings: [KeyBinding] = []
    var writtenAs: [String: TOMLEntry] = [:]
    for entry in entries {
        let shown = "[input.keys] \(shownKey(entry.key))"
        guard let name = KeyBinding.name(entry.key) else {
            complaints.add("\(shown): not the name of a key; names are such as KEY_SPACE or space", at: entry.position)
            continue
        }
        if let first = writtenAs[name] {
            complaints.add("\(shown): the same key as “\(first.key)” in line \(first.position.line)", at: entry.position)
            continue
        }
        writtenAs[name] = entry
        guard let word = entry.value.kind.string, let action = KeyBinding.actions.first(where: { $0.word == word }) else {
            let near = entry.value.kind.string.flatMap { suggestion(for: $0, among: KeyBinding.actions.map(\.word)) }
            let advice = near.map { ", did you mean “\($0)”?" } ?? ""
            let expected = alternatives(KeyBinding.actions.map { "\"\($0.word)\"" })
            complaints.add("\(shown): expected \(expected), found \(entry.value.kind.shown)\(advice)", at: entry.value.position)
            continue
        }
        bindings.append(KeyBinding(name: name, command: action.command, position: entry.position))
    }
    return bindings
}

extension PlaylistEntry {
    /// nil where there is no source to play; that has been complained about.
    fileprivate init?(_ table: TableReader, folder: String) {
        let source = table.value("source", "a path or a URL") { kind -> String? in
            guard let text = kind.string, !text.isEmpty, !text.contains("\0") else { return nil }
            return text
        }
        table.require("source", "say what to play")
        self.init(source: PlaylistSource(source ?? "", relativeTo: folder))
        gravity = table.word("gravity", VideoGravity.self)
        volume = table.number("volume", in: 0...100)
        isMuted = table.flag("muted")
        repeatCount = table.number("repeat", in: 1...1_000_000)
        start = table.time("start", orZero: true)
        end = table.time("end")
        duration = table.time("duration")
        if let end, end <= start ?? .zero {
            table.complain("expected a time after start, found \(table.entry("end")?.value.kind.shown ?? "\(end)")", about: "end")
        }
        if source == nil { return nil }
    }
}
