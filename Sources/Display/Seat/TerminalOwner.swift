import CKioskDisplay
import Glibc
import KioskPlatform

/// Whether a virtual terminal is another program's screen, such as a desktop's. Pure but for ``look(_:_:)``.
///
/// A desktop, or logind for it, sets its terminal to graphics mode and has switches announced to itself (VT_PROCESS). So does kiosk; and
/// where it was killed together with its guard, that is what it leaves: nobody's, and to be taken over. The kernel knows who is to be told
/// of switches, but does not say. What it says is with which signal (VT_GETMODE). Whoever is told handles that signal, and has the terminal
/// open: a shell underneath does not handle it, a killed player has nothing open. Where processes of other users cannot be seen, or the
/// owner waits by sigwait(3), in which the kernel shows no blocked signal, there is one more sign: a terminal on the screen, while another
/// program is master of a graphics card, is that program's.
struct TerminalOwner {
    /// KD_GRAPHICS, and switches are announced to somebody (VT_PROCESS).
    var isTaken: Bool
    /// Those that have the terminal open and handle the signal that announces switches: `Xorg (pid 812)`.
    var listeners: [String]
    /// Whether the terminal is on the screen.
    var isActive: Bool
    /// Those that may be master of a card that has another master than us; empty where there is none.
    var masters: [String]

    /// Who has the terminal; nil when nobody has.
    var name: String? {
        guard isTaken else { return nil }
        if !listeners.isEmpty { return listeners.joined(separator: ", ") }
        return isActive && !masters.isEmpty ? masters.joined(separator: ", ") : nil
    }

    /// Reads the state of the terminal `fd`, which is at `path`. Opens every card for a moment, but only where nothing else decides.
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

    /// Whether a process with this `/proc/PID/status` catches a signal, or waits for it with signalfd(2), which it blocks it for. Guards of
    /// ours block all signals, and are nobody.
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
            // The first to open a card that nobody is master of is its master.
            guard let card = try? DRMCard.open(path), !card.isMaster else { continue }
            let holders = DeviceHolder.find(path)
            return holders.isEmpty ? ["a program that is master of \(path)"] : holders
        }
        return []
    }
}

/// When a terminal that was another program's is taken after all: when it is nobody's at two looks in a row, because a desktop
/// that changes users leaves its terminal for a moment. Pure.
struct TerminalWait {
    /// From one look to the next.
    static let interval = MediaTime.seconds(2)
    private var free: String?

    /// The terminal at `path` was looked at; whether to take it now.
    mutating func saw(_ path: String, owner: String?) -> Bool {
        guard owner == nil else {
            free = nil
            return false
        }
        defer { free = path }
        return free == path
    }
}
