import CReader
import CSandbox
import Glibc
import KioskMedia
import KioskPlatform
import KioskReaderProtocol

/// The reason why a reader has ended.
package enum ReaderDeath: Error, Hashable, Sendable, CustomStringConvertible {
    /// A signal that the player has not sent, and the system call for which the sandbox ended it.
    case crashed(signal: Int32, call: String? = nil)
    /// It called exit(3).
    case exited(Int32)
    /// It sent something impossible.
    case lied(ReaderLie)
    /// It made no progress for this time.
    case stalled(seconds: Double)
    /// Its source gave nothing for this time.
    case silent(seconds: Double)
    /// It closed its socket, and still runs.
    case hungUp
    /// Its zygote has ended.
    case lost

    /// The reason in words, for a line about its source.
    package var description: String { told(of: "decoder") }

    /// The same for another name of the process.
    func told(of part: String) -> String {
        switch self {
        case .crashed(SIGSYS, let call): "its \(part) was ended: it called \(call ?? "the system"), which it may not"
        case .crashed(SIGKILL, _): "its \(part) was ended by the system: it may have taken too much memory"
        case .crashed(let signal, _): "its \(part) crashed (\(Self.name(of: signal)))"
        case .exited(let status): "its \(part) ended by itself (status \(status))"
        case .lied(let lie): "its \(part) was ended: it \(lie)"
        case .silent(let seconds): MediaError.Reason.timedOut(seconds: seconds).text
        case .stalled(let seconds): "its \(part) made no progress for \(Int(saturating: seconds)) s"
        case .hungUp: "its \(part) was ended: it closed its socket"
        case .lost: "the program that reads it was ended"
        }
    }

    /// `SIGSEGV`.
    private static func name(of signal: Int32) -> String {
        kiosk_signal_name(signal).map { "SIG" + String(cString: $0) } ?? "signal \(signal)"
    }

    /// Creates the reason from the exit status of a process and the report of its sandbox.
    init(_ exit: ReaderExit?, _ refusals: kiosk_sandbox_refusals?) {
        switch exit {
        case .exited(let status): self = .exited(status)
        case .signalled(let signal):
            let call = refusals.flatMap { $0.worst >= 0 ? kiosk_sandbox_call_name($0.worst).map { String(cString: $0) } : nil }
            self = .crashed(signal: signal, call: call)
        case nil: self = .hungUp
        case .lost: self = .lost
        }
    }
}
