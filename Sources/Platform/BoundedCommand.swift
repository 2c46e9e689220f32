import CKioskPlatform
import Glibc

/// Runs a program of the system with a time limit.
package enum BoundedCommand {
    /// The result of a run.
    package enum Outcome: Hashable {
        /// It ended with this status; `output` is the end of its output.
        case ended(Int32, output: String)
        /// It was killed, by kiosk after the limit or by another process.
        case killed
        /// It could not be started; the value is `errno`.
        case refused(Int32)
    }

    /// A running program.
    package struct Running: ~Copyable {
        /// Its process id.
        package let process: pid_t
        /// The end of the pipe that its standard output and error write to.
        package let output: Descriptor

        /// Kills it, and waits for its end.
        package consuming func kill() {
            Glibc.kill(process, SIGKILL)
            waitpid(process, nil, 0)
        }
    }

    /// Starts `words[0]`, a path or a program of the system's folders, with the other words as its arguments. Sets `refusal` to `errno`
    /// and returns nil if it cannot be started. The corresponding C function is `posix_spawnp`.
    package static func start(_ words: [String], refusal: inout Int32) -> Running? {
        var ends: [Int32] = [0, 0]
        guard kiosk_pipe(&ends, 0) == 0 else {
            refusal = errno
            return nil
        }
        let reader = Descriptor(ends[0]), writer = Descriptor(ends[1])
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_adddup2(&actions, writer.raw, STDOUT_FILENO)
        posix_spawn_file_actions_adddup2(&actions, writer.raw, STDERR_FILENO)
        // In English, and without variables that could change what a program does as root.
        let environment = ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C"]
        var process = pid_t()
        let arguments = words.map { strdup($0) } + [nil]
        let variables = environment.map { strdup($0) } + [nil]
        defer { for text in arguments + variables { free(text) } }
        refusal = posix_spawnp(&process, words[0], &actions, nil, arguments, variables)
        return refusal == 0 ? Running(process: process, output: reader) : nil
    }

    /// Runs `words[0]`, from the system's folders, with the other words as its arguments, and waits for it. Keeps the last 64 KB or
    /// more of its standard output and error. The corresponding C functions are `posix_spawnp` and `waitpid`.
    package static func run(_ words: [String], limit: MediaTime) -> Outcome {
        var refusal: Int32 = 0
        guard let running = start(words, refusal: &refusal) else { return .refused(refusal) }
        let deadline = HostTime.now + limit
        let output = text(from: running.output.raw, until: deadline)
        var status: Int32 = 0
        while waitpid(running.process, &status, WNOHANG) == 0 {
            if deadline < .now {
                running.kill()
                return .killed
            }
            usleep(2000)
        }
        return status & 0x7F == 0 ? .ended((status >> 8) & 0xFF, output: output) : .killed
    }

    /// The bytes of the output that are kept at least.
    private static let kept = 65536

    /// Reads a pipe until all its writers have closed it, or the time is up. Returns the end of the text.
    private static func text(from descriptor: Int32, until deadline: HostTime) -> String {
        var text: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 4096)
        while true {
            let rest = (deadline - .now).seconds * 1000
            var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            let ready = rest > 0 ? poll(&request, 1, Int32(saturating: rest)) : 0
            if ready < 0, errno == EINTR { continue }
            let count = ready > 0 ? read(descriptor, &piece, piece.count) : 0
            if count <= 0 { break }
            text += piece[..<count]
            if text.count > 2 * kept { text.removeFirst(text.count - kept) }
        }
        return String(decoding: text, as: UTF8.self)
    }
}
