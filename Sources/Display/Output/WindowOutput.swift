import KioskMedia
import KioskPlatform
import KioskPlayback
import KioskVocabulary

/// A window over another player's picture: an output whose pictures become drawn pictures of the display.
///
/// The compositor paints scenes, in the size of the window (``Overlay/region``), into ordinary memory. A commit passes the newest one on as
/// an overlay of the display's picture. It counts as a flip at the next vblank of the display. So the window moves and scales as a picture
/// on planes does, and its player need not know about the shared display. The window may have a plane of its own; else kiosk blends it into
/// pictures.
///
/// This copies a picture twice more than a display of its own would: cheap for a window, expensive for a whole screen.
final class WindowOutput: WindowSceneOutput, @unchecked Sendable {
    // Sendable: only the compositor thread touches the painter and its memory (SceneOutput's contract).

    fileprivate enum Use { case spare, ready, pending, shown }

    fileprivate struct State {
        var uses = [Use](repeating: .spare, count: slotCount)
        var pictures = [Overlay.Picture?](repeating: nil, count: slotCount)
        var pending: (slot: Int, id: UInt64, due: HostTime)?
        var background: UInt32
        var region = Region.full
        var mode: DisplayMode?
        var generation: UInt64 = 0
        var hasChanged = false
        var isWoken = false
        var rhythm = WindowRhythm()
        /// The total time and number of measured paintings; nil once the mean is reported.
        var painting: (time: MediaTime, count: Int)? = (.zero, 0)
    }

    /// The number of pictures to measure.
    fileprivate static let measuredCount = 60
    /// One shown, one pending, one ready, one in preparation.
    private static let slotCount = 4
    /// A commit closer to a vblank appears at the next one.
    private static let leastLead = MediaTime.milliseconds(2)

    private let state: Monitor<State>
    private let display: DisplayOutput
    private let show: @Sendable (Overlay.Picture?, _ next: Range<HostTime>?) -> Void
    private let measured: @Sendable (MediaTime) -> Void
    private let painter = ScenePainter()
    private var memory: MemoryBuffer?

    init(
        _ display: DisplayOutput, background: Color?, show: @escaping @Sendable (Overlay.Picture?, _ next: Range<HostTime>?) -> Void,
        measured: @escaping @Sendable (MediaTime) -> Void
    ) {
        (self.display, self.show, self.measured) = (display, show, measured)
        state = Monitor(State(background: (background ?? display.settings.background).rgb))
    }

    // MARK: Any thread

    func waitUntilOpen() {
        display.waitUntilOpen()
        state.withLock { $0.mode = upright(display.mode) }
    }

    /// Returns the display's mode as a viewer sees it: the window rotates with the picture under it.
    private func upright(_ mode: DisplayMode?) -> DisplayMode? {
        guard var mode, display.rotation.swapsAxes else { return mode }
        (mode.width, mode.height) = (mode.height, mode.width)
        return mode
    }

    var mode: DisplayMode? { state.withLock { $0.mode } }
    var generation: UInt64 { state.withLock { $0.generation } }
    var reportsVblank: Bool { true }
    var rotation: Rotation { .none }
    func setRotation(_ rotation: Rotation) {}

    /// Handles a display that has come, gone or changed.
    func displayChanged() {
        let mode = upright(display.mode)
        state.signal { state in
            guard state.mode != mode else { return }
            state.mode = mode
            state.begin()
        }
    }

    func setBackground(_ color: Color) {
        state.signal { state in
            guard state.background != color.rgb else { return }
            state.background = color.rgb
            state.begin()
        }
    }

    func wake() { state.signal { $0.isWoken = true } }

    func discard(_ prepared: PreparedScene) {
        state.withLock { if prepared.generation == $0.generation { $0.uses[prepared.buffer] = .spare } }
    }

    func playerEnded() {
        state.withLock { state in state.uses = state.uses.map { $0 == .ready ? .spare : $0 } }
        show(nil, nil)
    }

    func close() { show(nil, nil) }

    // MARK: The compositor

    func setOverlay(_ overlay: Overlay) -> OverlayPlacement {
        state.withLock { $0.region = overlay.region }
        return .blended
    }

    func prepare(_ scene: borrowing Scene) -> Preparation {
        let slot = state.withLock { state -> (index: Int, place: PixelRectangle, background: UInt32, generation: UInt64)? in
            guard let mode = state.mode, let index = state.uses.firstIndex(of: .spare) else { return nil }
            state.uses[index] = .ready
            return (index, state.region.pixels(width: mode.width, height: mode.height), state.background, state.generation)
        }
        guard let slot else { return mode == nil ? .noDisplay : .noSpareBuffer }
        let begin = HostTime.now
        let picture = paint(scene, slot.place, slot.background)
        let took = HostTime.now - begin
        let (preparation, mean) = state.withLock { state -> (Preparation, MediaTime?) in
            guard state.generation == slot.generation else { return (.noDisplay, nil) }
            state.pictures[slot.index] = picture
            return (.prepared(PreparedScene(buffer: slot.index, generation: slot.generation)), state.painted(in: took))
        }
        if let mean { measured(mean) }
        return preparation
    }

    private func paint(_ scene: borrowing Scene, _ place: PixelRectangle, _ background: UInt32) -> Overlay.Picture {
        if memory?.pixels.width != place.width || memory?.pixels.height != place.height {
            memory = MemoryBuffer(width: place.width, height: place.height, format: .xrgb8888)
        }
        let memory = memory!
        painter.paint(scene, rotation: .none, background: background, into: memory)
        let pixels = [UInt32](unsafeUninitializedCapacity: place.width * place.height) { buffer, count in
            for y in 0..<place.height {
                let row = memory.pixels.address(0, y).assumingMemoryBound(to: UInt32.self)
                for x in 0..<place.width { buffer[y * place.width + x] = row[x] | 0xff00_0000 }
            }
            count = place.width * place.height
        }
        let surface = Surface(width: place.width, height: place.height, pixels: pixels, isOpaque: true)
        return Overlay.Picture(surface: surface, x: place.x, y: place.y)
    }

    // MARK: The presenter

    func commit(_ prepared: PreparedScene, id: UInt64) -> CommitResult {
        let (result, picture, next) = state.withLock { state -> (CommitResult, Overlay.Picture?, Range<HostTime>?) in
            guard prepared.generation == state.generation, let mode = state.mode else { return (.stale, nil, nil) }
            if state.pending != nil { return (.busy, nil, nil) }
            let due = nextVblank(mode.refreshPeriod)
            state.uses[prepared.buffer] = .pending
            state.pending = (prepared.buffer, id, due)
            return (.queued, state.pictures[prepared.buffer], state.rhythm.next(after: due, period: mode.refreshPeriod))
        }
        if let picture { show(picture, next) }
        return result
    }

    func commitOverlay(id: UInt64) -> CommitResult { .stale }

    /// Returns the vblank at which a picture committed now appears.
    private func nextVblank(_ period: MediaTime) -> HostTime {
        let earliest = HostTime.now + Self.leastLead
        guard let last = display.lastVblank, period > .zero else { return earliest + period }
        let count = max(0, (earliest - last).nanoseconds / period.nanoseconds + 1)
        return last + period * count
    }

    func wait(until deadline: HostTime?) -> SceneOutputEvent {
        while true {
            let due = state.withLock { $0.pending?.due }
            let limit = [due, deadline].compactMap { $0 }.min()
            let event: SceneOutputEvent? = state.wait(until: limit) { state in
                if let pending = state.pending, pending.due <= HostTime.now {
                    for index in state.uses.indices where state.uses[index] == .shown { state.uses[index] = .spare }
                    state.uses[pending.slot] = .shown
                    state.pending = nil
                    return .flipped(Flip(id: pending.id, time: pending.due, sequence: nil))
                }
                if state.hasChanged {
                    state.hasChanged = false
                    return .changed
                }
                if state.isWoken {
                    state.isWoken = false
                    return .woken
                }
                return nil
            }
            if let event { return event }
            if let deadline, deadline <= .now { return .deadline }
        }
    }
}

/// Predicts a window's next picture from the durations of the last ones. A pure value.
///
/// The window passes a picture on just after the vblank before its own. The display's frame for that vblank should wait for it, and does
/// not by itself. So the window announces the time beforehand.
struct WindowRhythm: Sendable {
    /// Longest duration in vblanks for which a display's frame waits for the next picture.
    static let longest = 8.0

    private var last: HostTime?
    /// The durations of the last two pictures in vblanks: 3 and 2 for 24 frames a second on 60 Hz.
    private var holds: (Double, Double)?

    /// Records a picture due at vblank `due`. Returns the range of times for the next picture; nil if unknown.
    mutating func next(after due: HostTime, period: MediaTime) -> Range<HostTime>? {
        defer { last = due }
        guard let last, period > .zero, case let hold = ((due - last).seconds / period.seconds).rounded(), 1...Self.longest ~= hold else {
            holds = nil
            return nil
        }
        let former = holds?.1 ?? hold
        holds = (former, hold)
        return due + period.scaled(by: min(former, hold) - 1)..<due + period.scaled(by: max(former, hold))
    }
}

extension WindowOutput.State {
    /// Voids all prepared pictures.
    fileprivate mutating func begin() {
        generation += 1
        uses = uses.map { _ in .spare }
        (pending, hasChanged) = (nil, true)
    }

    /// Records the painting of a picture. Returns the mean time once, after enough of them.
    fileprivate mutating func painted(in time: MediaTime) -> MediaTime? {
        guard let former = painting else { return nil }
        let sum = (time: former.time + time, count: former.count + 1)
        painting = sum.count < WindowOutput.measuredCount ? sum : nil
        return painting == nil ? MediaTime(nanoseconds: sum.time.nanoseconds / Int64(sum.count)) : nil
    }
}

extension DisplayOutput: SharedSceneOutput {
    /// Returns a window over this display's picture.
    package func makeWindow(
        background: Color?, show: @escaping @Sendable (Overlay.Picture?, _ next: Range<HostTime>?) -> Void,
        measured: @escaping @Sendable (MediaTime) -> Void
    ) -> any WindowSceneOutput {
        let window = WindowOutput(self, background: background, show: show, measured: measured)
        shared.withLock { shared in
            shared.windows.removeAll { $0.output == nil }
            shared.windows.append(OutputState.Window(output: window))
        }
        return window
    }

    /// The last vblank that changed the picture; nil before the first.
    var lastVblank: HostTime? { shared.withLock { $0.lastVblank } }

    /// Tells the windows that the display has come or gone, or is driven or rotated differently.
    func tellWindows() { for window in shared.withLock({ $0.windows.compactMap(\.output) }) { window.displayChanged() } }

    /// Returns the screen as a PNG file.
    package func png() throws -> [UInt8] { try capture().png(isUpright: true) }
}
