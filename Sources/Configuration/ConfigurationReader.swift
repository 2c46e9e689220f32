// From a TOML tree to values. Reading goes on after a complaint, so that all of them come at once; what could not be read keeps its
// default and is never seen, because a file with a complaint gives no configuration.
import KioskPlatform
import KioskVocabulary
import SystemPackage

extension Configuration {
    /// Reads the file at `path`; complaints name it just so. Blocks for as long as the file system does.
    ///
    /// - Throws: every complaint about the file, or that it cannot be read and what to do about it.
    package static func load(_ path: String) throws(ConfigurationError) -> Configuration {
        let (text, folder) = try Files.readText(path, called: "a kiosk.conf")
        return try parse(text, path: path, folder: folder)
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
        configuration.network.furtherFormats = configuration.playback.moreFormats
        configuration.network.furtherCodecs = configuration.playback.moreCodecs
        if !complaints.all.isEmpty { throw ConfigurationError(complaints.all) }
        return configuration
    }

    /// What the file at `path` says of the control socket, if it can be told, although the file has mistakes: a player that read it before these were made
    /// still listens there. Where the text cannot be read at all it is what stands before the first mistake. Blocks for as long as the file system does.
    package static func controlSocket(inDamaged path: String) -> ControlSocketChoice {
        guard let (text, folder) = try? Files.readText(path, called: "a kiosk.conf") else { return Control().socket }
        let syntax = readSyntax(text, path: path)
        var root = syntax.root
        if root == nil, let line = syntax.complaints.last?.position?.line {
            let lines = text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            root = try? TOMLDocument.parse(Array(lines.prefix(line - 1).joined(separator: [UInt8(ascii: "\n")])))
        }
        var configuration = Configuration()
        guard let root, case .table(let entries) = root.kind else { return Control().socket }
        configuration.read(entries.filter { $0.key == "control" }, folder: folder, ComplaintList(path: path, []))
        return configuration.control.socket
    }

    private mutating func read(_ entries: [TOMLEntry], folder: String, _ complaints: ComplaintList) {
        for entry in entries {
            switch entry.key {
            case "display": if let table = reader(Grammar.display, entry, complaints) { display.read(table) }
            case "audio": if let table = reader(Grammar.audio, entry, complaints) { audio.read(table) }
            case "playback": if let table = reader(Grammar.playback, entry, complaints) { playback.read(table, folder: folder) }
            case "network":
                if let table = reader(Grammar.network, entry, complaints) {
                    network = StreamChoices(table, folder: folder).resolved(in: network)
                }
            case "input":
                if let table = reader(Grammar.input, entry, complaints) { input.read(table, CommandWords(folder: folder), complaints) }
            case "theme": if let table = reader(Grammar.theme, entry, complaints) { theme.read(table) }
            case "shelf": if let table = reader(Grammar.shelf, entry, complaints) { shelf.read(table, folder: folder, complaints) }
            case "idle":
                if let table = reader(Grammar.idle, entry, complaints) {
                    idle.read(table, CommandWords(folder: folder, restart: .player(.restartPlaylist)))
                }
            case "control": if let table = reader(Grammar.control, entry, complaints) { control.read(table) }
            case "record": if let table = reader(Grammar.record, entry, complaints) { record.read(table, folder: folder) }
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

/// A reader of the table that `entry` is; nil where it is none, which is complained about.
func reader(_ table: Grammar.Table, _ entry: TOMLEntry, _ complaints: ComplaintList) -> TableReader? {
    if case .table(let entries) = entry.value.kind { return TableReader(table, entries, at: entry.value.position, complaints) }
    let brackets = entry.value.kind.isArrayOfTables ? "; write \(table.heading), in single brackets, once" : ""
    complaints.add("\(table.heading): expected a table, found \(entry.value.kind.shown)\(brackets)", at: entry.value.position)
    return nil
}

/// Readers of the tables of a list; nothing where it is none, which is complained about.
func readTables(_ table: Grammar.Table, _ value: TOMLValue, _ complaints: ComplaintList) -> [TableReader] {
    let heading = table.heading
    guard case .array(let items) = value.kind else {
        let brackets = if case .table = value.kind { "; write \(heading), in double brackets, for every entry" } else { "" }
        complaints.add("\(heading): expected a list of tables, found \(value.kind.shown)\(brackets)", at: value.position)
        return []
    }
    return items.compactMap { item in
        guard case .table(let entries) = item.kind else {
            complaints.add("\(heading): expected a table, found \(item.kind.shown)", at: item.position)
            return nil
        }
        return TableReader(table, entries, at: item.position, complaints)
    }
}

private func readPlaylist(_ value: TOMLValue, folder: String, _ complaints: ComplaintList) -> [PlaylistEntry] {
    readTables(Grammar.playlist, value, complaints).compactMap { PlaylistEntry($0, folder: folder) }
}

extension TOMLValue.Kind {
    var isArrayOfTables: Bool {
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
        region =
            table.text(
                "region", Region.self,
                "left, top, width and height in hundredths of the display, such as \"60 60 35 35\"") ?? region
        physicalSize = table.text("physical-size", PhysicalSize.self, "width and height in millimetres, such as \"154x86\"") ?? physicalSize
        picturePath = table.word("picture-path", PicturePathChoice.self) ?? picturePath
    }
}

extension Configuration.Audio {
    fileprivate mutating func read(_ table: TableReader) {
        device = table.text("device", AudioDevice.self, "\"auto\", an ALSA device such as \"hw:0,0\" or \"off\"") ?? device
        volume = table.number("volume", in: 0...100) ?? volume
        isMuted = table.flag("muted") ?? isMuted
        session.mixesWithOthers = table.flag("mix") ?? session.mixesWithOthers
        session.route = table.word("follow", AudioSession.Route.self) ?? session.route
        session.interruption = table.word("interruption", AudioSession.Interruption.self) ?? session.interruption
        session.duckedVolume = table.number("duck-volume", in: 0...100) ?? session.duckedVolume
    }
}

extension Configuration.Playback {
    fileprivate mutating func read(_ table: TableReader, folder: String) {
        loop = table.word("loop", LoopMode.self) ?? loop
        shuffles = table.flag("shuffle") ?? shuffles
        fallback = table.value("fallback", "a picture or a video, by its path or URL") { kind in
            guard let text = kind.string, !text.isEmpty, !text.contains("\0") else { return nil }
            return PlaylistSource(text, relativeTo: folder).location
        }
        usb = table.word("usb", StickUse.self) ?? usb
        seekStep = table.time("seek-step") ?? seekStep
        imageDuration = table.time("image-duration") ?? imageDuration
        transition = table.word("transition", Transition.self) ?? transition
        transitionDuration = table.time("transition-duration") ?? transitionDuration
        deinterlace = table.word("deinterlace", Deinterlace.self) ?? deinterlace
        decoder = table.word("decoder", DecoderSetting.self) ?? decoder
        audioTrack = table.track("audio-track") ?? audioTrack
        cache = table.text("cache", CacheChoice.self, "\"off\" or a size such as \"2 GB\", at least 1 MB") ?? cache
        cacheFolder = table.value("cache-folder", "the absolute path of a folder") { kind in
            guard let path = kind.string, path.hasPrefix("/"), path.utf8.count > 1, !path.contains("\0") else { return nil }
            return path
        }
        moreFormats = table.names("more-formats", "[\"xm\"]") ?? moreFormats
        moreCodecs = table.names("more-codecs", "[\"cinepak\"]") ?? moreCodecs
        decoderDevice = table.value("decoder-device", "a device such as \"/dev/dri/renderD128\"") { kind in
            guard let path = kind.string, path.hasPrefix("/dev/"), !path.contains("\0") else { return nil }
            return path
        }
    }
}

extension Theme {
    fileprivate mutating func read(_ table: TableReader) {
        accent = table.text("accent", Color.self, "a colour such as \"#339eff\"") ?? accent
        font = table.line("font", "the name of a font family", longest: 200) ?? font
        opacity =
            table.value("opacity", "a number from 0 to 1") { kind in
                switch kind {
                case .integer(let number): 0...1 ~= number ? Double(number) : nil
                case .float(let number): 0...1 ~= number ? number : nil
                default: nil
                }
            } ?? opacity
        for part in ControlsPart.allCases where table.flag(part.rawValue) == false { parts.remove(part) }
    }
}

extension Configuration.Shelf {
    fileprivate mutating func read(_ table: TableReader, folder: String, _ complaints: ComplaintList) {
        if let entry = table.entry("folders") {
            if case .array(let items) = entry.value.kind {
                folders = items.compactMap { item in
                    guard let text = item.kind.string, !text.isEmpty, !text.contains("\0"), !isURL(text) else {
                        complaints.add(
                            "[shelf] folders: expected the path of a folder or \"usb\", found \(item.kind.shown)", at: item.position)
                        return nil
                    }
                    return text == "usb" ? StickMounts.folder : PlaylistSource(text, relativeTo: folder).location
                }
            } else {
                table.complain("expected a list such as [\"/srv/videos\", \"usb\"], found \(entry.value.kind.shown)", about: "folders")
            }
        }
        if let time = table.time("close-after", orZero: true) { closeAfter = time > .zero ? time : nil }
        cache = table.text("cache", CacheChoice.self, "\"off\" or a size such as \"200 MB\", at least 1 MB") ?? cache
        exportFolder = table.value("export-folder", "the absolute path of a folder") { kind in
            guard let path = kind.string, path.hasPrefix("/"), path.utf8.count > 1, !path.contains("\0") else { return nil }
            return path
        }
    }
}

extension Configuration.Idle {
    fileprivate mutating func read(_ table: TableReader, _ words: CommandWords) {
        if let time = table.time("after", orZero: true) { after = time > .zero ? time : nil }
        if let word = table.command("do", words) {
            if let word { command = word } else { table.complain("expected what to do; leave after out to do nothing", about: "do") }
        }
    }
}

extension Configuration.Control {
    fileprivate mutating func read(_ table: TableReader) {
        socket = table.text("socket", ControlSocketChoice.self, "\"auto\", \"off\" or an absolute path of at most 107 bytes") ?? socket
        metrics =
            table.text(
                "metrics", MetricsChoice.self,
                "\"off\", an IPv4 address and a port such as \"127.0.0.1:9870\", or an absolute path that ends with .prom") ?? metrics
    }
}

extension Configuration.Log {
    fileprivate mutating func read(_ table: TableReader) {
        level = table.word("level", LogLevel.self) ?? level
        proofOfPlay = table.text("proof-of-play", ProofOfPlayChoice.self, "\"off\" or the absolute path of a file") ?? proofOfPlay
    }
}

/// What an item goes on after.
private enum WaitFor: String, CaseIterable {
    case end, tap
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
        isRecursive = table.flag("recursive")
        gravity = table.word("gravity", VideoGravity.self)
        volume = table.number("volume", in: 0...100)
        isMuted = table.flag("muted")
        deinterlace = table.word("deinterlace", Deinterlace.self)
        repeatCount = table.number("repeat", in: 1...1_000_000)
        start = table.time("start", orZero: true)
        end = table.time("end")
        (duration, imageDuration) = (table.time("duration"), table.time("image-duration"))
        title = table.line("title", "a line of text", longest: 500)
        decoder = table.word("decoder", DecoderSetting.self)
        (audioTrack, videoTrack) = (table.track("audio-track"), table.track("video-track"))
        stream = StreamChoices(table, folder: folder)
        waitsForTap = table.word("wait-for", WaitFor.self).map { $0 == .tap }
        if let word = table.command("on-tap", CommandWords(folder: folder, resumesByDefault: true)) {
            if let word {
                onTap = word
            } else {
                table.complain("expected what to do; leave it out for what a tap does elsewhere", about: "on-tap")
            }
        }
        if let end, end <= start ?? .zero {
            table.complain("expected a time after start, found \(table.entry("end")?.value.kind.shown ?? "\(end)")", about: "end")
        }
        if source == nil { return nil }
    }
}
