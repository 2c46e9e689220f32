internal import Glibc
internal import KioskPlatform
internal import KioskPlayback
internal import Synchronization

// A start at an instant: players on several displays, or on several boxes with one clock, begin in step. The player goes to the item time first and
// stands there, so that picture and sound are ready. A thread sleeps until the instant, and plays. The sound card begins within a period then, and the
// next picture comes at the vblank that is nearest to its time.

extension CMTime {
    /// The current host time: CLOCK_MONOTONIC, from the start of the machine on. The corresponding C function is `clock_gettime`.
    public static var hostTime: CMTime { CMTime(value: HostTime.now.nanoseconds, timescale: 1_000_000_000) }
}

extension Player {
    /// Plays at `rate` from the item time `time` on at an instant, within a vblank. Returns at once. Until then the player stands at `time`.
    ///
    /// Leave it half a second: it has to seek first. If the instant has passed, or is less than that away, the player joins in: it begins in
    /// half a second, at the item time that it would have then. ``play()``, ``pause()`` and a change of ``rate`` call the start off.
    ///
    /// - Parameters:
    /// - rate: 0.5…2; another positive rate is clamped, and one that is not above zero changes nothing.
    /// - time: the item time; ``CMTime/invalid`` is the current one.
    /// - hostTime: the instant, of the clock of ``CMTime/hostTime``; ``CMTime/invalid`` is as soon as possible.
    public func setRate(_ rate: Float, time: CMTime = .invalid, atHostTime hostTime: CMTime) {
        guard let playable = Self.playable(rate), !hasStopped else { return }
        pause()
        let order = orders.load(ordering: .relaxed)
        var instant = MediaTime(hostTime).map { HostTime(nanoseconds: $0.nanoseconds) } ?? HostTime.now + Self.lead
        var target = MediaTime(time) ?? engine.currentTime
        let late = HostTime.now + Self.lead - instant
        if late > .zero {
            instant += late
            if hostTime.isNumeric { target = target + .seconds(late.seconds * playable) }
        }
        if target != engine.currentTime { engine.seek(to: target) }
        let (begin, last) = (instant, HostTime.now + .seconds(86400))
        Thread("start-at") { [weak self] in
            // Not longer than a day, so that a mistaken time keeps no thread for ever.
            var wake = min(begin, last).timespec
            while unsafe clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &wake, nil) == EINTR {}
            guard let self, begin <= last, orders.load(ordering: .relaxed) == order else { return }
            play(at: playable)
        }.detach()
    }

    /// The time for a seek before a start.
    private static let lead = MediaTime.milliseconds(500)
}
