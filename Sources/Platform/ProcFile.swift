import Glibc

/// Reads small files of /proc and /sys.
package enum ProcFile {
    /// The first 4096 bytes of a file as text; nil when it cannot be read.
    package static func read(_ path: String) -> String? { bytes(path).map { String(decoding: $0, as: UTF8.self) } }

    /// The first 4096 bytes of a file; nil when it cannot be read.
    package static func bytes(_ path: String) -> [UInt8]? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = Glibc.read(descriptor, &bytes, bytes.count)
        return count < 0 ? nil : Array(bytes.prefix(count))
    }

    /// The name of a process for messages: `plymouthd (pid 212)`.
    package static func name(ofProcess process: Int) -> String {
        let name = read("/proc/\(process)/comm")?.split(separator: "\n").first.map(String.init)
        return "\(name ?? "a process") (pid \(process))"
    }
}
