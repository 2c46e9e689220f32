// From an arrangement file to a film, with every mistake at its place: as kiosk.conf is read.
import KioskPlatform
import KioskVocabulary
import SystemPackage

extension Arrangement {
    /// Reads the file at `path`; complaints name it just so. Blocks for as long as the file system does.
    ///
    /// - Throws: every complaint about the file, or that it cannot be read and what to do about it.
    package static func load(_ path: String) throws(ConfigurationError) -> Arrangement {
        let (text, folder) = try Files.readText(path, called: "an arrangement")
        return try parse(text, path: path, folder: folder)
    }

    /// Reads `text`, which stands in the file `path`; relative sources are relative to `folder`, an absolute path.
    ///
    /// - Throws: every complaint about the text.
    package static func parse(_ text: [UInt8], path: String, folder: String) throws(ConfigurationError) -> Arrangement {
        let syntax = readSyntax(text, path: path)
        let complaints = ComplaintList(path: path, syntax.complaints)
        var arrangement = Arrangement()
        if let root = syntax.root, case .table(let entries) = root.kind {
            arrangement.read(entries, folder: folder, complaints)
            if arrangement.clips.isEmpty, complaints.all.isEmpty {
                complaints.add("[[clip]]: missing; say what is to be seen", at: SourcePosition(line: 1, column: 1))
            }
        }
        if !complaints.all.isEmpty { throw ConfigurationError(complaints.all) }
        return arrangement
    }

    private mutating func read(_ entries: [TOMLEntry], folder: String, _ complaints: ComplaintList) {
        for entry in entries {
            switch entry.key {
            case "output": if let table = reader(Grammar.output, entry, complaints) { output.read(table) }
            case "film": if let table = reader(Grammar.film, entry, complaints) { film.read(table) }
            case "music": if let table = reader(Grammar.music, entry, complaints) { music = Music(table, folder: folder) }
            case "clip":
                clips = readTables(Grammar.clip, entry.value, complaints).compactMap { Clip($0, folder: folder) }
            default:
                let isTable = if case .table = entry.value.kind { true } else { entry.value.kind.isArrayOfTables }
                let advice = Grammar.advice(outside: entry.key, isTable: isTable, among: Grammar.arrangementTables)
                let name = shownKey(entry.key)
                complaints.add(
                    isTable ? "[\(name)]: unknown table\(advice)" : "\(name): unknown key outside of every table\(advice)",
                    at: entry.position)
            }
        }
    }
}

extension Arrangement.Output {
    fileprivate mutating func read(_ table: TableReader) {
        size = table.text("size", PictureSize.self, "a size such as \"1920x1080\", even numbers from 16 to 8192")
        rate =
            table.value("rate", "pictures a second from 10 to 240, such as 25, \"29.97\" or \"30000/1001\"") { kind in
                switch kind {
                case .integer(let number): Int(exactly: number).flatMap { FrameRate($0) }
                case .float(let number): FrameRate(number)
                case .string(let text): FrameRate(text)
                default: nil
                }
            }
        codec = table.word("codec", ExportCodec.self)
        encoder = table.word("encoder", EncoderSetting.self) ?? encoder
        quality = table.number("quality", in: 0...51) ?? quality
        bitRate = table.number("bit-rate", in: 50...500_000).map { $0 * 1000 }
        if table.entry("quality") != nil, table.entry("bit-rate") != nil {
            table.complain("takes the place of quality: leave one of them out", about: "bit-rate")
        }
        title = table.line("title", "a line of text", longest: 500)
    }
}

extension Arrangement.Film {
    fileprivate mutating func read(_ table: TableReader) {
        gravity = table.word("gravity", VideoGravity.self) ?? gravity
        background = table.text("background", Color.self, "a colour such as \"#000000\"") ?? background
        imageDuration = table.time("image-duration") ?? imageDuration
        transition = table.word("transition", Transition.self) ?? transition
        transitionDuration = table.time("transition-duration") ?? transitionDuration
        font = table.line("font", "the name of a font family", longest: 200) ?? font
    }
}

extension Arrangement.Clip {
    /// nil where there is nothing to show; that has been complained about.
    fileprivate init?(_ table: TableReader, folder: String) {
        let source = table.path("source", "a path or a URL", folder: folder)
        let card = table.line("card", "a line of text", longest: 500)
        let subtitle = table.line("subtitle", "a line of text", longest: 500)
        let background = table.text("background", Color.self, "a colour such as \"#202020\"")
        let foreground = table.text("color", Color.self, "a colour such as \"#ffffff\"")
        switch (table.entry("source"), table.entry("card")) {
        case (nil, nil): table.require("source", "say what to show, or write a title with card")
        case (.some, .some): table.complain("a clip is either a source or a card; write another [[clip]] for this", about: "card")
        case (.some, nil):
            for key in ["subtitle", "background", "color"] where table.entry(key) != nil {
                table.complain("belongs to a card", about: key)
            }
        case (nil, .some):
            for key in ["start", "end", "gravity", "volume", "muted", "deinterlace", "repeat"] where table.entry(key) != nil {
                table.complain("belongs to a source; a card has none", about: key)
            }
        }
        var clip = Arrangement.Clip(
            source.map { .file($0) }
                ?? .card(text: card ?? "", subtitle: subtitle, background: background, foreground: foreground ?? .white))
        clip.start = table.time("start", orZero: true) ?? .zero
        clip.end = table.time("end")
        clip.duration = table.time("duration")
        clip.gravity = table.word("gravity", VideoGravity.self)
        clip.volume = table.number("volume", in: 0...100) ?? 100
        clip.isMuted = table.flag("muted") ?? false
        clip.repeatCount = table.number("repeat", in: 1...10_000) ?? 1
        clip.deinterlace = table.word("deinterlace", Deinterlace.self) ?? .auto
        clip.transition = table.word("transition", Transition.self)
        clip.transitionDuration = table.time("transition-duration")
        if let end = clip.end, end <= clip.start {
            table.complain("expected a time after start, found \(table.entry("end")?.value.kind.shown ?? "\(end)")", about: "end")
        }
        if clip.transition == .cut, clip.transitionDuration != nil {
            table.complain("a cut takes no time; write transition = \"fade\"", about: "transition-duration")
        }
        if source == nil, card == nil { return nil }
        self = clip
    }
}

extension Arrangement.Music {
    /// nil where there is no source; that has been complained about.
    fileprivate init?(_ table: TableReader, folder: String) {
        let source = table.path("source", "a path or a URL", folder: folder)
        table.require("source", "say what to play")
        self.init(source: source ?? "")
        start = table.time("start", orZero: true) ?? start
        volume = table.number("volume", in: 0...100) ?? volume
        mode = table.word("mode", MusicMode.self) ?? mode
        isRepeated = table.flag("repeat") ?? isRepeated
        fadeIn = table.time("fade-in", orZero: true) ?? fadeIn
        fadeOut = table.time("fade-out", orZero: true) ?? fadeOut
        if source == nil { return nil }
    }
}
