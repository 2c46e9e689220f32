import KioskCaptureCore
import KioskDisplayCore
import KioskMedia
import KioskPlatform
import KioskPlayback
public import KioskPlayer
public import KioskVocabulary
import Synchronization

/// The picture of a session's camera on a display: AVCaptureVideoPreviewLayer.
///
/// It lies over the pictures of players and under `VideoOutput.overlay`, as long as the layer exists. The newest picture
/// replaces the one before, and no player's frame comes later for it. If the display has no player yet, the layer has one without an item.
public final class CapturePreviewLayer: Sendable {
    private struct State {
        var region: Region
        var gravity = VideoGravity.resizeAspect
        var angle = Rotation.none
        var isMirrored = true
        /// The last run of the session that has ended: its pictures are late.
        var ended = 0
        var isRemoved = false

        init(region: Region) { self.region = region }
    }

    /// The session.
    public let session: CaptureSession
    /// The display.
    public let videoOutput: VideoOutput
    private let number: Int
    /// Presents a display that no other player presents.
    private let host: Mutex<Player?>
    private let state: Mutex<State>
    /// Only the thread that reads the camera converts, but an earlier one may still be at it.
    private let converter = Mutex(SurfaceConverter())

    /// Shows the pictures of `session` on a display, from its next picture on.
    public init(session: CaptureSession, on videoOutput: VideoOutput, region: Region = .full) {
        (self.session, self.videoOutput) = (session, videoOutput)
        state = Mutex(State(region: region))
        host = Mutex(videoOutput.hasPlayer ? nil : Player(video: videoOutput))
        number = videoOutput.addPicture()
        session.add(self)
    }

    deinit { removeFromOutput() }

    /// Takes the picture off the display, for good.
    public func removeFromOutput() {
        state.withLock { state in
            if state.isRemoved { return }
            state.isRemoved = true
            videoOutput.removePicture(number)
        }
        // Ends on a thread of its own: this may be the camera's.
        host.withLock { $0 = nil }
    }

    /// The place on the display. A change counts for the next picture.
    public var region: Region {
        get { state.withLock { $0.region } }
        set { state.withLock { $0.region = newValue } }
    }

    /// How to fit the picture into its place; `resizeAspect` at first. A change counts for the next picture.
    public var videoGravity: VideoGravity {
        get { state.withLock { $0.gravity } }
        set { state.withLock { $0.gravity = newValue } }
    }

    /// Whether the picture is mirrored left to right, as people know themselves from mirrors; true at first. The film is not mirrored by
    /// it. A change counts for the next picture.
    public var isVideoMirrored: Bool {
        get { state.withLock { $0.isMirrored } }
        set { state.withLock { $0.isMirrored = newValue } }
    }

    /// The rotation in degrees clockwise: 0, 90, 180 or 270. Ignores other numbers. A change counts for the next picture.
    public var videoRotationAngle: Int {
        get { state.withLock { $0.angle.rawValue } }
        set { if let angle = Rotation(rawValue: newValue) { state.withLock { $0.angle = angle } } }
    }

    /// Shows a picture. On the thread that reads the camera.
    func show(_ picture: borrowing CapturedPicture, of run: Int) {
        let (region, gravity, angle, isMirrored, isWanted) = state.withLock {
            ($0.region, $0.gravity, $0.angle, $0.isMirrored, !$0.isRemoved && run > $0.ended)
        }
        guard isWanted, let screen = videoOutput.size else { return }
        let (width, height) = (picture.frame.width, picture.frame.height)
        let place = PreviewPlace(
            width: angle.swapsAxes ? height : width, height: angle.swapsAxes ? width : height, in: region, gravity, on: screen)
        let surface = converter.withLock {
            $0.surface(picture.frame, width: place.width, height: place.height, rotation: angle, isMirrored: isMirrored)
        }
        guard let surface else { return }
        let drawn = Overlay.Picture(surface: surface, x: place.x, y: place.y, clip: place.clip)
        state.withLock { state in
            // It may have been hidden meanwhile.
            if !state.isRemoved, run > state.ended { videoOutput.setPicture(drawn, of: number) }
        }
    }

    /// Hides the picture until a later run of the session.
    func hide(through run: Int) {
        state.withLock { state in
            state.ended = max(state.ended, run)
            if !state.isRemoved { videoOutput.setPicture(nil, of: number) }
        }
    }
}

/// The place of a camera's picture on a display, in pixels. A pure value.
struct PreviewPlace: Hashable, Sendable {
    var x: Int, y: Int, width: Int, height: Int
    /// The visible part, if the picture is larger than its place.
    var clip: PixelRectangle?

    /// Fits a picture of a size into a region of a display.
    init(width: Int, height: Int, in region: Region, _ gravity: VideoGravity, on screen: PixelSize) {
        let (left, top) = (Int((region.x * Double(screen.width)).rounded()), Int((region.y * Double(screen.height)).rounded()))
        let right = Int(((region.x + region.width) * Double(screen.width)).rounded())
        let bottom = Int(((region.y + region.height) * Double(screen.height)).rounded())
        let (across, down) = (max(1, right - left), max(1, bottom - top))
        let shares = (Double(across) / Double(max(1, width)), Double(down) / Double(max(1, height)))
        let scale = gravity == .resizeAspectFill ? max(shares.0, shares.1) : min(shares.0, shares.1)
        // A picture of one line would be as wide as it likes.
        let most = 16 * max(across, down)
        self.width = gravity == .resize ? across : min(most, max(1, Int((Double(width) * scale).rounded())))
        self.height = gravity == .resize ? down : min(most, max(1, Int((Double(height) * scale).rounded())))
        (x, y) = (left + (across - self.width) / 2, top + (down - self.height) / 2)
        clip =
            gravity == .resizeAspectFill && (self.width > across || self.height > down)
            ? PixelRectangle(x: left, y: top, width: across, height: down) : nil
    }
}
