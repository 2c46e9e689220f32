import Media
import Platform
import Playback
import TestSupport

/// A display that keeps what it was given: three buffers, a steady 60 Hz, and for every vblank the frame number that is burned into the picture it
/// showed. Nothing is converted, so that a test judges the engine and not the machine's speed.
final class RecordingDisplay: VideoOutput {
    /// One vblank.
    struct Vblank: Hashable, Sendable {
        var index: Int64
        /// The number burned in; 0 is the background or not a numbered clip.
        var number: Int
    }

    private struct State {
        var numbers = [Int](repeating: 0, count: 3)
        var free: Set<Int> = [0, 1, 2]
        var shown: Int?
        var pending: (buffer: Int, id: UInt64, vblank: Int64)?
        /// Vblank from which each number was on the screen.
        var flips: [Vblank] = []
        var isLit = true
        var generation: UInt64 = 0
        var changed = false
        var isWoken = false
    }

    private let state = Monitor(State())
    private let period: MediaTime
    private let begin = HostTime.now
    /// Reads the burned-in number of a frame.
    private let read: @Sendable (borrowing VideoFrame) -> Int

    init(refreshRate: Double = 60, read: @escaping @Sendable (borrowing VideoFrame) -> Int = burnedInNumber) {
        period = .seconds(1 / refreshRate)
        self.read = read
    }

    var mode: DisplayMode? {
        state.withLock { $0.isLit } ? DisplayMode(width: 1280, height: 720, refreshPeriod: period, name: "recording") : nil
    }
    var generation: UInt64 { state.withLock { $0.generation } }
    var reportsVblank: Bool { true }

    /// The numbers shown, each with the vblank it began at.
    var flips: [Vblank] { state.withLock { $0.flips } }

    /// Each number in the order shown and for how many vblanks it stood; the last one is left out.
    var holds: [(number: Int, vblanks: Int)] {
        let flips = flips
        return zip(flips, flips.dropFirst()).map { ($0.number, Int($1.index - $0.index)) }
    }

    /// Pulls the plug, or puts it back.
    func setLit(_ isLit: Bool) {
        state.signal { state in
            state.isLit = isLit
            state.generation += 1
            state.changed = true
            state.pending = nil
            state.free = [0, 1, 2]
        }
    }

    func compose(_ frame: borrowing VideoFrame?, gravity: VideoGravity) -> Composition {
        let number: Int
        switch frame {
        case .some(let frame): number = read(frame)
        case .none: number = 0
        }
        return state.withLock { state in
            guard state.isLit else { return .dark }
            guard let buffer = state.free.popFirst() else { return .noSpareBuffer }
            state.numbers[buffer] = number
            return .composed(ComposedFrame(buffer: buffer, generation: state.generation))
        }
    }

    func present(_ frame: ComposedFrame, id: UInt64) -> Presentation {
        state.withLock { state in
            guard frame.generation == state.generation else { return .stale }
            if state.pending != nil { return .busy }
            let next = (HostTime.now - begin).nanoseconds / period.nanoseconds + 1
            state.pending = (frame.buffer, id, next)
            return .queued
        }
    }

    func discard(_ frame: ComposedFrame) {
        state.withLock { state in
            if frame.generation == state.generation { state.free.insert(frame.buffer) }
        }
    }

    func wait(until deadline: HostTime?) -> VideoOutputEvent {
        while true {
            let flip = state.withLock { $0.pending.map { begin + period * $0.vblank } }
            let until = [deadline, flip].compactMap { $0 }.min()
            let event: VideoOutputEvent? = state.wait(until: until) { state -> VideoOutputEvent? in
                if state.changed {
                    state.changed = false
                    return .changed
                }
                if let pending = state.pending, begin + period * pending.vblank <= .now {
                    if let shown = state.shown, shown != pending.buffer { state.free.insert(shown) }
                    state.shown = pending.buffer
                    state.pending = nil
                    state.flips.append(Vblank(index: pending.vblank, number: state.numbers[pending.buffer]))
                    return .flipped(Flip(id: pending.id, time: begin + period * pending.vblank, sequence: UInt64(pending.vblank)))
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
    func close() {}
}
