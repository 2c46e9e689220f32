// [[overlay]].
import KioskPlatform
import KioskSchedule
import KioskVocabulary

extension Configuration {
    /// `[[overlay]]`: a text, a clock or a picture above the main picture.
    package struct Overlay: Hashable, Sendable {
        package var name = ""
        package var kind = OverlayKind.text
        /// The text of a text overlay or a QR code.
        package var text: String?
        /// An absolute path: the file of a text or a picture.
        package var file: String?
        /// The address of a news feed whose titles are the text.
        package var feed: String?
        /// The format of a clock, for strftime(3).
        package var format = "%H:%M"
        /// The locale for names of days and months; nil for the machine's.
        package var locale: String?
        package var look = OverlayLook()
        package var order = 0
        /// The speed of a ticker, in hundredths of the screen's width a second.
        package var speed = 10
        /// Names and places of the items below it; empty for all.
        package var items: [String] = []
        package var time = TimeRule()

        package init() {}

        /// The source of its text or picture: the feed, else the file; nil for none.
        package var source: String? { feed ?? file }
    }
}

extension Configuration.Overlay: TimedRow {
    static let identity: String? = "name"

    static let keys: [Key<Self>] = keyList {
        """
        Name for kiosk ctl overlay. Type kiosk ctl overlay news "We close at six" to replace the text, and
        kiosk ctl overlay news to restore it. Every overlay needs a name.
        """
        Key("name", \.name, .line("a name", longest: 100), example: "\"news\"", missing: "give it a name")
        """
        Kind of the overlay:
          "text"       the text in text, or in file
          "clock"      the time, in the form of format
          "image"      the picture in file
          "qr"         a QR code of text
          "ticker"     text, or the lines of file, running across region in an endless loop
        """
        Key("kind", \.kind, .word)
        """
        Text, up to ten lines with \\n between them, and up to 1000 characters in all. No default.
        An example:
        """
        Key("text", \.text, .lines("a text", longest: 1000), example: "\"Open until six\"")
        """
        File with the text, instead of text, or with the picture. kiosk watches the file, and shows new
        content once it is complete. No default. An example:
        """
        Key("file", \.file, .path("a path"), example: "\"/srv/news.txt\"")
        """
        Address of a news feed, RSS or Atom, instead of file. The text is its titles, one a line. kiosk
        fetches the feed every five minutes, with the keys of [network]. If the server does not answer,
        kiosk keeps the last titles. No default. An example:
        """
        Key(
            "feed", \.feed, .line("an address such as \"https://example.org/news.rss\"", longest: 2000),
            example: "\"https://example.org/news.rss\"",
            objection: { HTTPAddress($0) == nil ? "expected an address of http or https" : nil })
        """
        Form of a clock, as in date(1): "%H:%M:%S", "%A, %d %B %Y". The clock changes at the vblank at
        which its second begins. locale decides the names of days and months, and has to be installed
        (locale -a). locale has no default: kiosk uses the language of the machine.
        """
        Key("format", \.format, .lines("a format such as \"%H:%M\"", longest: 200))
        Key("locale", \.locale, .line("a locale such as \"de_DE.UTF-8\"", longest: 100), example: "\"de_DE.UTF-8\"")
        """
        Speed of a ticker, in hundredths of the display's width a second. A ticker moves by whole pixels,
        so kiosk takes the nearest possible speed.
        """
        Key("speed", \.speed, .number(in: 1...100))
        """
        Place of the overlay. anchor is its place in region (left, top, width and height in hundredths of
        the display), within [display] safe-area. kiosk breaks a text that is too wide for region into
        lines.
        """
        Key("anchor", \.look.anchor, .word)
        Key("region", \.look.region, .region)
        """
        Height of a line of the text, of the picture or of the QR code. Write hundredths of the display's
        height, or millimetres, such as "12mm".
        """
        Key("size", \.look.size, .text("a size such as \"5%\" or \"12mm\"", pattern: "^[0-9.]+(%|mm)$"))
        """
        font is as in [theme], and color is the colour of the text. background is the colour behind the
        text, and background-opacity its opacity, from 0 to 100. outline is the colour of the letters'
        edge. For background and outline, "none" is no colour.
        """
        Key("font", \.look.font, .line("the name of a font family", longest: 200))
        Key("color", \.look.color, .color("#ffffff"))
        Key("background", \.look.background, .colorOrNone("#000000"), shown: "\"none\"")
        Key("background-opacity", \.look.backgroundOpacity, .number(in: 0...100))
        Key("outline", \.look.outline, .colorOrNone("#000000"))
        "Opacity of the whole overlay, from 0 to 100."
        Key("opacity", \.look.opacity, .number(in: 0...100))
        "If two overlays lie over each other, the one with the higher order is in front."
        Key("order", \.order, .priority)
        """
        Items beneath the overlay: titles, file names with * and ? in them, and paths of files and
        folders. No default: all items. An example:
        """
        Key("for", \.items, .texts("[\"offers/\", \"*.jpg\"]"), example: "[\"offers/\", \"*.jpg\"]")
        for key in timeKeys { key }
    }

    static func check(_ row: inout Self, _ table: TableReader) {
        checkTime(row, table)
        switch row.kind {
        case .text, .clock, .ticker: break
        case .image: table.require("file", "name a picture")
        case .qr: table.require("text", "give the text of the code, such as an address")
        }
        // A name with a slash is a path, relative to the folder of the file.
        row.items = row.items.map { item in
            item.contains("/") && !item.hasPrefix("/") ? PlaylistSource(item, relativeTo: table.folder).location : item
        }
    }
}

extension Kind where Value == String {
    /// Up to ten lines of text, `longest` characters in all.
    fileprivate static func lines(_ expected: String, longest: Int) -> Self {
        Self(
            "\(expected) of at most ten lines and \(longest) characters",
            schema: "\"type\": \"string\", \"minLength\": 1, \"maxLength\": \(longest)", shown: quoted
        ) { value, _ in
            guard let text = value.string, 1...longest ~= text.unicodeScalars.count, text.count(where: { $0 == "\n" }) < 10 else {
                return nil
            }
            return text.unicodeScalars.contains { $0.properties.generalCategory == .control && $0 != "\n" } ? nil : text
        }
    }
}

extension Kind where Value == Color? {
    /// `#rrggbb`, or `none`, which becomes nil.
    fileprivate static func colorOrNone(_ example: String) -> Self {
        Self(
            "a colour such as \"\(example)\", or \"none\"", schema: #""type": "string", "pattern": "^(none|#[0-9A-Fa-f]{6})$""#,
            shown: { $0.map { quoted($0.description) } ?? quoted("none") }
        ) { value, _ in
            guard let text = value.string, text != "none" else { return value.string.map { _ in nil } }
            return Color(text).map { .some($0) }
        }
    }
}

extension Kind where Value == [String] {
    /// A list of up to a hundred texts.
    fileprivate static func texts(_ example: String) -> Self {
        Self(
            "a list of up to 100 texts such as \(example)", schema: #""type": "array", "maxItems": 100, "items": { "type": "string" }"#,
            shown: { "[\($0.map(quoted).joined(separator: ", "))]" }
        ) { value, _ in
            guard case .array(let items) = value, items.count <= 100 else { return nil }
            let texts = items.compactMap { $0.kind.string }.filter { !$0.isEmpty && !$0.contains("\0") }
            return texts.count == items.count ? texts : nil
        }
    }
}
