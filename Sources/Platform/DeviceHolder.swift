import Glibc

/// Finds the processes that have a device open, for messages to the operator. Only root sees the processes of other users.
package enum DeviceHolder {
    /// Returns `plymouthd (pid 212)` for every other process that has the file at `path` open; empty if none is visible.
    package static func find(_ path: String) -> [String] { processes(thatHaveOpen: path).map { name(ofProcess: Int($0)) } }

    /// Returns the name of a process for messages: `plymouthd (pid 212)`. `proc` is the process file system.
    package static func name(ofProcess process: Int, proc: String = "/proc") -> String {
        let name = SmallFile.text("\(proc)/\(process)/comm")?.split(separator: "\n").first.map(String.init)
        return "\(name ?? "a process") (pid \(process))"
    }

    /// Returns every other process that has the file at `path` open, from the process file system `proc`.
    package static func processes(thatHaveOpen path: String, proc: String = "/proc") -> [pid_t] {
        let own = getpid()
        return Folder.names(in: proc).compactMap(pid_t.init).filter { process in
            process != own && Folder.names(in: "\(proc)/\(process)/fd").contains { SmallFile.link("\(proc)/\(process)/fd/\($0)") == path }
        }
    }
}
