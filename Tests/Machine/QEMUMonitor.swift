/// What hangs at the machine's virtio-gpu. A VNC viewer that asks for another size (RFC 6143 and its message SetDesktopSize) is to QEMU
/// another monitor: the guest's driver gets a hot-plug event, and the size as the preferred mode. No size at all is no monitor.
/// The size that QEMU was asked for last changes nothing, and no size at all nothing at the start.
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
        // Security type: none. Its result; then we share the screen with other viewers.
        try vnc.write([1])
        _ = try vnc.read(4, within: 10)
        try vnc.write([1])
        let initialisation = try vnc.read(24, within: 10)
        _ = try vnc.read(Int(number(initialisation[20...])), within: 10)
        // SetEncodings: raw, ExtendedDesktopSize; without the latter QEMU takes no sizes.
        try vnc.write([2, 0, 0, 2, 0, 0, 0, 0] + bytes(UInt32(bitPattern: -308)))
        // SetDesktopSize with a single screen: id and place, size, flags
        let zero: [UInt8] = [0, 0, 0, 0]
        try vnc.write([251, 0] + bytes(width) + bytes(height) + [1, 0] + zero + zero + bytes(width) + bytes(height) + zero)
        // QEMU says that it has done so, after the picture's new size.
        _ = try vnc.read(4, within: 10)
    }

    private func bytes(_ value: UInt32) -> [UInt8] { withUnsafeBytes(of: value.bigEndian, Array.init) }
    private func bytes(_ value: UInt16) -> [UInt8] { withUnsafeBytes(of: value.bigEndian, Array.init) }
    private func number(_ bytes: some Sequence<UInt8>) -> UInt32 { bytes.reduce(0) { $0 << 8 | UInt32($1) } }
}
