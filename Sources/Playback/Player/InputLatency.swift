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
    /// Events in order, each with the number of the first generation, or overlay, that shows it.
    private struct Awaited: Sendable {
        private var events: [(time: HostTime, number: UInt64)] = []
        var isEmpty: Bool { events.isEmpty }
        /// Of more than so many that nobody has seen the effect of the oldest are not counted.
        private static let most = 32

        init() { events.reserveCapacity(Self.most) }

        mutating func add(_ time: HostTime, _ number: UInt64) {
            if events.count == Self.most { events.removeFirst() }
            events.append((time, number))
        }

        mutating func drop(after number: UInt64) { events.removeAll { $0.number > number } }

        /// What has this number is seen since `time`; nil where there is no display.
        mutating func shown(_ number: UInt64, at time: HostTime?, into histogram: inout TimeHistogram) {
            if let time { for event in events where event.number <= number { histogram.count(time - event.time) } }
            events.removeAll { $0.number <= number }
        }
    }

    /// Seeks and skips, and overlays.
    private var moves = Awaited(), overlays = Awaited()
    /// The play that is to end a pause.
    private var resumed: HostTime?

    /// An event that `generation` shows the effect of.
    mutating func moved(at time: HostTime, shownBy generation: UInt64) { moves.add(time, generation) }

    /// An event that has moving pictures go on.
    mutating func played(at time: HostTime) { resumed = time }

    /// A pause: no flip will show the play before it.
    mutating func paused() { resumed = nil }

    /// Seeks that wait are dropped: nothing after `generation` shows them.
    mutating func dropped(after generation: UInt64) { moves.drop(after: generation) }

    /// An event that has an overlay of this number set.
    mutating func overlaid(at time: HostTime, shownBy number: UInt64) { overlays.add(time, number) }

    /// The overlay of this number lies on the screen since `time`; nil where there is no display.
    mutating func overlayShown(_ number: UInt64, at time: HostTime?, into histogram: inout TimeHistogram) {
        if !overlays.isEmpty { overlays.shown(number, at: time, into: &histogram) }
    }

    /// A frame of `generation` has reached the screen at `time`, for the first time; nil where there is no display. The latency of every
    /// event that it shows the effect of goes into `histogram`.
    mutating func shown(_ generation: UInt64, at time: HostTime?, into histogram: inout TimeHistogram) {
        if moves.isEmpty, resumed == nil { return }
        moves.shown(generation, at: time, into: &histogram)
        if let time, let resumed { histogram.count(time - resumed) }
        resumed = nil
    }
}
