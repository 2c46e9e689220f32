import Glibc
import KioskCaptureCore
import KioskMedia

/// The reason why a camera or a microphone cannot be used, or why there is no film.
public struct CaptureError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of a reason: those of AVError, where it has one.
    public enum Code: Hashable, Sendable {
        /// The machine has no such device.
        case deviceNotConnected
        /// Somebody has pulled the device out, or it gives no more pictures.
        case deviceWasDisconnected
        /// The user of the process may not open the device.
        case applicationIsNotAuthorizedToUseDevice
        /// Another process uses the device.
        case deviceInUseByAnotherApplication
        /// The camera does not offer the format, or none of its formats can be read.
        case formatUnsupported
        /// A call of the driver has failed.
        case deviceFailed
        /// The disk has too little space, or has become full.
        case diskFull
        /// A file of that name exists.
        case fileAlreadyExists
        /// The file cannot be written: permissions, its folder, its name.
        case cannotWrite
        /// The encoder is missing, or has failed.
        case encoderFailed
        /// The recording has ended before its first picture.
        case noDataCaptured
        /// The session does not run.
        case sessionNotRunning
        /// The session or the output cannot do this in its present state.
        case operationNotAllowed
    }

    /// The kind of the reason.
    public let code: Code
    /// The attempt, the cause of its failure and the remedy: for people.
    public let description: String

    init(_ code: Code, _ description: String) { (self.code, self.description) = (code, description) }

    init(_ error: KioskCaptureCore.CaptureError) {
        // The engine's texts for these name options of the command.
        switch error {
        case .noCamera: self.init(.deviceNotConnected, "there is no camera: plug one in")
        case .notACamera(let path, []): self.init(.deviceNotConnected, "\(path) is not a camera: plug one in")
        case .noMicrophone:
            self.init(.deviceNotConnected, "there is no microphone: plug one in, or record without sound: add no audio input")
        case .cannotOpenMicrophone(let name, ENOENT, _), .cannotOpenMicrophone(let name, ENODEV, _),
            .cannotOpenMicrophone(let name, ENXIO, _):
            self.init(.deviceNotConnected, "there is no microphone \(name): plug it in, or choose another one")
        case .outputExists(let path): self.init(.fileAlreadyExists, "\(path): is there already: name another file, or replace it")
        default: self.init(Self.code(of: error), error.description)
        }
    }

    private static func code(of error: KioskCaptureCore.CaptureError) -> Code {
        switch error {
        case .noCamera, .noSuchCamera, .notACamera, .noMicrophone: .deviceNotConnected
        case .cannotOpenCamera(_, let errno, _), .cannotOpenMicrophone(_, let errno, _):
            switch errno {
            case EACCES, EPERM: .applicationIsNotAuthorizedToUseDevice
            case EBUSY: .deviceInUseByAnotherApplication
            case ENOENT, ENODEV, ENXIO: .deviceNotConnected
            default: .deviceFailed
            }
        case .formatNotOffered, .noUsableFormat: .formatUnsupported
        case .cameraFailed, .cannotConfigureMicrophone: .deviceFailed
        case .cameraUnplugged, .cameraStopped: .deviceWasDisconnected
        case .noSpace, .diskFull: .diskFull
        case .outputExists: .fileAlreadyExists
        case .film(let error):
            switch error.reason {
            case .noEncoder, .encoderFailed, .unsupportedPicture: .encoderFailed
            case .noSpace: .diskFull
            case .noFolder, .permissionDenied, .isReadOnly, .isBeingWritten, .isDirectory, .isNoFile, .cannotWrite, .unreadable:
                .cannotWrite
            }
        case .nothingRecorded: .noDataCaptured
        }
    }
}
