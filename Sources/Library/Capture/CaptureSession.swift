import KioskCaptureCore
import KioskPlatform
import KioskPlayer
import KioskReaders
import KioskVocabulary
public import Observation
import Synchronization

/// A running camera, with a microphone if you add one: AVCaptureSession.
///
/// Add inputs and an output, and start it. If somebody pulls the camera out, the session is interrupted. It goes on when the camera is back,
/// at any port. Call it from any thread.
///
///     let session = CaptureSession(), output = CaptureMovieFileOutput()
///     guard let camera = CaptureDevice.default(for: .video) else { … }
///     try session.addInput(CaptureDeviceInput(device: camera))
///     try session.addOutput(output)
///     try await session.startRunning()
///     let film = try await output.record(to: "greeting.mp4")
public final class CaptureSession: Sendable {
    /// The state of a session.
    public enum Status: Hashable, Sendable {
        /// Its devices are closed.
        case stopped
        /// The camera gives pictures.
        case running
        /// The camera was lost, for this reason. The session looks for it once a second.
        case interrupted(CaptureError)
    }

    typealias Engine = KioskCaptureCore.CaptureSession
    typealias Failure = KioskCaptureCore.CaptureError
    typealias Preview = @Sendable (borrowing CapturedPicture) -> Void
    /// Opens a camera, and a microphone if there is one.
    typealias Opener = @Sendable (CaptureDeviceInput, CaptureDeviceInput?, @escaping Preview) throws(CaptureError) -> Engine

    struct State {
        var inputs: [CaptureDeviceInput] = []
        var output: CaptureMovieFileOutput?
        var status = Status.stopped
        var engine: Engine?
        /// Whether it opens or has its thread, and whether that has to end.
        var (isStarted, isStopping) = (false, false)
        /// When the callers that wait for the end no longer do.
        var patienceEnds: HostTime?
        /// The callers that wait for its end.
        var stopping: [CheckedContinuation<Void, Never>] = []
        var audioError: CaptureError?
        var audioLevel: Float = 0
        /// The number of times that it has opened devices. Pictures of an earlier time no longer count.
        var run = 0
    }

    private let state = Monitor(State())
    private let opener: Opener
    private let updates = Broadcast<Status>()
    private let observation = ObservationRegistrar()
    private let layers = Mutex<[WeakLayer]>([])

    private struct WeakLayer: Sendable { weak var layer: CapturePreviewLayer? }

    /// How often it looks for the end of a film, and for a lost camera that is back.
    private static let interval = MediaTime.milliseconds(100), search = MediaTime.seconds(1)
    /// How long ``stopRunning()`` waits for the disk.
    private static let patience = MediaTime.seconds(10)

    /// Creates a session without inputs.
    public convenience init() { self.init(opening: Self.open) }

    init(opening opener: @escaping Opener) { self.opener = opener }

    deinit { state.signal { $0.isStopping = true } }

    private static func open(
        _ camera: CaptureDeviceInput, _ microphone: CaptureDeviceInput?, _ preview: @escaping Preview
    ) throws(CaptureError) -> Engine {
        let mode = try camera.mode()
        let sound = microphone.map { AudioDevice.pcm($0.device.uniqueID) } ?? .off
        let path = (camera.device.connected ?? camera.device).uniqueID
        do throws(Failure) {
            return try Engine.open(camera: .device(path), microphone: sound, mode: mode, readers: Player.readers, preview: preview)
        } catch { throw CaptureError(error) }
    }

    // MARK: Inputs and outputs

    /// The devices.
    public var inputs: [CaptureDeviceInput] { state.withLock { $0.inputs } }

    /// The output; nil for none.
    public var output: CaptureMovieFileOutput? { state.withLock { $0.output } }

    /// Returns whether ``addInput(_:)`` would add it.
    public func canAddInput(_ input: CaptureDeviceInput) -> Bool { state.withLock { Self.objection(to: input, $0) } == nil }

    /// Adds a camera or a microphone, before the session starts.
    ///
    /// - Throws: ``CaptureError`` if the session runs, or has a device of this kind.
    public func addInput(_ input: CaptureDeviceInput) throws(CaptureError) {
        let objection = state.withLock { state -> CaptureError? in
            if let objection = Self.objection(to: input, state) { return objection }
            state.inputs.append(input)
            return nil
        }
        if let objection { throw objection }
    }

    private static func objection(to input: CaptureDeviceInput, _ state: State) -> CaptureError? {
        if state.isStarted { return CaptureError(.operationNotAllowed, "the session runs: stop it before you add an input") }
        guard let other = state.inputs.first(where: { $0.device.mediaType == input.device.mediaType }) else { return nil }
        return CaptureError(
            .operationNotAllowed,
            "cannot add \(input.device.localizedName): a session has one camera and one microphone, and this one has "
                + "\(other.device.localizedName); remove it first")
    }

    /// Removes an input from a session that does not run.
    public func removeInput(_ input: CaptureDeviceInput) {
        state.withLock { state in if !state.isStarted { state.inputs.removeAll { $0 == input } } }
    }

    /// Adds the output. A session has one, and an output has one session.
    ///
    /// - Throws: ``CaptureError`` if one of them has another.
    public func addOutput(_ output: CaptureMovieFileOutput) throws(CaptureError) {
        let objection = state.withLock { state -> String? in
            if state.output != nil { return "the session has an output: remove it first" }
            guard output.attach(to: self) else { return "the output belongs to another session: create one for each" }
            state.output = output
            return nil
        }
        if let objection { throw CaptureError(.operationNotAllowed, objection) }
    }

    /// Removes the output, and ends its recording.
    public func removeOutput(_ output: CaptureMovieFileOutput) {
        output.stopRecording()
        state.withLock { state in
            guard state.output === output, !output.isRecording else { return }
            state.output = nil
            output.detach()
        }
    }

    // MARK: Running

    /// Opens the devices. Returns when they are open; does nothing if the session runs.
    ///
    /// - Throws: ``CaptureError`` with the remedy. The session is stopped then.
    public func startRunning() async throws(CaptureError) {
        LibraryLog.begin()
        let isNew = state.withLock { state in
            if state.isStarted { return false }
            (state.isStarted, state.isStopping, state.patienceEnds, state.audioError) = (true, false, nil, nil)
            return true
        }
        guard isNew else { return }
        let result: Result<Void, CaptureError> = await withCheckedContinuation { continuation in
            Thread("capture") { [weak self, state] in
                let result = self?.begin()
                continuation.resume(returning: result ?? .success(()))
                guard case .success? = result else { return }
                // The session may go while its thread waits.
                while let self { if !self.step() { return } }
                Self.abandon(state)
            }.detach()
        }
        try result.get()
    }

    /// Ends a recording, and closes the devices. Returns when the film is complete, after 10 s at the latest.
    public func stopRunning() async {
        await withCheckedContinuation { continuation in
            let isStopped = state.signal { state in
                if !state.isStarted { return true }
                (state.isStopping, state.patienceEnds) = (true, state.patienceEnds ?? .now + Self.patience)
                state.stopping.append(continuation)
                // It then delivers the end of a film sooner.
                state.engine?.close()
                return false
            }
            if isStopped { continuation.resume() }
        }
    }

    /// The state of the session.
    public var status: Status { reading(\.status) { state.withLock { $0.status } } }
    /// Whether the camera gives pictures.
    public var isRunning: Bool { status == .running }
    /// Whether the session waits for its camera.
    public var isInterrupted: Bool { if case .interrupted = status { true } else { false } }
    /// The present state, and each later one.
    public var statusUpdates: AsyncStream<Status> { updates.stream(status) }

    /// The reason why the film is silent, once the microphone was lost; nil while it works. The next start opens it anew.
    public var audioError: CaptureError? { reading(\.audioError) { state.withLock { $0.audioError } } }

    /// The peak of the latest sounds, 0…1; 0 without a microphone. It changes ten times a second, also without a recording.
    public var audioLevel: Float { reading(\.audioLevel) { state.withLock { $0.audioLevel } } }

    /// Calls `body` with the engine, and the lock held; nil unless the session runs.
    func withEngine<Value: Sendable>(_ body: (Engine) -> Value) -> Value? {
        state.withLock { state in state.isStopping ? nil : state.engine.map { body($0) } }
    }

    // MARK: The thread

    /// Opens the devices for the first time.
    private func begin() -> Result<Void, CaptureError> {
        let result = open()
        switch result {
        case .success: set(.running)
        case .failure: finish()
        }
        return result
    }

    private func open() -> Result<Void, CaptureError> {
        let (inputs, run) = state.withLock { state in
            state.run += 1
            return (state.inputs, state.run)
        }
        return Result { () throws(CaptureError) in
            guard let camera = inputs.first(where: { $0.device.mediaType == .video }) else {
                throw CaptureError(.operationNotAllowed, "the session has no camera: add the input of one")
            }
            let microphone = inputs.first { $0.device.mediaType == .audio }
            let engine = try opener(camera, microphone) { [weak self] picture in self?.show(picture, of: run) }
            state.withLock { state in
                (state.engine, state.audioError) = (engine, nil)
                // A stop that came during the opening.
                if state.isStopping { engine.close() }
            }
        }
    }

    /// Waits for news of the devices, at most ``interval``. Returns false at the end.
    private func step() -> Bool {
        let (engine, output, isStopping) = state.withLock { ($0.engine, $0.output, $0.isStopping) }
        guard let engine else { return look(isStopping) }
        if let report = engine.report(until: .now + (isStopping ? .milliseconds(20) : Self.interval)) { output?.finish(report) }
        note(engine.status, output)
        if isStopping, output?.isRecording != true {
            finish()
            return false
        }
        // The disk hangs: the film is still on its way.
        let waiting = state.withLock { state -> [CheckedContinuation<Void, Never>] in
            guard let end = state.patienceEnds, end < .now else { return [] }
            defer { state.stopping = [] }
            return state.stopping
        }
        for continuation in waiting { continuation.resume() }
        if let failure = engine.status.failure {
            // With the lock held: a recording that begins now still gets its report.
            let isLost = state.withLock { state in
                if output?.isRecording == true { return false }
                state.engine = nil
                return true
            }
            if isLost {
                engine.close()
                hideLayers()
                set(.interrupted(CaptureError(failure)))
            }
        }
        return true
    }

    private func note(_ status: Engine.Status, _ output: CaptureMovieFileOutput?) {
        output?.note(status)
        let failure = status.soundFailure.map { CaptureError($0) }
        let (isOtherLevel, isOtherError) = state.withLock { state in
            defer { (state.audioLevel, state.audioError) = (status.level, failure) }
            return (state.audioLevel != status.level, state.audioError != failure)
        }
        if isOtherLevel { observation.withMutation(of: self, keyPath: \.audioLevel) {} }
        if isOtherError { observation.withMutation(of: self, keyPath: \.audioError) {} }
    }

    /// Looks for the lost devices. Returns false at the end.
    private func look(_ isStopping: Bool) -> Bool {
        if isStopping {
            finish()
            return false
        }
        _ = state.wait(until: .now + Self.search) { $0.isStopping ? true : nil }
        if state.withLock({ $0.isStopping }) { return true }
        if case .success = open() { set(.running) }
        return true
    }

    /// Closes the devices at the end, and wakes the callers of ``stopRunning()``.
    private func finish() {
        let (engine, waiting) = state.withLock { state in
            defer { (state.engine, state.isStarted, state.stopping, state.audioLevel) = (nil, false, [], 0) }
            return (state.engine, state.stopping)
        }
        engine?.close()
        hideLayers()
        set(.stopped)
        for continuation in waiting { continuation.resume() }
    }

    /// Ends the devices of a session that the application has released. Its film is complete as far as it went.
    private static func abandon(_ state: Monitor<State>) {
        let (engine, output) = state.withLock { ($0.engine, $0.output) }
        engine?.close()
        let deadline = HostTime.now + patience
        while let engine, let output, output.isRecording, .now < deadline {
            if let report = engine.report(until: deadline) { output.finish(report) }
        }
        output?.detach()
    }

    private func set(_ status: Status) {
        let isNew = state.withLock { state in
            defer { state.status = status }
            return state.status != status
        }
        guard isNew else { return }
        observation.withMutation(of: self, keyPath: \.status) {}
        observation.withMutation(of: self, keyPath: \.isRunning) {}
        observation.withMutation(of: self, keyPath: \.isInterrupted) {}
        updates.tell(status)
    }

    // MARK: Previews

    func add(_ layer: CapturePreviewLayer) {
        layers.withLock { layers in
            layers.removeAll { $0.layer == nil }
            layers.append(WeakLayer(layer: layer))
        }
    }

    /// Shows a picture of the camera. On the thread that reads it.
    private func show(_ picture: borrowing CapturedPicture, of run: Int) {
        for layer in layers.withLock({ $0.compactMap(\.layer) }) { layer.show(picture, of: run) }
    }

    private func hideLayers() {
        let run = state.withLock { $0.run }
        for layer in layers.withLock({ $0.compactMap(\.layer) }) { layer.hide(through: run) }
    }
}

extension CaptureSession: Observable {
    private func reading<Value, Other>(_ property: KeyPath<CaptureSession, Value>, _ body: () -> Other) -> Other {
        observation.access(self, keyPath: property)
        return body()
    }
}
