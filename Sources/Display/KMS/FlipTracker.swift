import Glibc
import KioskPlatform
import KioskPlayback
import Synchronization

/// The ids that flips have in the kernel: unique in the process, whatever the ids are that engines give to theirs. So an event that comes
/// late is never taken for one of another flip, of another output or of a screen that has gone.
enum FlipID {
    private static let last = Atomic<UInt64>(0)

    /// An id that no flip has had.
    static func next() -> UInt64 { last.add(1, ordering: .relaxed).newValue }
}

/// The one flip that can be pending on a CRTC, and what its event, or the lack of it, tells. Pure; ``KMSScreen`` makes the calls.
///
/// Flips are known by their ids (``FlipID``), never by pointers: an event can arrive after the flip was given up on, or after the screen it
/// belonged to has gone. Some drivers lose an event now and then; the wait is bounded, and play goes on without.
struct FlipTracker {
    /// How long an event may take.
    let timeout: MediaTime
    /// Whether events carry vblank counts. virtio-gpu, bochs and simpledrm count none; their events come at once, with sequence 0.
    private(set) var reportsVblank: Bool
    /// Events that never came.
    private(set) var lostCount = 0
    private var pending: (id: UInt64, flip: UInt64, deadline: HostTime)?
    private var silentCount = 0
    private var busySince: HostTime?

    init(refreshPeriod: MediaTime, reportsVblank: Bool) {
        timeout = max(refreshPeriod * 4, .milliseconds(100))
        self.reportsVblank = reportsVblank
    }

    /// When the pending flip is given up on.
    var deadline: HostTime? { pending?.deadline }

    /// The kernel took the engine's flip `id` as `flip` (``FlipID``).
    mutating func committed(_ id: UInt64, as flip: UInt64, at now: HostTime) {
        pending = (id, flip, now + timeout)
        busySince = nil
    }

    /// The kernel refused a flip. Busy leaves nothing behind, but a second of nothing else means that the kernel waits for a flip it will
    /// never finish.
    mutating func refused(_ error: DeviceError, at now: HostTime) -> ScreenAnswer {
        guard case .busy = error else { return .lost(error) }
        let since = busySince ?? now
        busySince = since
        return now - since > .seconds(1) ? .lost(DeviceError("flip, busy for a second", code: EBUSY)) : .busy
    }

    /// An event came; nil when it is not of the pending flip. `stamp` is the driver's time, nil when it is not on our clock.
    mutating func event(userData: UInt64, sequence: UInt32, stamp: HostTime?, at now: HostTime) -> Flip? {
        // As wide as a pointer, which is how libdrm carries it.
        guard let expected = pending, UInt(truncatingIfNeeded: userData) == UInt(truncatingIfNeeded: expected.flip) else { return nil }
        pending = nil
        silentCount = sequence == 0 ? silentCount + 1 : 0
        // A counter may pass zero once; twice in a row it is none.
        if silentCount == 2 { reportsVblank = false }
        return Flip(id: expected.id, time: stamp ?? now, sequence: reportsVblank ? UInt64(sequence) : nil)
    }

    /// The pending flip when its event is overdue: its buffer is on the screen, or will be.
    mutating func overdue(at now: HostTime) -> Flip? {
        guard let late = pending, late.deadline <= now else { return nil }
        pending = nil
        lostCount += 1
        return Flip(id: late.id, time: now, sequence: nil, isAssumed: true)
    }
}
