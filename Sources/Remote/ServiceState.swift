import KioskPlatform
import KioskPlayback

/// What systemd is told of the player, and when (sd_notify(3)). A pure value: what is seen of the player in, assignments out.
///
/// The service is ready with the first flip. Where none comes within ``longestStart``, because there is no display or nothing that can be played, it
/// is ready all the same: booting is not to wait for a display.
///
/// The watchdog is fed while everything answers (``PlayerLiveness``): nothing has been at the same piece of work for longer than its limit, and no
/// picture has been due for that long. How long a picture stands says nothing: a still, a slide show, a pause may stand for hours.
struct ServiceState: Sendable {
    /// What is seen of the player at one moment.
    struct Sight: Hashable, Sendable {
        var framesShown: Int
        /// What is on, for people.
        var text: String
        var liveness = PlayerLiveness()
    }

    /// When it is ready at the latest.
    static let longestStart = MediaTime.seconds(10)
    /// Between two looks no more time counts than this: a process that was stopped, or a machine, did nothing in between.
    static let longestStep = MediaTime.seconds(1)

    /// For how long each part may be at the same piece of work. Beyond what each bounds itself: a flip one second, a read ten. To decode a
    /// picture, or to set a mode, can take seconds on a slow box.
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
    /// The last beat of each part, and for how long it has been at that piece of work.
    private var parts: [PlayerLiveness.Part: (beat: Heartbeat.Beat, stood: MediaTime)] = [:]

    init(at time: HostTime) { (started, lastLook) = (time, time) }

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
        note(sight.liveness, at: now)
        if hanging.isEmpty { lines.append("WATCHDOG=1") }
        return lines
    }

    /// What does not answer, in the order of their names.
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
