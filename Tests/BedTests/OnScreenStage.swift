import Bed
import KioskPlayback
import Testing

@testable import KioskControlsCore

/// A display with controls over a clip.
///
/// The clip is as wide as the display and lower. The number in its picture lies above the bottom bar and left of the controls in the
/// middle. It is readable with controls on planes of their own and with controls blended into the picture. The bars above and below the
/// clip are grey, to show the shades of the controls.
struct OnScreenStage {
    /// Four pixels a millimetre.
    static let display = "background = \"#808080\"\nphysical-size = \"320x180\""
    /// A point on the left of the clip, beside all controls.
    static let beside = (60, 250)
    /// A time in which the whole clip is visible, with nothing over it.
    static let bare = Duration.zero..<Duration.seconds(2.9)

    let clip: NumberedClip
    let machine: Machine
    private let area = Vblank.Rectangle(x: 0, y: 160, width: 1280, height: 400)

    /// - Parameters:
    ///   - overlays: the number of the display's overlay planes; with none, the controls are blended into the picture.
    ///   - clip: a clip of 1280 x 400 pixels; by default one of two seconds.
    init(overlays: Int = 2, clip: NumberedClip? = nil, _ change: (inout Machine) -> Void = { _ in }) throws {
        self.clip = try clip ?? Self.clip("wide")
        machine = Machine {
            ($0.time, $0.overlays) = (.free, overlays)
            change(&$0)
        }
    }

    /// Makes a clip of 1280 x 400 pixels with a key frame every half second.
    static func clip(_ name: String, frames: Int = 60, from first: Int = 1) throws -> NumberedClip {
        try BedGallery.plain(name, "0x406080", size: "1280x400", frames: frames, from: first, keyFrameEvery: 15)
    }

    /// Returns the layout of the controls for one item of less than ten minutes, or for several.
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
    /// The times when something lay over the clips, until their last frame. The clips are bare at first.
    var covered: [Range<Duration>] {
        let end = vblanks.last { isFrame($0.number) }?.time ?? .zero
        return BarePictures(vblanks, in: OnScreenStage.bare).covered(vblanks.filter { $0.time > .zero && $0.time <= end })
    }

    /// The time from one vblank to the next.
    var period: Duration { .seconds(1 / refreshRate) }

    /// Returns the numbers of the frames that appeared from `begin` until `end`. A frame that stands counts once.
    func numbers(from begin: Duration, to end: Duration) -> [Int] { frames.filter { $0.time >= begin && $0.time < end }.map(\.number) }
}

/// Expects a pause: the last new frame at most two vblanks after `pause`, and the following frame from `play` on.
func expectPause(
    _ record: Record, from pause: Duration, to play: Duration, sourceLocation: SourceLocation = #_sourceLocation
) throws {
    let stood = try #require(record.frames.last { $0.time < play }, sourceLocation: sourceLocation)
    let next = try #require(record.frames.first { $0.time >= play }, sourceLocation: sourceLocation)
    #expect(stood.time <= pause + record.period * 2, "a new frame came after the pause", sourceLocation: sourceLocation)
    let last = record.clips[0].numbers.upperBound
    #expect(next.number == stood.number % last + 1 && next.vblanksBefore == 0, sourceLocation: sourceLocation)
    // The rest of the interrupted frame's time comes first.
    #expect(next.time - play <= record.period * 5, sourceLocation: sourceLocation)
}
