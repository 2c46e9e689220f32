import Glibc
import KioskPlatform
import KioskPlayback
import Synchronization

/// The kernel's ids of flips: unique in the process, whatever ids the engines use. So a late event never counts for another flip, output or
/// screen.
enum FlipID {
    private static let last = Atomic<UInt64>(0)

    /// Returns an unused id.
    static func next() -> UInt64 { last.add(1, ordering: .relaxed).newValue }
}

/// The pending flip of a CRTC, and the meaning of its event or of a missing one. Pure; ``KMSScreen`` makes the calls.
///
/// Ids (``FlipID``) identify flips, never pointers: an event can arrive after its flip was given up, or after its screen has gone. Some
/// drivers lose an event now and then. The wait has a limit, and playback goes on without the event.
struct FlipTracker {
    /// The maximum wait for an event.
    let timeout: MediaTime
    /// Whether events carry vblank counts. virtio-gpu, bochs and simpledrm have no counter; their events come at once, with sequence 0.
    private(set) var reportsVblank: Bool
    /// The number of lost events.
    private(set) var lostCount = 0
    private var pending: (id: UInt64, flip: UInt64, deadline: HostTime)?
    private var silentCount = 0
    private var busySince: HostTime?

    init(refreshPeriod: MediaTime, reportsVblank: Bool) {
        timeout = max(refreshPeriod * 4, .milliseconds(100))
        self.reportsVblank = reportsVblank
    }

    /// When the pending flip is given up.
    var deadline: HostTime? { pending?.deadline }

    /// Records that the kernel took the engine's flip `id` as `flip` (``FlipID``).
    mutating func committed(_ id: UInt64, as flip: UInt64, at now: HostTime) {
        pending = (id, flip, now + timeout)
        busySince = nil
    }

    /// Handles the kernel's refusal of a flip. Busy is harmless at first; a second of it means that the kernel waits for a flip that will
    /// never finish.
    mutating func refused(_ error: DeviceError, at now: HostTime) -> ScreenAnswer {
        guard case .busy = error else { return .lost(error) }
        let since = busySince ?? now
        busySince = since
        return now - since > .seconds(1) ? .lost(DeviceError("flip, busy for a second", code: EBUSY)) : .busy
    }

    /// Handles an event; nil if it is not of the pending flip. `stamp` is the driver's time, nil if it is not on our clock.
    mutating func event(userData: UInt64, sequence: UInt32, stamp: HostTime?, at now: HostTime) -> Flip? {
        // libdrm carries the id in a pointer.
        guard let expected = pending, UInt(truncatingIfNeeded: userData) == UInt(truncatingIfNeeded: expected.flip) else { return nil }
        pending = nil
        silentCount = sequence == 0 ? silentCount + 1 : 0
        // A counter may pass zero once. Two zeros in a row mean that there is none.
        if silentCount == 2 { reportsVblank = false }
        return Flip(id: expected.id, time: stamp ?? now, sequence: reportsVblank ? UInt64(sequence) : nil)
    }

    /// Returns the pending flip if its event is overdue: its buffer is on the screen, or will be.
    mutating func overdue(at now: HostTime) -> Flip? {
        guard let late = pending, late.deadline <= now else { return nil }
        pending = nil
        lostCount += 1
        return Flip(id: late.id, time: now, sequence: nil, isAssumed: true)
    }
}
