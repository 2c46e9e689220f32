import CSubtitles
import Glibc
import KioskMedia
import KioskPlatform
import KioskReaderProtocol
import Synchronization

/// Fonts of the machine, for readers, which may open no file. Subtitles have family names and characters; fontconfig finds a file for them.
enum FontFiles {
    /// Opens the file of a font; nil if there is none. Blocks while fontconfig reads its cache or, if that is out of date, every font. The
    /// corresponding C function is `FcFontMatch`.
    static func open(_ wish: FontWish) -> OpenedFile? {
        let path = lock.withLock { _ -> String? in
            var path = [CChar](repeating: 0, count: Int(PATH_MAX))
            let isFound = wish.families.withCString { families in
                var asked = kiosk_font_wish(
                    families: families, character: wish.character ?? 0, is_bold: wish.isBold, is_italic: wish.isItalic,
                    is_exact: wish.isExact)
                return kiosk_find_font(&asked, &path, path.count)
            }
            return isFound ? String(decoding: path.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self) : nil
        }
        return path.flatMap { try? OpenedFile($0) }
    }

    private static let lock = Mutex(())

    /// Finds a font for request `number` of a reader, on a thread of its own, and sends the file. Refuses it during ``mostAtOnce`` other
    /// searches.
    static func answer(_ wish: FontWish, _ number: UInt32, to reader: Reader) {
        @Sendable func tell(_ file: OpenedFile?) {
            let order: ReaderOrder = file == nil ? .refuse(number, .system(ENOENT)) : .grant(number)
            for datagram in (try? order.datagrams()) ?? [] { reader.send(datagram, file?.descriptor.raw ?? -1) }
        }
        let mayBegin = underWay.withLock { count in
            guard count < mostAtOnce else { return false }
            count += 1
            return true
        }
        guard mayBegin else { return tell(nil) }
        Thread("font") {
            tell(open(wish))
            underWay.withLock { $0 -= 1 }
        }.detach()
    }

    private static let underWay = Mutex(0)
    private static let mostAtOnce = 16
}
