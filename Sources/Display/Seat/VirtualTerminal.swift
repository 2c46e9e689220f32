import CKioskDisplay
import Glibc
import KioskPlatform
import Logging

/// The virtual terminal the screen belongs to, taken from the console: graphics mode (the console draws nothing over the picture and does
/// not blank it), its keyboard off (keys reach evdev only), and VT switches announced to us, so that the card's master can be
/// handed over and taken back. All of it is put back when the value goes, and by a guard process should this one be killed: to text, and to
/// switches that the kernel makes alone, whatever was there.
struct VirtualTerminal: ~Copyable {
    /// `/dev/tty1`.
    let path: String
    private let descriptor: Descriptor
    private let released = WakeUp()
    private let acquired = WakeUp()
    private let formerKeyboard: Int32
    private let guardPipe: Int32
    private let guardProcess: pid_t

    /// Whether the VT is on the screen now.
    var isActive: Bool { Self.active(descriptor.raw) == Self.number(descriptor.raw) }
    /// Readable when ``releaseWanted()`` is true.
    var releaseDescriptor: Int32 { released.descriptor }
    /// Readable when ``hasComeBack()`` is true.
    var acquireDescriptor: Int32 { acquired.descriptor }

    /// The VT on standard input, else the one on the screen, and who has it (``TerminalOwner``); nil where nobody has.
    static func look() throws(DeviceError) -> (path: String, owner: String?) {
        let descriptor = try open()
        let number = number(descriptor.raw)!
        let path = "/dev/tty\(number)"
        return (path, try TerminalOwner.look(descriptor.raw, path, isActive: active(descriptor.raw) == number).name)
    }

    private static func open() throws(DeviceError) -> Descriptor {
        let descriptor: Descriptor
        if let number = number(STDIN_FILENO) {
            // Not a duplicate: standard input may be open for reading only.
            descriptor = try Descriptor.open("/dev/tty\(number)", O_RDWR | O_NOCTTY)
        } else {
            let console = try Descriptor.open("/dev/tty0", O_RDWR | O_NOCTTY)
            guard let number = active(console.raw) else { throw DeviceError("find the active VT") }
            descriptor = try Descriptor.open("/dev/tty\(number)", O_RDWR | O_NOCTTY)
        }
        guard number(descriptor.raw) != nil else { throw DeviceError("take the VT, which is none", code: ENOTTY) }
        return descriptor
    }

    /// Takes the VT that ``look()`` has found to be nobody's; brings it to the screen if it is not there.
    /// Call it while no card is open: the guard process must not inherit one.
    static func take() throws(DeviceError) -> VirtualTerminal {
        let descriptor = try open()
        let number = number(descriptor.raw)!
        let path = "/dev/tty\(number)"

        var keyboard: Int32 = 0
        guard ioctl(descriptor.raw, UInt(KDGKBMODE), &keyboard) == 0 else { throw DeviceError("read the state of \(path)") }
        // What a player that was killed together with its guard left behind is not a state to go back to: no keyboard, as graphics mode and
        // switches announced to a process that is gone are not.
        if keyboard == K_OFF { keyboard = K_UNICODE }

        var process: pid_t = 0
        let pipe = kiosk_vt_guard_start(descriptor.raw, path, KD_TEXT, keyboard, &process)
        if pipe < 0 { throw DeviceError("start the guard process of \(path)") }
        let terminal = VirtualTerminal(
            path: path, descriptor: descriptor, formerKeyboard: keyboard, guardPipe: pipe, guardProcess: process)
        // Should one of these fail, the value goes, and puts back what the others did.
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

    /// Whether the VT is asked to leave the screen; to be answered with ``release()`` soon, because the switch waits for it.
    func releaseWanted() -> Bool { released.drain() }

    /// Lets the switch happen.
    func release() { _ = ioctl(descriptor.raw, UInt(VT_RELDISP), Int32(1)) }

    /// Whether the VT has come back to the screen, and is there still. The kernel waits for no answer to that; an
    /// acknowledgement (VT_ACKACQ) that crosses its next request to leave would be taken for the answer to it.
    func hasComeBack() -> Bool { acquired.drain() && isActive }

    /// The number of the VT that `fd` is; nil when it is none.
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
