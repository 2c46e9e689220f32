import Glibc

/// Who has a device open, for telling the operator who keeps it. Processes of other users are visible to root only.
package enum DeviceHolder {
    /// `plymouthd (pid 212)` for every other process that has the file at `path` open; empty when none can be seen.
    package static func find(_ path: String) -> [String] { processes(thatHaveOpen: path).map { name(ofProcess: Int($0)) } }

    /// The name of a process for messages: `plymouthd (pid 212)`. The process file system lies at `proc`.
    package static func name(ofProcess process: Int, proc: String = "/proc") -> String {
        let name = SmallFile.text("\(proc)/\(process)/comm")?.split(separator: "\n").first.map(String.init)
        return "\(name ?? "a process") (pid \(process))"
    }

    /// Every other process that has the file at `path` open, as the process file system at `proc` tells.
    package static func processes(thatHaveOpen path: String, proc: String = "/proc") -> [pid_t] {
        let own = getpid()
        return Folder.names(in: proc).compactMap(pid_t.init).filter { process in
            process != own && Folder.names(in: "\(proc)/\(process)/fd").contains { SmallFile.link("\(proc)/\(process)/fd/\($0)") == path }
        }
    }
}
