// tutorial-camera [--offscreen] FILM   shows the camera, records five seconds of it into FILM, and plays that.
import Foundation
import KioskAVFoundation
import Stage

let stage = try Stage(usage: "tutorial-camera [--offscreen] FILM", count: 1)
let url = stage.files[0]

// Linux asks nobody: the permissions of the devices decide. The error names the remedy.
do { try AVCaptureDevice.checkAccess(for: .video) } catch {
    print(error)
    exit(69)
}
guard let camera = AVCaptureDevice.default(for: .video) else { exit(69) }

let captureSession = AVCaptureSession()
let movieOutput = AVCaptureMovieFileOutput()
try captureSession.addInput(AVCaptureDeviceInput(device: camera))
if let microphone = camera.microphone { try captureSession.addInput(AVCaptureDeviceInput(device: microphone)) }
try captureSession.addOutput(movieOutput)
movieOutput.maxRecordedDuration = CMTime(seconds: 5, preferredTimescale: 600)

/// Hears of the end of the film.
final class Recording: AVCaptureFileOutputRecordingDelegate {
    let results: AsyncStream<(any Error)?>
    private let continuation: AsyncStream<(any Error)?>.Continuation

    init() { (results, continuation) = AsyncStream.makeStream() }

    func fileOutput(
        _ output: AVCaptureFileOutput, didFinishRecordingTo outputFileURL: URL, from connections: [AVCaptureConnection], error: (any Error)?
    ) {
        continuation.yield(error)
        continuation.finish()
    }
}

let previewLayer = AVCaptureVideoPreviewLayer(session: captureSession)
previewLayer.videoGravity = .resizeAspectFill
try await captureSession.startRunning()
print("records")
let recording = Recording()
movieOutput.startRecording(to: url, recordingDelegate: recording)
for await error in recording.results where error != nil {
    print(error?.localizedDescription ?? "")
    exit(1)
}
try stage.photograph("camera")
await captureSession.stopRunning()
previewLayer.removeFromOutput()

let player = AVPlayer(url: url)
player.play()
print("plays \(url.lastPathComponent)")
for await event in player.events { if case .itemEnded = event { break } }
player.stop()
