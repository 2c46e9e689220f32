import KioskMedia
import KioskPlatform
import KioskPlayback
import KioskVocabulary

/// What the compositor and the presenter of an output share, behind its lock.
struct OutputState {
    /// What a scan-out buffer was painted with.
    struct Content {
        var version: RotationState.Version
        /// What of an overlay is in the picture (``OverlayPlacer/painting``); 0: nothing.
        var painting: UInt64 = 0
        /// What is shown in the buffer's place.
        var video: VideoShow?
    }

    /// A window over the picture, as long as a player has it.
    struct Window {
        weak var output: WindowOutput?
    }

    var windows: [Window] = []
    /// The last that something was seen to change at.
    var lastVblank: HostTime?
    var pool = BufferPool()
    var buffers: [ScanoutBuffer] = []
    /// Of the buffers, in their order.
    var contents: [Content] = []
    var mode: DisplayMode?
    var reportsVblank = true
    var rotation: RotationState
    /// What is shown beside the picture, and without one.
    var background: Color
    var onRotation: (@Sendable (Rotation) -> Void)?
    /// Whether the display is to be off.
    var isDark = false
    /// The last display's; it stays while that is off.
    var television: CECPlace?
    /// The compositor's, kept here so that it goes with its screen; nil where there are no planes, or none any more: the driver has refused a
    /// flip of them.
    var planes: OverlayPlanes?
    /// The compositor's, kept here so that it goes with its screen; nil where all pictures are converted.
    var video: VideoPlanes?
    /// What the driver has refused to show, for the compositor.
    var refused: [(arrangement: VideoArrangement, error: DeviceError)] = []
    /// What went with a screen, for the compositor to free.
    private var gone: [Gone] = []

    /// Pictures and what showed them. To free a decoded picture can take long.
    struct Gone {
        var contents: [Content]
        var video: VideoPlanes?
    }

    /// What has gone since the last call, and pictures in memory of decoders that are no longer shown.
    mutating func takeGone() -> [Gone] {
        var taken = gone
        gone = []
        for index in contents.indices where pool.isSpare(index) && contents[index].video?.isDecodersMemory == true {
            taken.append(Gone(contents: [contents[index]]))
            contents[index].video = nil
        }
        return taken
    }

    /// The overlay plane of pictures that are on the screen or ready, if they have one.
    var videoPlane: PlaneProperties? {
        for index in contents.indices where pool.isOfUse(index) {
            if let plane = contents[index].video?.arrangement.plane { return plane }
        }
        return nil
    }

    init(_ settings: DisplaySettings) { (rotation, background) = (RotationState(settings.rotation), settings.background) }

    /// What an overlay is placed for.
    struct Target: Hashable {
        var generation: UInt64
        var rotation: Rotation
        var width: Int, height: Int
        var hasPlanes: Bool

        /// The size of the screen as a viewer sees it.
        var canvas: (width: Int, height: Int) { rotation.swapsAxes ? (height, width) : (width, height) }
    }

    /// That of scenes that are prepared now; nil without a display.
    var target: Target? {
        guard let mode else { return nil }
        return Target(
            generation: pool.generation, rotation: rotation.wanted.rotation, width: mode.width, height: mode.height,
            hasPlanes: planes != nil)
    }

    /// Whether a picture that is on the screen, or may come there, has an overlay in it.
    var anyContainsOverlay: Bool { contents.indices.contains { pool.isOfUse($0) && contents[$0].painting != 0 } }

    /// The screen has become another one. Returns the rotation of pictures where that has changed.
    mutating func renew(_ screen: (any Screen)?, _ settings: DisplaySettings) -> Rotation? {
        if video != nil { gone.append(Gone(contents: contents, video: video)) }
        let rotated = screen.flatMap { rotation.renew(panel: $0.panelRotation) }
        pool.renew(count: screen?.buffers.count ?? 0)
        buffers = screen?.buffers ?? []
        contents = buffers.map { _ in Content(version: rotation.wanted) }
        mode = screen?.mode
        if let size = settings.physicalSize, mode != nil { (mode!.physicalWidth, mode!.physicalHeight) = (size.width, size.height) }
        if let screen { (reportsVblank, television) = (screen.reportsVblank, screen.television) }
        planes = screen?.overlayPlanes.map(OverlayPlanes.init)
        video = screen?.videoPlanes.map { VideoPlanes($0, settings.picturePath) }
        refused = []
        return rotated
    }

    /// The pending flip has happened. Returns the rotation of pictures where that has changed.
    mutating func flipped(isAssumed: Bool) -> Rotation? {
        let hadPlanes = !pool.overlayOnScreen.shows.isEmpty
        pool.flipped(isAssumed: isAssumed)
        // Another output may have them.
        if hadPlanes, pool.planes.isEmpty, pool.next?.shows.isEmpty ?? true { planes?.hardware.hold([]) }
        return pool.onScreen.flatMap { rotation.flipped(to: contents[$0].version) }
    }
}
