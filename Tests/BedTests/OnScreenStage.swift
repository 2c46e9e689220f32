import Bed
import KioskPlayback
import Testing

@testable import KioskControlsCore

/// A display with controls over a clip: where they are, and when they are seen.
///
/// The clip is as wide as the display and lower. The number in its picture lies above the bar at the bottom and left of what is in the middle,
/// so that it can be read whether the controls are on planes of their own or blended into the picture. The bars beside the clip are grey,
/// so that the shades of the controls can be seen on them.
struct OnScreenStage {
    /// Four pixels make a millimetre.
    static let display = "background = \"#808080\"\nphysical-size = \"320x180\""
    /// Beside all controls, on the left of the clip.
    static let beside = (60, 250)
    /// Within which the clip has been seen whole, and nothing over it.
    static let bare = Duration.zero..<Duration.seconds(2.9)

    let clip: NumberedClip
    let machine: Machine
    private let area = Vblank.Rectangle(x: 0, y: 160, width: 1280, height: 400)

    /// - Parameters:
    ///   - overlays: how many overlay planes the display has; without one the controls are blended into the picture.
    ///   - clip: one of 1280 x 400 pixels; two seconds of it where none is given.
    init(overlays: Int = 2, clip: NumberedClip? = nil, _ change: (inout Machine) -> Void = { _ in }) throws {
        self.clip = try clip ?? Self.clip("wide")
        machine = Machine {
            ($0.time, $0.overlays) = (.free, overlays)
            change(&$0)
        }
    }

    /// Clips of 1280 x 400 pixels that have a key frame every half second.
    static func clip(_ name: String, frames: Int = 60, from first: Int = 1) throws -> NumberedClip {
        try BedGallery.plain(name, "0x406080", size: "1280x400", frames: frames, from: first, keyFrameEvery: 15)
    }

    /// Where the controls are, for one item of less than ten minutes, or several.
    static func layout(hasQueue: Bool = false) -> ControlsLayout {
        ControlsLayout(
            geometry: ScreenGeometry(width: 1280, height: 720, physicalWidth: 320, physicalHeight: 180), content: .init(hasQueue: hasQueue))
    }

    /// Plays the clip, or `clips`.
    func run(
        _ name: String, for seconds: Double, clips: [NumberedClip]? = nil, playlist: [String] = [], playback: String = "",
        audio: String = "", input: String = "", _ timeline: (inout ActionTimeline) -> Void
    ) async throws -> Record {
        let configuration = KioskConfiguration(
            display: Self.display, audio: audio, playback: playback, input: input, playlist: playlist)
        return try await Bed.run(
            name, for: .seconds(seconds), playing: clips ?? [clip], .kiosk(configuration), on: machine, area: area, timeline: timeline)
    }
}

extension Record {
    /// When something lay over the clips, which were bare at first; until the last frame of theirs was seen.
    var covered: [Range<Duration>] {
        let end = vblanks.last { isFrame($0.number) }?.time ?? .zero
        return BarePictures(vblanks, in: OnScreenStage.bare).covered(vblanks.filter { $0.time > .zero && $0.time <= end })
    }

    /// The time from one vblank to the next.
    var period: Duration { .seconds(1 / refreshRate) }

    /// The numbers that were seen, each once where it stood, from one time to another.
    func numbers(from begin: Duration, to end: Duration) -> [Int] { frames.filter { $0.time >= begin && $0.time < end }.map(\.number) }
}

/// Expects the picture to stand still from a moment on, two vblanks later at most, and to go on at another with the frame that follows.
func expectPause(
    _ record: Record, from pause: Duration, to play: Duration, sourceLocation: SourceLocation = #_sourceLocation
) throws {
    let stood = try #require(record.frames.last { $0.time < play }, sourceLocation: sourceLocation)
    let next = try #require(record.frames.first { $0.time >= play }, sourceLocation: sourceLocation)
    #expect(stood.time <= pause + record.period * 2, "a new frame came after the pause", sourceLocation: sourceLocation)
    let last = record.clips[0].numbers.upperBound
    #expect(next.number == stood.number % last + 1 && next.vblanksBefore == 0, sourceLocation: sourceLocation)
    // The rest of the time of the frame that was cut short comes first.
    #expect(next.time - play <= record.period * 5, sourceLocation: sourceLocation)
}
