import Glibc
import Platform

/// Who has a device open, for telling the operator who keeps the screen. Processes of other users are visible to root only.
struct MasterHolder {
    /// `plymouthd (pid 212)` for every other process that has the file at `path` open; empty when none can be seen.
    static func find(_ path: String) -> [String] { processes(thatHaveOpen: path).map { ProcFile.name(ofProcess: Int($0)) } }

    /// Every other process that has the file at `path` open.
    static func processes(thatHaveOpen path: String) -> [pid_t] {
        let own = getpid()
        return entries("/proc").compactMap(pid_t.init).filter { process in
            process != own && entries("/proc/\(process)/fd").contains { link("/proc/\(process)/fd/\($0)") == path }
        }
    }

    private static func entries(_ path: String) -> [String] {
        guard let directory = opendir(path) else { return [] }
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

    private static func link(_ path: String) -> String? {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 256) { buffer in
            let count = buffer.withMemoryRebound(to: CChar.self) { readlink(path, $0.baseAddress!, $0.count) }
            return count > 0 ? String(decoding: buffer.prefix(count), as: UTF8.self) : nil
        }
    }
}
