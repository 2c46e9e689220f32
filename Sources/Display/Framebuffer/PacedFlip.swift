import KioskPlatform
import KioskPlayback

/// Flips at the simulated vblanks of a grid: presented at any time, completed at the next vblank. Pure.
struct PacedFlip {
    let grid: VblankGrid
    private(set) var pending: (buffer: Int, id: UInt64, sequence: UInt64)?

    init(_ grid: VblankGrid) { self.grid = grid }

    /// When the pending flip is due.
    var timer: HostTime? { pending.map { grid.time(of: $0.sequence) } }

    /// Queues a flip. Returns false while another is pending.
    mutating func present(_ buffer: Int, id: UInt64, at now: HostTime) -> Bool {
        guard pending == nil else { return false }
        pending = (buffer, id, grid.next(after: now))
        return true
    }

    /// Returns the flip whose vblank has come, with the grid's own time.
    mutating func collect(at now: HostTime) -> (buffer: Int, flip: Flip)? {
        guard let due = pending, grid.time(of: due.sequence) <= now else { return nil }
        pending = nil
        return (due.buffer, Flip(id: due.id, time: grid.time(of: due.sequence), sequence: due.sequence))
    }
}

/// A screen that flips at simulated vblanks.
protocol PacedScreen: Screen {
    var paced: PacedFlip { get set }
}

extension PacedScreen {
    var descriptor: Int32? { nil }
    var timer: HostTime? { paced.timer }

    func present(_ buffer: Int, video: VideoShow?, overlay: OverlayChange?, id: UInt64, at now: HostTime) -> ScreenAnswer {
        paced.present(buffer, id: id, at: now) ? .queued : .busy
    }
}

/// Simulated vblanks on a fixed grid of CLOCK_MONOTONIC, for screens without vblank reports. Computes every deadline from the origin, never
/// from the one before, so that errors do not accumulate.
struct VblankGrid {
    /// The vblank with sequence 0.
    var origin: HostTime
    /// The time between vblanks in nanoseconds. A fraction, as 1/60 s is no whole number of nanoseconds.
    var period: Double

    init(origin: HostTime, refresh: Double) {
        self.origin = origin
        period = 1e9 / refresh
    }

    /// Returns the time of vblank `sequence`.
    func time(of sequence: UInt64) -> HostTime { origin + MediaTime(nanoseconds: Int64((Double(sequence) * period).rounded())) }

    /// Returns the first vblank strictly after `time`.
    func next(after time: HostTime) -> UInt64 {
        let elapsed = (time - origin).nanoseconds
        guard elapsed >= 0 else { return 0 }
        var sequence = UInt64(Double(elapsed) / period)
        while self.time(of: sequence) <= time { sequence += 1 }
        return sequence
    }
}
