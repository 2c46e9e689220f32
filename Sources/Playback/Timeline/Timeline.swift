import KioskMedia
import KioskPlatform
import KioskVocabulary

// The timeline: the reason why there are no seams.
//
// The player does not stop and restart. There is one timeline; the feeder enqueues item after item onto it, end to end. It opens the next
// item (or the next playthrough of the same one) and decodes its first picture before the present one ends. A loop just means that the next
// item is the same asset. Frames and samples carry timeline instants. So nothing downstream (compositor, scheduler, clock, sound card)
// knows where an item ends.
//
// A seek or a skip begins a new *generation*: the player drops everything queued under the older one, and the timeline restarts at zero.
// The frame on the screen stays until the first of the new generation is ready, so the screen always has a picture.
//
// The speed is the ratio of item time to timeline: at rate 2 an item second takes half a timeline second. The clock always runs at one.

/// One playback of one item, as enqueued on the timeline.
struct Playthrough: Hashable, Sendable {
    /// A number that grows from playthrough to playthrough, and with every seek within one, for the life of the player.
    var serial: UInt64
    var position: PlaylistCursor.Position
    var item: PlaylistItem
    /// The item time after its last frame, if known beforehand.
    var itemEnd: MediaTime?
    var isStill: Bool
    /// Whether the item is seekable.
    var isSeekable: Bool
    /// Whether the whole item is available without waiting: a file, whose reading takes no time beside a stream's.
    var isWhole: Bool
    /// Whether the playthrough follows the one before without a seek, so that its first frame is a seam.
    var isSeam: Bool

    /// The part of a slot (``PlaylistItem/duration``) that earlier playthroughs of a shorter clip have filled.
    var elapsed: MediaTime {
        guard let slot = item.slot(isStill: isStill), let remaining = position.remaining else { return .zero }
        return max(slot - remaining, .zero)
    }
}

/// The place of a picture on the timeline, and its playthrough.
struct FramePlace: Hashable, Sendable {
    /// The timeline instant at which the picture begins.
    var start: MediaTime
    /// The timeline instant at which the picture ends; for a still and a last frame, as the item says.
    var end: MediaTime
    var itemTime: MediaTime
    /// The item seconds in a timeline second.
    var rate: Double
    /// The nominal frame duration on the timeline; nil if there is none.
    var cadence: MediaTime?
    /// The playthrough of the picture; nil for the background if nothing is playing.
    var playthrough: Playthrough?
    /// Whether it is the first frame of its playthrough.
    var isFirst: Bool

    /// Returns the item time at a timeline instant, clamped to this frame.
    func itemTime(at time: MediaTime) -> MediaTime {
        itemTime + min(max(time - start, .zero), max(end - start, .zero)).scaled(by: rate)
    }
}

/// A scene with its place on the timeline.
struct EnqueuedFrame: ~Copyable, Sendable {
    /// The picture of the playthrough; beneath it, during a fade, the outgoing picture. A scene without layers is the bare background:
    /// sound without a picture, or nothing to play.
    private(set) var scene: Scene
    /// Whether the picture in front is the playthrough's own.
    private let hasPicture: Bool
    var place: FramePlace
    /// The number of bytes of picture memory that the frame keeps alive.
    let byteCount: Int
    /// Whether the frame holds a picture of a hardware decoder, which has only a few.
    let isPooled: Bool

    private init(_ scene: consuming Scene, at place: FramePlace, byteCount: Int, isPooled: Bool, hasPicture: Bool) {
        (self.place, self.byteCount, self.isPooled, self.hasPicture) = (place, byteCount, isPooled, hasPicture)
        self.scene = scene
    }

    /// Returns another frame of the same pictures; nil if memory is short.
    func shared() -> EnqueuedFrame? {
        switch scene.shared() {
        case .some(let scene): EnqueuedFrame(scene, at: place, byteCount: byteCount, isPooled: isPooled, hasPicture: hasPicture)
        case .none: nil
        }
    }

    init(_ picture: consuming VideoFrame?, over underlay: consuming Underlay? = nil, at place: FramePlace) {
        var scene = Scene()
        scene.itemTime = place.itemTime
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

    /// Applies the present gravity of its item; `gravities` holds the items whose gravity has changed since they joined the list.
    mutating func refit(_ gravities: [QueueItem.ID: VideoGravity]) {
        if gravities.isEmpty { return }
        guard hasPicture, let item = place.playthrough?.position.item, let gravity = gravities[item] else { return }
        scene.refit(gravity)
    }
}

/// A frame that has been composed, or is on the screen.
struct PreparedFrame: ~Copyable, Sendable {
    var enqueued: EnqueuedFrame
    /// The scan-out buffer with the frame; nil without a display to compose it for, or if that display has changed since.
    var composed: PreparedScene?
    /// The overlay that it was composed with.
    var mark = OverlayMark()
}
