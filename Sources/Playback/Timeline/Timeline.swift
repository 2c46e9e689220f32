import KioskMedia
import KioskPlatform
import KioskVocabulary

// The timeline: why there are no seams.
//
// The player does not end and begin again. There is one timeline; the feeder enqueues item after item onto it, end to end, and the next
// item (or the next playthrough of the same one) has been opened and its first picture decoded before the present one ends. A loop is
// simply "the next item is the same asset". Frames and samples carry timeline instants, so nothing downstream (compositor, scheduler,
// clock, sound card) knows where an item ends.
//
// A seek or a skip begins a new *generation*: everything queued under the older one is dropped, and the timeline starts again at zero. The
// frame on the screen stays until the first of the new generation is ready, so that the screen is never without a picture in between.
//
// The speed lies between item and timeline: at rate 2 an item second takes half a timeline second. The clock always runs at one.

/// One playing of one item, as enqueued on the timeline.
struct Playthrough: Hashable, Sendable {
    /// Grows from playthrough to playthrough, and with every seek within one, for the life of the player.
    var serial: UInt64
    var position: PlaylistCursor.Position
    var item: PlaylistItem
    /// The item time after its last frame, where it is known beforehand.
    var itemEnd: MediaTime?
    var isStill: Bool
    /// Whether one can move about in it.
    var isSeekable: Bool
    /// Whether all of it is there without waiting: a file, which is read in no time beside a stream.
    var isWhole: Bool
    /// Whether it follows the playthrough before without a seek, so that its first frame is a seam.
    var isSeam: Bool
}

/// Where a picture lies on the timeline, and what it belongs to.
struct FramePlace: Hashable, Sendable {
    /// When it begins, on the timeline.
    var start: MediaTime
    /// When it ends, on the timeline; a still's and a last frame's is what the item says.
    var end: MediaTime
    var itemTime: MediaTime
    /// Item seconds a timeline second.
    var rate: Double
    /// Nominal frame duration on the timeline; nil where there is none.
    var cadence: MediaTime?
    /// What it belongs to; nil for the background where there is nothing to play.
    var playthrough: Playthrough?
    /// Whether it is the first frame of its playthrough.
    var isFirst: Bool

    /// The item time at a timeline instant, within what this frame covers.
    func itemTime(at time: MediaTime) -> MediaTime {
        itemTime + min(max(time - start, .zero), max(end - start, .zero)).scaled(by: rate)
    }
}

/// What is shown from one instant of the timeline to another: a scene with its place on the timeline.
struct EnqueuedFrame: ~Copyable, Sendable {
    /// The picture of the playthrough; beneath it, while it fades in, the one that fades out. No layer is the bare background: sound
    /// without a picture, or nothing that can be played.
    private(set) var scene: Scene
    /// Whether the picture in front is the playthrough's own.
    private let hasPicture: Bool
    var place: FramePlace
    /// Bytes of picture memory it keeps alive.
    let byteCount: Int
    /// Whether it holds a picture of a hardware decoder, which has few.
    let isPooled: Bool

    private init(_ scene: consuming Scene, at place: FramePlace, byteCount: Int, isPooled: Bool, hasPicture: Bool) {
        (self.place, self.byteCount, self.isPooled, self.hasPicture) = (place, byteCount, isPooled, hasPicture)
        self.scene = scene
    }

    /// The same once more, of the same pictures; nil where memory is short.
    func shared() -> EnqueuedFrame? {
        switch scene.shared() {
        case .some(let scene): EnqueuedFrame(scene, at: place, byteCount: byteCount, isPooled: isPooled, hasPicture: hasPicture)
        case .none: nil
        }
    }

    init(_ picture: consuming VideoFrame?, over underlay: consuming Underlay? = nil, at place: FramePlace) {
        var scene = Scene()
        hasPicture = picture != nil
        var (upperAlpha, lowerAlpha) = (1.0, 1.0)
        if let share = underlay?.share {
            upperAlpha = share
            if picture == nil { lowerAlpha = 1 - share }  // it fades into the bare background
        }
        if let underlay {
            let gravity = underlay.gravity
            scene.add(Layer(underlay.picture, gravity: gravity, alpha: lowerAlpha))
        }
        if let picture { scene.add(Layer(picture, gravity: place.playthrough?.item.gravity ?? .resizeAspect, alpha: upperAlpha)) }
        (byteCount, isPooled) = (scene.byteCount, scene.isPooled)
        self.scene = scene
        self.place = place
    }

    /// Fits its picture as is asked for of its item now; `gravities` are those that have changed since the item was put on the list.
    mutating func refit(_ gravities: [QueueItem.ID: VideoGravity]) {
        if gravities.isEmpty { return }
        guard hasPicture, let item = place.playthrough?.position.item, let gravity = gravities[item] else { return }
        scene.refit(gravity)
    }
}

/// A frame that has been composed, or is on the screen.
struct PreparedFrame: ~Copyable, Sendable {
    var enqueued: EnqueuedFrame
    /// The scan-out buffer it lies in; nil when there was no display to compose it for, or that display has changed since.
    var composed: PreparedScene?
    /// What lay over it then.
    var mark = OverlayMark()
}
