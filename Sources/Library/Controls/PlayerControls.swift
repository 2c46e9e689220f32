import KioskControlsCore
public import KioskInput
import KioskInputCore
import KioskPlatform
import KioskPlayback
public import KioskPlayer
import KioskVocabulary
public import Observation
import Synchronization

/// Controls over the picture of a player, for touch, mouse, keys and remotes: AVPlayerViewController.
///
///     let input = try InputDevices(keys: ["space", "playpause"], display: display)
///     let controls = PlayerControls(player, input: input)
///     controls.configuration.parts.insert(.back)
///     controls.backAction = { showMenu() }
///     controls.title = "Mill, 1911"
///
/// They lie over everything else on the player's `VideoOutput`, and one output has one of them. A touch on them acts on the player; other touches
/// are gestures, which ``events`` has. They hide by themselves. An application without devices sends touches and keys of its own: ``send(_:)``.
///
/// From any thread; calls return at once, except that a change of ``player``, and ``stop()``, wait for a drawing that is under way.
public final class PlayerControls: Sendable, Observable {
    private struct State {
        var configuration: Configuration
        var player: Player?
        var input: InputDevices?, inputHandler: Int?
        var title: String?
        var shows = true, isLinear = false
        var backAction: (@Sendable () -> Void)?, rotateAction: (@Sendable () -> Void)?
        var engine: Controls?
        var hasStopped = false

        var settings: ControlsSettings {
            var settings = configuration.settings(locked: isLinear, shown: shows)
            (settings.title, settings.rotatesDisplay) = (title, rotateAction == nil)
            return settings
        }

        var keys: KeyMap { configuration.keys(locked: isLinear, shown: shows) }
    }

    /// What goes from the engine's threads to the thread of events.
    private struct Desk {
        var reports: [ControlsReport] = []
        /// The number of inputs so far, and how late the last one came by its own time: the deadline of a held finger is as late.
        var inputs = 0, lag = MediaTime.zero
        var hasInput: Bool
        var hasStopped = false
    }

    private let state: Mutex<State>
    private let desk: Monitor<Desk>
    private let stream = Broadcast<Event>()
    private let observation = ObservationRegistrar()

    /// Creates controls of a player, hidden until a touch, a key or ``show()``.
    ///
    /// - Parameters:
    /// - player: the player; nil until there is one.
    /// - input: the devices of viewers; nil if the application sends all touches and keys.
    /// - configuration: the look, and what the controls take.
    public init(_ player: Player? = nil, input: InputDevices? = nil, configuration: Configuration = Configuration()) {
        state = Mutex(State(configuration: configuration))
        desk = Monitor(Desk(hasInput: input != nil))
        state.withLock { state in
            state.player = player
            connect(input, &state)
            begin(&state)
        }
        Thread("controls-events") { [weak self, desk] in
            while true {
                let (inputs, lag) = desk.withLock { ($0.inputs, $0.lag) }
                let deadline = self?.deadline.map { $0 + lag }
                let news = desk.wait(until: deadline) { desk -> News? in
                    if desk.hasStopped { return .end }
                    if !desk.reports.isEmpty {
                        defer { desk.reports = [] }
                        return .reports(desk.reports)
                    }
                    return desk.inputs == inputs ? nil : .input
                }
                switch news {
                case .end: return
                case .reports(let reports): for report in reports { self?.deliver(report) }
                case .input: break
                case nil: self?.expire(at: .now - lag)
                }
            }
        }.detach()
    }

    private enum News {
        case reports([ControlsReport])
        /// Another deadline may be the next.
        case input
        case end
    }

    deinit {
        // The last owner may be the drawing thread or a thread of events, which cannot wait for themselves.
        let end = state.withLock { detach(&$0) }
        desk.signal { $0.hasStopped = true }
        if let end { Thread("controls-end", end).detach() }
    }

    /// Removes the controls, and takes no more input. ``events`` ends.
    public func stop() {
        let end = state.withLock { state in
            state.hasStopped = true
            connect(nil, &state)
            return detach(&state)
        }
        end?()
        desk.signal { $0.hasStopped = true }
        stream.end()
    }

    // MARK: The player

    /// The player under control; nil for none.
    public var player: Player? {
        get { state.withLock { $0.player } }
        set {
            state.withLock { state in
                if state.player === newValue { return }
                detach(&state)?()
                state.player = newValue
                begin(&state)
            }
        }
    }

    /// The devices of viewers; nil if the application sends all touches and keys. One set of devices can have several controls: each display's.
    public var input: InputDevices? {
        get { state.withLock { $0.input } }
        set { state.withLock { connect(newValue, &$0) } }
    }

    private func connect(_ input: InputDevices?, _ state: inout State) {
        if let number = state.inputHandler.take() { state.input?.endInterception(number) }
        (state.input, state.inputHandler) = (
            input,
            input?.intercept { [weak self] event in
                self?.handle(event)
                return false
            }
        )
        desk.withLock { $0.hasInput = input != nil }
    }

    /// Makes the engine's controls of the player.
    private func begin(_ state: inout State) {
        guard let player = state.player, !state.hasStopped else { return }
        let owner = ObjectIdentifier(desk)
        let engine = Controls(
            state.settings, keys: state.keys, player: player.engine, screen: OutputScreen(output: player.videoOutput.engine),
            report: { [desk] report in desk.signal { $0.reports.append(report) } },
            overlay: { [weak output = player.videoOutput] drawing, time in output?.setControls(drawing, by: owner, at: time) },
            readers: Player.readers)
        state.engine = engine
        engine.start { [desk] in desk.withLock { $0.hasInput } }
    }

    /// Takes the engine's controls away. Returns their end, which blocks.
    private func detach(_ state: inout State) -> (@Sendable () -> Void)? {
        guard let engine = state.engine.take(), let output = state.player?.videoOutput else { return nil }
        let owner = ObjectIdentifier(desk)
        if engine.isShown { desk.signal { $0.reports.append(.isShown(false)) } }
        return {
            engine.stop()
            output.setControls(Overlay(), by: owner)
        }
    }

    // MARK: Look and content

    /// The look of the controls, and what they take. A change shows at once.
    public var configuration: Configuration {
        get { state.withLock { $0.configuration } }
        set { change { $0.configuration = newValue } }
    }

    /// The title; nil is that of the item, from its file.
    public var title: String? {
        get { state.withLock { $0.title } }
        // The longest line that a display shows.
        set { change { $0.title = newValue.map { String($0.prefix(1000)) } } }
    }

    /// Whether there are controls. With false, touches and keys change nothing, and gestures still make ``events``.
    public var showsPlaybackControls: Bool {
        get { state.withLock { $0.shows } }
        set { change { $0.shows = newValue } }
    }

    /// Whether viewers can neither seek nor skip items.
    public var requiresLinearPlayback: Bool {
        get { state.withLock { $0.isLinear } }
        set { change { $0.isLinear = newValue } }
    }

    private func change(_ body: (inout State) -> Void) {
        state.withLock { state in
            let former = (state.shows, state.isLinear, state.configuration.handlesKeys)
            body(&state)
            let isSame = former == (state.shows, state.isLinear, state.configuration.handlesKeys)
            state.engine?.set(state.settings, keys: isSame ? nil : state.keys)
        }
    }

    // MARK: Buttons

    /// Called when a viewer presses ``Part/back``, on a thread of the controls.
    public var backAction: (@Sendable () -> Void)? {
        get { state.withLock { $0.backAction } }
        set { state.withLock { $0.backAction = newValue } }
    }

    /// Called when a viewer presses ``Part/rotate``, on a thread of the controls. If it is nil, the picture of the display rotates by a quarter
    /// clockwise.
    public var rotateAction: (@Sendable () -> Void)? {
        get { state.withLock { $0.rotateAction } }
        set { change { $0.rotateAction = newValue } }
    }

    /// Returns the place of a control on the display, shown or not: touches in it are that control's. nil if there is no such control now, or no
    /// display.
    public func region(of control: Control) -> Region? {
        guard let layout = state.withLock({ $0.engine })?.layout, let box = layout.target(of: control.engine) else { return nil }
        let (width, height) = (Double(layout.geometry.width), Double(layout.geometry.height))
        return Region(
            x: Double(box.x) / width, y: Double(box.y) / height, width: Double(box.width) / width, height: Double(box.height) / height)
    }

    // MARK: Visibility

    /// Shows the controls, as a touch does: they hide by themselves, while the player plays.
    public func show() { state.withLock { $0.engine }?.perform(.showControls) }

    /// Hides the controls.
    public func hide() { state.withLock { $0.engine }?.perform(.hideControls) }

    /// Whether the controls are shown. False as soon as they begin to fade out. Swift's Observation follows it.
    public var isVisible: Bool {
        observation.access(self, keyPath: \.isVisible)
        return state.withLock { $0.engine }?.isShown ?? false
    }

    // MARK: Touches and keys

    /// All events from now on. Each call returns a sequence of its own; it ends with ``stop()``. A slow reader gets the newest 1024.
    public var events: AsyncStream<Event> { stream.stream() }

    /// Takes a touch or a key as if a device had made it: for tests, and for devices that only the application knows. A touch goes from
    /// `began` to `ended`, with one `InputDevices.Touch.id`. Gestures go by the differences between times. A time of zero, and one in
    /// the future, is the present. Like a finger, a touch within 40 ms after another one belongs to that.
    ///
    /// - Returns: false for a key without a name in the kernel's headers, and for a place that is no number.
    @discardableResult public func send(_ event: InputDevices.Event) -> Bool {
        guard let event = InputEvent(event) else { return false }
        handle(event)
        return true
    }

    private func handle(_ event: InputEvent) {
        guard let engine = state.withLock({ $0.engine }) else { return }
        engine.handler.handle(event)
        let lag = max(HostTime.now - event.time, .zero)
        desk.signal { desk in
            desk.inputs += 1
            desk.lag = lag
        }
    }

    // MARK: The thread of events

    private var deadline: HostTime? { state.withLock { $0.engine }?.handler.nextDeadline() }

    private func expire(at time: HostTime) { state.withLock { $0.engine }?.handler.expire(time) }

    private func deliver(_ report: ControlsReport) {
        switch report {
        case .gesture(let gesture): if let gesture = Gesture(gesture) { stream.tell(.gesture(gesture)) }
        case .button(let control):
            stream.tell(control == .back ? .back : .rotate)
            let action = state.withLock { control == .back ? $0.backAction : $0.rotateAction }
            action?()
        case .command(let command): player?.noteCommand(command)
        case .isShown(let isShown):
            observation.withMutation(of: self, keyPath: \.isVisible) {}
            stream.tell(.visibilityChanged(isShown))
        }
    }
}

/// The engine's display of a `VideoOutput`.
private struct OutputScreen: ControlsScreen {
    let output: any SharedSceneOutput

    var mode: DisplayMode? { output.mode }
    var nextRotation: Rotation { output.nextRotation }
    func rotate(_ rotation: Rotation?) { output.rotate(rotation) }
    func rotation(after rotation: Rotation?) -> Rotation { output.rotation(after: rotation) }
}
