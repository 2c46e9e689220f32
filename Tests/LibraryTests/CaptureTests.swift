import Foundation
import KioskCaptureErrors
import KioskDisplay
import KioskMedia
import KioskPlayer
import Observation
import Synchronization
import TestSupport
import Testing

@testable import KioskCapture

/// Sessions of a camera and a microphone without hardware: see MadeDevices.
@Suite(.blocking, .serialized) struct CaptureLibraryTests {
    /// A folder of one test.
    final class Folder: Sendable {
        let path = NSTemporaryDirectory() + "kiosk-capture-\(UUID().uuidString)"
        init() throws { try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true) }
        deinit { try? FileManager.default.removeItem(atPath: path) }
        var names: [String] { (try? FileManager.default.contentsOfDirectory(atPath: path).sorted()) ?? [] }
    }

    /// Returns a running session.
    private func start(_ devices: MadeDevices, sound: Bool = false) async throws -> (CaptureSession, CaptureMovieFileOutput) {
        let (session, output) = (devices.session(), CaptureMovieFileOutput())
        try session.addInput(CaptureDeviceInput(device: MadeDevices.camera))
        if sound { try session.addInput(CaptureDeviceInput(device: MadeDevices.microphone)) }
        try session.addOutput(output)
        try await session.startRunning()
        return (session, output)
    }

    private func numbers(in path: String) throws -> [Int] {
        var reader = try MediaReader.open(path, samples: nil)
        var numbers: [Int] = []
        while let frame = reader.nextFrame() { numbers.append(burnedInNumber(frame.frame)) }
        return numbers
    }

    /// Returns the error of `body`; nil for none.
    private func error(_ body: () async throws(CaptureError) -> Void) async -> CaptureError? {
        do throws(CaptureError) {
            try await body()
            return nil
        } catch { return error }
    }

    @Test func `A film of a second is as long as the limit, and has picture and sound`() async throws {
        let (folder, devices) = (try Folder(), MadeDevices())
        let (session, output) = try await start(devices, sound: true)
        #expect(session.status == .running && session.isRunning && !session.isInterrupted)
        #expect(await eventually { session.audioLevel > 0.3 && session.audioLevel < 0.7 }, "the level without a recording")
        output.maxRecordedDuration = .seconds(1)
        (output.videoRotationAngle, output.quality) = (45, 99)
        #expect(output.quality == 51 && output.videoRotationAngle == 0)
        output.quality = 18
        let progress = Task { [updates = output.progressUpdates] in await updates.first { $0.duration > .milliseconds(300) } }
        let path = folder.path + "/film.mp4"
        let film = try await output.record(to: path)
        #expect(film.path == path && film.endReason == .maximumDurationReached && film.hasAudio && film.notes == [])
        #expect(abs(film.duration.seconds - 1) < 0.05 && abs(film.frameCount - 25) <= 1 && film.nominalFrameRate == 25)
        #expect(film.size == PixelSize(width: 320, height: 180) && film.startTime.isNumeric && film.encoder != "")
        let seen = try #require(await progress.value)
        #expect(seen.fileSize >= 0 && seen.audioLevel > 0.3 && !seen.isPaused && seen.remaining.map { $0 < .seconds(1) } == true)
        #expect(!output.isRecording && output.recordedDuration == .zero && output.outputPath == nil)
        await session.stopRunning()
        #expect(session.status == .stopped && folder.names == ["film.mp4"])

        let properties = try await Asset(path).load()
        #expect(abs(properties.duration.seconds - 1) < 0.06)
        #expect(properties.tracks.count == 2 && Set(properties.tracks.map(\.mediaType)) == [.video, .audio])
        let numbers = try numbers(in: path)
        #expect(numbers == Array(numbers[0]..<numbers[0] + numbers.count))
    }

    @Test func `A pause leaves a gap out, and the events come in order`() async throws {
        let (folder, devices) = (try Folder(), MadeDevices())
        let (session, output) = try await start(devices)
        let path = folder.path + "/film.mp4"
        let events = Task { [events = output.events] in
            var all: [CaptureMovieFileOutput.Event] = []
            for await event in events {
                all.append(event)
                if case .finished = event { break }
            }
            return all
        }
        try output.startRecording(to: path)
        #expect(output.isRecording && output.outputPath == path)
        #expect(
            await error { () throws(CaptureError) in try output.startRecording(to: folder.path + "/b.mp4") }?.code == .operationNotAllowed)
        #expect(await eventually { output.recordedDuration > .milliseconds(500) })
        output.pauseRecording()
        #expect(await eventually { output.isRecordingPaused })
        let paused = output.recordedDuration
        try await Task.sleep(for: .seconds(1))
        #expect(output.recordedDuration == paused)
        output.resumeRecording()
        #expect(await eventually { output.recordedDuration > paused + .milliseconds(500) })
        output.stopRecording()
        let all = await events.value
        guard case .finished(let film)? = all.last else { throw CaptureError(.noDataCaptured, "no film") }
        #expect(all.dropLast() == [.started(path: path), .paused, .resumed] && film.endReason == .stopped)
        let numbers = try numbers(in: path)
        let gaps = zip(numbers, numbers.dropFirst()).filter { $1 != $0 + 1 }
        #expect(gaps.count == 1 && gaps.allSatisfy { $1 - $0 > 20 }, "\(numbers)")
        #expect(abs(film.duration.seconds - Double(numbers.count) * 0.04) < 0.05)
        await session.stopRunning()
    }

    @Test func `A pulled camera leaves a film, and the session goes on when it is back`() async throws {
        let (folder, devices) = (try Folder(), MadeDevices())
        let (session, output) = try await start(devices)
        let states = Task { [updates = session.statusUpdates] in
            var all: [CaptureSession.Status] = []
            for await status in updates {
                all.append(status)
                if status == .stopped { break }
            }
            return all
        }
        let interrupted = Atomic(false)
        withObservationTracking {
            _ = session.isInterrupted
        } onChange: {
            interrupted.store(true, ordering: .relaxed)
        }
        let recording = Task { [path = folder.path] in try await output.record(to: path + "/film.mp4") }
        #expect(await eventually { output.recordedDuration > .milliseconds(400) })
        devices.isCameraConnected = false
        let film = try await recording.value
        guard case .failed(let reason) = film.endReason else { throw CaptureError(.noDataCaptured, "\(film)") }
        #expect(reason.code == .deviceWasDisconnected && reason.description.contains("was unplugged"))
        #expect(try numbers(in: film.path).count == film.frameCount)
        #expect(await eventually { session.isInterrupted } && interrupted.load(ordering: .relaxed))
        #expect(
            await error { () throws(CaptureError) in try output.startRecording(to: folder.path + "/b.mp4") }?.code == .sessionNotRunning)
        devices.isCameraConnected = true
        #expect(await eventually { session.isRunning } && devices.openCount == 2)
        output.maxRecordedDuration = .milliseconds(200)
        #expect(try await output.record(to: folder.path + "/again.mp4").endReason == .maximumDurationReached)
        await session.stopRunning()
        #expect(await states.value == [.running, .interrupted(reason), .running, .stopped])
    }

    @Test func `A lost microphone leaves the film silent, and the session says so`() async throws {
        let (folder, devices) = (try Folder(), MadeDevices())
        let (session, output) = try await start(devices, sound: true)
        try output.startRecording(to: folder.path + "/film.mp4")
        #expect(await eventually { output.recordedDuration > .milliseconds(300) })
        devices.isMicrophoneConnected = false
        #expect(await eventually { session.audioError?.code == .deviceNotConnected } && session.isRunning)
        let finished = Task { [events = output.events] in await events.first { if case .finished = $0 { true } else { false } } }
        await session.stopRunning()
        guard case .finished(let film)? = await finished.value else { throw CaptureError(.noDataCaptured, "no film") }
        #expect(film.hasAudio && film.notes.count == 1 && film.endReason == .stopped)
    }

    @Test func `A file ends before its largest size`() async throws {
        let (folder, devices) = (try Folder(), MadeDevices())
        let (session, output) = try await start(devices, sound: true)
        output.maxRecordedFileSize = 60_000
        output.maxRecordedDuration = .seconds(30)
        let film = try await output.record(to: folder.path + "/film.mp4")
        #expect(film.endReason == .maximumFileSizeReached)
        let size = try #require(try FileManager.default.attributesOfItem(atPath: film.path)[.size] as? Int)
        // Three times as much on a busy machine: the encoder is behind.
        #expect(20_000...180_000 ~= size, "\(size) bytes in \(film.duration)")
        await session.stopRunning()
    }

    @Test func `The end of its task ends a film, which is kept`() async throws {
        let (folder, devices) = (try Folder(), MadeDevices())
        let (session, output) = try await start(devices)
        let recording = Task { [path = folder.path] in try await output.record(to: path + "/film.mp4") }
        #expect(await eventually { output.recordedDuration > .milliseconds(200) })
        recording.cancel()
        #expect(try await recording.value.endReason == .stopped && folder.names == ["film.mp4"])
        await session.stopRunning()
    }

    @Test func `A released session completes its film and closes the camera`() async throws {
        let (folder, devices) = (try Folder(), MadeDevices())
        var both: (session: CaptureSession, output: CaptureMovieFileOutput)? = try await start(devices)
        let output = try #require(both?.output)
        weak let released = both?.session
        let recording = Task { [path = folder.path] in try await output.record(to: path + "/film.mp4") }
        #expect(await eventually { output.recordedDuration > .milliseconds(200) })
        both = nil
        #expect(try await recording.value.frameCount > 4)
        #expect(await eventually { released == nil } && both == nil)
    }

    @Test func `Mistakes have a typed error with a remedy`() async throws {
        let (folder, devices) = (try Folder(), MadeDevices())
        // Without a camera
        devices.isCameraConnected = false
        let lost = await error { () throws(CaptureError) in
            let session = devices.session()
            try session.addInput(CaptureDeviceInput(device: MadeDevices.camera))
            try await session.startRunning()
        }
        #expect(lost?.code == .deviceNotConnected && lost?.description == "there is no camera: plug one in")
        #expect(lost?.localizedDescription == lost?.description)
        devices.isCameraConnected = true
        let empty = await error { () throws(CaptureError) in try await devices.session().startRunning() }
        #expect(empty?.code == .operationNotAllowed && empty?.description.contains("add the input") == true)

        let (session, output) = (devices.session(), CaptureMovieFileOutput())
        try session.addInput(CaptureDeviceInput(device: MadeDevices.camera))
        #expect(!session.canAddInput(CaptureDeviceInput(device: MadeDevices.camera)))
        let second = await error { () throws(CaptureError) in try session.addInput(CaptureDeviceInput(device: MadeDevices.camera)) }
        #expect(second?.code == .operationNotAllowed)
        try session.addOutput(output)
        #expect(await error { () throws(CaptureError) in try devices.session().addOutput(output) }?.code == .operationNotAllowed)
        let idle = await error { () throws(CaptureError) in try output.startRecording(to: folder.path + "/a.mp4") }
        #expect(idle?.code == .sessionNotRunning)

        try await session.startRunning()
        func code(_ path: String, _ replaces: Bool = false) async -> CaptureError.Code? {
            await error { () throws(CaptureError) in _ = try await output.record(to: path, replacing: replaces) }?.code
        }
        try Data("there".utf8).write(to: URL(fileURLWithPath: folder.path + "/a.mp4"))
        #expect(await code(folder.path + "/a.mp4") == .fileAlreadyExists)
        #expect(await code(folder.path + "/none/a.mp4") == .cannotWrite)
        for path in [folder.path, "/dev/null", "", folder.path + "/a.mkv", folder.path + "/a\0b.mp4"] {
            #expect(await code(path) == .cannotWrite, "\(path)")
        }
        // More than any disk has
        output.maxRecordedDuration = .seconds(86400 * 365 * 20)
        #expect(await code(folder.path + "/b.mp4") == .diskFull)
        #expect(session.isRunning && folder.names == ["a.mp4"])
        await session.stopRunning()
        await session.stopRunning()
        #expect(session.status == .stopped)
    }

    @Test func `A format that no camera has is refused`() throws {
        var input = CaptureDeviceInput(device: MadeDevices.camera)
        for (width, height, rate) in [(0, 720, 30.0), (1280, Int.max, 30), (1280, 720, .nan), (1280, 720, .infinity), (1280, -1, 0)] {
            input.format = .init(dimensions: PixelSize(width: width, height: height), frameRate: rate)
            #expect(throws: CaptureError.self) { _ = try input.mode() }
        }
        input.format = .init(dimensions: PixelSize(width: 1280, height: 720), frameRate: 30)
        #expect(try input.mode().description == "1280x720@30")
    }

    @Test func `What this machine has is told without a fault`() async {
        for kind in [Asset.Track.MediaType.video, .audio, .subtitle] {
            let (devices, status) = (CaptureDevice.devices(for: kind), CaptureDevice.authorizationStatus(for: kind))
            #expect(devices.isEmpty || status == .authorized)
            #expect(await CaptureDevice.requestAccess(for: kind) == (status == .authorized))
            #expect(devices.allSatisfy { $0.isConnected && CaptureDevice(uniqueID: $0.uniqueID) == $0 })
            if let problem = await error({ () throws(CaptureError) in try CaptureDevice.checkAccess(for: kind) }) {
                #expect(!problem.description.contains("kiosk devices") && !problem.description.contains("--"))
            }
        }
        #expect(!MadeDevices.camera.isConnected && MadeDevices.camera.formats == [] && CaptureDevice(uniqueID: "/dev/null") == nil)
    }

    @Test func `The preview is on the display while the session runs`() async throws {
        let display = VideoOutput.offscreen(width: 320, height: 180)
        let (session, _) = try await start(MadeDevices())
        /// Whether most of the screen is the camera's gray.
        func isGray() -> Bool {
            guard let png = try? display.png(), let share = try? grayShare(ofPNG: png) else { return false }
            return share > 0.5
        }
        #expect(!isGray())
        let layer = CapturePreviewLayer(session: session, on: display)
        #expect(await eventually { isGray() })
        layer.region = Region(x: 0, y: 0, width: 0.3, height: 0.3)
        #expect(await eventually { !isGray() })
        layer.region = .full
        #expect(await eventually { isGray() })
        await session.stopRunning()
        #expect(await eventually { !isGray() })
        layer.removeFromOutput()
    }

    @Test(arguments: [
        (VideoGravity.resizeAspect, [0, 90, 800, 450]), (.resize, [0, 0, 800, 630]), (.resizeAspectFill, [-160, 0, 1120, 630]),
    ]) func `A preview fits its place`(gravity: VideoGravity, expected: [Int]) {
        let place = PreviewPlace(width: 320, height: 180, in: .full, gravity, on: PixelSize(width: 800, height: 630))
        #expect([place.x, place.y, place.width, place.height] == expected)
        #expect((place.clip == nil) == (gravity != .resizeAspectFill))
        let thin = PreviewPlace(width: 8192, height: 1, in: .full, .resizeAspectFill, on: PixelSize(width: 800, height: 600))
        #expect(thin.width <= 16 * 800)
    }
}
