import Glibc
import KioskPlatform

extension Descriptor {
    /// Opens a device, close-on-exec. The corresponding C function is `open`.
    static func open(_ path: String, _ flags: Int32 = O_RDWR) throws(DeviceError) -> Descriptor {
        guard let device = Descriptor(opening: path, flags) else { throw DeviceError("open \(path)") }
        return device
    }
}

/// A call to a device that failed, by what that means to the one who made it.
enum DeviceError: Error, CustomStringConvertible {
    /// Something is under way there, or somebody else has it (EBUSY).
    case busy(Call)
    /// This process may not (EACCES, EPERM).
    case forbidden(Call)
    /// There is none, or none any more (ENOENT, ENODEV, ENXIO, EBADF).
    case absent(Call)
    /// The driver does not do just that (EINVAL, ERANGE, ENOSPC).
    case unsuitable(Call)
    case failed(Call)

    /// A call, and what became of it.
    struct Call: CustomStringConvertible {
        /// What was being done to what.
        var action: String
        var error: SystemError
        /// What an atomic request asked for.
        var changes: [AtomicRequest.Change] = []

        var description: String { "\(action): \(error)\(changes.isEmpty ? "" : " (\(changes.text))")" }
    }

    /// With `errno`, or with the negative error number that libdrm's functions return. `errno` is read before `action` is evaluated: to
    /// make a string can change it.
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

    /// Whether it is the driver, or the cable, that does not do it: not that somebody else has the card, or that it has gone.
    var isRefusal: Bool {
        switch self {
        case .busy, .unsuitable, .failed: true
        case .forbidden, .absent: false
        }
    }

    var description: String { call.description }
}
