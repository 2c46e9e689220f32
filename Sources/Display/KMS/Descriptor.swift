import Glibc
import KioskPlatform

extension Descriptor {
    /// Opens a device, close-on-exec. The corresponding C function is `open`.
    static func open(_ path: String, _ flags: Int32 = O_RDWR) throws(DeviceError) -> Descriptor {
        guard let device = Descriptor(opening: path, flags) else { throw DeviceError("open \(path)") }
        return device
    }
}

/// A failed call to a device, by its meaning for the caller.
enum DeviceError: Error, CustomStringConvertible {
    /// The device is busy, or another program has it (EBUSY).
    case busy(Call)
    /// This process lacks the permission (EACCES, EPERM).
    case forbidden(Call)
    /// The device is not there, or no longer (ENOENT, ENODEV, ENXIO, EBADF).
    case absent(Call)
    /// The driver cannot do this (EINVAL, ERANGE, ENOSPC).
    case unsuitable(Call)
    case failed(Call)

    /// A failed call and its error.
    struct Call: CustomStringConvertible {
        /// The action and its object.
        var action: String
        var error: SystemError
        /// The changes of an atomic request.
        var changes: [AtomicRequest.Change] = []

        var description: String { "\(action): \(error)\(changes.isEmpty ? "" : " (\(changes.text))")" }
    }

    /// Creates an error from `errno`, or from the negative error number of a libdrm function. Reads `errno` before it evaluates `action`,
    /// as making a string can change it.
    init(_ action: @autoclosure () -> String, code: Int32 = errno, changes: [AtomicRequest.Change] = []) {
        let error = SystemError(abs(code))
        let call = Call(action: action(), error: error, changes: changes)
        self =
            switch error.code {
            case EBUSY: .busy(call)
            case EACCES, EPERM: .forbidden(call)
            case ENOENT, ENODEV, ENXIO, EBADF: .absent(call)
            case EINVAL, ERANGE, ENOSPC: .unsuitable(call)
            default: .failed(call)
            }
    }

    var call: Call {
        switch self {
        case .busy(let call), .forbidden(let call), .absent(let call), .unsuitable(let call), .failed(let call): call
        }
    }

    /// Whether the driver or the cable cannot do it; false if the card has gone or another program has it.
    var isRefusal: Bool {
        switch self {
        case .busy, .unsuitable, .failed: true
        case .forbidden, .absent: false
        }
    }

    var description: String { call.description }
}
