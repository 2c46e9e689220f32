/// The monitor of the machine's virtio-gpu. If a VNC viewer requests another size (RFC 6143 and its message SetDesktopSize), QEMU treats
/// that as another monitor: the guest's driver gets a hot-plug event, and the size as preferred mode. A size of zero means no monitor.
/// Requesting the current size again has no effect, nor has zero at the start.
struct QEMUMonitor {
    let socket: String

    func unplug() throws { try resize(0, 0) }

    func plug(_ width: UInt16, _ height: UInt16) throws { try resize(width, height) }

    private func resize(_ width: UInt16, _ height: UInt16) throws {
        let vnc = try UnixSocket(socket)
        _ = try vnc.read(12, within: 10)
        try vnc.write("RFB 003.008\n".utf8)
        let kinds = try vnc.read(1, within: 10)
        _ = try vnc.read(Int(kinds[0]), within: 10)
        // Security type none, its result, then a shared session.
        try vnc.write([1])
        _ = try vnc.read(4, within: 10)
        try vnc.write([1])
        let initialisation = try vnc.read(24, within: 10)
        _ = try vnc.read(Int(number(initialisation[20...])), within: 10)
        // SetEncodings: raw, ExtendedDesktopSize. Without the latter, QEMU accepts no sizes.
        try vnc.write([2, 0, 0, 2, 0, 0, 0, 0] + bytes(UInt32(bitPattern: -308)))
        // SetDesktopSize with a single screen: id and place, size, flags
        let zero: [UInt8] = [0, 0, 0, 0]
        try vnc.write([251, 0] + bytes(width) + bytes(height) + [1, 0] + zero + zero + bytes(width) + bytes(height) + zero)
        // QEMU confirms it after sending the new size of the picture.
        _ = try vnc.read(4, within: 10)
    }

    private func bytes(_ value: UInt32) -> [UInt8] { withUnsafeBytes(of: value.bigEndian, Array.init) }
    private func bytes(_ value: UInt16) -> [UInt8] { withUnsafeBytes(of: value.bigEndian, Array.init) }
    private func number(_ bytes: some Sequence<UInt8>) -> UInt32 { bytes.reduce(0) { $0 << 8 | UInt32($1) } }
}
