import KioskMedia
import KioskPlatform
import KioskPlayback
import KioskVocabulary

/// The state that an output's compositor and presenter share, behind its lock.
struct OutputState {
    /// The content of a scan-out buffer.
    struct Content {
        var version: RotationState.Version
        /// The overlay in the picture (``OverlayPlacer/painting``); 0: none.
        var painting: UInt64 = 0
        /// The picture that planes show instead of the buffer.
        var video: VideoShow?
    }

    /// A window over the picture, for as long as its player keeps it.
    struct Window {
        weak var output: WindowOutput?
    }

    var windows: [Window] = []
    /// The time of the last vblank that changed the picture.
    var lastVblank: HostTime?
    var pool = BufferPool()
    var buffers: [ScanoutBuffer] = []
    /// The contents of `buffers`, in the same order.
    var contents: [Content] = []
    var mode: DisplayMode?
    var reportsVblank = true
    var rotation: RotationState
    /// The colour beside the picture, and without one.
    var background: Color
    var onRotation: (@Sendable (Rotation) -> Void)?
    /// Whether the display should be off.
    var isDark = false
    /// The place of the last display, for HDMI-CEC; stays while that is off.
    var television: CECPlace?
    /// The compositor's overlay planes; kept here because they go with their screen. nil if there are none, or if the driver has refused a
    /// flip of them.
    var planes: OverlayPlanes?
    /// The compositor's video planes; kept here because they go with their screen. nil if kiosk converts all pictures.
    var video: VideoPlanes?
    /// The driver's refusals, for the compositor.
    var refused: [(arrangement: VideoArrangement, error: DeviceError)] = []
    /// Leftovers of former screens, for the compositor to free.
    private var gone: [Gone] = []

    /// Pictures and the planes that showed them. Freeing a decoded picture can take long.
    struct Gone {
        var contents: [Content]
        var video: VideoPlanes?
    }

    /// Takes the leftovers since the last call, and the pictures in decoder memory that are no longer on the screen.
    mutating func takeGone() -> [Gone] {
        var taken = gone
        gone = []
        for index in contents.indices where pool.isSpare(index) && contents[index].video?.isDecodersMemory == true {
            taken.append(Gone(contents: [contents[index]]))
            contents[index].video = nil
        }
        return taken
    }

    /// The overlay plane of the picture on the screen or of one that is ready, if it has one.
    var videoPlane: PlaneProperties? {
        for index in contents.indices where pool.isOfUse(index) {
            if let plane = contents[index].video?.arrangement.plane { return plane }
        }
        return nil
    }

    init(_ settings: DisplaySettings) { (rotation, background) = (RotationState(settings.rotation), settings.background) }

    /// The screen for which an overlay is placed.
    struct Target: Hashable {
        var generation: UInt64
        var rotation: Rotation
        var width: Int, height: Int
        var hasPlanes: Bool

        /// The size of the screen as a viewer sees it.
        var canvas: (width: Int, height: Int) { rotation.swapsAxes ? (height, width) : (width, height) }
    }

    /// The target of scenes that are prepared now; nil without a display.
    var target: Target? {
        guard let mode else { return nil }
        return Target(
            generation: pool.generation, rotation: rotation.wanted.rotation, width: mode.width, height: mode.height,
            hasPlanes: planes != nil)
    }

    /// Whether a picture that is or may come on the screen contains an overlay.
    var anyContainsOverlay: Bool { contents.indices.contains { pool.isOfUse($0) && contents[$0].painting != 0 } }

    /// Handles a change of screen. Returns the rotation of pictures if it has changed.
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

    /// Handles the end of the pending flip. Returns the rotation of pictures if it has changed.
    mutating func flipped(isAssumed: Bool) -> Rotation? {
        let hadPlanes = !pool.overlayOnScreen.shows.isEmpty
        pool.flipped(isAssumed: isAssumed)
        // Release them: another output may use them.
        if hadPlanes, pool.planes.isEmpty, pool.next?.shows.isEmpty ?? true { planes?.hardware.hold([]) }
        return pool.onScreen.flatMap { rotation.flipped(to: contents[$0].version) }
    }
}
