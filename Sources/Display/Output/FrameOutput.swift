import KioskMedia
import KioskPlatform
import KioskPlayback
import KioskVocabulary

/// An output without a display, for an application that draws pictures itself. The application takes the picture for each of its own
/// vblanks.
///
/// It converts nothing: a prepared scene is one more reference to the decoded picture. A commit counts as a flip at the next vblank of a
/// simulated grid, so its player need not know that nothing is scanned out. The compositor frees pictures, when it takes their slot again.
/// The application frees those that it has taken.
package final class FrameOutput: WindowSceneOutput, SharedSceneOutput, @unchecked Sendable {
    // Sendable: the converter has a lock of its own.

    private enum Use { case spare, ready, pending, shown }

    private struct State {
        var uses = [Use](repeating: .spare, count: slotCount)
        var samples = [FrameSample?](repeating: nil, count: slotCount)
        var paced: PacedFlip
        var generation: UInt64 = 0
        /// The sample on the screen, and since when.
        var shown: (sample: FrameSample?, since: HostTime)?
        var isWoken = false, isClosed = false
    }

    /// One shown, one pending, one ready: a hardware decoder has few pictures.
    private static let slotCount = 3

    private let state: Monitor<State>
    private let displayMode: DisplayMode
    private let converter = FrameConverter()

    /// Creates an output that takes `refresh` pictures a second. The size is that of the application's picture: it is for the choice of an
    /// HLS variant.
    package init(width: Int, height: Int, refresh: Double) {
        displayMode = DisplayMode(
            width: width, height: height, refreshPeriod: .seconds(1 / refresh), name: "frames \(width)x\(height)")
        state = Monitor(State(paced: PacedFlip(VblankGrid(origin: .now, refresh: refresh))))
    }

    // MARK: The application

    /// Returns the picture that is seen at a host time, and since when; nil before the first one and for the bare background. A time up to
    /// one period ahead has its picture already.
    package func sample(at time: HostTime) -> (sample: FrameSample, since: HostTime)? {
        let (sample, since): (FrameSample?, HostTime) = state.withLock { state in
            if let pending = state.paced.pending, let due = state.paced.timer, due <= time { return (state.samples[pending.buffer], due) }
            return (state.shown?.sample, state.shown?.since ?? time)
        }
        return sample.map { ($0, since) }
    }

    /// Returns the present picture as a PNG file, in the size of the output.
    package func png() throws -> [UInt8] {
        let buffer = MemoryBuffer(width: displayMode.width, height: displayMode.height, format: .xrgb8888)
        if let sample = sample(at: .now)?.sample {
            try sample.draw(into: buffer, gravity: .resizeAspect)
        } else {
            buffer.clear(to: 0)
        }
        return try Capture(buffer, rotation: .none).png(isUpright: true)
    }

    // MARK: Any thread

    package var mode: DisplayMode? { state.withLock { $0.isClosed ? nil : displayMode } }
    package var generation: UInt64 { state.withLock { $0.generation } }
    package var reportsVblank: Bool { true }
    package var rotation: Rotation { .none }
    package var nextRotation: Rotation { .none }
    package func setRotation(_ rotation: Rotation) {}
    package func rotate(_ rotation: Rotation?) {}
    package func rotation(after rotation: Rotation?) -> Rotation { .none }
    package func setBackground(_ color: Color) {}
    package func observeTerminal(_ observer: @escaping @Sendable (Bool) -> Void) { observer(true) }
    package func observeRotation(_ observer: @escaping @Sendable (Rotation) -> Void) { observer(.none) }
    package func wake() { state.signal { $0.isWoken = true } }

    package func discard(_ prepared: PreparedScene) {
        state.withLock { if prepared.generation == $0.generation { $0.uses[prepared.buffer] = .spare } }
    }

    package func playerEnded() { state.withLock { state in state.uses = state.uses.map { $0 == .ready ? .spare : $0 } } }

    package func close() {
        state.withLock { state in
            state.isClosed = true
            (state.samples, state.shown) = (state.samples.map { _ in nil }, nil)
        }
    }

    /// Returns the output of a second player, whose pictures nobody sees.
    package func makeWindow(
        background: Color?, show: @escaping @Sendable (Overlay.Picture?, _ next: Range<HostTime>?) -> Void,
        measured: @escaping @Sendable (MediaTime) -> Void
    ) -> any WindowSceneOutput {
        FrameOutput(width: displayMode.width, height: displayMode.height, refresh: 1 / displayMode.refreshPeriod.seconds)
    }

    // MARK: The compositor

    /// Drawings are left to the application.
    package func setOverlay(_ overlay: Overlay) -> OverlayPlacement { .blended }

    package func prepare(_ scene: borrowing Scene) -> Preparation {
        let slot: Int? = state.withLock { state in
            guard !state.isClosed, let slot = state.uses.firstIndex(of: .spare) else { return nil }
            state.uses[slot] = .ready
            return slot
        }
        guard let slot else { return mode == nil ? .noDisplay : .noSpareBuffer }
        let time = scene.itemTime
        let sample: FrameSample? =
            scene.count == 0
            ? nil
            : scene.withLayer(at: scene.count - 1) { layer in
                switch layer.frame.shared() {
                case .some(let frame): FrameSample(frame, at: time, converter)
                case .none: nil
                }
            }
        let (former, prepared): (FrameSample?, PreparedScene) = state.withLock { state in
            defer { state.samples[slot] = sample }
            return (state.samples[slot], PreparedScene(buffer: slot, generation: state.generation))
        }
        withExtendedLifetime(former) {}
        return .prepared(prepared)
    }

    // MARK: The presenter

    package func commit(_ prepared: PreparedScene, id: UInt64) -> CommitResult {
        state.withLock { state in
            guard prepared.generation == state.generation, !state.isClosed else { return .stale }
            guard state.paced.present(prepared.buffer, id: id, at: .now) else { return .busy }
            state.uses[prepared.buffer] = .pending
            return .queued
        }
    }

    package func commitOverlay(id: UInt64) -> CommitResult { .stale }

    package func wait(until deadline: HostTime?) -> SceneOutputEvent {
        while true {
            let limit = [state.withLock { $0.paced.timer }, deadline].compactMap { $0 }.min()
            let event: SceneOutputEvent? = state.wait(until: limit) { state in
                if let (slot, flip) = state.paced.collect(at: .now) {
                    for index in state.uses.indices where state.uses[index] == .shown { state.uses[index] = .spare }
                    state.uses[slot] = .shown
                    state.shown = (state.samples[slot], flip.time)
                    return .flipped(flip)
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
