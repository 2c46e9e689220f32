import KioskPlatform

@testable import KioskPlayback

/// What was played, seen and heard.
struct Outcome {
    /// A picture that came on the screen.
    struct Shown {
        /// Seconds after the beginning.
        var time: Double
        var vblank: Int
        /// The picture's own.
        var number: Int
        /// The picture that shows through it while it fades in, and what of the mixture is its own.
        var underlay: (number: Int, share: Double)?
        /// Which instant of the timeline was heard then, in seconds; nil in silence.
        var heard: Double?
    }

    var shown: [Shown] = []
    /// What lies over the pictures from each vblank on for which something was committed (seconds), and whether that was the overlay alone.
    var overlays: [(time: Double, value: Int, isAlone: Bool)] = []
    /// Where each picture that was enqueued lies, by its number, and the generation it belongs to.
    var enqueued: [Int: (place: FramePlace, generation: UInt64)] = [:]
    /// What each picture that was read is, by its number, and what it was read in.
    var pictures: [Int: SimulatedMedia.Picture] = [:]
    var readings: [SimulatedMedia.Reading] = []
    /// Samples of the device; the sample of the timeline each one was, nil in silence.
    var played: [Double?] = []
    /// The generations that began: when (in seconds), and where.
    var jumps: [(time: Double, generation: UInt64, jump: SeekRequest)] = []
    /// What the engine did that it must not do.
    var violations: [String] = []
    /// When each clip was opened, or failed to be, in seconds.
    var opened: [(clip: Int, time: Double)] = []
    /// How many decoders have died in the middle of a clip, and how many while one was opened.
    var deaths = (inMiddle: 0, atOpening: 0)
    var events: [PlaybackEvent] = []
    var snapshot: PlayerSnapshot?
    /// The most that was decoded ahead: how long, when it was more pictures than may always wait; and how many.
    var longestQueue = MediaTime.zero
    var mostFrames = 0
}
