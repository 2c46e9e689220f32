import CKioskDisplay
import Glibc
import KioskPlatform
import Logging

/// The virtual terminal of the screen, taken from the console. It is in graphics mode, so the console neither draws over the picture nor
/// blanks it. Its keyboard is off: keys reach evdev only. The kernel announces VT switches to kiosk, which hands over the card's master and
/// takes it back.
///
/// The end of the value restores all of it. If kiosk is killed, a guard process does, to text mode and to switches by the kernel alone,
/// whatever was there before.
struct VirtualTerminal: ~Copyable {
    /// `/dev/tty1`.
    let path: String
    private let descriptor: Descriptor
    private let released = WakeUp()
    private let acquired = WakeUp()
    private let formerKeyboard: Int32
    private let guardPipe: Int32
    private let guardProcess: pid_t

    /// Whether the VT is on the screen.
    var isActive: Bool { Self.active(descriptor.raw) == Self.number(descriptor.raw) }
    /// Readable when ``releaseWanted()`` is true.
    var releaseDescriptor: Int32 { released.descriptor }
    /// Readable when ``hasComeBack()`` is true.
    var acquireDescriptor: Int32 { acquired.descriptor }

    /// Returns the VT on standard input, else the one on the screen, with its owner (``TerminalOwner``); nil if it has none.
    static func look() throws(DeviceError) -> (path: String, owner: String?) {
        let descriptor = try open()
        let number = number(descriptor.raw)!
        let path = "/dev/tty\(number)"
        return (path, try TerminalOwner.look(descriptor.raw, path, isActive: active(descriptor.raw) == number).name)
    }

    private static func open() throws(DeviceError) -> Descriptor {
        let descriptor: Descriptor
        if let number = number(STDIN_FILENO) {
            // Not a duplicate: standard input may be read-only.
            descriptor = try Descriptor.open("/dev/tty\(number)", O_RDWR | O_NOCTTY)
        } else {
            let console = try Descriptor.open("/dev/tty0", O_RDWR | O_NOCTTY)
            guard let number = active(console.raw) else { throw DeviceError("find the active VT") }
            descriptor = try Descriptor.open("/dev/tty\(number)", O_RDWR | O_NOCTTY)
        }
        guard number(descriptor.raw) != nil else { throw DeviceError("take the VT, which is none", code: ENOTTY) }
        return descriptor
    }

    /// Takes the VT that ``look()`` found free; brings it to the screen if it is not there. Call it while no card is open: the guard
    /// process must not inherit one.
    static func take() throws(DeviceError) -> VirtualTerminal {
        let descriptor = try open()
        let number = number(descriptor.raw)!
        let path = "/dev/tty\(number)"

        var keyboard: Int32 = 0
        guard ioctl(descriptor.raw, UInt(KDGKBMODE), &keyboard) == 0 else { throw DeviceError("read the state of \(path)") }
        // A player that was killed together with its guard leaves the keyboard off. Do not restore that, nor graphics mode, nor switches
        // announced to a dead process.
        if keyboard == K_OFF { keyboard = K_UNICODE }

        var process: pid_t = 0
        let pipe = kiosk_vt_guard_start(descriptor.raw, path, KD_TEXT, keyboard, &process)
        if pipe < 0 { throw DeviceError("start the guard process of \(path)") }
        let terminal = VirtualTerminal(
            path: path, descriptor: descriptor, formerKeyboard: keyboard, guardPipe: pipe, guardProcess: process)
        // If one of these fails, the end of the value restores the others.
        guard terminal.releaseDescriptor >= 0, terminal.acquireDescriptor >= 0 else {
            throw DeviceError("watch for switches of \(path)", code: EMFILE)
        }
        guard ioctl(terminal.descriptor.raw, UInt(KDSETMODE), KD_GRAPHICS) == 0 else { throw DeviceError("set \(path) to graphics mode") }
        guard ioctl(terminal.descriptor.raw, UInt(KDSKBMODE), K_OFF) == 0 else { throw DeviceError("switch off the keyboard of \(path)") }
        kiosk_vt_catch_signals(terminal.releaseDescriptor, terminal.acquireDescriptor)
        var ours = vt_mode()
        ours.mode = CChar(VT_PROCESS)
        ours.relsig = Int16(kiosk_vt_release_signal())
        ours.acqsig = Int16(kiosk_vt_acquire_signal())
        guard ioctl(terminal.descriptor.raw, UInt(VT_SETMODE), &ours) == 0 else { throw DeviceError("watch for switches of \(path)") }
        if !terminal.isActive { _ = ioctl(terminal.descriptor.raw, UInt(VT_ACTIVATE), number) }
        return terminal
    }

    deinit {
        var switching = vt_mode()
        switching.mode = CChar(VT_AUTO)
        _ = ioctl(descriptor.raw, UInt(KDSKBMODE), formerKeyboard)
        _ = ioctl(descriptor.raw, UInt(KDSETMODE), KD_TEXT)
        _ = ioctl(descriptor.raw, UInt(VT_SETMODE), &switching)
        kiosk_vt_catch_signals(-1, -1)
        kiosk_vt_guard_stop(guardPipe, guardProcess)
    }

    /// Whether the kernel asks the VT to leave the screen. Answer soon with ``release()``, because the switch waits for it.
    func releaseWanted() -> Bool { released.drain() }

    /// Allows the switch.
    func release() { _ = ioctl(descriptor.raw, UInt(VT_RELDISP), Int32(1)) }

    /// Whether the VT has come back to the screen and is still there. The kernel waits for no answer to that. An acknowledgement
    /// (VT_ACKACQ) could cross its next request to leave and count as the answer to it.
    func hasComeBack() -> Bool { acquired.drain() && isActive }

    /// Returns the number of the VT `fd`; nil if it is none.
    private static func number(_ fd: Int32) -> Int32? {
        var status = stat()
        guard fstat(fd, &status) == 0, status.st_mode & S_IFMT == S_IFCHR else { return nil }
        let device = UInt64(status.st_rdev)
        let (major, minor) = (device >> 8 & 0xfff, device & 0xff | device >> 12 & 0xfff00)
        return major == 4 && (1...63).contains(minor) ? Int32(minor) : nil
    }

    private static func active(_ fd: Int32) -> Int32? {
        var state = vt_stat()
        return ioctl(fd, UInt(VT_GETSTATE), &state) == 0 ? Int32(state.v_active) : nil
    }
}
