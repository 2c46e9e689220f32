import KioskPlatform

/// Whether the slider is held, and where. A pure value: events in, what is known out.
///
/// While it is held the time that is told is the finger's and not that of the picture, which follows by key frames (``SeekState``). The clock
/// of the timeline stands meanwhile, or goes on from each key frame, as configured. When it is let go, the exact seek to that place takes over.
///
/// A finger that is never lifted, or whose touch screen is gone, holds nothing for longer than ``limit`` after it last moved.
struct ScrubState: Hashable, Sendable {
    private struct Hold: Hashable {
        var item: QueueItem.ID
        var time: MediaTime
        var until: HostTime
    }

    private var hold: Hold?

    static let limit = MediaTime.seconds(20)

    // MARK: Events

    /// The slider of an item is moved to an item time.
    mutating func move(to time: MediaTime, of item: QueueItem.ID, at now: HostTime) {
        hold = Hold(item: item, time: time, until: now + Self.limit)
    }

    /// The slider is let go, or something else is asked for.
    mutating func end() { hold = nil }

    /// A picture of an item is shown; nil is the bare background.
    mutating func shown(_ item: QueueItem.ID?) {
        if hold != nil, hold?.item != item { hold = nil }
    }

    /// Looks whether it has been held for too long.
    mutating func passed(_ now: HostTime) {
        if let hold, hold.until <= now { self.hold = nil }
    }

    // MARK: What is known

    /// Whether the slider is held.
    var isHeld: Bool { hold != nil }

    /// When it is held no longer unless it is moved again.
    var until: HostTime? { hold?.until }

    /// Where the finger is, of this item.
    func time(of item: QueueItem.ID) -> MediaTime? { hold?.item == item ? hold?.time : nil }
}
