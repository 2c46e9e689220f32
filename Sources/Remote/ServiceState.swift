import KioskPlatform
import KioskPlayback

/// The player's notifications to systemd (sd_notify(3)), and their times. A pure value: it takes observations of the player, and returns
/// assignments.
///
/// The service is ready with the first flip, or after ``longestStart``: without a display or a playable item, booting must not wait.
///
/// The watchdog is fed while all parts respond (``PlayerLiveness``): no part has been at the same piece of work for longer than its limit,
/// and no picture has been due for that long. The duration of a picture is irrelevant: a still, a slide show or a pause may last for hours.
struct ServiceState: Sendable {
    /// An observation of the player.
    struct Sight: Hashable, Sendable {
        var framesShown: Int
        /// The current activity, for people.
        var text: String
        var liveness = PlayerLiveness()
    }

    /// When it counts as ready at the latest.
    static let longestStart = MediaTime.seconds(10)
    /// The most time that counts between two observations: a stopped process, or a suspended machine, did nothing in between.
    static let longestStep = MediaTime.seconds(1)

    /// Returns how long a part may be at the same piece of work. It exceeds the parts' own limits: a second for a flip, ten for a read. On
    /// a slow machine, decoding a picture or setting a mode can take seconds.
    static func limit(of part: PlayerLiveness.Part) -> MediaTime {
        switch part {
        case .feeder, .display: .seconds(20)
        case .compositor, .presenter, .audio, .picture: .seconds(10)
        }
    }

    private let started: HostTime
    private var lastLook: HostTime
    private var isReady = false
    private var text = ""
    /// The last beat of each part, and the time since then that it has been at work.
    private var parts: [PlayerLiveness.Part: (beat: Heartbeat.Beat, stood: MediaTime)] = [:]

    init(at time: HostTime) { (started, lastLook) = (time, time) }

    /// Takes an observation; returns the notifications in the format of sd_notify(3).
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
        note(sight.liveness, at: now)
        if hanging.isEmpty { lines.append("WATCHDOG=1") }
        return lines
    }

    /// The parts that do not respond, sorted by name.
    var hanging: [PlayerLiveness.Part] {
        parts.filter { $0.value.stood > Self.limit(of: $0.key) }.keys.sorted { $0.rawValue < $1.rawValue }
    }

    private mutating func note(_ liveness: PlayerLiveness, at now: HostTime) {
        let step = min(now - lastLook, Self.longestStep)
        lastLook = now
        parts = Dictionary(
            uniqueKeysWithValues: liveness.beats.map { part, beat in
                let isSame = beat.isAtWork && parts[part]?.beat == beat
                return (part, (beat, isSame ? (parts[part]?.stood ?? .zero) + step : .zero))
            })
    }
}
