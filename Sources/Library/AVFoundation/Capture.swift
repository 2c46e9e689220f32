// Apple's names for KioskCapture, and what needs a URL.
public import Foundation
@_exported public import KioskCapture
public import KioskPlayer

/// A running camera, with a microphone.
public typealias AVCaptureSession = CaptureSession
/// A camera or a microphone.
public typealias AVCaptureDevice = CaptureDevice
/// A device that a session opens.
public typealias AVCaptureDeviceInput = CaptureDeviceInput
/// The recording of a session into a file.
public typealias AVCaptureMovieFileOutput = CaptureMovieFileOutput
/// The recording of a session into a file.
public typealias AVCaptureFileOutput = CaptureMovieFileOutput
/// The picture of a session's camera on a display.
public typealias AVCaptureVideoPreviewLayer = CapturePreviewLayer
/// Whether the process may open devices of a kind.
public typealias AVAuthorizationStatus = CaptureDevice.AuthorizationStatus

/// Takes the events of a recording, on a thread of Swift's concurrency.
public protocol AVCaptureFileOutputRecordingDelegate: AnyObject, Sendable {
    /// The film has its first picture.
    func fileOutput(_ output: AVCaptureFileOutput, didStartRecordingTo fileURL: URL, from connections: [AVCaptureConnection])
    /// The recording has ended. With an error there may be a film all the same: of the time before the failure.
    func fileOutput(
        _ output: AVCaptureFileOutput, didFinishRecordingTo outputFileURL: URL, from connections: [AVCaptureConnection], error: (any Error)?
    )
}

extension AVCaptureFileOutputRecordingDelegate {
    /// Does nothing.
    public func fileOutput(_ output: AVCaptureFileOutput, didStartRecordingTo fileURL: URL, from connections: [AVCaptureConnection]) {}
}

/// The way from a camera to a film: the rotation and the mirroring of `CaptureMovieFileOutput`.
public final class AVCaptureConnection: Sendable {
    /// The output.
    public let output: AVCaptureFileOutput

    init(_ output: AVCaptureFileOutput) { self.output = output }

    /// The rotation of the film in degrees clockwise. Ignores an angle that is no multiple of 90 from 0 to 270.
    public var videoRotationAngle: Double {
        get { Double(output.videoRotationAngle) }
        set { if let angle = Int(exactly: newValue) { output.videoRotationAngle = angle } }
    }

    /// Returns whether ``videoRotationAngle`` takes an angle.
    public func isVideoRotationAngleSupported(_ angle: Double) -> Bool { [0, 90, 180, 270].contains(angle) }

    /// Whether the film is mirrored left to right.
    public var isVideoMirrored: Bool {
        get { output.isVideoMirrored }
        set { output.isVideoMirrored = newValue }
    }
}

extension CaptureMovieFileOutput {
    /// Starts a film. The delegate hears of its beginning and its end; also of a failure to begin, on this thread.
    public func startRecording(to outputFileURL: URL, recordingDelegate delegate: any AVCaptureFileOutputRecordingDelegate) {
        let events = events
        let connections = [AVCaptureConnection(self)]
        do throws(CaptureError) { try startRecording(to: outputFileURL.path) } catch {
            return delegate.fileOutput(self, didFinishRecordingTo: outputFileURL, from: connections, error: error)
        }
        Task {
            for await event in events {
                switch event {
                case .started: delegate.fileOutput(self, didStartRecordingTo: outputFileURL, from: connections)
                case .paused, .resumed: break
                case .finished(let film):
                    let error: CaptureError? = if case .failed(let error) = film.endReason { error } else { nil }
                    return delegate.fileOutput(self, didFinishRecordingTo: outputFileURL, from: connections, error: error)
                case .failed(_, let error):
                    return delegate.fileOutput(self, didFinishRecordingTo: outputFileURL, from: connections, error: error)
                }
            }
        }
    }

    /// Returns the connection of the camera.
    public func connection(with mediaType: AVMediaType) -> AVCaptureConnection? { mediaType == .video ? AVCaptureConnection(self) : nil }

    /// The file of the recording; nil without one.
    public var outputFileURL: URL? { outputPath.map { URL(fileURLWithPath: $0) } }
}

extension CapturePreviewLayer {
    /// Shows the pictures of a session on the main display.
    public convenience init(session: AVCaptureSession) { self.init(session: session, on: .main) }

    /// The place of the picture in pixels of the display, from its top left corner; all of it at first. Ignored without a display.
    public var frame: CGRect {
        get {
            guard let size = videoOutput.size else { return .zero }
            let (region, width, height) = (region, Double(size.width), Double(size.height))
            return CGRect(x: region.x * width, y: region.y * height, width: region.width * width, height: region.height * height)
        }
        set {
            guard let size = videoOutput.size else { return }
            let (width, height) = (Double(size.width), Double(size.height))
            region = Region(
                x: newValue.minX / width, y: newValue.minY / height, width: newValue.width / width, height: newValue.height / height)
        }
    }
}
