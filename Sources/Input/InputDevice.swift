/// An input device as it is listed for an operator.
package struct InputDevice: Hashable, Sendable {
    /// `/dev/input/event3`.
    package var path: String
    /// What the device calls itself; nil when it may not be asked.
    package var name: String?
    /// What it has that is of use: `touch screen, 10 fingers`, `24 keys`.
    package var abilities: String
    /// Whether it is read.
    package var isUsed: Bool
    /// Why it cannot be read and what to do about it.
    package var refusal: String?

    /// The devices there are now, in the kernel's order. Opens each for a moment; grabs none. `keys` are those of interest.
    package static func all(keys: Set<KeyCode>) -> [InputDevice] {
        InputFolder.nodes().map { node in
            do throws(EvdevDevice.OpenError) {
                let device = try EvdevDevice.open(node.path, keys: keys)
                return InputDevice(
                    path: node.path, name: device.name, abilities: device.abilities.description, isUsed: device.abilities.isUsed)
            } catch {
                return InputDevice(path: node.path, name: nil, abilities: "", isUsed: false, refusal: error.description)
            }
        }
    }
}
