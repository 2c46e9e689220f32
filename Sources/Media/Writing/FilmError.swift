import CKioskFFmpeg
import Glibc
import KioskPlatform

/// The reason that a film cannot be written, for the user.
package struct FilmError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The cause.
    package enum Reason: Hashable, Sendable {
        /// The installed FFmpeg has no encoder that works here; with the attempts and their errors.
        case noEncoder(codec: String, tried: [String])
        /// The device or the user's quota is full.
        case noSpace
        case noFolder
        case permissionDenied
        case isReadOnly
        /// Another process writes the file.
        case isBeingWritten
        /// The path is a folder.
        case isDirectory
        /// The path is a device, a pipe or a socket.
        case isNoFile
        /// The system's or FFmpeg's words.
        case cannotWrite(String)
        /// The encoder failed midway, in FFmpeg's words.
        case encoderFailed(String)
        /// The picture cannot be converted for the encoder.
        case unsupportedPicture(String)
        /// The recording to remux cannot be read, in FFmpeg's words.
        case unreadable(String)
    }

    /// The file.
    package var path: String
    /// The cause.
    package var reason: Reason

    /// Creates an error about the file at `path`.
    package init(_ path: String, _ reason: Reason) { (self.path, self.reason) = (path, reason) }

    /// Creates an error from a system error number of a call on the file or its folder.
    package init(_ path: String, errno code: Int32) {
        self.path = path
        reason =
            switch code {
            case ENOSPC, EDQUOT: .noSpace
            case ENOENT, ENOTDIR: .noFolder
            case EACCES, EPERM: .permissionDenied
            case EROFS: .isReadOnly
            case EISDIR: .isDirectory
            case EWOULDBLOCK: .isBeingWritten
            default: .cannotWrite("\(SystemError(code))")
            }
    }

    /// Creates an error from a negative AVERROR of a writing call.
    package init(_ path: String, writing code: Int32) {
        let system: [Int32] = [ENOSPC, EDQUOT, ENOENT, ENOTDIR, EACCES, EPERM, EROFS, EISDIR]
        if system.contains(-code) { self.init(path, errno: -code) } else { self.init(path, .cannotWrite(averrorText(code))) }
    }

    /// `out.mp4: there is no space left on its disk: delete what is not needed there, or write to another one`.
    package var description: String { "\(path): \(reason.text)" }
}

extension FilmError.Reason {
    /// The cause and the remedy, without the file's name.
    package var text: String {
        switch self {
        case .noEncoder(let codec, let tried):
            "there is no encoder for \(codec) on this machine"
                + (tried.isEmpty ? "; " : " (\(tried.joined(separator: "; "))); ")
                + "use Debian's FFmpeg (apt install \(DecoderInventory.library)), or a codec that `ffmpeg -encoders` lists"
        case .noSpace: "there is no space left on its disk: delete files there, or write to another disk"
        case .noFolder: "there is no such folder: make it, or check the path"
        case .permissionDenied: "permission denied: choose a folder that you may write to"
        case .isReadOnly: "its disk cannot be written to: choose another one"
        case .isBeingWritten: "another kiosk is writing it: wait for that, or choose another name"
        case .isDirectory: "is a folder: name a file in it"
        case .isNoFile: "is a device, a pipe or a socket, which a film cannot replace: name a file to write"
        case .cannotWrite(let detail): "cannot be written: \(detail)"
        case .encoderFailed(let detail): "the encoder has failed: \(detail)"
        case .unsupportedPicture(let detail): "its picture cannot be encoded: \(detail)"
        case .unreadable(let detail): "the recorded data cannot be read: \(detail)"
        }
    }
}
