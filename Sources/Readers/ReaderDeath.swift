import CReader
import CSandbox
import Glibc
import KioskMedia
import KioskPlatform
import KioskReaderProtocol

/// Why a reader is no more.
package enum ReaderDeath: Error, Hashable, Sendable, CustomStringConvertible {
    /// A signal that the player has not sent, and the system call that the sandbox has ended it for.
    case crashed(signal: Int32, call: String? = nil)
    /// It has called exit(3).
    case exited(Int32)
    /// What it said cannot be.
    case lied(ReaderLie)
    /// It made no progress for so long.
    case stalled(seconds: Double)
    /// What it reads from gave nothing for so long.
    case silent(seconds: Double)
    /// It has closed its socket, and goes on.
    case hungUp
    /// Its zygote has ended.
    case lost

    /// What has become of it, for a line about its source.
    package var description: String { told(of: "decoder") }

    /// The same of what is called otherwise.
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

    /// By how a process has ended, and what its sandbox tells.
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
