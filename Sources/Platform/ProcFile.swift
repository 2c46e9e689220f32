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

    /// The names in a folder, unsorted; none when it cannot be read.
    package static func names(in folder: String) -> [String] {
        guard let directory = opendir(folder) else { return [] }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            names.append(
                withUnsafePointer(to: &entry.pointee.d_name) {
                    $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
                })
        }
        return names
    }

    /// What a symbolic link leads to, at most 256 bytes; nil where there is none.
    package static func link(_ path: String) -> String? {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 256) { buffer in
            let count = buffer.withMemoryRebound(to: CChar.self) { readlink(path, $0.baseAddress!, $0.count) }
            return count > 0 ? String(decoding: buffer.prefix(count), as: UTF8.self) : nil
        }
    }

    /// The name of a process for messages: `plymouthd (pid 212)`. The process file system lies at `proc`.
    package static func name(ofProcess process: Int, proc: String = "/proc") -> String {
        let name = read("\(proc)/\(process)/comm")?.split(separator: "\n").first.map(String.init)
        return "\(name ?? "a process") (pid \(process))"
    }
}
