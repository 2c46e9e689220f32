import Foundation
import KioskCapture
import KioskDisplay
import KioskPlayer

/// Checks sessions as far as a machine without devices can. With a camera, it records for a second.
func checkCapture() async throws {
    let folder = NSTemporaryDirectory() + "kiosk-client-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let (session, output) = (CaptureSession(), CaptureMovieFileOutput())
    output.maxRecordedDuration = .seconds(1)
    try session.addOutput(output)
    Check.expect(session.status == .stopped && session.inputs.isEmpty && !output.isRecording, "a session waits")

    func refusal(_ body: () async throws -> Void) async -> CaptureError? {
        do { try await body() } catch let error as CaptureError {
            Check.expect(error.localizedDescription == error.description && !error.description.isEmpty, "an error is told: \(error)")
            return error
        } catch {}
        return nil
    }
    let empty = await refusal { try await session.startRunning() }
    Check.expect(empty?.code == .operationNotAllowed && session.status == .stopped, "a session needs a camera")
    let idle = await refusal { try output.startRecording(to: folder + "/film.mp4") }
    Check.expect(idle?.code == .sessionNotRunning, "a recording needs a session that runs")
    let other = await refusal { try CaptureSession().addOutput(output) }
    Check.expect(other?.code == .operationNotAllowed, "an output has one session")

    let status = CaptureDevice.authorizationStatus(for: .video)
    let problem = await refusal { try CaptureDevice.checkAccess(for: .video) }
    switch status {
    case .authorized: Check.expect(problem == nil || problem?.code == .deviceInUseByAnotherApplication, "cameras may be opened")
    case .denied: Check.expect(problem?.description.contains("group video") == true, "the error names the group")
    case .notDetermined: Check.expect(problem?.code == .deviceNotConnected, "there is no camera")
    }
    if CaptureDevice.authorizationStatus(for: .audio) == .notDetermined {
        let silent = await refusal { try CaptureDevice.checkAccess(for: .audio) }
        Check.expect(silent?.code == .deviceNotConnected && CaptureDevice.default(for: .audio) == nil, "there is no microphone")
    }

    guard let camera = CaptureDevice.default(for: .video) else {
        Check.expect(status != .authorized && CaptureDevice.devices(for: .video).isEmpty, "nothing is recorded without a camera")
        return
    }
    try session.addInput(CaptureDeviceInput(device: camera))
    try await session.startRunning()
    let display = VideoOutput.offscreen(width: 320, height: 180)
    let preview = CapturePreviewLayer(session: session, on: display)
    let film = try await output.record(to: folder + "/film.mp4")
    Check.expect(film.endReason == .maximumDurationReached && abs(film.duration.seconds - 1) < 0.3, "a camera is recorded: \(film)")
    preview.removeFromOutput()
    await session.stopRunning()
    display.close()
}
