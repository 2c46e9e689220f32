import CKioskDisplay
import Glibc
import KioskPlatform

/// Sends orders to a television: an adapter, or its stand-in in tests. Every call blocks, for seconds at worst.
protocol CECBus {
    /// Whether kiosk may set its physical address.
    var takesAddress: Bool { get }
    /// The connector that it belongs to; nil if the kernel does not know.
    var connector: CECPlace.Connector? { get }
    /// Returns its position in the tree of HDMI cables; 0xffff while unknown.
    func address() throws(DeviceError) -> UInt16
    func setAddress(_ address: UInt16) throws(DeviceError)
    /// Returns its logical address as a playback device.
    func claim() throws(DeviceError) -> UInt8
    /// Sends a message. With `reply`, returns the operand of the answer with that opcode.
    func send(_ message: [UInt8], reply: UInt8?) throws(DeviceError) -> UInt8
}

/// The place of a display that may be a television, for matching an adapter.
package struct CECPlace: Hashable, Sendable {
    struct Connector: Hashable, Sendable {
        /// The number of the DRM card, and the object id of the connector.
        var card: Int, id: UInt32
    }

    var connector: Connector
    /// The physical address in the display's EDID; nil if it has none.
    var address: UInt16?
}

/// An open `/dev/cecN`. The corresponding C functions are the ioctls of `linux/cec.h`.
final class CECAdapter: CECBus {
    private let path: String
    private let descriptor: Descriptor
    let takesAddress: Bool
    let connector: CECPlace.Connector?

    init(_ path: String) throws(DeviceError) {
        let descriptor = try Descriptor.open(path, O_RDWR)
        var takes: Int32 = 0, card: Int32 = -1, connector: UInt32 = 0
        guard kiosk_cec_look(descriptor.raw, &takes, &card, &connector) == 0 else { throw DeviceError("use \(path)") }
        (self.path, takesAddress) = (path, takes != 0)
        self.connector = card < 0 ? nil : CECPlace.Connector(card: Int(card), id: connector)
        self.descriptor = descriptor
    }

    func address() throws(DeviceError) -> UInt16 {
        var address: UInt16 = 0xffff
        guard kiosk_cec_get_address(descriptor.raw, &address) == 0 else { throw DeviceError("read the address of \(path)") }
        return address
    }

    func setAddress(_ address: UInt16) throws(DeviceError) {
        guard kiosk_cec_set_address(descriptor.raw, address) == 0 else { throw DeviceError("set the address of \(path)") }
    }

    func claim() throws(DeviceError) -> UInt8 {
        var logical: UInt8 = 0
        guard kiosk_cec_claim(descriptor.raw, "kiosk", &logical) == 0 else { throw DeviceError("claim an address on \(path)") }
        return logical
    }

    func send(_ message: [UInt8], reply: UInt8?) throws(DeviceError) -> UInt8 {
        var answer: UInt8 = 0
        guard kiosk_cec_send(descriptor.raw, message, Int32(message.count), reply ?? 0, &answer) == 0 else {
            throw DeviceError("reach the television by \(path)")
        }
        return answer
    }
}

extension CECPlace {
    /// Reads the physical address that a display's EDID assigns to the device on this connector, from its HDMI block (VSDB, HDMI 1.4,
    /// 8.3.2). nil if it has none. Pure.
    static func address(edid: [UInt8]) -> UInt16? {
        guard edid.count >= 256, edid.starts(with: [0, 255, 255, 255, 255, 255, 255, 0]) else { return nil }
        for block in stride(from: 128, to: edid.count - 127, by: 128) where edid[block] == 2 {
            var place = block + 4
            let end = block + min(Int(edid[block + 2]), 127)
            while place < end {
                let (tag, length) = (edid[place] >> 5, Int(edid[place] & 31))
                guard place + length < block + 128 else { break }
                if tag == 3, length >= 5, Array(edid[place + 1...place + 3]) == [0x03, 0x0c, 0x00] {
                    let address = UInt16(edid[place + 4]) << 8 | UInt16(edid[place + 5])
                    return address == 0xffff ? nil : address
                }
                place += length + 1
            }
        }
        return nil
    }
}
