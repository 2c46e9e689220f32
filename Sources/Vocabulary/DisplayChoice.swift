import KioskPlatform

// The values of [display]: each is parsed from its text in kiosk.conf or on the command line, and prints as that text.

/// The target of the picture: `auto`, `HDMI-A-1`, `card1:HDMI-A-1`, `/dev/fb0` or `offscreen`.
package enum DisplayConnector: WordedChoice {
    /// The first connector with a display, or the framebuffer device without KMS.
    case automatic
    /// The kernel's name of a KMS connector, on `card` (`card1`) or, if that is nil, on any card that has it.
    case named(String, card: String?)
    /// A framebuffer device, for kernels without KMS.
    case framebuffer(String)
    /// None: frames are converted and dropped in time.
    case offscreen

    package static let words: KeyValuePairs<String, Self> = ["auto": .automatic, "offscreen": .offscreen]
    package static func other(_ text: String) -> Self? {
        if text.wholeMatch(of: /\/dev\/fb[0-9]{1,3}/) != nil { return .framebuffer(text) }
        let match = text.wholeMatch(of: /(?:(card[0-9]{1,3}):)?([A-Za-z][A-Za-z0-9\-]{0,30}-[0-9]{1,3})/)
        return match.map { .named(String($0.2), card: $0.1.map(String.init)) }
    }
    package var otherText: String {
        switch self {
        case .named(let name, let card): card.map { "\($0):\(name)" } ?? name
        case .framebuffer(let path): path
        case .automatic, .offscreen: ""
        }
    }
}

/// The mode of the display: `preferred`, `1920x1080`, `1920x1080@50` or `1280x720@59.94`.
package enum DisplayModeChoice: WordedChoice {
    /// The display's preferred mode.
    case preferred
    /// A size in pixels, as scanned out; with a refresh in Hz if the file states one.
    case size(width: Int, height: Int, refresh: Double?)

    /// In Hz; nil if none is given.
    package var refresh: Double? { if case .size(_, _, let refresh) = self { refresh } else { nil } }

    package static let words: KeyValuePairs<String, Self> = ["preferred": .preferred]
    package static func other(_ text: String) -> Self? {
        guard let match = text.wholeMatch(of: /([0-9]{1,5})x([0-9]{1,5})(?:@([0-9]{1,3}(?:\.[0-9]{1,6})?))?/), let width = Int(match.1),
            let height = Int(match.2), 1...16384 ~= width, 1...16384 ~= height
        else { return nil }
        let refresh = match.3.flatMap { Double($0) }
        if let refresh, refresh < 1 { return nil }
        return .size(width: width, height: height, refresh: refresh)
    }
    package var otherText: String {
        guard case .size(let width, let height, let refresh) = self else { return "" }
        return "\(width)x\(height)" + (refresh.map { "@" + ($0 == $0.rounded() ? "\(Int($0))" : "\($0)") } ?? "")
    }
}

/// A colour, as `#rrggbb`: sRGB, full range.
package struct Color: Hashable, Sendable, LosslessStringConvertible {
    /// The three parts, 0…255.
    package var red: UInt8, green: UInt8, blue: UInt8

    package init(red: UInt8, green: UInt8, blue: UInt8) { (self.red, self.green, self.blue) = (red, green, blue) }

    /// A display without light.
    package static let black = Color(red: 0, green: 0, blue: 0)
    /// A display at full light.
    package static let white = Color(red: 255, green: 255, blue: 255)

    /// nil unless `text` is `#` and six hexadecimal digits.
    package init?(_ text: String) {
        guard text.wholeMatch(of: /#[0-9a-fA-F]{6}/) != nil, let value = UInt32(text.dropFirst(), radix: 16) else { return nil }
        self.init(red: UInt8(value >> 16), green: UInt8(value >> 8 & 255), blue: UInt8(value & 255))
    }

    /// The text in kiosk.conf, in lower case.
    package var description: String { "#" + (UInt32(red) << 16 | UInt32(green) << 8 | UInt32(blue)).padded(to: 6, radix: 16) }
}
