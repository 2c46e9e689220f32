import KioskMedia
import KioskPlayback
import KioskVocabulary

/// An overlay as one screen scans it out: every picture rotated, with its place. It is in ordinary memory and draws itself row by row over
/// rows of ordinary memory. The target is a plane of its own (``OverlayBuffer``) or the picture itself (``ScanoutWriter``). Surfaces
/// without rotation are not copied.
struct PlacedOverlay: Sendable {
    /// One picture.
    struct Picture: Sendable {
        let surface: Surface
        /// The pixels row by row without gaps, 0xAARRGGBB, premultiplied: the surface's own, or rotated ones.
        let pixels: [UInt32]
        /// The opacity in 256ths.
        let weight: UInt32
        /// Unique: pictures that differ in anything have different stamps.
        let stamp: UInt64
        /// The rectangle in scan-out pixels, and its part on the screen, never empty.
        let whole: PixelRectangle, place: PixelRectangle

        /// Whether it hides everything under it.
        var isOpaque: Bool { weight == 256 && surface.isOpaque }
    }

    /// The pictures, the rearmost first.
    private(set) var pictures: [Picture] = []
    let rotation: Rotation
    let width: Int, height: Int
    /// Whether its planes may be as large as the screen (``Overlay/fillsScreen``).
    private(set) var fillsScreen = false
    /// Whether its opaque pictures are other players' (``Overlay/isOfPlayers``).
    private(set) var isOfPlayers = false
    private var lastStamp: UInt64 = 0

    /// Creates an empty overlay for a screen of `width` x `height` scan-out pixels, whose picture is rotated by `rotation`.
    init(rotation: Rotation, width: Int, height: Int) { (self.rotation, self.width, self.height) = (rotation, width, height) }

    /// Places the visible part of `overlay`. Reuses unchanged pictures of `before`, on the same screen.
    init(_ overlay: Overlay, rotation: Rotation, width: Int, height: Int, before: PlacedOverlay?) {
        self.init(rotation: rotation, width: width, height: height)
        lastStamp = before?.lastStamp ?? 0
        (fillsScreen, isOfPlayers) = (overlay.fillsScreen, overlay.isOfPlayers)
        let canvas = rotation.swapsAxes ? (height, width) : (width, height)
        for picture in overlay.pictures {
            let (weight, surface) = (UInt32(PixelBlend.weight(picture.alpha)), picture.surface)
            // Clamp distant places, so that arithmetic cannot overflow.
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
            // A picture that only moved is not rotated again.
            pictures.append(
                Picture(
                    surface: surface, pixels: former.first?.pixels ?? surface.rotated(by: rotation), weight: weight, stamp: lastStamp,
                    whole: whole, place: place))
        }
    }

    /// Returns only the pictures that are whole in a rectangle.
    func part(in box: PixelRectangle) -> PlacedOverlay {
        var part = self
        part.pictures = pictures.filter { box.contains($0.place) }
        return part
    }

    /// Returns the `count` rearmost pictures, and the others.
    func parted(behind count: Int) -> (rear: PlacedOverlay, front: PlacedOverlay) {
        var (rear, front) = (self, self)
        (rear.pictures, front.pictures) = (Array(pictures.prefix(count)), Array(pictures.dropFirst(count)))
        return (rear, front)
    }

    /// The bytes of other players' pictures: their own, and those of three plane buffers.
    var playersByteCount: Int { isOfPlayers ? pictures.reduce(0) { $0 + ($1.isOpaque ? $1.place.area * 16 : 0) } : 0 }

    /// The bytes of ordinary memory that it keeps alive, including the surfaces' own.
    var byteCount: Int {
        pictures.reduce(0) { sum, picture in
            sum + picture.pixels.count * (rotation == .none ? 4 : 8)
        }
    }

    /// Whether any picture touches `count` pixels of row `y` from `x` on.
    func touches(_ x: Int, _ y: Int, count: Int) -> Bool {
        pictures.contains { picture in
            let place = picture.place
            return y >= place.y && y < place.y + place.height && x < place.x + place.width && place.x < x + count
        }
    }

    /// Draws its part in `count` pixels of row `y` from `x` on, over `row`.
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
    /// Returns the pixels, rotated clockwise.
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
    /// Returns the intersection of two rectangles; nil if it is empty.
    func intersection(_ other: PixelRectangle) -> PixelRectangle? {
        let (left, top) = (max(x, other.x), max(y, other.y))
        let (right, bottom) = (min(x + width, other.x + other.width), min(y + height, other.y + other.height))
        return left < right && top < bottom ? PixelRectangle(x: left, y: top, width: right - left, height: bottom - top) : nil
    }

    /// Returns the smallest rectangle that contains both.
    func union(_ other: PixelRectangle) -> PixelRectangle {
        let (left, top) = (min(x, other.x), min(y, other.y))
        let (right, bottom) = (max(x + width, other.x + other.width), max(y + height, other.y + other.height))
        return PixelRectangle(x: left, y: top, width: right - left, height: bottom - top)
    }

    /// Whether this rectangle contains all of another one.
    func contains(_ other: PixelRectangle) -> Bool { union(other) == self }

    var area: Int { width * height }
}
