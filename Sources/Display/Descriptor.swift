import Glibc
import KioskPlatform

extension Descriptor {
    /// Opens a device, close-on-exec. The corresponding C function is `open`.
    static func open(_ path: String, _ flags: Int32 = O_RDWR) throws(DeviceError) -> Descriptor {
        guard let device = Descriptor(opening: path, flags) else { throw DeviceError("open \(path)") }
        return device
    }
}

/// A call to a device that failed.
struct DeviceError: Error, CustomStringConvertible {
    /// What was being done to what.
    var action: String
    /// The C error number.
    var code: Int32
    /// What an atomic request asked for.
    var changes: [AtomicRequest.Change] = []

    /// With `errno`, or with the negative error number that libdrm's functions return. `errno` is read before `action` is evaluated: to
    /// make a string can change it.
    init(_ action: @autoclosure () -> String, code: Int32 = errno, changes: [AtomicRequest.Change] = []) {
        self.code = abs(code)
        self.action = action()
        self.changes = changes
    }

    var description: String {
        let asked = changes.isEmpty ? "" : " (\(changes.text))"
        return "\(action): \(SystemError(code))\(asked)"
    }
}
