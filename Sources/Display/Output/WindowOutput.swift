import KioskMedia
import KioskPlatform
import KioskPlayback
import KioskVocabulary

/// A window over another player's picture: an output whose pictures become drawn pictures of the display.
///
/// The compositor paints scenes, in the size of the window (``Overlay/region``), into ordinary memory; a commit hands the newest one on to be
/// laid over the display's picture, and counts as a flip at the next vblank of the display. So the window moves and grows as a picture on
/// planes does, and its player notices nothing of whose display it is. It may lie on a plane of its own; else it is blended into pictures.
///
/// Here a picture is copied twice more than on a display of its own, which is little for a window and much for a whole screen.
final class WindowOutput: WindowSceneOutput, @unchecked Sendable {
    // Sendable because the painter and its memory are touched by the compositor thread alone (SceneOutput's contract).

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
        /// How long pictures took to be painted, and how many did, until that is told.
        var painting: (time: MediaTime, count: Int)? = (.zero, 0)
    }

    /// So many pictures say how long one takes.
    fileprivate static let measuredCount = 60
    /// One shown, one on its way there, one ready and one being painted.
    private static let slotCount = 4
    /// What is committed so shortly before a vblank is seen with the next one.
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

    /// The display's mode as a viewer sees it: the window is rotated with what it lies over.
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

    /// The display has come, gone or changed.
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

    /// The vblank with which what is handed on now is seen.
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

/// When a window's next picture comes, by how long the last ones stood. A pure value.
///
/// A picture is handed on just after the vblank before the one that it is for. The display's own frame for that vblank is to wait for it then, and would not by
/// itself: so the window says beforehand when that will be.
struct WindowRhythm: Sendable {
    /// Pictures that stand for longer are awaited by nobody.
    static let longest = 8.0

    private var last: HostTime?
    /// How many vblanks the last two stood for: 3 and 2 where 24 frames a second are on 60 Hz.
    private var holds: (Double, Double)?

    /// A picture comes at the vblank `due`. Between which times the next one is handed on; nil where nobody knows.
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
    /// All that has been prepared is void.
    fileprivate mutating func begin() {
        generation += 1
        uses = uses.map { _ in .spare }
        (pending, hasChanged) = (nil, true)
    }

    /// A picture has been painted; what one takes, once, when enough have been.
    fileprivate mutating func painted(in time: MediaTime) -> MediaTime? {
        guard let former = painting else { return nil }
        let sum = (time: former.time + time, count: former.count + 1)
        painting = sum.count < WindowOutput.measuredCount ? sum : nil
        return painting == nil ? MediaTime(nanoseconds: sum.time.nanoseconds / Int64(sum.count)) : nil
    }
}

extension DisplayOutput: SharedSceneOutput {
    /// A window over its picture.
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

    /// The last vblank that something was seen to change at; nil before the first.
    var lastVblank: HostTime? { shared.withLock { $0.lastVblank } }

    /// The display has come, gone, or is driven or rotated otherwise.
    func tellWindows() { for window in shared.withLock({ $0.windows.compactMap(\.output) }) { window.displayChanged() } }

    /// What is on the screen, as a PNG file.
    package func png() throws -> [UInt8] { try capture().png(isUpright: true) }
}
