import CKioskDRM
import CKioskFFmpeg
import KioskMedia
import KioskPlayback
import KioskVocabulary

/// The properties of a picture that decide its path to the screen. Pictures of the same shape take the same path.
struct PictureShape: Hashable {
    /// The memory of a hardware decoder.
    struct Surface: Hashable {
        /// Fourcc code.
        var format: UInt32
        /// The format modifier; nil if unknown.
        var modifier: UInt64?
    }

    var format: PictureFormat
    var width: Int, height: Int
    /// nil if no plane supports the colours.
    var colour: ColourDescription?
    /// The visible part, and its place on the screen.
    var geometry: PictureGeometry
    /// 0xRRGGBB of the bars.
    var background: UInt32
    var surface: Surface?
    /// The size in pixels of the plane memory that it was decoded into; nil if it is elsewhere.
    var room: PlanePlanner.Size?

    /// Creates the shape of a frame; nil if there is nothing to show, or if only the converter can tell.
    init?(
        _ frame: borrowing VideoFrame, crop: PixelRectangle?, own: Rotation, gravity: VideoGravity, region: Region = .full,
        rotation: Rotation,
        background: UInt32, screenWidth: Int, screenHeight: Int
    ) {
        guard frame.width > 0, frame.height > 0, frame.av.pointee.data.0 != nil, let format = PictureFormat(frame.pixelFormat) else {
            return nil
        }
        (self.format, self.background) = (format, background)
        (width, height) = (frame.width, frame.height)
        let colour = ColourDescription(frame.av, fullRangeByFormat: format.isFullRange)
        self.colour = colour.planeEncoding == nil ? nil : colour
        geometry = PictureGeometry(
            storedWidth: width, storedHeight: height, source: crop, pixelAspectRatio: frame.pixelAspectRatio,
            orientation: Orientation(rotation: frame.orientation.rotation + own, isMirrored: frame.orientation.isMirrored),
            gravity: gravity, region: region, screenWidth: screenWidth, screenHeight: screenHeight, rotation: rotation,
            chromaWidth: format.isFlattened ? 1 : format.chromaWidth, chromaHeight: format.isFlattened ? 1 : format.chromaHeight)
        if let surface = frame.surface?.pointee, surface.nb_layers > 0, surface.nb_objects > 0 {
            let modifier = surface.objects.0.format_modifier
            self.surface = Surface(
                format: surface.nb_layers == 1 ? surface.layers.0.format : 0, modifier: modifier == kDRM_FORMAT_MOD_INVALID ? nil : modifier
            )
        }
    }

    /// `1920×1080 YU12`.
    var name: String {
        let format = VideoFormat(format.av)?.description ?? av_get_pix_fmt_name(format.av).map { String(cString: $0) } ?? "?"
        return "\(width)×\(height) \(format)"
    }
}

/// The layers for each path of a picture to the screen. A pure value; ``PlanePlanner`` and then the driver decide whether a candidate
/// works.
///
/// A picture that covers the screen can have the primary plane alone. Any other picture needs a background, and many drivers show nothing
/// unless the primary plane covers the screen. So the primary plane shows the background, and an overlay plane above it the picture.
struct PicturePlan {
    /// A path to try.
    struct Candidate: Equatable {
        var path: PicturePath
        /// The format on the plane; nil for a surface, which stays as it is.
        var format: VideoFormat?
        /// Pixels of the picture in the plane's memory.
        var width: Int, height: Int
        /// The visible part of that.
        var source: PixelRectangle
        /// The visible part of the decoded picture.
        var crop: PixelRectangle
        var layer: PlanePlanner.Layer
        /// Whether the primary plane shows the background behind it.
        var hasBackground: Bool
    }

    /// The paths to try, the best first.
    private(set) var candidates: [Candidate] = []
    /// The paths that cannot work, with the reason.
    private(set) var refusals: [(path: PicturePath, reason: String)] = []

    /// Creates the plan for a screen of `width` x `height` pixels.
    init(_ shape: PictureShape, _ paths: [PicturePath], width: Int, height: Int) {
        for path in paths where path != .direct || shape.room != nil {
            guard let colour = shape.colour else {
                refusals.append((path, "no plane makes its colours"))
                continue
            }
            let layers = Self.layers(shape, path, colour)
            if layers.isEmpty {
                refusals.append((path, path == .dmabuf ? "it is not a decoder's memory" : "no plane takes its format"))
            }
            let place = shape.geometry.scanout
            let covers = place == PixelRectangle(x: 0, y: 0, width: width, height: height)
            for hasBackground in covers ? [false, true] : [true] {
                for var candidate in layers {
                    candidate.hasBackground = hasBackground
                    candidates.append(candidate)
                }
            }
        }
    }

    private static func layers(_ shape: PictureShape, _ path: PicturePath, _ colour: ColourDescription) -> [Candidate] {
        let (crop, place, orientation) = (shape.geometry.crop, shape.geometry.scanout, shape.geometry.orientation)
        func candidate(_ format: VideoFormat?, _ size: (Int, Int), _ source: PixelRectangle, code: UInt32, modifier: UInt64?) -> Candidate {
            let layer = PlanePlanner.Layer(
                format: code, modifier: modifier, sourceWidth: source.width, sourceHeight: source.height, destination: place,
                orientation: orientation,
                colour: colour)
            return Candidate(
                path: path, format: format, width: size.0, height: size.1, source: source, crop: crop, layer: layer, hasBackground: false)
        }
        switch path {
        case .dmabuf:
            guard let surface = shape.surface, surface.format != 0 else { return [] }
            return [candidate(nil, (shape.width, shape.height), crop, code: surface.format, modifier: surface.modifier)]
        case .direct:
            guard let room = shape.room, let format = VideoFormat(shape.format.av) else { return [] }
            return [candidate(format, (room.width, room.height), crop, code: format.code, modifier: nil)]
        case .copy:
            return VideoFormat.copies(of: shape.format).map { format in
                candidate(format, (shape.width, shape.height), crop, code: format.code, modifier: nil)
            }
        case .scale:
            let (width, height) = orientation.rotation.swapsAxes ? (place.height, place.width) : (place.width, place.height)
            let whole = PixelRectangle(x: 0, y: 0, width: width, height: height)
            return VideoFormat.scaled(from: shape.format).map { candidate($0, (width, height), whole, code: $0.code, modifier: nil) }
        case .convert: return []
        }
    }
}
