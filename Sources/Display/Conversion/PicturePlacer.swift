import Glibc
import KioskMedia
import KioskPlayback
import KioskVocabulary
import Logging

/// Draws one picture after another at places of their own over what is there: moved, scaled, rotated, sheared, with an opacity.
///
/// ``PictureConverter`` crops the picture, brings it upright and scales it to about its final size. The rest is one bilinear pass. The
/// sizes of the first step lie a fourth root of two apart, so a slow zoom does not set up libswscale for every picture. A move by whole
/// pixels at such a size copies rows. Edges between pixels of the film are as soft as a pixel.
///
/// Not thread-safe.
package final class PicturePlacer {
    private let converter = PictureConverter()
    /// The picture, upright and scaled.
    private var scaled: MemoryBuffer?
    /// The logged refusals, so that each is logged once.
    private var refusals: Set<PictureConverter.Refusal> = []

    package init() {}

    /// Draws the picture of a layer over `canvas`. `background` shows through the transparent parts of its pixels.
    func draw(_ layer: borrowing Layer, at placement: PicturePlacement, opacity: Double, background: UInt32, over canvas: PixelMemory) {
        let weight = UInt32(PixelBlend.weight(opacity))
        if weight == 0 { return }
        do throws(PictureConverter.Refusal) {
            if layer.frame.surface != nil {
                guard let frame = layer.frame.downloaded() else { throw .unreadable }
                try draw(frame, layer.crop, layer.rotation, layer.gravity, placement, weight, background, over: canvas)
            } else {
                try draw(layer.frame, layer.crop, layer.rotation, layer.gravity, placement, weight, background, over: canvas)
            }
        } catch {
            if refusals.count < 100, refusals.insert(error).inserted { log.error("picture left out: \(error)") }
        }
    }

    private func draw(
        _ frame: borrowing VideoFrame, _ crop: PixelRectangle?, _ own: Rotation, _ gravity: VideoGravity, _ placement: PicturePlacement,
        _ weight: UInt32, _ background: UInt32, over canvas: PixelMemory
    ) throws(PictureConverter.Refusal) {
        // The whole stored picture counts, not the part that gravity shows.
        var geometry = try PictureConverter.geometry(
            of: frame, crop: crop, own: own, gravity: placement.isOfStored ? .resize : gravity, width: canvas.width, height: canvas.height)
        let place = Place(geometry, placement, pixelAspectRatio: frame.pixelAspectRatio)
        guard let (size, toFilm) = place.scaled, let fromFilm = toFilm.inverse, fromFilm.isBounded else { return }
        let whole = PixelRectangle(x: 0, y: 0, width: size.width, height: size.height)
        (geometry.canvas, geometry.scanout) = (whole, whole)
        if scaled?.pixels.width != size.width || scaled?.pixels.height != size.height {
            scaled = MemoryBuffer(width: size.width, height: size.height, format: canvas.format)
        }
        guard let scaled else { return }
        try converter.draw(frame, geometry, background: background, into: scaled)
        Self.sample(scaled.pixels, toFilm, fromFilm, weight, over: canvas)
    }

    /// A picture's place in the film.
    private struct Place {
        /// The transform from the upright picture, as a square with sides of 1, to pixels of the film.
        private let unit: PictureTransform
        /// The size at which the transform was given, and that of the visible stored picture, upright.
        private let natural: (width: Double, height: Double), stored: (width: Double, height: Double)

        init(_ geometry: PictureGeometry, _ placement: PicturePlacement, pixelAspectRatio: Double) {
            let swaps = geometry.orientation.rotation.swapsAxes
            let crop = (width: Double(geometry.crop.width), height: Double(geometry.crop.height))
            stored = swaps ? (crop.height, crop.width) : crop
            if placement.isOfStored {
                let aspect = (1e-4...1e4).contains(pixelAspectRatio) ? pixelAspectRatio : 1
                let upright = geometry.orientation.transform(width: crop.width * aspect, height: crop.height)
                natural = swaps ? (crop.height, crop.width * aspect) : (crop.width * aspect, crop.height)
                let back = upright.inverse ?? .identity
                unit = PictureTransform(scaleX: natural.width, y: natural.height).then(back).then(placement.transform)
            } else {
                let r = geometry.canvas
                natural = (Double(r.width), Double(r.height))
                unit = PictureTransform(scaleX: natural.width, y: natural.height, moveX: Double(r.x), y: Double(r.y))
                    .then(placement.transform)
            }
        }

        /// The size to scale the picture to, and the transform from there to the film; nil if less than half a pixel is left of it.
        var scaled: (size: (width: Int, height: Int), toFilm: PictureTransform)? {
            let (across, down) = (hypot(unit.a, unit.b), hypot(unit.c, unit.d))
            guard across >= 0.5, down >= 0.5, abs(unit.determinant) >= 0.25 else { return nil }
            let width = Self.side(across, natural.width, stored.width), height = Self.side(down, natural.height, stored.height)
            return ((width, height), PictureTransform(scaleX: 1 / Double(width), y: 1 / Double(height)).then(unit))
        }

        /// Returns a size of at least `final`, but no larger than the picture has detail.
        private static func side(_ final: Double, _ natural: Double, _ stored: Double) -> Int {
            let step = (log2(final / natural) * 4 - 1e-6).rounded(.up) / 4
            let most = min(max(natural, stored), 16384)
            return max(Int(min(natural * exp2(step), most).rounded()), 1)
        }
    }

    // MARK: Pixels

    /// Draws a picture over `canvas`; `toFilm` takes its pixels there, and `fromFilm` back.
    private static func sample(
        _ picture: PixelMemory, _ toFilm: PictureTransform, _ fromFilm: PictureTransform, _ weight: UInt32, over canvas: PixelMemory
    ) {
        let (width, height) = (Double(picture.width), Double(picture.height))
        let corners = [toFilm.apply(0, 0), toFilm.apply(width, 0), toFilm.apply(0, height), toFilm.apply(width, height)]
        func span(_ values: [Double], _ length: Int) -> Range<Int> {
            let low = min(max(values.min()! - 1, 0), Double(length)), high = min(max(values.max()! + 1, low), Double(length))
            return Int(low)..<Int(high.rounded(.up))
        }
        let (columns, rows) = (span(corners.map(\.x), canvas.width), span(corners.map(\.y), canvas.height))
        if columns.isEmpty { return }
        // 32 bits behind the point; the upper eight are the share of the next pixel.
        func fixed(_ number: Double) -> Int { Int((number * 4_294_967_296).rounded()) }
        let step = (u: fixed(fromFilm.a), v: fixed(fromFilm.b))
        for y in rows {
            let begin = fromFilm.apply(Double(columns.lowerBound) + 0.5, Double(y) + 0.5)
            let (u, v) = (fixed(begin.x - 0.5) + 1 << 23, fixed(begin.y - 0.5) + 1 << 23)
            let row = canvas.address(columns.lowerBound, y).assumingMemoryBound(to: UInt32.self)
            if weight == 256, step == (1 << 32, 0), share(u) == 0, share(v) == 0 {
                copyRow(of: picture, x: u >> 32, y: v >> 32, to: row, count: columns.count)
            } else {
                sampleRow(of: picture, from: (u, v), step, weight, over: row, count: columns.count)
            }
        }
    }

    private static func copyRow(of picture: PixelMemory, x: Int, y: Int, to row: UnsafeMutablePointer<UInt32>, count: Int) {
        let (first, end) = (max(x, 0), min(x + count, picture.width))
        guard 0..<picture.height ~= y, first < end else { return }
        (row + first - x).update(from: picture.address(first, y).assumingMemoryBound(to: UInt32.self), count: end - first)
    }

    private static func sampleRow(
        of picture: PixelMemory, from begin: (u: Int, v: Int), _ step: (u: Int, v: Int), _ weight: UInt32,
        over row: UnsafeMutablePointer<UInt32>, count: Int
    ) {
        let (width, height) = (picture.width, picture.height)
        var (u, v) = begin
        for x in 0..<count {
            let (column, line) = (u >> 32, v >> 32)
            if column >= -1, column < width, line >= -1, line < height {
                let under = row[x]
                // Outside the picture there is what it is drawn over.
                func pixel(_ column: Int, _ line: Int) -> UInt32 {
                    guard column >= 0, column < width, line >= 0, line < height else { return under }
                    return picture.address(column, line).assumingMemoryBound(to: UInt32.self).pointee
                }
                let above = mixed(pixel(column, line), pixel(column + 1, line), share(u))
                let below = mixed(pixel(column, line + 1), pixel(column + 1, line + 1), share(u))
                let over = mixed(above, below, share(v))
                row[x] = weight == 256 ? over : mixed(under, over, weight)
            }
            u += step.u
            v += step.v
        }
    }

    /// The share of the next pixel at a fixed-point place, in 256ths.
    private static func share(_ place: Int) -> UInt32 { UInt32(truncatingIfNeeded: place >> 24) & 255 }

    /// Returns a mixture of two pixels; `share` is that of the second in 256ths.
    private static func mixed(_ a: UInt32, _ b: UInt32, _ share: UInt32) -> UInt32 {
        if share == 0 { return a }
        let rest = 256 - share
        let low = ((a & 0xff_00ff) * rest + (b & 0xff_00ff) * share) >> 8 & 0xff_00ff
        let high = ((a >> 8 & 0xff_00ff) * rest + (b >> 8 & 0xff_00ff) * share) & 0xff00_ff00
        return low | high
    }
}

extension PictureTransform {
    /// Whether fixed-point numbers can step through a film of any size with it.
    fileprivate var isBounded: Bool { [a, b, c, d].allSatisfy { abs($0) <= 1e4 } && abs(tx) < 1e9 && abs(ty) < 1e9 }
}
