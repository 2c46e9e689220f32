import KioskMedia
import KioskPlayback
import KioskVocabulary

/// An overlay as one screen scans it out: every picture rotated, and its place. In ordinary memory, drawn row by row over rows in ordinary
/// memory, for a plane of its own (``OverlayBuffer``) or for the picture itself (``ScanoutWriter``). A surface that does not have to be rotated
/// is not copied.
struct PlacedOverlay: Sendable {
    /// One picture.
    struct Picture: Sendable {
        let surface: Surface
        /// Row by row without gaps, 0xAARRGGBB, premultiplied: the surface's own, or those rotated.
        let pixels: [UInt32]
        /// In 256ths.
        let weight: UInt32
        /// No two pictures that differ in anything have the same.
        let stamp: UInt64
        /// Where it goes, in scan-out pixels; and what of that is on the screen, never empty.
        let whole: PixelRectangle, place: PixelRectangle

        /// Whether it covers what lies under it.
        var isOpaque: Bool { weight == 256 && surface.isOpaque }
    }

    /// The rearmost first.
    private(set) var pictures: [Picture] = []
    let rotation: Rotation
    let width: Int, height: Int
    /// Whether it may have planes as large as the screen (``Overlay/fillsScreen``).
    private(set) var fillsScreen = false
    /// Whether pictures that hide what is beneath them are other players' (``Overlay/isOfPlayers``).
    private(set) var isOfPlayers = false
    private var lastStamp: UInt64 = 0

    /// Nothing, on a screen of `width` x `height` pixels in scan-out whose picture is rotated by `rotation`.
    init(rotation: Rotation, width: Int, height: Int) { (self.rotation, self.width, self.height) = (rotation, width, height) }

    /// What is to be seen of `overlay`. What is the same as `before`, on the same screen, is taken over from it.
    init(_ overlay: Overlay, rotation: Rotation, width: Int, height: Int, before: PlacedOverlay?) {
        self.init(rotation: rotation, width: width, height: height)
        lastStamp = before?.lastStamp ?? 0
        (fillsScreen, isOfPlayers) = (overlay.fillsScreen, overlay.isOfPlayers)
        let canvas = rotation.swapsAxes ? (height, width) : (width, height)
        for picture in overlay.pictures {
            let (weight, surface) = (UInt32(PixelBlend.weight(picture.alpha)), picture.surface)
            // Far outside is far enough to be reckoned with.
            func near(_ place: Int) -> Int { min(max(place, -(1 << 30)), 1 << 30) }
            let upright = PixelRectangle(x: near(picture.x), y: near(picture.y), width: surface.width, height: surface.height)
            let whole = PictureGeometry.rotate(upright, on: canvas, by: rotation)
            let clip = picture.clip.map { PictureGeometry.rotate($0, on: canvas, by: rotation) } ?? whole
            guard weight > 0, let place = whole.intersection(PixelRectangle(x: 0, y: 0, width: width, height: height))?.intersection(clip)
            else { continue }
            let former = before?.pictures.filter { $0.surface === surface } ?? []
            if let same = former.first(where: { ($0.whole, $0.place, $0.weight) == (whole, place, weight) }) {
                pictures.append(same)
                continue
            }
            lastStamp += 1
            // What has moved is not rotated again.
            pictures.append(
                Picture(
                    surface: surface, pixels: former.first?.pixels ?? surface.rotated(by: rotation), weight: weight, stamp: lastStamp,
                    whole: whole, place: place))
        }
    }

    /// Only the pictures that are whole in a rectangle.
    func part(in box: PixelRectangle) -> PlacedOverlay {
        var part = self
        part.pictures = pictures.filter { box.contains($0.place) }
        return part
    }

    /// Its `count` rearmost pictures, and the others.
    func parted(behind count: Int) -> (rear: PlacedOverlay, front: PlacedOverlay) {
        var (rear, front) = (self, self)
        (rear.pictures, front.pictures) = (Array(pictures.prefix(count)), Array(pictures.dropFirst(count)))
        return (rear, front)
    }

    /// Bytes that other players' pictures take: their own, and of three buffers of planes.
    var playersByteCount: Int { isOfPlayers ? pictures.reduce(0) { $0 + ($1.isOpaque ? $1.place.area * 16 : 0) } : 0 }

    /// Bytes of ordinary memory that it keeps alive, the surfaces' own among them.
    var byteCount: Int {
        pictures.reduce(0) { sum, picture in
            sum + picture.pixels.count * (rotation == .none ? 4 : 8)
        }
    }

    /// Whether anything of it is in `count` pixels of row `y` from `x` on.
    func touches(_ x: Int, _ y: Int, count: Int) -> Bool {
        pictures.contains { picture in
            let place = picture.place
            return y >= place.y && y < place.y + place.height && x < place.x + place.width && place.x < x + count
        }
    }

    /// Draws what of it is in `count` pixels of row `y` from `x` on over `row`.
    func draw(_ x: Int, _ y: Int, count: Int, over row: UnsafeMutableRawPointer, _ format: ScanoutFormat) {
        for picture in pictures {
            let place = picture.place
            let (left, right) = (max(x, place.x), min(x + count, place.x + place.width))
            guard y >= place.y, y < place.y + place.height, left < right else { continue }
            let whole = picture.whole
            picture.pixels.withUnsafeBufferPointer { pixels in
                let source = pixels.baseAddress! + (y - whole.y) * whole.width + (left - whole.x)
                if picture.isOpaque, format == .xrgb8888 {
                    (row + (left - x) * 4).copyMemory(from: source, byteCount: (right - left) * 4)
                    return
                }
                PixelBlend.draw(
                    source, count: right - left, weight: picture.weight, over: row + (left - x) * format.bytesPerPixel, format)
            }
        }
    }
}

extension Surface {
    /// Its pixels rotated clockwise.
    fileprivate func rotated(by rotation: Rotation) -> [UInt32] {
        if rotation == .none { return pixels }
        return [UInt32](unsafeUninitializedCapacity: pixels.count) { rotated, count in
            pixels.withUnsafeBytes { source in
                PixelRotation.copy(
                    source.baseAddress!, stride: width * 4, width: width, height: height, bytesPerPixel: 4,
                    orientation: Orientation(rotation: rotation), to: rotated.baseAddress!,
                    stride: (rotation.swapsAxes ? height : width) * 4)
            }
            count = pixels.count
        }
    }
}

extension PixelRectangle {
    /// What two rectangles have in common; nil where that is nothing.
    func intersection(_ other: PixelRectangle) -> PixelRectangle? {
        let (left, top) = (max(x, other.x), max(y, other.y))
        let (right, bottom) = (min(x + width, other.x + other.width), min(y + height, other.y + other.height))
        return left < right && top < bottom ? PixelRectangle(x: left, y: top, width: right - left, height: bottom - top) : nil
    }

    /// The smallest rectangle with both in it.
    func union(_ other: PixelRectangle) -> PixelRectangle {
        let (left, top) = (min(x, other.x), min(y, other.y))
        let (right, bottom) = (max(x + width, other.x + other.width), max(y + height, other.y + other.height))
        return PixelRectangle(x: left, y: top, width: right - left, height: bottom - top)
    }

    /// Whether all of another one is in it.
    func contains(_ other: PixelRectangle) -> Bool { union(other) == self }

    var area: Int { width * height }
}
