import CKioskALSA
import Glibc

/// The reason why there is no sound. It never ends playback: an output stays silent and tries again.
enum AudioError: Error, Hashable, Sendable {
    /// The machine has no card with playback.
    case noCard
    /// libasound has no configuration; without it, it knows no device at all.
    case noLibraryConfiguration(folder: String)
    /// The device exists but did not open. `errno` is positive; `holder` is the process that has it open, if known.
    case cannotOpen(device: String, errno: Int32, holder: String?)
    /// The device opened and refused a configuration.
    case cannotConfigure(device: String, step: String, errno: Int32)
    /// The device offers no supported sample format.
    case noUsableFormat(device: String)
    /// The card vanished or failed while it played.
    case lost(device: String, operation: String, errno: Int32)
    /// The card takes frames but refuses to play them, or stops after each start.
    case doesNotStart(device: String, errno: Int32)
    /// The card takes frames, but its position does not move.
    case stalled(device: String)
    /// The device takes frames faster than time passes (ALSA's `null` and `file`).
    case keepsNoTime(device: String)
}

extension AudioError {
    /// Whether the next attempt would fail the same way until a device comes or goes.
    var isLasting: Bool { if case .keepsNoTime = self { true } else { false } }
}

extension AudioError: CustomStringConvertible {
    var description: String {
        switch self {
        case .noCard:
            "no sound card"
        case .noLibraryConfiguration(let folder):
            "\(folder)/alsa.conf is missing; install libasound2-data"
        case .cannotOpen(let device, EBUSY, let holder):
            "\(device) is in use by \(holder ?? "another process"); end it, or set [audio] device to another one"
        case .cannotOpen(let device, EACCES, _), .cannotOpen(let device, EPERM, _):
            "no permission to open \(device); add the user to the group audio"
        case .cannotOpen(let device, ENOENT, _), .cannotOpen(let device, ENODEV, _), .cannotOpen(let device, ENXIO, _):
            "there is no device \(device); `kiosk devices` lists the devices"
        case .cannotOpen(let device, let error, _):
            "cannot open \(device): \(reason(error))"
        case .cannotConfigure(let device, let step, let error):
            "\(device) refuses \(step): \(reason(error))"
        case .noUsableFormat(let device):
            "\(device) takes none of \(SampleFormat.allCases.map(\.name).joined(separator: ", "))"
        case .lost(let device, _, ENODEV), .lost(let device, _, EBADF):
            "\(device) was unplugged"
        case .lost(let device, let operation, let error):
            "\(device) failed in \(operation): \(reason(error))"
        case .doesNotStart(let device, let error):
            "\(device) does not start: \(reason(error))"
        case .stalled(let device):
            "\(device) has stopped moving"
        case .keepsNoTime(let device):
            "\(device) is not a sound card: it takes sound faster than time passes; for silence set [audio] device to \"off\""
        }
    }

    private func reason(_ errno: Int32) -> String { String(cString: snd_strerror(-errno)) }
}
