import CKioskDisplay
import Glibc
import KioskPlatform

/// Decides whether another program, such as a desktop, has a virtual terminal. Pure except for ``look(_:_:isActive:)``.
///
/// A desktop, or logind for it, sets its terminal to graphics mode and requests signals for switches (VT_PROCESS). So does kiosk. If kiosk
/// and its guard are killed, they leave the terminal like that; it then belongs to nobody, and kiosk may take it over. The kernel knows the
/// process that it signals, but reports only the signal (VT_GETMODE). An owner handles that signal and has the terminal open. A shell
/// underneath does not handle it, and a killed player has nothing open.
///
/// There is one more sign, for processes of other users that kiosk cannot see. It also covers an owner that waits by sigwait(3), where the
/// kernel shows no blocked signal. If the terminal is on the screen while another program is master of a graphics card, that program has
/// the terminal.
struct TerminalOwner {
    /// Whether the mode is KD_GRAPHICS, and switches are signalled to a process (VT_PROCESS).
    var isTaken: Bool
    /// The processes that have the terminal open and handle the signal for switches: `Xorg (pid 812)`.
    var listeners: [String]
    /// Whether the terminal is on the screen.
    var isActive: Bool
    /// The possible masters of a card with a foreign master; empty if there is none.
    var masters: [String]

    /// The owner of the terminal; nil if there is none.
    var name: String? {
        guard isTaken else { return nil }
        if !listeners.isEmpty { return listeners.joined(separator: ", ") }
        return isActive && !masters.isEmpty ? masters.joined(separator: ", ") : nil
    }

    /// Reads the state of the terminal `fd` at `path`. Opens every card for a moment, but only if nothing else decides.
    static func look(_ fd: Int32, _ path: String, isActive: Bool) throws(DeviceError) -> TerminalOwner {
        var (kind, switching) = (Int32(0), vt_mode())
        guard ioctl(fd, UInt(KDGETMODE), &kind) == 0, ioctl(fd, UInt(VT_GETMODE), &switching) == 0 else {
            throw DeviceError("read the state of \(path)")
        }
        var owner = TerminalOwner(
            isTaken: kind == KD_GRAPHICS && Int32(switching.mode) == VT_PROCESS, listeners: [], isActive: isActive, masters: [])
        guard owner.isTaken else { return owner }
        owner.listeners = DeviceHolder.processes(thatHaveOpen: path).filter { process in
            guard let status = SmallFile.text("/proc/\(process)/status") else { return false }
            return handles(Int(switching.relsig), status)
        }.map { DeviceHolder.name(ofProcess: Int($0)) }
        if owner.listeners.isEmpty, isActive { owner.masters = foreignMasters() }
        return owner
    }

    /// Whether a process with this `/proc/PID/status` catches a signal, or blocks it to wait for it with signalfd(2). kiosk's guards block
    /// all signals and do not count.
    static func handles(_ signal: Int, _ status: String) -> Bool {
        var handled: UInt64 = 0
        for line in status.split(separator: "\n") {
            let parts = line.split(whereSeparator: \.isWhitespace)
            guard parts.count == 2 else { continue }
            if parts[0] == "Name:", parts[1] == "kiosk-vt-guard" { return false }
            if parts[0] == "SigBlk:" || parts[0] == "SigCgt:" { handled |= UInt64(parts[1], radix: 16) ?? 0 }
        }
        return (1...64).contains(signal) && handled & (1 << UInt64(signal - 1)) != 0
    }

    private static func foreignMasters() -> [String] {
        for path in DRMCard.paths() {
            // The first program to open a card without a master becomes its master.
            guard let card = try? DRMCard.open(path), !card.isMaster else { continue }
            let holders = DeviceHolder.find(path)
            return holders.isEmpty ? ["a program that is master of \(path)"] : holders
        }
        return []
    }
}

/// Decides when to take a terminal that another program had: once two looks in a row find it free. A desktop that changes users leaves its
/// terminal for a moment. Pure.
struct TerminalWait {
    /// The time between two looks.
    static let interval = MediaTime.seconds(2)
    private var free: String?

    /// Records a look at the terminal at `path`. Returns whether to take it now.
    mutating func saw(_ path: String, owner: String?) -> Bool {
        guard owner == nil else {
            free = nil
            return false
        }
        defer { free = path }
        return free == path
    }
}
