// Reads an arrangement file, with every mistake at its position, like kiosk.conf. docs/export.md describes the keys.
import KioskPlatform
import KioskVocabulary

extension Arrangement {
    /// Loads the file at `path`, as complaints name it. Blocks for as long as the file system does.
    ///
    /// - Throws: every complaint about the file, or why it is unreadable, with advice.
    package static func load(_ path: String) throws(ConfigurationError) -> Arrangement {
        let (text, folder) = try Files.readText(path, called: "an arrangement")
        return try parse(text, path: path, folder: folder)
    }

    /// Parses `text`, the content of the file `path`; relative sources start from `folder`, an absolute path.
    ///
    /// - Throws: every complaint about the text.
    package static func parse(_ text: [UInt8], path: String, folder: String) throws(ConfigurationError) -> Arrangement {
        try parse(text, path: path, folder: folder) { arrangement, complaints in
            guard arrangement.clips.isEmpty, complaints.all.isEmpty else { return }
            complaints.add("[[clip]]: missing; add one for each source or card", at: SourcePosition(line: 1, column: 1))
        }
    }
}

extension Arrangement: TableRow {
    static let keys: [Key<Self>] = keyList {
        Key(table: "output", \.output)
        Key(table: "film", \.film)
        Key(list: "clip", \.clips)
        Key(table: "music", \.givenMusic)
    }

    private var givenMusic: Music {
        get { music ?? Music() }
        set { music = newValue }
    }
}

extension Arrangement.Output: TableRow {
    static let keys: [Key<Self>] = keyList {
        Key("size", \.size, .text("a size such as \"1920x1080\", even numbers from 16 to 8192"))
        Key("rate", \.rate, .frameRate)
        Key("codec", \.codec, .word)
        Key("encoder", \.encoder, .word)
        Key("quality", \.quality, .number(in: 0...51))
        Key("bit-rate", \.bitRate, .number(in: 50...500_000, unit: 1000))
        Key("title", \.title, .line("a line of text", longest: 500))
    }

    static func check(_ row: inout Self, _ table: TableReader) {
        if table.entry("quality") != nil, table.entry("bit-rate") != nil {
            table.complain("replaces quality: leave one of the two out", about: "bit-rate")
        }
    }
}

extension Arrangement.Film: TableRow {
    static let keys: [Key<Self>] = keyList {
        Key("gravity", \.gravity, .gravity)
        Key("background", \.background, .color("#000000"))
        Key("image-duration", \.imageDuration, .time)
        Key("transition", \.transition, .word)
        Key("transition-duration", \.transitionDuration, .time)
        Key("font", \.font, .line("the name of a font family", longest: 200))
        Key("subtitles", \.subtitles, .track)
    }
}

extension Arrangement.Clip: TableRow {
    /// Makes a clip whose content is not read yet.
    init() { self.init(.card(text: "", subtitle: nil, background: nil, foreground: .white)) }

    static let keys: [Key<Self>] = keyList {
        Key("source", \.file, .pathOrURL("a path or a URL"))
        Key("card", \.card.text, .line("a line of text", longest: 500))
        Key("subtitle", \.card.subtitle, .line("a line of text", longest: 500))
        Key("background", \.card.background, .color("#202020"))
        Key("color", \.card.foreground, .color("#ffffff"))
        Key("start", \.start, .timeOrZero)
        Key("end", \.end, .time)
        Key("duration", \.duration, .time)
        Key("gravity", \.gravity, .gravity)
        Key("volume", \.volume, .number(in: 0...100))
        Key("muted", \.isMuted, .flag)
        Key("repeat", \.repeatCount, .number(in: 1...10_000))
        Key("transition", \.transition, .word)
        Key("transition-duration", \.transitionDuration, .time)
        Key("deinterlace", \.deinterlace, .word)
    }

    static func check(_ row: inout Self, _ table: TableReader) {
        switch (table.entry("source"), table.entry("card")) {
        case (nil, nil): table.require("source", "name a file or a URL, or write a title with card")
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
        table.require(row.end, after: row.start)
        if row.transition == .cut, row.transitionDuration != nil {
            table.complain("a cut takes no time; write transition = \"fade\"", about: "transition-duration")
        }
    }

    private var file: String {
        get { if case .file(let path) = content { path } else { "" } }
        set { content = .file(newValue) }
    }

    /// The card; setting it has no effect if the content is a file.
    private var card: (text: String, subtitle: String?, background: Color?, foreground: Color) {
        get {
            guard case .card(let text, let subtitle, let background, let foreground) = content else { return ("", nil, nil, .white) }
            return (text, subtitle, background, foreground)
        }
        set {
            guard case .card = content else { return }
            content = .card(
                text: newValue.text, subtitle: newValue.subtitle, background: newValue.background, foreground: newValue.foreground)
        }
    }
}

extension Arrangement.Music: TableRow {
    /// Makes music whose source is not read yet.
    init() { self.init(source: "") }

    static let keys: [Key<Self>] = keyList {
        Key("source", \.source, .pathOrURL("a path or a URL"), missing: "give a path or a URL")
        Key("start", \.start, .timeOrZero)
        Key("volume", \.volume, .number(in: 0...100))
        Key("mode", \.mode, .word)
        Key("repeat", \.isRepeated, .flag)
        Key("fade-in", \.fadeIn, .timeOrZero)
        Key("fade-out", \.fadeOut, .timeOrZero)
    }
}
