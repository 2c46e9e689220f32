import KioskPlatform
import KioskPlayback

/// What systemd is told of the player, and when (sd_notify(3)). A pure value: what is seen of the player in, assignments out.
///
/// The service is ready with the first flip. Where none comes within ``longestStart``, because there is no display or nothing that can be played, it
/// is ready all the same: booting is not to wait for a display.
///
/// The watchdog is fed while pictures move: frames have reached the screen since the last time. It is fed, too, where none are due for a reason
/// that is known: no display, a pause, waiting for a source, a still before its end. A thread that hangs feeds it no more.
struct ServiceState: Sendable {
    /// What is seen of the player at one moment.
    struct Sight: Hashable, Sendable {
        var hasDisplay: Bool
        var status: TimeControlStatus
        var framesShown: Int
        var seams: Int
        var time: MediaTime
        var duration: MediaTime?
        /// What is on, for people.
        var text: String
    }

    /// When it is ready at the latest.
    static let longestStart = MediaTime.seconds(10)
    /// How long moving pictures may stand before the watchdog starves.
    static let longestStill = MediaTime.seconds(5)

    private let started: HostTime
    private var isReady = false
    private var text = ""
    private var last: Sight?
    /// Since when no frame has reached the screen, and whether the showing before that moved.
    private var stoodSince: HostTime
    private var framesOfShowing = 0

    init(at time: HostTime) { (started, stoodSince) = (time, time) }

    /// What is to be told after a look at the player, in the words of sd_notify(3).
    mutating func look(_ sight: Sight, at now: HostTime) -> [String] {
        var lines: [String] = []
        if !isReady, sight.framesShown > 0 || now - started >= Self.longestStart {
            isReady = true
            lines.append("READY=1")
        }
        if sight.text != text {
            text = sight.text
            lines.append("STATUS=" + text)
        }
        if isAlive(sight, now) { lines.append("WATCHDOG=1") }
        last = sight
        return lines
    }

    private mutating func isAlive(_ sight: Sight, _ now: HostTime) -> Bool {
        let grown = sight.framesShown - (last?.framesShown ?? 0)
        let isAnother = sight.seams != last?.seams || sight.text != last?.text
        framesOfShowing = isAnother ? grown : framesOfShowing + grown
        if grown > 0 || !sight.hasDisplay || sight.status != .playing || last?.status != .playing { stoodSince = now }
        if now - stoodSince < Self.longestStill { return true }
        // One frame, or two with the overlay of its title: a still, until its end.
        guard framesOfShowing <= 2, let duration = sight.duration else { return framesOfShowing <= 2 && sight.duration == nil }
        return sight.time + Self.longestStill < duration || now - stoodSince < duration + Self.longestStill
    }
}
