import KioskMedia
import KioskPlatform
import KioskVocabulary

// The reader draws subtitles into memory that the player has made for them. It reuses a part of that memory once the player has copied it
// (``ControlPage/subtitlesTaken``).

/// The choice of subtitles of a source, and the screen to draw them for.
package struct SubtitleOrder: Hashable, Sendable {
    package var choice = TrackChoice.automatic
    package var style = SubtitleStyle()
    /// nil without a display: then the reader draws nothing.
    package var screen: SubtitleScreen?
    /// The folder of the source; files beside it may be its subtitles. nil if none may be.
    package var folder: String?
    /// Whether the reader has libass, which has to be loaded before it enters the sandbox.
    package var hasText = false

    package init() {}

    /// Bytes of the memory to draw them into: twice a screen, within limits.
    package var memoryCapacity: Int {
        let pixels = (screen?.size.width ?? 0) * (screen?.size.height ?? 0)
        return min(max(2 * pixels * 4, 4 << 20), 96 << 20) & ~4095
    }
}

/// The subtitles visible from a picture on.
package struct ReaderSubtitle: Hashable, Sendable {
    /// A rectangle of the screen, and the offset of its pixels in the memory: row by row without gaps, 0xAARRGGBB, premultiplied.
    package struct Part: Hashable, Sendable {
        package var x: Int, y: Int, width: Int, height: Int, offset: Int

        package init(x: Int, y: Int, width: Int, height: Int, offset: Int) {
            (self.x, self.y, self.width, self.height, self.offset) = (x, y, width, height, offset)
        }
    }

    /// Consecutive numbers.
    package var serial: UInt32
    /// Item time of the picture.
    package var time: MediaTime
    /// The screen of the rectangles.
    package var screen: PixelSize
    /// Empty if nothing is visible.
    package var parts: [Part]

    package static let mostParts = 8
    package static let longestSide = 16_384

    package init(serial: UInt32, time: MediaTime, screen: PixelSize, parts: [Part]) {
        (self.serial, self.time, self.screen, self.parts) = (serial, time, screen, parts)
    }
}

/// The text of a subtitle, from one item time to another.
package struct ReaderCue: Hashable, Sendable {
    package var text: String
    package var start: MediaTime, end: MediaTime

    package init(_ text: String, start: MediaTime, end: MediaTime) { (self.text, self.start, self.end) = (text, start, end) }
}

/// A request for a font.
package struct FontWish: Hashable, Sendable {
    /// Family names, separated by commas; empty for any.
    package var families: String
    /// A character that the font must have.
    package var character: UInt32?
    package var isBold = false, isItalic = false
    /// Whether the font must be of the first of these families.
    package var isExact = false

    package init(families: String = "", character: UInt32? = nil) { (self.families, self.character) = (families, character) }
}

/// Returns the pixels of a part; throws if they lie outside of the memory.
extension ReaderSubtitle.Part {
    package func pixels(in memory: UnsafeRawBufferPointer) throws(ReaderLie) -> [UInt32] {
        let (count, overflow) = width.multipliedReportingOverflow(by: height)
        guard width >= 1, height >= 1, !overflow, count <= memory.count / 4, offset >= 0, offset % 4 == 0,
            offset <= memory.count - count * 4
        else {
            throw .result("a subtitle of \(width)×\(height) pixels at \(offset)")
        }
        return unsafe [UInt32](unsafeUninitializedCapacity: count) { pixels, filled in
            unsafe UnsafeMutableRawBufferPointer(pixels).copyMemory(
                from: UnsafeRawBufferPointer(rebasing: memory[offset..<offset + count * 4]))
            filled = count
        }
    }
}

// MARK: As bytes

extension VideoGravity: WireChoice {}

extension Region: WireValue {
    package func write(to wire: inout WireWriter) { wire.put(x, y, width, height) }

    package init(from wire: inout WireReader) throws(WireError) {
        self.init(x: try wire.take(), y: try wire.take(), width: try wire.take(), height: try wire.take())
    }
}

extension SubtitleStyle: WireRecord {
    package static var blank: SubtitleStyle { SubtitleStyle() }
    package static let fields: [WireField<Self>] = [
        .exact(\.font, .title), .number(\.size, sizes), .number(\.safeArea, 0...20), .exact(\.encoding, .name),
    ]
}

extension SubtitleScreen: WireRecord {
    package static var blank: SubtitleScreen { SubtitleScreen(size: PixelSize(width: 1, height: 1)) }
    package static let fields: [WireField<Self>] = [.value(\.size), .value(\.region), .value(\.gravity)]
}

extension SubtitleOrder: WireRecord {
    package static var blank: SubtitleOrder { SubtitleOrder() }
    package static let fields: [WireField<Self>] = [
        .value(\.choice), .value(\.style), .value(\.screen), .exact(\.folder, .location), .value(\.hasText),
    ]
}

extension ReaderSubtitle: WireRecord {
    package static var blank: ReaderSubtitle { ReaderSubtitle(serial: 0, time: .zero, screen: PixelSize(width: 1, height: 1), parts: []) }
    package static let fields: [WireField<Self>] = [.value(\.serial), .value(\.time), .value(\.screen), .list(\.parts, atMost: mostParts)]
}

extension ReaderSubtitle.Part: WireRecord {
    package static var blank: Self { Self(x: 0, y: 0, width: 1, height: 1, offset: 0) }
    private static let side = ReaderSubtitle.longestSide
    package static let fields: [WireField<Self>] = [
        .number(\.x, -side...side), .number(\.y, -side...side), .number(\.width, 0...side), .number(\.height, 0...side),
        .number(\.offset, 0...1 << 30),
    ]
}

extension ReaderCue: WireRecord {
    package static var blank: ReaderCue { ReaderCue("", start: .zero, end: .zero) }
    package static let fields: [WireField<Self>] = [.exact(\.text, .words), .value(\.start), .value(\.end)]
}

extension FontWish: WireRecord {
    package static var blank: FontWish { FontWish() }
    package static let fields: [WireField<Self>] = [
        .exact(\.families, .title), .value(\.character), .value(\.isBold), .value(\.isItalic), .value(\.isExact),
    ]
}
