import Glibc
import KioskPlatform
import KioskVocabulary

/// An input device in a listing for operators.
package struct InputDevice: Hashable, Sendable {
    /// `/dev/input/event3`.
    package var path: String
    /// The name that the device reports; nil if the node does not open.
    package var name: String?
    /// Its name, place and serial number, separated by blanks, which distinguish it from other devices. Empty if the node does not open.
    package var identity = ""
    /// The same in parts; nil if the node does not open.
    package var parts: InputLock.Device?
    /// Its abilities that kiosk uses: `touch screen, 10 fingers; 24 keys`.
    package var abilities: String
    /// Whether kiosk reads it.
    package var isUsed: Bool
    /// Whether its positions are positions on a display.
    package var isTouchScreen = false
    /// Its display, if udev has one (property WL_OUTPUT).
    package var output: String?
    /// Its calibration, if udev has one other than the identity.
    package var calibration: String?
    /// The reason why it cannot be read, and the remedy.
    package var refusal: String?

    /// Returns the devices present now, in the kernel's order. Opens each for a moment; grabs none. `keys` are the keys of interest.
    package static func all(keys: Set<KeyCode>) -> [InputDevice] {
        InputFolder.nodes().map { node in
            do throws(EvdevDevice.OpenError) {
                let device = try EvdevDevice.open(node.path, keys: keys)
                let properties = DeviceProperties.of(node.path, names: EvdevDevice.propertyNames) ?? [:]
                let matrix = properties[EvdevDevice.calibrationProperty].flatMap { CalibrationMatrix($0) }
                return InputDevice(
                    path: node.path, name: device.name, identity: device.identity, parts: device.lockDevice,
                    abilities: device.abilities.description,
                    isUsed: device.abilities.isUsed,
                    isTouchScreen: device.abilities.surface == .display && device.abilities.contacts != .none,
                    output: properties[EvdevDevice.outputProperty],
                    calibration: matrix.flatMap { $0 == .identity ? nil : $0.description })
            } catch {
                return InputDevice(path: node.path, name: nil, abilities: "", isUsed: false, refusal: error.description)
            }
        }
    }
}

/// The evdev nodes in /dev/input, for repeated listings.
enum InputFolder {
    static let path = "/dev/input"

    /// A node at one instant: another device, or other permissions, make another node with the same path.
    struct Node: Hashable {
        var path: String
        var inode: UInt
        var changed: Int64

        /// The number in `event7`, the sort key of nodes.
        var number: Int { Int(path.drop { !$0.isNumber }) ?? 0 }
    }

    /// Returns the nodes present now; empty if the folder does not exist.
    static func nodes() -> [Node] {
        Folder.entries(in: path).filter { $0.name.hasPrefix("event") }.map { name, status in
            Node(path: "\(path)/\(name)", inode: UInt(status.st_ino), changed: HostTime(status.st_ctim).nanoseconds)
        }.sorted { $0.number < $1.number }
    }
}
