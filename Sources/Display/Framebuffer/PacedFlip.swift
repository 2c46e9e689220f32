import KioskPlatform
import KioskPlayback

/// Flips at the simulated vblanks of a grid: presented at any time, done at the next one. Pure.
struct PacedFlip {
    let grid: VblankGrid
    private(set) var pending: (buffer: Int, id: UInt64, sequence: UInt64)?

    init(_ grid: VblankGrid) { self.grid = grid }

    /// When the pending flip is due.
    var timer: HostTime? { pending.map { grid.time(of: $0.sequence) } }

    /// Whether the flip was taken; false while another is pending.
    mutating func present(_ buffer: Int, id: UInt64, at now: HostTime) -> Bool {
        guard pending == nil else { return false }
        pending = (buffer, id, grid.next(after: now))
        return true
    }

    /// The flip whose vblank has come, with the grid's own time.
    mutating func collect(at now: HostTime) -> (buffer: Int, flip: Flip)? {
        guard let due = pending, grid.time(of: due.sequence) <= now else { return nil }
        pending = nil
        return (due.buffer, Flip(id: due.id, time: grid.time(of: due.sequence), sequence: due.sequence))
    }
}
