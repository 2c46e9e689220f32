import Glibc
import KioskPlatform
import KioskVocabulary

/// An input device as it is listed for an operator.
package struct InputDevice: Hashable, Sendable {
    /// `/dev/input/event3`.
    package var path: String
    /// What the device calls itself; nil when it may not be asked.
    package var name: String?
    /// Its name, where it is plugged in and its serial number, with blanks between them: what tells it from others. Empty when it may not
    /// be asked.
    package var identity = ""
    /// The same in its parts; nil when it may not be asked.
    package var parts: InputLock.Device?
    /// What it has that is of use: `touch screen, 10 fingers`, `24 keys`.
    package var abilities: String
    /// Whether it is read.
    package var isUsed: Bool
    /// Whether positions on it are positions on a display.
    package var isTouchScreen = false
    /// The display it is on, where udev says so (property WL_OUTPUT).
    package var output: String?
    /// Its calibration, where udev has one that is not the identity.
    package var calibration: String?
    /// Why it cannot be read and what to do about it.
    package var refusal: String?

    /// The devices there are now, in the kernel's order. Opens each for a moment; grabs none. `keys` are those of interest.
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

/// The evdev nodes of /dev/input, looked at again and again.
enum InputFolder {
    static let path = "/dev/input"

    /// A node at a moment: another device, or other permissions, make another node of the same path.
    struct Node: Hashable {
        var path: String
        var inode: UInt
        var changed: Int64

        /// The number in `event7`, by which nodes are sorted.
        var number: Int { Int(path.drop { !$0.isNumber }) ?? 0 }
    }

    /// The nodes there are now; none where there is no such folder.
    static func nodes() -> [Node] {
        Folder.entries(in: path).filter { $0.name.hasPrefix("event") }.map { name, status in
            Node(path: "\(path)/\(name)", inode: UInt(status.st_ino), changed: HostTime(status.st_ctim).nanoseconds)
        }.sorted { $0.number < $1.number }
    }
}
