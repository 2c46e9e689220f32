// Uploads that can go on after a break. A draft lies beside its place, under a hidden name, with a note of what it will be: so an upload also
// survives a restart. When it is complete it is probed, synced and renamed.
import Glibc
import KioskCommands
import KioskPlatform
import Synchronization

/// The unfinished files of a folder.
final class Uploads: Sendable {
    /// One upload.
    struct Upload: Hashable, Sendable {
        var id: String
        var name: MediaName
        var bytes: Int64
        var replaces: Bool
        var offset: Int64 = 0
        /// When bytes last came, in seconds of the system's clock.
        var touched: Int64
        /// Whether a request writes to it now.
        var isBusy = false

        var draft: String { ".kiosk-upload-\(id).\(name.ending)" }
        var note: String { ".kiosk-upload-\(id).json" }
    }

    private let state = Mutex<(folder: ContentFolder?, uploads: [String: Upload])>((nil, [:]))
    private let kiosk: KioskProgram
    /// The most unfinished uploads.
    private static let most = 16
    /// An upload without news for a day is dropped.
    private static let patience: Int64 = 86_400

    /// `kiosk` probes what has come.
    init(kiosk: KioskProgram) { self.kiosk = kiosk }

    /// Reads the notes of a folder once, and drops what has been left.
    private func uploads(_ folder: ContentFolder) -> [String: Upload] {
        state.withLock { state in
            if state.folder != folder { state = (folder, Self.read(folder)) }
            let now = WallClock.second
            for upload in state.uploads.values where !upload.isBusy && now - upload.touched > Self.patience {
                Self.remove(upload, folder)
                state.uploads[upload.id] = nil
            }
            return state.uploads
        }
    }

    private static func read(_ folder: ContentFolder) -> [String: Upload] {
        guard let open = Folder(folder.path) else { return [:] }
        var uploads: [String: Upload] = [:]
        for (name, isLink) in open.read() where !isLink {
            guard let name, let match = name.wholeMatch(of: /\.kiosk-upload-([0-9a-f]{32})\.json/),
                let note = SmallFile.text(folder.path + "/" + name).flatMap({ JSONValue($0) }),
                let given = note["name"]?.text, let media = try? MediaName(given), let bytes = note["bytes"]?.integer
            else { continue }
            var upload = Upload(
                id: String(match.1), name: media, bytes: Int64(bytes), replaces: note["replace"] == .bool(true), touched: WallClock.second)
            guard let status = open.status(upload.draft, followsLinks: false), status.isFile, Int64(status.st_size) <= upload.bytes else {
                remove(upload, folder)
                continue
            }
            (upload.offset, upload.touched) = (Int64(status.st_size), Int64(status.st_mtim.tv_sec))
            uploads[upload.id] = upload
        }
        return uploads
    }

    private static func remove(_ upload: Upload, _ folder: ContentFolder) {
        folder.discard(upload.draft)
        folder.discard(upload.note)
    }

    /// Begins an upload.
    func begin(_ name: MediaName, bytes: Int64, replaces: Bool, in folder: ContentFolder) throws(APIError) -> Upload {
        let others = uploads(folder).values
        guard bytes > 0 else { throw APIError(400, "invalid-parameter", "bytes: expected a whole number from 1") }
        guard others.count < Self.most else {
            throw APIError(409, "too-many-uploads", "there are \(Self.most) unfinished uploads: finish or delete one")
        }
        if !replaces, try folder.entry(name) != nil { throw folder.refusal("upload", code: EEXIST) }
        let taken = others.reduce(0) { $0 + $1.bytes - $1.offset }
        guard bytes <= folder.room - taken else {
            throw APIError(507, "no-space", "the file has \(bytes) bytes, and there is room for \(max(0, folder.room - taken))")
        }
        let upload = Upload(
            id: String(Secret.random().prefix(32)), name: name, bytes: bytes, replaces: replaces, touched: WallClock.second)
        let note = JSONValue.object(["name": name.text.json, "bytes": bytes.json, "replace": .bool(replaces)])
        _ = try folder.create(upload.draft)
        let file = try folder.create(upload.note)
        guard Array(note.line.utf8).withUnsafeBytes({ file.write($0) }) else {
            Self.remove(upload, folder)
            throw folder.refusal("upload")
        }
        state.withLock { $0.uploads[upload.id] = upload }
        return upload
    }

    /// Returns an upload.
    func upload(_ id: String, in folder: ContentFolder) throws(APIError) -> Upload {
        guard let upload = uploads(folder)[id] else { throw APIError(404, "no-such-upload", "there is no such upload") }
        return upload
    }

    /// Drops an upload.
    func drop(_ id: String, in folder: ContentFolder) throws(APIError) {
        let upload = try take(id, in: folder)
        Self.remove(upload, folder)
        state.withLock { _ = $0.uploads.removeValue(forKey: id) }
    }

    /// Takes an upload for one request.
    private func take(_ id: String, in folder: ContentFolder) throws(APIError) -> Upload {
        _ = try upload(id, in: folder)
        let taken: Upload? = state.withLock { state in
            guard var upload = state.uploads[id], !upload.isBusy else { return nil }
            upload.isBusy = true
            state.uploads[id] = upload
            return upload
        }
        guard let taken else { throw APIError(409, "busy", "another request writes to this upload") }
        return taken
    }

    private func give(back upload: Upload) {
        var upload = upload
        (upload.isBusy, upload.touched) = (false, WallClock.second)
        let kept = upload
        state.withLock { $0.uploads[kept.id] = kept }
    }

    /// Writes the bytes of a request's body at `offset`. Returns the new offset, and the finished file if that was all.
    func write(
        _ id: String, at offset: Int64, _ body: HTTPBody, in folder: ContentFolder
    ) throws(APIError) -> (
        offset: Int64, file: ContentFolder.Entry?
    ) {
        var upload = try take(id, in: folder)
        do throws(APIError) {
            guard offset == upload.offset else {
                throw APIError(409, "wrong-offset", "the upload goes on at \(upload.offset)", ["offset": upload.offset.json])
            }
            guard Int64(body.left) <= upload.bytes - upload.offset else {
                throw APIError(413, "too-long", "the upload has \(upload.bytes) bytes")
            }
            try receive(body, &upload, folder)
            if upload.offset < upload.bytes {
                give(back: upload)
                return (upload.offset, nil)
            }
        } catch {
            give(back: upload)
            throw error
        }
        return (upload.offset, try finish(upload, folder))
    }

    private func receive(_ body: HTTPBody, _ upload: inout Upload, _ folder: ContentFolder) throws(APIError) {
        let file = try folder.reopen(upload.draft)
        guard ftruncate(file.raw, off_t(upload.offset)) == 0, lseek(file.raw, off_t(upload.offset), SEEK_SET) >= 0 else {
            throw folder.refusal("write")
        }
        // What has come by the time the client breaks off counts.
        while let piece = body.next() {
            guard piece.withUnsafeBytes({ file.write($0) }) else { throw folder.refusal("write") }
            upload.offset += Int64(piece.count)
        }
        if upload.offset == upload.bytes, fsync(file.raw) != 0 { throw folder.refusal("write") }
    }

    /// Probes a complete draft, and gives it its name. A draft that is refused is gone.
    private func finish(_ upload: Upload, _ folder: ContentFolder) throws(APIError) -> ContentFolder.Entry {
        defer {
            Self.remove(upload, folder)
            state.withLock { _ = $0.uploads.removeValue(forKey: upload.id) }
        }
        if !upload.name.isSubtitles { try Probe.check(folder.path + "/" + upload.draft, name: upload.name, by: kiosk) }
        try folder.move(upload.draft, to: upload.name, replaces: upload.replaces)
        guard let entry = try folder.entry(upload.name) else { throw folder.refusal("upload", code: ENOENT) }
        return entry
    }
}
