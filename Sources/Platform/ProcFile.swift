import Glibc

/// What /proc tells about processes and devices, for telling an operator who keeps one.
public enum ProcFile {
    /// The beginning of a small text file; nil when it cannot be read.
    public static func read(_ path: String) -> String? { bytes(path).map { String(decoding: $0, as: UTF8.self) } }

    /// The first 4096 bytes of a file; nil when it cannot be read.
    public static func bytes(_ path: String) -> [UInt8]? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = Glibc.read(descriptor, &bytes, bytes.count)
        return count < 0 ? nil : Array(bytes.prefix(count))
    }

    /// `plymouthd (pid 212)`.
    public static func name(ofProcess process: Int) -> String {
        let name = read("/proc/\(process)/comm")?.split(separator: "\n").first.map(String.init)
        return "\(name ?? "a process") (pid \(process))"
    }
}
