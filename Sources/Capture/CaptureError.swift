import Glibc
import KioskMedia
import KioskPlatform
import KioskVocabulary

/// The reason why a recording fails or ends, for the person who wants it.
package enum CaptureError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The machine has no camera.
    case noCamera
    /// There is no camera of this name or position; `available` lists those that exist.
    case noSuchCamera(String, available: [String])
    /// The device exists, but is no camera.
    case notACamera(String, available: [String])
    /// The device cannot be opened, or its driver refuses to stream now. `holders` have it open.
    case cannotOpenCamera(String, errno: Int32, holders: [String])
    /// The camera does not offer this size or rate; `offered` lists its formats.
    case formatNotOffered(camera: String, wanted: String, offered: String)
    /// None of the camera's formats is readable.
    case noUsableFormat(camera: String, codes: [String])
    /// A driver call failed.
    case cameraFailed(String, step: String, errno: Int32)
    /// The camera was unplugged.
    case cameraUnplugged(String)
    /// The camera sends no more pictures.
    case cameraStopped(String)

    /// The machine has no capture card.
    case noMicrophone
    /// The device cannot be opened. `holder` is already recording from it; nil if unknown.
    case cannotOpenMicrophone(String, errno: Int32, holder: String?)
    /// The device opened, but refused a configuration.
    case cannotConfigureMicrophone(String, step: String, errno: Int32)

    /// The disk has less space than the recording needs.
    case noSpace(path: String, needed: ByteCount, free: ByteCount)
    /// The disk has become full during the recording.
    case diskFull(path: String)
    /// The file exists already.
    case outputExists(String)
    /// The file cannot be written, or the video cannot be encoded.
    case film(FilmError)
    /// The recording ended before the first picture.
    case nothingRecorded

    package var description: String {
        switch self {
        case .noCamera: "there is no camera: plug one in; `kiosk devices` lists the cameras"
        case .noSuchCamera(let name, let available): "there is no camera \(name); there are \(available.joined(separator: ", "))"
        case .notACamera(let path, let available):
            "\(path) is not a camera"
                + (available.isEmpty
                    ? ": plug one in; `kiosk devices` lists the cameras" : "; there are \(available.joined(separator: ", "))")
        case .cannotOpenCamera(let path, EACCES, _), .cannotOpenCamera(let path, EPERM, _):
            "no permission to open \(path): add the user to the group video"
        case .cannotOpenCamera(let path, EBUSY, let holders):
            "\(path) is in use by \(holders.isEmpty ? "another process" : holders.joined(separator: ", ")): end it, or choose another camera"
        case .cannotOpenCamera(let path, let error, _): "cannot open \(path): \(Self.text(error))"
        case .formatNotOffered(let camera, let wanted, let offered): "\(camera) does not offer \(wanted); it offers \(offered)"
        case .noUsableFormat(let camera, let codes):
            "\(camera) gives pictures only as \(codes.joined(separator: ", ")), which cannot be read: "
                + "it needs the software of its maker, or libcamera"
        case .cameraFailed(let path, let step, let error): "\(path) refuses \(step): \(Self.text(error))"
        case .cameraUnplugged(let path): "\(path) was unplugged"
        case .cameraStopped(let path): "\(path) gives no pictures any more: unplug it and plug it in again"
        case .noMicrophone: "there is no microphone: plug one in, or record without sound with --microphone off"
        case .cannotOpenMicrophone(let name, EACCES, _), .cannotOpenMicrophone(let name, EPERM, _):
            "no permission to open \(name): add the user to the group audio"
        case .cannotOpenMicrophone(let name, EBUSY, let holder):
            "\(name) is in use by \(holder ?? "another process"): end it, or choose another microphone"
        case .cannotOpenMicrophone(let name, ENOENT, _), .cannotOpenMicrophone(let name, ENODEV, _),
            .cannotOpenMicrophone(let name, ENXIO, _):
            "there is no microphone \(name); `kiosk devices` lists the microphones"
        case .cannotOpenMicrophone(let name, let error, _): "cannot open \(name): \(Self.text(error))"
        case .cannotConfigureMicrophone(let name, let step, let error): "\(name) refuses \(step): \(Self.text(error))"
        case .noSpace(let path, let needed, let free):
            "\(path): the film needs about \(needed), and its disk has \(free) free: "
                + "delete files there, record for a shorter time, or write to another disk"
        case .diskFull(let path): "\(path): its disk is full; the recording ends here"
        case .outputExists(let path): "\(path): is there already: name another file, or replace it with --force"
        case .film(let error): error.description
        case .nothingRecorded: "ended before the first picture came; nothing was recorded"
        }
    }

    /// A short message for visitors, who cannot change paths and permissions.
    package var short: String {
        switch self {
        case .noCamera, .noSuchCamera, .notACamera: "There is no camera"
        case .cannotOpenCamera(_, EBUSY, _): "The camera is in use"
        case .cannotOpenCamera, .formatNotOffered, .noUsableFormat, .cameraFailed: "The camera cannot be used"
        case .cameraUnplugged: "The camera was unplugged"
        case .cameraStopped: "The camera gives no pictures"
        case .noMicrophone: "There is no microphone"
        case .cannotOpenMicrophone(_, EBUSY, _): "The microphone is in use"
        case .cannotOpenMicrophone, .cannotConfigureMicrophone: "The microphone cannot be used"
        case .noSpace, .diskFull: "The disk is full"
        case .outputExists, .film: "The film cannot be written"
        case .nothingRecorded: "Nothing was recorded"
        }
    }

    private static func text(_ error: Int32) -> String { SystemError(error).description }
}

extension CaptureError {
    /// Runs `body`, and converts its errors.
    static func writing<Result: ~Copyable>(_ body: () throws(FilmError) -> Result) throws(CaptureError) -> Result {
        do throws(FilmError) { return try body() } catch { throw .film(error) }
    }
}
