import Glibc
import KioskMedia
import KioskPlatform
import KioskPlayback
import KioskVocabulary
import TestSupport

/// A display that records its pictures. By default it has three buffers and a steady 60 Hz. For every vblank it keeps the frame number that
/// is burned into the picture. It converts nothing, so a test judges the engine and not the machine's speed. It also keeps account of its
/// buffers: if the engine commits or discards a buffer that it does not hold, that is a ``violations`` entry.
final class RecordingDisplay: SceneOutput {
    /// One vblank.
    struct Vblank: Hashable, Sendable {
        var index: Int64
        /// The number burned in; 0 for the background, or for a clip without numbers.
        var number: Int
        /// The number of the picture beneath it, and the upper picture's share of the mixture.
        var underlay: (number: Int, share: Double)?

        static func == (a: Vblank, b: Vblank) -> Bool { (a.index, a.number) == (b.index, b.number) }
        func hash(into hasher: inout Hasher) { hasher.combine(index) }

        init(index: Int64, _ shown: (number: Int, underlay: (number: Int, share: Double)?)) {
            (self.index, number, underlay) = (index, shown.number, shown.underlay)
        }
    }

    private struct State {
        var numbers: [(number: Int, underlay: (number: Int, share: Double)?)]
        var free: Set<Int>
        var violations: [String] = []
        var lastID: UInt64 = 0
        var shown: Int?
        var pending: (buffer: Int?, id: UInt64, vblank: Int64, overlay: Int)?
        /// The overlay: as it was set, in each buffer, and on the screen.
        var overlay = 0, overlays: [Int], seenOverlay = 0
        /// Each number with the vblank from which on it was on the screen.
        var flips: [Vblank] = []
        var isConnected = true
        var generation: UInt64 = 0
        var changed = false
        var isWoken = false
        /// The buffer that a snapshot reads, and whether a flip has left it since.
        var read: (buffer: Int, hasLeft: Bool)?
        var hasFreedBuffer = false
        /// Whether `prepare` hangs.
        var isHanging = false
        /// How the picture in each buffer is fitted.
        var gravities: [Int: VideoGravity] = [:]
        var prepareCount = 0
    }

    /// A refresh rate that no clip fits. If a rate fits, the sound is resampled to follow the display, and no sample equals the clip's.
    static let oddRefreshRate = 68.1

    private let state: Monitor<State>
    private let bufferCount: Int
    private let period: MediaTime
    private let begin = HostTime.now
    /// The time that a conversion takes.
    private let composeTime: MediaTime
    let reportsVblank: Bool
    /// Whether overlays have a plane; otherwise the pictures contain them.
    private let hasOverlayPlane: Bool

    init(
        buffers: Int = 3, refreshRate: Double = 60, composeTime: MediaTime = .zero, reportsVblank: Bool = true,
        hasOverlayPlane: Bool = false
    ) {
        state = Monitor(
            State(
                numbers: Array(repeating: (0, nil), count: buffers), free: Set(0..<buffers), overlays: Array(repeating: 0, count: buffers)))
        self.hasOverlayPlane = hasOverlayPlane
        bufferCount = buffers
        period = .seconds(1 / refreshRate)
        self.composeTime = composeTime
        self.reportsVblank = reportsVblank
    }

    var mode: DisplayMode? {
        state.withLock { $0.isConnected } ? DisplayMode(width: 1280, height: 720, refreshPeriod: period, name: "recording") : nil
    }
    var generation: UInt64 { state.withLock { $0.generation } }
    let rotation = Rotation.none
    func setRotation(_ rotation: Rotation) {}

    /// The engine's violations of the output's rules.
    var violations: [String] { state.withLock { $0.violations } }

    /// The number of composed buffers that the engine holds: neither free, nor on the screen, nor waiting for their flip.
    var buffersOut: Int {
        state.withLock { bufferCount - $0.free.count - ($0.shown == nil ? 0 : 1) - ($0.pending?.buffer == nil ? 0 : 1) }
    }

    /// The x position of the overlay's picture on the screen; 0 for no overlay.
    var overlay: Int { state.withLock { $0.seenOverlay } }

    /// How the picture on the screen is fitted.
    var gravity: VideoGravity? { state.withLock { state in state.shown.flatMap { state.gravities[$0] } } }

    /// The numbers shown, each with its first vblank.
    var flips: [Vblank] { state.withLock { $0.flips } }

    /// Each number in the order shown, and for how many vblanks it stood, without the last one.
    var holds: [(number: Int, vblanks: Int)] {
        let flips = flips
        return zip(flips, flips.dropFirst()).map { ($0.number, Int($1.index - $0.index)) }
    }

    /// Disconnects the display, or reconnects it.
    func setConnected(_ isConnected: Bool) {
        state.signal { state in
            state.isConnected = isConnected
            state.generation += 1
            state.changed = true
            (state.overlay, state.seenOverlay) = (0, 0)
            state.pending = nil
            state.shown = nil
            state.free = Set(0..<bufferCount)
        }
    }

    /// Starts a snapshot of the screen: its buffer does not become free before ``endReading()``.
    func beginReading() { state.withLock { state in state.read = state.shown.map { ($0, false) } } }

    /// Whether only the snapshot still holds the buffer.
    var isReadingAlone: Bool { state.withLock { $0.read?.hasLeft == true } }

    func endReading() {
        state.signal { state in
            if let read = state.read, read.hasLeft, state.free.insert(read.buffer).inserted { state.hasFreedBuffer = true }
            state.read = nil
        }
    }

    /// The number of calls of `prepare`.
    var prepareCount: Int { state.withLock { $0.prepareCount } }

    /// Makes `prepare` hang as in a driver, or lets it go on.
    func setHanging(_ isHanging: Bool) { state.signal { $0.isHanging = isHanging } }

    func prepare(_ scene: borrowing Scene) -> Preparation {
        _ = state.wait { $0.isHanging ? nil : true }
        var pictures: [(number: Int, alpha: Double)] = []
        var gravity = VideoGravity.resizeAspect
        for index in 0..<scene.count {
            scene.withLayer(at: index) { layer in
                pictures.append((burnedInNumber(layer.frame), layer.alpha))
                gravity = layer.gravity
            }
        }
        let shown = pictures.last
        let beneath = pictures.count == 2 ? (number: pictures[0].number, share: pictures[1].alpha) : nil
        if composeTime > .zero { usleep(UInt32(composeTime.nanoseconds / 1000)) }
        return state.withLock { state in
            state.prepareCount += 1
            guard state.isConnected else { return .noDisplay }
            guard let buffer = state.free.popFirst() else { return .noSpareBuffer }
            state.numbers[buffer] = (shown?.number ?? 0, beneath)
            state.gravities[buffer] = gravity
            state.overlays[buffer] = hasOverlayPlane ? 0 : state.overlay
            return .prepared(PreparedScene(buffer: buffer, generation: state.generation))
        }
    }

    func commit(_ prepared: PreparedScene, id: UInt64) -> CommitResult {
        state.withLock { state in
            guard prepared.generation == state.generation else { return .stale }
            if state.free.contains(prepared.buffer) || state.shown == prepared.buffer {
                state.violations.append("committed \(prepared) twice")
            }
            return flip(to: prepared.buffer, id: id, overlay: hasOverlayPlane ? state.overlay : state.overlays[prepared.buffer], &state)
        }
    }

    private func flip(to buffer: Int?, id: UInt64, overlay: Int, _ state: inout State) -> CommitResult {
        if id <= state.lastID { state.violations.append("id \(id) after \(state.lastID)") }
        state.lastID = id
        if state.pending != nil { return .busy }
        let next = (HostTime.now - begin).nanoseconds / period.nanoseconds + 1
        state.pending = (buffer, id, next, overlay)
        return .queued
    }

    func setOverlay(_ overlay: Overlay) -> OverlayPlacement {
        state.withLock { $0.overlay = overlay.pictures.first?.x ?? 0 }
        return hasOverlayPlane ? .plane : .blended
    }

    func commitOverlay(id: UInt64) -> CommitResult {
        state.withLock { state in
            if !hasOverlayPlane { state.violations.append("an overlay alone, without a plane") }
            return state.isConnected ? flip(to: nil, id: id, overlay: state.overlay, &state) : .stale
        }
    }

    func discard(_ prepared: PreparedScene) {
        state.withLock { state in
            guard prepared.generation == state.generation else { return }
            let isOut = state.shown != prepared.buffer && state.pending?.buffer != prepared.buffer
            if !isOut || !state.free.insert(prepared.buffer).inserted {
                state.violations.append("discarded \(prepared), which was not prepared")
            }
        }
    }

    func wait(until deadline: HostTime?) -> SceneOutputEvent {
        while true {
            let flip = state.withLock { $0.pending.map { begin + period * $0.vblank } }
            let until = [deadline, flip].compactMap { $0 }.min()
            let event: SceneOutputEvent? = state.wait(until: until) { state -> SceneOutputEvent? in
                if state.changed {
                    state.changed = false
                    return .changed
                }
                if let pending = state.pending, begin + period * pending.vblank <= .now {
                    state.pending = nil
                    state.seenOverlay = pending.overlay
                    if let buffer = pending.buffer {
                        if let shown = state.shown, shown != buffer {
                            if state.read?.buffer == shown { state.read?.hasLeft = true } else { state.free.insert(shown) }
                        }
                        state.shown = buffer
                        state.flips.append(Vblank(index: pending.vblank, state.numbers[buffer]))
                    }
                    return .flipped(Flip(id: pending.id, time: begin + period * pending.vblank, sequence: UInt64(pending.vblank)))
                }
                if state.hasFreedBuffer {
                    state.hasFreedBuffer = false
                    return .bufferFreed
                }
                if state.isWoken {
                    state.isWoken = false
                    return .woken
                }
                return nil
            }
            if let event { return event }
            if let deadline, HostTime.now >= deadline { return .deadline }
        }
    }

    func wake() { state.signal { $0.isWoken = true } }

    /// Frees the buffers that the engine held.
    func playerEnded() {
        state.withLock { state in
            state.free = Set(0..<bufferCount).subtracting([state.shown, state.pending?.buffer, state.read?.buffer].compactMap { $0 })
        }
    }

    func close() {}
}
