import KioskCaptureCore
import KioskMedia
import KioskPlatform
public import KioskPlayer
import KioskReaders
import KioskVocabulary
public import Observation
import Synchronization

/// Records the pictures and the sound of a session into an MP4 file: AVCaptureMovieFileOutput.
///
/// Until the film is complete, a draft stands beside it. A power cut costs less than a second: ``recoverFilms(in:)`` makes films of drafts.
/// Call it from any thread.
public final class CaptureMovieFileOutput: Sendable {
    /// The end of a recording.
    public enum EndReason: Hashable, Sendable {
        /// ``CaptureMovieFileOutput/stopRecording()``, or the end of the session.
        case stopped
        /// ``CaptureMovieFileOutput/maxRecordedDuration``.
        case maximumDurationReached
        /// ``CaptureMovieFileOutput/maxRecordedFileSize``.
        case maximumFileSizeReached
        /// This failure; the film has everything before it.
        case failed(CaptureError)
    }

    /// A complete film.
    public struct Film: Hashable, Sendable {
        /// Its file.
        public var path: String
        /// Its length, without pauses.
        public var duration: CMTime
        /// Pixels across and down, before the rotation upright.
        public var size: PixelSize
        /// Pictures a second, as the camera names it.
        public var nominalFrameRate: Double
        /// The number of its pictures.
        public var frameCount: Int
        /// Pictures of the camera that are missing; later ones keep their times.
        public var droppedFrameCount: Int
        /// Whether it has a sound track.
        public var hasAudio: Bool
        /// The time of its first picture, of the clock of `CMTime.hostTime`.
        public var startTime: CMTime
        /// FFmpeg's name of the encoder.
        public var encoder: String
        /// Why it ended.
        public var endReason: EndReason
        /// What is worth knowing of it, one line each: the loss of the microphone.
        public var notes: [String]
    }

    /// The progress of a recording.
    public struct Progress: Hashable, Sendable {
        /// The length so far, without pauses.
        public var duration = CMTime.zero
        /// The size so far, in bytes.
        public var fileSize: Int64 = 0
        /// The time until the film ends by itself, by a limit or for want of space; nil while nothing is near.
        public var remaining: Duration?
        /// Pictures of the camera that are missing so far.
        public var droppedFrameCount = 0
        /// The peak of the latest sounds, 0…1.
        public var audioLevel: Float = 0
        /// Whether the recording is paused.
        public var isPaused = false
    }

    /// An event of a recording, in order: the methods of AVCaptureFileOutputRecordingDelegate.
    public enum Event: Hashable, Sendable {
        /// The film at this path has its first picture.
        case started(path: String)
        /// Pictures and sound are left out from here on, or no more.
        case paused, resumed
        /// The film is complete.
        case finished(Film)
        /// There is no film at this path.
        case failed(path: String, CaptureError)
    }

    /// A recording that was interrupted, by a power cut or the end of the process.
    public struct RecoveredFilm: Hashable, Sendable {
        /// The film, as far as it went; or the draft, if it could not be made.
        public var path: String
        /// Why it is still a draft; nil if it is a film.
        public var problem: String?
    }

    private struct Recording {
        var path: String
        var progress = Progress()
        var hasStarted = false
        var waiting: CheckedContinuation<Result<Film, CaptureError>, Never>?
    }

    private struct State {
        weak var session: CaptureSession?
        var (duration, fileSize) = (CMTime.invalid, Int64(0))
        var (quality, angle, isMirrored) = (23, Rotation.none, false)
        var recording: Recording?
    }

    private let state = Mutex(State())
    private let told = Broadcast<Event>(), updates = Broadcast<Progress>()
    private let observation = ObservationRegistrar()

    /// Creates an output without limits.
    public init() {}

    // MARK: Settings

    /// The length at which a recording ends; `CMTime.invalid` for no limit. A change counts for the next recording.
    public var maxRecordedDuration: CMTime {
        get { state.withLock { $0.duration } }
        set { state.withLock { $0.duration = newValue } }
    }

    /// The size in bytes at which a recording ends; 0 for no limit. It ends about a second's data before. If the encoder is behind by more
    /// than that, the film exceeds the size by the rest. A change counts for the next recording.
    public var maxRecordedFileSize: Int64 {
        get { state.withLock { $0.fileSize } }
        set { state.withLock { $0.fileSize = newValue } }
    }

    /// The quality of the pictures, from 0 (nothing lost) to 51; 23 at first. A change counts for the next recording.
    public var quality: Int {
        get { state.withLock { $0.quality } }
        set { state.withLock { $0.quality = min(max(newValue, 0), 51) } }
    }

    /// How a player has to rotate the pictures, in degrees clockwise: 0, 90, 180 or 270. Ignores other numbers. A change counts for the
    /// next recording.
    public var videoRotationAngle: Int {
        get { state.withLock { $0.angle.rawValue } }
        set { if let angle = Rotation(rawValue: newValue) { state.withLock { $0.angle = angle } } }
    }

    /// Whether a player has to mirror the pictures left to right, before it rotates them. A change counts for the next recording.
    public var isVideoMirrored: Bool {
        get { state.withLock { $0.isMirrored } }
        set { state.withLock { $0.isMirrored = newValue } }
    }

    // MARK: Recording

    /// Starts a film with the next picture. ``events`` tells its end.
    ///
    /// - Parameters:
    /// - path: the MP4 file to write.
    /// - replaces: whether to replace an existing file.
    /// - Throws: ``CaptureError`` if the session does not run, a recording is under way, or the file has an impossible place.
    public func startRecording(to path: String, replacing replaces: Bool = false) throws(CaptureError) {
        try start(path, replaces, nil)
    }

    /// Records a film. Returns when it is complete: after ``stopRecording()``, at a limit, at the end of the session or of the task.
    /// A failure that leaves a film is its ``Film/endReason``.
    ///
    /// - Parameters:
    /// - path: the MP4 file to write.
    /// - replaces: whether to replace an existing file.
    /// - Throws: ``CaptureError`` if there is no film.
    public func record(to path: String, replacing replaces: Bool = false) async throws(CaptureError) -> Film {
        let result: Result<Film, CaptureError> = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                do throws(CaptureError) {
                    try start(path, replaces, continuation)
                    // The task may have ended before there was a recording to stop.
                    if Task.isCancelled { stopRecording() }
                } catch { continuation.resume(returning: .failure(error)) }
            }
        } onCancel: {
            stopRecording()
        }
        return try result.get()
    }

    private func start(
        _ path: String, _ replaces: Bool, _ waiting: CheckedContinuation<Result<Film, CaptureError>, Never>?
    ) throws(CaptureError) {
        if path.utf8.contains(0) { throw CaptureError(.cannotWrite, "the name of the film contains a zero byte: use another name") }
        if let problem = FilmWriter.nameProblem(path) { throw CaptureError(.cannotWrite, problem) }
        do throws(FilmError) { try FilmWriter.checkPlace(path) } catch { throw CaptureError(.film(error)) }
        var request = RecordingRequest(path: path)
        request.replaces = replaces
        let session = state.withLock { state in
            if let limit = state.duration.mediaTime, limit > .zero, state.duration.isNumeric { request.duration = limit }
            if state.fileSize > 0 { request.mostBytes = Int(clamping: state.fileSize) }
            request.quality = state.quality
            request.orientation = Orientation(rotation: state.angle, isMirrored: state.isMirrored)
            return state.session
        }
        let order = request
        let isNew = session?.withEngine { engine in
            let isNew = state.withLock { state in
                if state.recording != nil { return false }
                state.recording = Recording(path: path, waiting: waiting)
                return true
            }
            if isNew { engine.begin(order) }
            return isNew
        }
        guard let isNew else {
            throw CaptureError(.sessionNotRunning, "cannot record \(path): start the session of the output, and wait until it runs")
        }
        if !isNew {
            throw CaptureError(.operationNotAllowed, "cannot record \(path): a recording is under way; stop it first")
        }
        changing(\.isRecording)
        changing(\.outputPath)
    }

    /// Leaves out pictures and sound from now on.
    public func pauseRecording() { withEngine { $0.pause() } }

    /// Goes on in the same film.
    public func resumeRecording() { withEngine { $0.resume() } }

    /// Ends the film. ``events`` and ``record(to:replacing:)`` deliver it.
    public func stopRecording() { withEngine { $0.end() } }

    private func withEngine(_ body: (CaptureSession.Engine) -> Void) {
        guard isRecording else { return }
        _ = state.withLock { $0.session }?.withEngine(body)
    }

    // MARK: State

    /// Whether a film is being made, from its start until it is complete.
    public var isRecording: Bool { reading(\.isRecording) { $0.recording != nil } }
    /// Whether the recording is paused.
    public var isRecordingPaused: Bool { reading(\.isRecordingPaused) { $0.recording?.progress.isPaused ?? false } }
    /// The length of the film so far, without pauses; zero without a recording.
    public var recordedDuration: CMTime { reading(\.recordedDuration) { $0.recording?.progress.duration ?? .zero } }
    /// The size of the film so far, in bytes; 0 without a recording.
    public var recordedFileSize: Int64 { reading(\.recordedFileSize) { $0.recording?.progress.fileSize ?? 0 } }
    /// The file of the recording; nil without one.
    public var outputPath: String? { reading(\.outputPath) { $0.recording?.path } }

    /// All events from now on. Each call returns a sequence of its own.
    public var events: AsyncStream<Event> { told.stream() }
    /// The progress from now on, ten times a second during a recording. A slow reader gets the newest.
    public var progressUpdates: AsyncStream<Progress> { updates.stream(limit: 1) }

    // MARK: Of the session

    /// Attaches it; false if it has another session.
    func attach(to session: CaptureSession) -> Bool {
        state.withLock { state in
            if let other = state.session, other !== session { return false }
            state.session = session
            return true
        }
    }

    func detach() { state.withLock { $0.session = nil } }

    /// Takes the state of the recording. On the session's thread.
    func note(_ status: CaptureSession.Engine.Status) {
        var progress = Progress()
        (progress.duration, progress.fileSize) = (CMTime(status.elapsed), Int64(status.byteCount))
        progress.remaining = status.remaining.map { .nanoseconds($0.nanoseconds) }
        (progress.droppedFrameCount, progress.audioLevel) = (status.droppedCount, status.level)
        progress.isPaused = status.phase == .paused
        var news: [Event] = []
        let isRecording = state.withLock { state in
            guard var recording = state.recording, status.path == recording.path else { return false }
            if !recording.hasStarted, status.elapsed > .zero {
                recording.hasStarted = true
                news.append(.started(path: recording.path))
            }
            if progress.isPaused != recording.progress.isPaused { news.append(progress.isPaused ? .paused : .resumed) }
            recording.progress = progress
            state.recording = recording
            return true
        }
        guard isRecording else { return }
        changing(\.recordedDuration)
        changing(\.recordedFileSize)
        if news.contains(.paused) || news.contains(.resumed) { changing(\.isRecordingPaused) }
        for event in news { told.tell(event) }
        updates.tell(progress)
    }

    /// Delivers the film, or the reason why there is none. On the session's thread.
    func finish(_ report: RecordingReport) {
        guard let recording = state.withLock({ $0.recording.take() }) else { return }
        let result: Result<Film, CaptureError> =
            report.path == nil
            ? .failure(CaptureError(report.failure ?? .nothingRecorded)) : .success(Film(report, at: recording.path))
        changing(\.isRecording)
        changing(\.outputPath)
        changing(\.isRecordingPaused)
        changing(\.recordedDuration)
        changing(\.recordedFileSize)
        switch result {
        case .success(let film):
            if !recording.hasStarted { told.tell(.started(path: recording.path)) }
            told.tell(.finished(film))
        case .failure(let error): told.tell(.failed(path: recording.path, error))
        }
        recording.waiting?.resume(returning: result)
    }

    // MARK: After a power cut

    /// Makes films of interrupted recordings into `folder`. Each gets its intended name, with a number if that is taken. Leaves alone
    /// drafts that another process writes. Takes as long as the disk needs for a copy.
    public static func recoverFilms(in folder: String) async -> [RecoveredFilm] {
        await withCheckedContinuation { continuation in
            // Not on the pool of the concurrency runtime: a disk that hangs would block it.
            Thread("recovery") {
                let found = folder.utf8.contains(0) ? [] : RecordingFile.recover(in: folder)
                continuation.resume(returning: found.map { RecoveredFilm(path: $0.path, problem: $0.problem) })
            }.detach()
        }
    }
}

extension CaptureMovieFileOutput: Observable {
    private func reading<Value: Sendable>(_ property: KeyPath<CaptureMovieFileOutput, Value>, _ body: (State) -> Value) -> Value {
        observation.access(self, keyPath: property)
        return state.withLock { body($0) }
    }

    private func changing<Value>(_ property: KeyPath<CaptureMovieFileOutput, Value>) {
        observation.withMutation(of: self, keyPath: property) {}
    }
}

extension CaptureMovieFileOutput.Film {
    init(_ report: RecordingReport, at path: String) {
        let reason: CaptureMovieFileOutput.EndReason =
            if let failure = report.failure {
                .failed(CaptureError(failure))
            } else {
                switch report.limit {
                case .duration: .maximumDurationReached
                case .size: .maximumFileSizeReached
                case nil: .stopped
                }
            }
        self.init(
            path: path, duration: CMTime(report.length), size: PixelSize(width: report.width, height: report.height),
            nominalFrameRate: report.rate, frameCount: report.pictureCount, droppedFrameCount: report.droppedCount,
            hasAudio: report.hasSound,
            startTime: report.begin.map { CMTime(value: $0.nanoseconds, timescale: 1_000_000_000) } ?? .invalid, encoder: report.encoder,
            endReason: reason, notes: report.notes)
    }
}
