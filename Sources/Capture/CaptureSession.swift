import Glibc
import KioskAudioCore
import KioskMedia
import KioskPlatform
import KioskReaders
import KioskVocabulary
import Logging

let log = Logger(label: "capture")

/// A running camera and microphone, their preview, and the recording of a film, like AVCaptureSession and AVCaptureMovieFileOutput.
///
///     camera ──▶ thread camera ──pictures──┬──▶ thread recorder ──▶ Recording ──▶ FilmWriter
///     card ────▶ thread microphone ─sound──┘        └─▶ preview: the newest picture
///
/// The threads that read the devices do nothing else, except for decoding JPEG. The recorder's queue is bounded. If a slow disk fills it,
/// kiosk drops pictures and counts them; the others keep their times.
package final class CaptureSession: Sendable {
    /// The opened devices.
    package let camera: Camera
    package let format: CameraFormat
    /// ALSA's name of the microphone; nil without sound.
    package let microphone: String?
    private let inbox: Monitor<Inbox>
    private let state: Monitor<State>
    private let wakeUps: [WakeUp]

    /// The audio format of every recording.
    package static let samples = AudioFormat(sampleRate: 48000, channelCount: 2)
    /// How long a camera may stay silent.
    private static let cameraPatience = MediaTime.seconds(3)
    /// The most pictures in the recorder's queue.
    private static let mostPictures = 24

    /// The phase of a session.
    package enum Phase: String, Hashable, Sendable { case idle, recording, paused, finishing }

    /// The state of a session.
    package struct Status: Hashable, Sendable {
        package var phase = Phase.idle
        /// The file of the recording.
        package var path: String?
        /// The length of the recording, and its limit; nil without one.
        package var elapsed = MediaTime.zero
        package var duration: MediaTime?
        package var byteCount = 0
        /// Pictures missing in the film.
        package var droppedCount = 0
        /// The peak of the latest sounds, 0…1.
        package var level: Float = 0
        /// The failure of the devices; it ends the session.
        package var failure: CaptureError?
        /// Why the sound is silent from now on.
        package var soundFailure: CaptureError?
        /// The time until the film ends by itself, by its limit or for want of space.
        package var remaining: MediaTime?

        package init() {}
    }

    private struct State: Sendable {
        var status = Status()
        var reports: [RecordingReport] = []
    }

    private typealias Order = @Sendable (inout Recorder) -> Void

    private struct Inbox: Sendable {
        var pictures: [Picture] = []
        var sounds: [RecordedSound] = []
        var orders: [Order] = []
        var failure: CaptureError?
        var soundFailure: CaptureError?
        var isClosed = false
        var isEmpty: Bool { pictures.isEmpty && sounds.isEmpty && orders.isEmpty && failure == nil && soundFailure == nil }
    }

    /// A queued picture, and the number of pictures dropped before it.
    private final class Picture: Sendable {
        let captured: CapturedPicture
        let dropped: Int
        init(_ captured: consuming CapturedPicture, dropped: Int) {
            self.captured = captured
            self.dropped = dropped
        }
    }

    // MARK: Opening

    /// Opens and starts the devices. `readers` encode the recordings. Calls `preview` with each picture, on the thread that reads the
    /// camera; it must not wait.
    ///
    /// - Throws: the problem, with the available choices.
    package static func open(
        camera choice: CameraChoice, microphone device: AudioDevice, mode: CameraMode = CameraMode(), readers: Readers = .shared,
        preview: (@Sendable (borrowing CapturedPicture) -> Void)? = nil
    ) throws(CaptureError) -> CaptureSession {
        let (cameras, refused) = Camera.all()
        let camera = try choice.choose(cameras, refused: refused)
        let stream = try CameraStream.open(camera, mode)
        let name: String?
        switch device {
        case .off: name = nil
        case .pcm(let pcm): name = pcm
        case .automatic:
            guard let found = Microphone.choose(Microphone.all(), beside: camera, device: Microphone.resolve) else { throw .noMicrophone }
            name = found.pcm
        }
        let pcm: Opened<CapturePCM>? = if let name { Opened(try CapturePCM.open(name)) } else { nil }
        return CaptureSession(stream, pcm, microphone: name, readers, preview: preview)
    }

    /// Creates a session of open devices, and starts their threads.
    init<Pictures: PictureSource & ~Copyable, Sound: SoundSource & ~Copyable>(
        _ pictures: consuming Pictures, _ pcm: Opened<Sound>?, microphone: String?, _ readers: Readers,
        preview: (@Sendable (borrowing CapturedPicture) -> Void)?
    ) {
        let (camera, format, colours) = (pictures.camera, pictures.format, pictures.colours)
        let stream = Opened(pictures)
        (self.camera, self.format, self.microphone) = (camera, format, microphone)
        (inbox, state) = (Monitor(Inbox()), Monitor(State()))
        wakeUps = [WakeUp(), WakeUp()]
        let inbox = inbox
        Thread("camera", realtimePriority: 4) { [wakeUp = wakeUps[0]] in
            if let stream = stream.source.take() { Self.readCamera(stream, inbox, wakeUp, preview) }
        }.detach()
        let layout = pcm?.source?.layout
        if let pcm {
            Thread("microphone", realtimePriority: 4) { [wakeUp = wakeUps[1]] in
                if let pcm = pcm.source.take() { Self.readMicrophone(pcm, inbox, wakeUp) }
            }.detach()
        }
        let (state, samples) = (state, layout == nil ? nil : Self.samples)
        Thread("recorder") {
            let feed = layout.flatMap { SoundResampler($0, to: Self.samples) }
            Self.record(inbox, state, feed, format, colours, samples, readers)
        }.detach()
    }

    deinit { close() }

    /// Closes the devices; first finishes a running recording, on its own thread.
    package func close() {
        inbox.signal { $0.isClosed = true }
        for wakeUp in wakeUps { wakeUp.wake() }
    }

    // MARK: Orders

    /// Starts a film with the next picture; the report names any problem.
    package func begin(_ request: RecordingRequest) { order { recorder, _ in recorder.begin(request) } }
    /// Leaves out pictures and sound from now on.
    package func pause() { order { $0.pause(at: $1) } }
    package func resume() { order { $0.resume(at: $1) } }
    /// Ends the film; the report follows.
    package func end() { order { $0.end(at: $1) } }

    private func order(_ order: @escaping @Sendable (inout Recorder, HostTime) -> Void) {
        let now = HostTime.now
        inbox.signal { $0.orders.append { order(&$0, now) } }
    }

    /// The current state.
    package var status: Status { state.withLock { $0.status } }

    /// Returns the report of an ended film as soon as there is one; nil if there is none by `deadline`.
    package func report(until deadline: HostTime?) -> RecordingReport? {
        state.wait(until: deadline) { $0.reports.isEmpty ? nil : $0.reports.removeFirst() }
    }

    // MARK: Threads

    private static func readCamera<Pictures: PictureSource & ~Copyable>(
        _ stream: consuming Pictures, _ inbox: Monitor<Inbox>, _ wakeUp: WakeUp,
        _ preview: (@Sendable (borrowing CapturedPicture) -> Void)?
    ) {
        var stream = stream
        var last = HostTime.now
        var late = 0
        while !inbox.withLock({ $0.isClosed }) {
            var descriptors = [wakeUp.pollDescriptor, pollfd(fd: stream.descriptor, events: Int16(POLLIN), revents: 0)]
            wakeUp.wait(for: &descriptors, until: .now + .milliseconds(500))
            do throws(CaptureError) {
                var isIdle = true
                var waiting = try stream.next()
                while let picture = waiting.take() {
                    (last, isIdle) = (.now, false)
                    let dropped = stream.droppedCount + late
                    // If drawing is slower than the camera, only the newest picture is drawn: others would be late, and delay those after
                    // them.
                    waiting = try stream.next()
                    if waiting == nil { preview?(picture) }
                    let boxed = Picture(picture, dropped: dropped)
                    let isTaken = inbox.signal { inbox in
                        if inbox.pictures.count >= mostPictures { return false }
                        inbox.pictures.append(boxed)
                        return true
                    }
                    if !isTaken { late += 1 }
                }
                if descriptors[1].revents & Int16(POLLERR | POLLHUP) != 0, access(stream.camera.path, F_OK) != 0 {
                    throw CaptureError.cameraUnplugged(stream.camera.path)
                }
                // A driver in trouble sets an error at every poll.
                if isIdle, descriptors[1].revents != 0 { wakeUp.wait(until: .now + .milliseconds(10)) }
                if HostTime.now - last > cameraPatience { throw CaptureError.cameraStopped(stream.camera.path) }
            } catch {
                let failure = error
                inbox.signal { $0.failure = failure }
                return
            }
        }
    }

    private static func readMicrophone<Sound: SoundSource & ~Copyable>(
        _ pcm: consuming Sound, _ inbox: Monitor<Inbox>, _ wakeUp: WakeUp
    ) {
        var pcm = pcm
        while !inbox.withLock({ $0.isClosed }) {
            var descriptors = [wakeUp.pollDescriptor] + pcm.pollDescriptors()
            wakeUp.wait(for: &descriptors, until: .now + .milliseconds(500))
            do throws(CaptureError) {
                var isIdle = true
                while let sound = try pcm.next() {
                    isIdle = false
                    inbox.signal { inbox in
                        // The limit if the disk blocks the recorder for ten seconds; the pacer later realigns the sound.
                        if inbox.sounds.count < 500 { inbox.sounds.append(sound) }
                    }
                }
                if isIdle, descriptors.dropFirst().contains(where: { $0.revents != 0 }) {
                    wakeUp.wait(until: .now + .milliseconds(10))
                }
            } catch {
                let failure = error
                inbox.signal { $0.soundFailure = failure }
                return
            }
        }
    }

    private static func record(
        _ inbox: Monitor<Inbox>, _ state: Monitor<State>, _ feed: consuming SoundResampler?, _ format: CameraFormat,
        _ colours: CameraColours?, _ samples: AudioFormat?, _ readers: Readers
    ) {
        var recorder = Recorder(feed: feed, format: format, colours: colours, samples: samples, by: readers)
        var isClosing = false
        while true {
            let deadline = HostTime.now + .milliseconds(isClosing ? 20 : 200)
            let work =
                inbox.wait(until: deadline) { inbox -> Inbox? in
                    if inbox.isEmpty, isClosing || !inbox.isClosed { return nil }
                    let work = inbox
                    inbox = Inbox(isClosed: work.isClosed)
                    return work
                } ?? Inbox(isClosed: isClosing)
            isClosing = work.isClosed
            for order in work.orders { order(&recorder) }
            for picture in work.pictures { recorder.write(picture.captured, dropped: picture.dropped) }
            for sound in work.sounds { recorder.write(sound) }
            if let failure = work.soundFailure { recorder.loseSound(failure) }
            if let failure = work.failure { recorder.fail(failure) }
            if work.isClosed { recorder.end(at: .now) }
            recorder.check()
            if recorder.isFinishing { state.withLock { $0.status.phase = .finishing } }
            let report = recorder.finishIfComplete()
            state.signal { state in
                state.status = recorder.status
                if let report { state.reports.append(report) }
            }
            if work.isClosed, !recorder.isRecording { return }
        }
    }
}
