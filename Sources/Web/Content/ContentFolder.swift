import CKioskPlatform
import Glibc
import KioskCommands
import KioskPlatform

/// The folder that uploads go to. Every operation opens the folder, and then names one file in it without following a link: no name leads
/// out of it.
struct ContentFolder: Hashable, Sendable {
    /// An absolute path.
    let path: String

    /// A file in the folder.
    struct Entry: Hashable, Sendable {
        var name: MediaName
        var bytes: Int64
        /// Seconds since 1970.
        var modified: Int64
    }

    /// Bytes that stay free on the disk.
    static let reserve: Int64 = 256 << 20
    private static let mostFiles = 5000

    /// Bytes that a new file may have.
    var room: Int64 { max(0, (statvfs(at: path)?.free ?? 0) - Self.reserve) }

    /// Opens the folder.
    func open() throws(APIError) -> Descriptor {
        guard let folder = Descriptor(opening: path, O_RDONLY | O_DIRECTORY) else { throw refusal("open") }
        return folder
    }

    /// Returns the refusal after a failed call, with the words that mend it.
    func refusal(_ action: String, code: Int32 = errno) -> APIError {
        switch code {
        case ENOENT: APIError(404, "no-such-file", "there is no such file")
        case EEXIST: APIError(409, "name-taken", "there is a file of this name: choose another one")
        case ENOSPC, EDQUOT: APIError(507, "no-space", "the disk is full")
        case EACCES, EPERM, EROFS:
            APIError(
                403, "not-writable",
                "\(path): kiosk-web may not write here: sudo chgrp kiosk-web \(path); sudo chmod g+w \(path). The service also needs "
                    + "ReadWritePaths= (docs/web.md)")
        default: APIError(500, "failed", "\(action) in \(path): \(SystemError(code))")
        }
    }

    /// Returns the media files, sorted by name.
    func entries() throws(APIError) -> [Entry] {
        guard let folder = Folder(path) else { throw refusal("list") }
        var entries: [Entry] = []
        for (name, isLink) in folder.read() where !isLink {
            guard let name, let checked = try? MediaName(name), let status = folder.status(name, followsLinks: false), status.isFile else {
                continue
            }
            entries.append(Entry(name: checked, bytes: Int64(status.st_size), modified: Int64(status.st_mtim.tv_sec)))
            if entries.count == Self.mostFiles { break }
        }
        return entries.sorted { $0.name.text < $1.name.text }
    }

    /// Returns a file; nil if there is none of this name.
    func entry(_ name: MediaName) throws(APIError) -> Entry? {
        let folder = try open()
        var status = stat()
        guard fstatat(folder.raw, name.text, &status, AT_SYMLINK_NOFOLLOW) == 0, status.isFile else { return nil }
        return Entry(name: name, bytes: Int64(status.st_size), modified: Int64(status.st_mtim.tv_sec))
    }

    func delete(_ name: MediaName) throws(APIError) {
        guard try entry(name) != nil else { throw refusal("delete", code: ENOENT) }
        let folder = try open()
        guard unlinkat(folder.raw, name.text, 0) == 0 else { throw refusal("delete") }
        fsync(folder.raw)
    }

    func rename(_ name: MediaName, to new: MediaName) throws(APIError) {
        guard try entry(name) != nil else { throw refusal("rename", code: ENOENT) }
        try move(name.text, to: new, replaces: false)
    }

    /// Gives a file of the folder its name, and syncs that to the disk.
    func move(_ draft: String, to name: MediaName, replaces: Bool) throws(APIError) {
        let folder = try open()
        var status = stat()
        if !replaces, fstatat(folder.raw, name.text, &status, AT_SYMLINK_NOFOLLOW) == 0 { throw refusal("rename", code: EEXIST) }
        guard renameat(folder.raw, draft, folder.raw, name.text) == 0 else { throw refusal("rename") }
        fsync(folder.raw)
    }

    /// Creates a draft for writing; others cannot read it before it has its name.
    func create(_ draft: String) throws(APIError) -> Descriptor {
        let folder = try open()
        let raw = openat(folder.raw, draft, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o644)
        guard let file = Descriptor(adopting: raw) else { throw refusal("create a file") }
        return file
    }

    /// Opens a draft to go on writing.
    func reopen(_ draft: String) throws(APIError) -> Descriptor {
        let folder = try open()
        guard let file = Descriptor(adopting: openat(folder.raw, draft, O_WRONLY | O_NOFOLLOW | O_CLOEXEC)) else {
            throw refusal("open a draft")
        }
        return file
    }

    /// Removes a draft, if it is there.
    func discard(_ draft: String) { if let folder = try? open() { unlinkat(folder.raw, draft, 0) } }
}

extension ContentFolder.Entry {
    /// The entry as the API shows it.
    func shown(isOnPlaylist: Bool) -> JSONValue {
        .object([
            "name": name.text.json, "bytes": bytes.json, "modified": date("%Y-%m-%dT%H:%M:%SZ", Int(modified), isUTC: true).json,
            "playlist": .bool(isOnPlaylist), "thumbnail": name.isSubtitles ? .null : "/api/v1/thumbnails/\(name.text.percentEncoded)".json,
        ])
    }
}

extension String {
    /// The text as one part of a URL's path.
    var percentEncoded: String {
        utf8.map { byte -> String in
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"):
                String(Unicode.Scalar(byte))
            default: "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
            }
        }.joined()
    }
}
