import Platform

@testable import Playback

/// What was played, seen and heard.
struct Outcome {
    /// A picture that came on the screen.
    struct Shown {
        /// Seconds after the beginning.
        var time: Double
        var vblank: Int
        /// The picture's own.
        var number: Int
        /// Which instant of the timeline was heard then, in seconds; nil in silence.
        var heard: Double?
    }

    var shown: [Shown] = []
    /// Each picture laid, by its number, and the generation it belongs to.
    var laid: [Int: (place: FramePlace, generation: UInt64)] = [:]
    /// Samples of the device; the sample of the timeline each one was, nil in silence.
    var played: [Double?] = []
    /// The generations that commands began: when (in seconds), and where.
    var jumps: [(time: Double, generation: UInt64, jump: SeekRequest)] = []
    /// What the engine did that it must not do.
    var violations: [String] = []
    var events: [PlayerEvent] = []
    var snapshot: PlayerSnapshot?
    /// The most that lay decoded: how long, when it was more pictures than may always wait; and how many.
    var longestQueue = MediaTime.zero
    var mostFrames = 0
}
