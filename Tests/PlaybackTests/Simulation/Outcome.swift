import KioskPlatform

@testable import KioskPlayback

/// The record of a run: everything played, seen and heard.
struct Outcome {
    /// A picture that came on the screen.
    struct Shown {
        /// Seconds after the beginning.
        var time: Double
        var vblank: Int
        /// The picture's number.
        var number: Int
        /// The picture that shows through it while it fades in, and its own share of the mixture.
        var underlay: (number: Int, share: Double)?
        /// The timeline instant that was heard then, in seconds; nil in silence.
        var heard: Double?
    }

    var shown: [Shown] = []
    /// The overlay from each vblank with a commit on: the time in seconds, the value, and whether the overlay was committed alone.
    var overlays: [(time: Double, value: Int, isAlone: Bool)] = []
    /// The place of each enqueued picture, by its number, and its generation.
    var enqueued: [Int: (place: FramePlace, generation: UInt64)] = [:]
    /// The pictures that were read, by number, and their readings.
    var pictures: [Int: SimulatedMedia.Picture] = [:]
    var readings: [SimulatedMedia.Reading] = []
    /// For each sample of the device, the sample of the timeline; nil in silence.
    var played: [Double?] = []
    /// The generations that began: when, in seconds, and where to.
    var jumps: [(time: Double, generation: UInt64, jump: SeekRequest)] = []
    /// The engine's faults.
    var violations: [String] = []
    /// The time at which each clip was opened or failed to open, in seconds.
    var opened: [(clip: Int, time: Double)] = []
    /// The number of decoders that died in mid-clip, and during an opening.
    var deaths = (inMiddle: 0, atOpening: 0)
    var events: [PlaybackEvent] = []
    var snapshot: PlayerSnapshot?
    /// The most time decoded ahead, counted only above `FrameQueue.fewest` pictures; and the most pictures.
    var longestQueue = MediaTime.zero
    var mostFrames = 0
}
