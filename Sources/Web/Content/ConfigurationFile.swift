import Glibc
import KioskCommands
import KioskConfiguration
import KioskPlatform
import Synchronization

/// kiosk.conf, and its last ten versions.
final class ConfigurationFile: Sendable {
    let path: String
    private let history: String
    private let writing = Mutex(())
    private let last: Mutex<(version: String, configuration: Configuration)>
    private static let mostVersions = 10
    static let longest = 1 << 20

    /// `history` is a folder for earlier versions; the configuration is that of the start.
    init(_ path: String, history: String, _ configuration: Configuration) {
        (self.path, self.history) = (path, history)
        last = Mutex(("", configuration))
    }

    /// The version of a text: a part of its SHA-256.
    static func version(of text: [UInt8]) -> String { String(SHA256.hexadecimal(text).prefix(16)) }

    /// Reads the file.
    func read() throws(APIError) -> [UInt8] {
        guard let bytes = SmallFile.bytes(path, atMost: Self.longest + 1) else { throw refusal("read") }
        guard bytes.count <= Self.longest else { throw APIError(413, "too-long", "\(path) has more than a megabyte") }
        return bytes
    }

    /// The last content of the file without mistakes.
    var current: Configuration {
        let bytes = SmallFile.bytes(path, atMost: Self.longest)
        return last.withLock { last in
            guard let bytes, case let version = Self.version(of: bytes), version != last.version else { return last.configuration }
            if let read = try? Configuration.parse(bytes, path: path, folder: Folder.of(path)) { last = (version, read) }
            return last.configuration
        }
    }

    /// Returns the mistakes in a text.
    func complaints(about text: [UInt8]) -> [Complaint] {
        do throws(ConfigurationError) {
            _ = try Configuration.parse(text, path: path, folder: Folder.of(path))
            return []
        } catch { return error.complaints }
    }

    private func refusal(_ action: String) -> APIError {
        switch errno {
        case ENOENT: APIError(404, "no-configuration", "there is no \(path)")
        case EACCES, EPERM, EROFS:
            APIError(403, "not-writable", "\(action) \(path): kiosk-web may not: docs/web.md has the commands that let it")
        default: APIError(500, "failed", "\(action) \(path): \(SystemError())")
        }
    }

    /// Replaces the content; keeps the former one as a version.
    func write(_ text: [UInt8], over version: String) throws(APIError) {
        try writing.withLock { _ throws(APIError) in
            let former = try read()
            guard Self.version(of: former) == version else {
                throw APIError(412, "changed-meanwhile", "kiosk.conf has changed meanwhile: read it again")
            }
            let complaints = complaints(about: text)
            guard complaints.isEmpty else {
                throw APIError(422, "invalid-configuration", "kiosk.conf would have mistakes", ["complaints": Self.shown(complaints)])
            }
            if former == text { return }
            guard let status = stat(at: path) else { throw refusal("read") }
            try keep(former)
            let draft = path + ".kiosk-web"
            if let error = AtomicFile.write(draft, text, mode: status.st_mode & 0o777, isSynced: true) {
                errno = error.code
                throw refusal("write")
            }
            // The player has to be able to read it, by its group.
            _ = chown(draft, uid_t.max, status.st_gid)
            guard rename(draft, path) == 0 else {
                let refusal = refusal("write")
                unlink(draft)
                throw refusal
            }
            syncFolder(of: path)
        }
    }

    private func keep(_ text: [UInt8]) throws(APIError) {
        let name = "\(WallClock.second.padded)-\(Self.version(of: text)).conf"
        if let failed = Folder.make(history, mode: 0o750) {
            throw APIError(403, "not-writable", "keep the former version in \(failed.path): \(failed.error)")
        }
        if let error = AtomicFile.write(history + "/" + name, text, mode: 0o640, isSynced: true) {
            throw APIError(403, "not-writable", "keep the former version in \(history): \(error)")
        }
        for old in versions.dropFirst(Self.mostVersions) { unlink(history + "/" + old.file) }
    }

    /// The earlier versions, the newest first.
    var versions: [(file: String, version: String, saved: Int64)] {
        Folder.names(in: history).sorted(by: >).compactMap { name in
            guard let match = name.wholeMatch(of: /([0-9]{12})-([0-9a-f]{16})\.conf/), let saved = Int64(match.1) else { return nil }
            return (name, String(match.2), saved)
        }
    }

    /// Puts an earlier version back.
    func restore(_ version: String) throws(APIError) {
        guard let file = versions.first(where: { $0.version == version })?.file,
            let text = SmallFile.bytes(history + "/" + file, atMost: Self.longest)
        else { throw APIError(404, "no-such-version", "there is no such version") }
        try write(text, over: Self.version(of: read()))
    }

    static func shown(_ complaints: [Complaint]) -> JSONValue {
        .array(
            complaints.map { complaint in
                .object([
                    "line": (complaint.position?.line).json, "column": (complaint.position?.column).json, "message": complaint.text.json,
                ])
            })
    }
}

extension Int64 {
    /// Twelve digits, so that names sort by time.
    fileprivate var padded: String {
        let digits = "\(Swift.max(0, self))"
        return String(repeating: "0", count: Swift.max(0, 12 - digits.count)) + digits
    }
}
