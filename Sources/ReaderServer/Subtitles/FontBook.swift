import CSubtitles
import Glibc
import KioskMedia
import KioskPlatform
import KioskReaderProtocol
import KioskVocabulary

/// The fonts for subtitles: those in the source, and those of the machine, which it requests from the player. It requests each once. Owned
/// by one thread.
final class FontBook {
    /// A font, and its bytes.
    private final class Font {
        let face: OpaquePointer
        let family: String
        let bytes: UnsafeRawBufferPointer

        /// - Parameter bytes: the font takes ownership.
        init?(_ bytes: UnsafeRawBufferPointer, of ass: OpaquePointer) {
            guard let base = bytes.baseAddress, let face = kiosk_face_make(ass, base, bytes.count) else {
                bytes.deallocate()
                return nil
            }
            (self.face, self.bytes) = (face, bytes)
            family = String(cString: kiosk_face_family(face))
        }

        deinit {
            kiosk_face_free(face)
            bytes.deallocate()
        }

        func has(_ character: UInt32) -> Bool { kiosk_face_has(face, character) }
    }

    private let ass: OpaquePointer
    private let ask: (FontWish) -> OpenedFile?
    private var fonts: [Font] = []
    private var asked: Set<FontWish> = []
    /// The blocks of 256 characters that the machine's fonts lack.
    private var unavailable: Set<UInt32> = []
    private var bytesLeft = mostBytes
    /// Whether fonts were added since the last ``use()``.
    private var isNew = true
    /// The family for text that names no available one.
    private(set) var family = ""
    /// The first character that no font has.
    private(set) var missing: UInt32?

    private static let mostFonts = 64, mostBytes = 128 << 20

    /// - Parameters:
    /// - families: the families for text that names none.
    /// - ask: has the player open a font.
    init(_ ass: OpaquePointer, families: String, ask: @escaping (FontWish) -> OpenedFile?) {
        (self.ass, self.ask) = (ass, ask)
        _ = load(FontWish(families: families))
        family = fonts.first?.family ?? ""
    }

    /// Releases all fonts; call it before their renderer goes.
    func close() { fonts = [] }

    /// Whether there is no font to draw with.
    var isEmpty: Bool { fonts.isEmpty }

    /// Adds a font from the source.
    func add(_ bytes: [UInt8]) {
        let own = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 16)
        own.copyBytes(from: bytes)
        _ = add(UnsafeRawBufferPointer(own))
    }

    private func add(_ bytes: UnsafeRawBufferPointer) -> Font? {
        guard fonts.count < Self.mostFonts, bytes.count <= bytesLeft else {
            bytes.deallocate()
            return nil
        }
        guard let font = Font(bytes, of: ass) else { return nil }
        bytesLeft -= bytes.count
        kiosk_ass_add_font(ass, font.family, bytes.baseAddress!, bytes.count)
        fonts.append(font)
        isNew = true
        return font
    }

    /// Loads a font of the machine; nil if there is none, or if it was requested before.
    private func load(_ wish: FontWish) -> Font? {
        guard asked.count < 4 * Self.mostFonts, asked.insert(wish).inserted, let file = ask(wish) else { return nil }
        let count = Int(clamping: file.version.size)
        guard count > 0, count <= bytesLeft else { return nil }
        let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 16)
        var filled = 0
        while filled < count {
            let read = pread(file.descriptor.raw, bytes.baseAddress! + filled, count - filled, off_t(filled))
            if read < 0, errno == EINTR { continue }
            if read <= 0 { break }
            filled += read
        }
        guard filled == count else {
            bytes.deallocate()
            return nil
        }
        return add(UnsafeRawBufferPointer(bytes))
    }

    /// Loads a family, in bold or italics if requested, if the machine has it.
    func want(_ family: String, isBold: Bool = false, isItalic: Bool = false) {
        var name = family.hasPrefix("@") ? String(family.dropFirst()) : family
        if name.isEmpty { name = self.family }
        let isThere = fonts.contains { $0.family.lowercased() == name.lowercased() }
        if isThere, !isBold, !isItalic { return }
        var wish = FontWish(families: name.split(separator: ",").first.map(String.init) ?? name)
        (wish.isExact, wish.isBold, wish.isItalic) = (true, isBold, isItalic)
        _ = load(wish)
    }

    /// Makes the renderer use the added fonts.
    func use() {
        guard isNew else { return }
        isNew = false
        kiosk_ass_use_fonts(ass, family)
    }

    /// Returns the family for a character in text of `family`; nil if that family has it, or if no font does.
    func family(for character: UInt32, instead family: String) -> String? {
        let name = (family.hasPrefix("@") ? String(family.dropFirst()) : family).lowercased()
        let own = fonts.filter { $0.family.lowercased() == name }
        if (own.isEmpty ? fonts.prefix(1)[...] : own[...]).contains(where: { $0.has(character) }) { return nil }
        if let index = fonts.firstIndex(where: { $0.has(character) }) { return fonts[index].family }
        // One character stands for its block: as a rule, a font has all of the block or none.
        if unavailable.contains(character >> 8) {
            missing = missing ?? character
            return nil
        }
        let font = load(FontWish(families: self.family, character: character))
        guard let font, font.has(character) else {
            unavailable.insert(character >> 8)
            missing = missing ?? character
            return nil
        }
        return font.family
    }
}
