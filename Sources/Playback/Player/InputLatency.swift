import KioskPlatform

/// Input events whose effect has not reached the screen yet. A pure value: events and flips in, latencies out.
///
/// It counts the time from the kernel's time of an event to the first flip that shows its effect:
///
/// - a seek, a skip or a restart: to the flip of the first frame of the generation that it began. If it waited for another seek, to that
///   of the generation in which it was carried out, perhaps by a key frame near its target;
/// - a play that ends a pause of moving pictures: to the flip of the next frame. That includes the rest of the frame that the pause had cut
///   short;
/// - an overlay: to the flip of the first commit that has it, or a newer one.
///
/// A pause only holds the picture: no flip shows it. Loudness and rate are not seen. Commands without a display are not seen either, and
/// not counted.
struct InputLatency: Sendable {
    /// Events in order, each with the number of the first generation, or overlay, that shows it.
    private struct Awaited: Sendable {
        private var events: [(time: HostTime, number: UInt64)] = []
        var isEmpty: Bool { events.isEmpty }
        /// The most events that wait for their effect; beyond that, the oldest is not counted.
        private static let most = 32

        init() { events.reserveCapacity(Self.most) }

        mutating func add(_ time: HostTime, _ number: UInt64) {
            if events.count == Self.most { events.removeFirst() }
            events.append((time, number))
        }

        mutating func drop(after number: UInt64) { events.removeAll { $0.number > number } }

        /// Counts the events that this number shows at `time`; nil if there is no display.
        mutating func shown(_ number: UInt64, at time: HostTime?, into histogram: inout TimeHistogram) {
            if let time { for event in events where event.number <= number { histogram.count(time - event.time) } }
            events.removeAll { $0.number <= number }
        }
    }

    /// The events of seeks and skips, and those of overlays.
    private var moves = Awaited(), overlays = Awaited()
    /// The play that is to end a pause.
    private var resumed: HostTime?

    /// Notes an event whose effect `generation` shows.
    mutating func moved(at time: HostTime, shownBy generation: UInt64) { moves.add(time, generation) }

    /// Notes an event that makes moving pictures go on.
    mutating func played(at time: HostTime) { resumed = time }

    /// Notes a pause: no flip will show the play before it.
    mutating func paused() { resumed = nil }

    /// Drops the seeks that wait: nothing after `generation` shows them.
    mutating func dropped(after generation: UInt64) { moves.drop(after: generation) }

    /// Notes an event that sets the overlay with this number.
    mutating func overlaid(at time: HostTime, shownBy number: UInt64) { overlays.add(time, number) }

    /// Counts the events of the overlay with this number, which is on the screen since `time`; nil if there is no display.
    mutating func overlayShown(_ number: UInt64, at time: HostTime?, into histogram: inout TimeHistogram) {
        if !overlays.isEmpty { overlays.shown(number, at: time, into: &histogram) }
    }

    /// Counts the latency of every event that a frame of `generation` shows. The frame has reached the screen at `time`, for the first
    /// time; nil if there is no display.
    mutating func shown(_ generation: UInt64, at time: HostTime?, into histogram: inout TimeHistogram) {
        if moves.isEmpty, resumed == nil { return }
        moves.shown(generation, at: time, into: &histogram)
        if let time, let resumed { histogram.count(time - resumed) }
        resumed = nil
    }
}
