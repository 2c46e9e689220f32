import KioskMedia
import KioskPlatform
import KioskReaders
import KioskVocabulary

/// The state of thread `recorder`: the current recording, if any, and its progress. It takes no lock, and waits only for the disk.
struct Recorder: ~Copyable {
    private var recording: Recording?
    private(set) var isRecording = false
    private var feed: SoundResampler?
    private let hasFeed: Bool
    private let format: CameraFormat
    private let colours: CameraColours?
    private let samples: AudioFormat?
    private let readers: Readers
    private var refused: RecordingReport?
    private var free: ByteCount?
    private var checkedAt = HostTime(nanoseconds: 0)
    private var level: Float = 0
    private var failure: CaptureError?
    private var soundFailure: CaptureError?

    init(feed: consuming SoundResampler?, format: CameraFormat, colours: CameraColours?, samples: AudioFormat?, by readers: Readers) {
        hasFeed = samples != nil
        self.feed = feed
        (self.format, self.colours, self.samples, self.readers) = (format, colours, samples, readers)
    }

    mutating func begin(_ request: RecordingRequest) {
        if isRecording { return }
        do throws(CaptureError) {
            if let failure { throw failure }
            recording = try Recording.open(request, format, colours: colours, samples: samples, by: readers)
            isRecording = true
            if let soundFailure { recording?.note(Self.silence(soundFailure)) }
            (free, checkedAt) = (RecordingFile.freeSpace(at: request.path), .now)
        } catch {
            refused = RecordingReport(
                width: format.width, height: format.height, rate: format.rate, hasSound: samples != nil, failure: error)
        }
    }

    mutating func pause(at time: HostTime) { recording?.pause(at: time) }
    mutating func resume(at time: HostTime) { recording?.resume(at: time) }
    mutating func end(at time: HostTime) { recording?.end(at: time) }
    mutating func write(_ picture: borrowing CapturedPicture, dropped: Int) { recording?.write(picture, dropped: dropped) }

    mutating func write(_ sound: RecordedSound) {
        guard hasFeed else { return }
        var film: (HostTime) -> MediaTime? = { _ in nil }
        var position = 0
        if isRecording, let clock = recording?.film {
            film = { clock.film($0) }
            position = recording?.samplePosition ?? 0
        }
        guard let piece = feed?.add(sound, position: position, film: film) else { return }
        level = feed?.level ?? 0
        recording?.write(piece)
    }

    /// Notes the loss of the microphone; the film continues in silence.
    mutating func loseSound(_ error: CaptureError) {
        (level, soundFailure) = (0, error)
        recording?.note(Self.silence(error))
    }

    private static func silence(_ error: CaptureError) -> String { "the film is silent from the loss of the microphone on: \(error)" }

    /// Ends the film after the loss of the camera.
    mutating func fail(_ error: CaptureError) {
        failure = error
        recording?.fail(error)
    }

    /// Ends the film before the disk is full.
    mutating func check() {
        guard isRecording, let path = recording?.request.path, HostTime.now - checkedAt > .milliseconds(500) else { return }
        (free, checkedAt) = (RecordingFile.freeSpace(at: path), .now)
        if let free, free.bytes < RecordingFile.reserve / 2 { recording?.fail(.diskFull(path: path)) }
    }

    var isFinishing: Bool {
        mutating get { isRecording && recording?.isComplete == true }
    }

    /// Returns the report of a film that has just ended, or was refused.
    mutating func finishIfComplete() -> RecordingReport? {
        if let report = refused.take() { return report }
        guard isFinishing else { return nil }
        let report = recording?.finish()
        recording = nil
        isRecording = false
        return report
    }

    var status: CaptureSession.Status {
        mutating get {
            var status = CaptureSession.Status()
            (status.level, status.failure, status.soundFailure) = (level, failure, soundFailure)
            guard isRecording else { return status }
            recording?.tell(&status)
            var limits: [MediaTime] = []
            if let duration = status.duration { limits.append(max(.zero, duration - status.elapsed)) }
            if let free, status.elapsed > .seconds(2), status.byteCount > 0 {
                let pace = Double(status.byteCount) / status.elapsed.seconds
                limits.append(.seconds(Double(max(0, free.bytes - RecordingFile.reserve)) / pace))
                if let most = recording?.request.mostBytes { limits.append(.seconds(Double(max(0, most - status.byteCount)) / pace - 1)) }
            }
            status.remaining = limits.min().map { max(.zero, $0) }
            return status
        }
    }
}
