import KioskPlatform

/// Input events whose effect has not been on the screen yet. A pure value: events and flips in, latencies out.
///
/// What is counted is the time from the kernel's time of an event to the first flip that shows what it asked for:
///
/// - a seek, a skip or a restart: to the flip of the first frame of the generation it began, or, where it waited for the one before, of
///   the generation in which it was carried out, perhaps by a key frame near its target;
/// - a play that ends a pause of moving pictures: to the flip of the next frame. The frame that the pause had cut short stands for the
///   rest of its time first, and that is in it;
/// - an overlay: to the flip of the first commit that has it, or a newer one.
///
/// A pause only holds the picture: no flip shows it. Loudness and rate are not seen. What is done while there is no display is not seen
/// either, and not counted.
struct InputLatency: Sendable {
    private struct Event {
        var time: HostTime
        /// The generation whose first frame shows it.
        var generation: UInt64
    }

    /// Seeks and skips, the oldest first.
    private var moves: [Event] = []
    /// The play that is to end a pause.
    private var resumed: HostTime?
    /// Overlays, by their number, the oldest first.
    private var overlays: [(time: HostTime, number: UInt64)] = []

    /// Of more than so many that nobody has seen the effect of the oldest are not counted.
    private static let most = 32

    init() {
        moves.reserveCapacity(Self.most)
        overlays.reserveCapacity(Self.most)
    }

    /// An event that `generation` shows the effect of.
    mutating func moved(at time: HostTime, shownBy generation: UInt64) {
        if moves.count == Self.most { moves.removeFirst() }
        moves.append(Event(time: time, generation: generation))
    }

    /// An event that has moving pictures go on.
    mutating func played(at time: HostTime) { resumed = time }

    /// A pause: no flip will show the play before it.
    mutating func paused() { resumed = nil }

    /// Seeks that wait are dropped: nothing after `generation` shows them.
    mutating func dropped(after generation: UInt64) { moves.removeAll { $0.generation > generation } }

    /// An event that has an overlay of this number set.
    mutating func overlaid(at time: HostTime, shownBy number: UInt64) {
        if overlays.count == Self.most { overlays.removeFirst() }
        overlays.append((time, number))
    }

    /// The overlay of this number lies on the screen since `time`; nil where there is no display.
    mutating func overlayShown(_ number: UInt64, at time: HostTime?, into histogram: inout TimeHistogram) {
        if overlays.isEmpty { return }
        if let time { for event in overlays where event.number <= number { histogram.count(time - event.time) } }
        overlays.removeAll { $0.number <= number }
    }

    /// A frame of `generation` has reached the screen at `time`, for the first time; nil where there is no display. The latency of every
    /// event that it shows the effect of goes into `histogram`.
    mutating func shown(_ generation: UInt64, at time: HostTime?, into histogram: inout TimeHistogram) {
        if moves.isEmpty, resumed == nil { return }
        if let time {
            for event in moves where event.generation <= generation { histogram.count(time - event.time) }
            if let resumed { histogram.count(time - resumed) }
        }
        moves.removeAll { $0.generation <= generation }
        resumed = nil
    }
}
