import Glibc
import KioskPlatform

/// Small pictures of the content's files, made by `kiosk thumbnail` and kept in a folder: by name, size and date of a file, so that a changed
/// file gets another one.
final class Thumbnails: Sendable {
    private let folder: String?
    private let kiosk: KioskProgram
    /// One is made at a time; each takes a decoder.
    private let making = Monitor(false)
    private static let limit = MediaTime.seconds(30)
    private static let most = 2000

    /// `folder` keeps them; nil for none.
    init(folder: String?, kiosk: KioskProgram) { (self.folder, self.kiosk) = (folder, kiosk) }

    /// Returns a PNG.
    func picture(_ entry: ContentFolder.Entry, in content: ContentFolder) throws(APIError) -> [UInt8] {
        let key = SHA256.hexadecimal("\(content.path)/\(entry.name.text)\0\(entry.bytes)\0\(entry.modified)".utf8)
        let place = folder.map { $0 + "/" + key + ".png" }
        if let place, let kept = SmallFile.bytes(place, atMost: 1 << 20), !kept.isEmpty { return kept }
        let isTurn: Bool? = making.wait(until: .now + Self.limit) { isMaking in
            if isMaking { return nil }
            isMaking = true
            return true
        }
        guard isTurn != nil else { throw APIError(503, "busy", "other thumbnails are being made") }
        defer { making.signal { $0 = false } }
        if let place, let kept = SmallFile.bytes(place, atMost: 1 << 20), !kept.isEmpty { return kept }
        guard let draft = Self.draft() else { throw APIError(500, "failed", "make a temporary file: \(SystemError())") }
        defer { unlink(draft) }
        let (status, _) = try kiosk.run(["thumbnail", content.path + "/" + entry.name.text, draft], limit: Self.limit)
        guard status == 0, let picture = SmallFile.bytes(draft, atMost: 1 << 20), !picture.isEmpty else {
            throw APIError(404, "no-thumbnail", "there is no picture of this file")
        }
        if let folder, let place {
            _ = Folder.make(folder, mode: 0o750)
            let names = Folder.names(in: folder)
            if names.count >= Self.most { for name in names.prefix(names.count / 10) { unlink(folder + "/" + name) } }
            _ = AtomicFile.write(place, picture, mode: 0o640)
        }
        return picture
    }

    /// Makes an empty file for one picture.
    private static func draft() -> String? {
        var path = Array("/tmp/kiosk-web-XXXXXX".utf8CString)
        let raw = mkstemp(&path)
        if raw < 0 { return nil }
        close(raw)
        return path.text
    }
}
