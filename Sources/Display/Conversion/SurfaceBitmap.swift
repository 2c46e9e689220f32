import CKioskFFmpeg
import KioskMedia
import KioskPlayback
import KioskVocabulary

/// A surface as it is blended: cropped, scaled, turned into scan-out.
final class SurfaceBitmap: Sendable {
    /// What it is made of.
    struct Source: Equatable, Sendable {
        let surface: Surface
        let crop: PixelRectangle?
        let destination: PixelRectangle
        /// The surface's own turn, and that of the whole screen.
        let turn: Rotation, rotation: Rotation
        /// Pixels across and down in scan-out.
        let screenWidth: Int, screenHeight: Int

        /// Where it goes, in scan-out pixels; may reach outside the screen.
        var place: PixelRectangle {
            let canvas = rotation.swapsAxes ? (screenHeight, screenWidth) : (screenWidth, screenHeight)
            return PictureGeometry.turn(destination, on: canvas, by: rotation)
        }

        /// Whether any of that is on the screen.
        var isOnScreen: Bool { place.intersection(PixelRectangle(x: 0, y: 0, width: screenWidth, height: screenHeight)) != nil }

        static func == (a: Source, b: Source) -> Bool {
            a.surface === b.surface && a.crop == b.crop && a.destination == b.destination && (a.turn, a.rotation) == (b.turn, b.rotation)
                && (a.screenWidth, a.screenHeight) == (b.screenWidth, b.screenHeight)
        }
    }

    let source: Source
    /// Where it goes, in scan-out pixels; may reach outside the screen.
    let place: PixelRectangle
    /// Row by row without gaps, 0xAARRGGBB, premultiplied; no colour above its alpha.
    let pixels: [UInt32]
    /// Whether that is another memory than the surface's, turned.
    let isTurned: Bool

    /// The same pixels elsewhere; nil where `source` needs others.
    func moved(to source: Source) -> SurfaceBitmap? {
        let (old, new) = (self.source.destination, source.destination)
        guard self.source.surface === source.surface, self.source.crop == source.crop, (old.width, old.height) == (new.width, new.height),
            (self.source.turn, self.source.rotation) == (source.turn, source.rotation)
        else { return nil }
        return SurfaceBitmap(source, pixels, isTurned: isTurned)
    }

    private init(_ source: Source, _ pixels: [UInt32], isTurned: Bool) {
        (self.source, self.pixels, self.isTurned, place) = (source, pixels, isTurned, source.place)
    }

    /// nil where there is nothing to see of it, or no memory.
    init?(_ source: Source) {
        self.source = source
        let (surface, destination) = (source.surface, source.destination)
        let wanted = source.crop ?? PixelRectangle(x: 0, y: 0, width: surface.width, height: surface.height)
        let (left, top) = (max(wanted.x, 0), max(wanted.y, 0))
        let (width, height) = (min(wanted.x + wanted.width, surface.width) - left, min(wanted.y + wanted.height, surface.height) - top)
        guard width > 0, height > 0, destination.width > 0, destination.height > 0 else { return nil }
        let place = source.place
        self.place = place
        let turn = source.turn + source.rotation
        isTurned = turn != .none
        if turn == .none, (left, top, width, height) == (0, 0, surface.width, surface.height),
            (place.width, place.height) == (width, height)
        {
            // As it is: not even copied.
            pixels = surface.pixels
            return
        }
        let size = turn.swapsAxes ? (width: place.height, height: place.width) : (width: place.width, height: place.height)

        guard size.width <= PictureConverter.maximumPixels / size.height,
            let scaled = Self.scaled(surface, left, top, width, height, to: size)
        else { return nil }
        var turned = [UInt32](repeating: 0, count: place.width * place.height)
        turned.withUnsafeMutableBytes { target in
            PixelTurn.copy(
                scaled.av.pointee.data.0!, stride: Int(scaled.av.pointee.linesize.0), width: size.width, height: size.height,
                bytesPerPixel: 4, turn: Orientation(rotation: turn), to: target.baseAddress!, stride: place.width * 4)
        }
        // The filters of libswscale overshoot at edges.
        for index in turned.indices {
            let (pixel, alpha) = (turned[index], turned[index] >> 24)
            turned[index] = alpha << 24 | min(pixel >> 16 & 255, alpha) << 16 | min(pixel >> 8 & 255, alpha) << 8 | min(pixel & 255, alpha)
        }
        pixels = turned
    }

    /// A part of the surface at another size. libswscale reads whole strides, up to the end of the last row's: it gets a copy of the part.
    private static func scaled(
        _ surface: Surface, _ left: Int, _ top: Int, _ width: Int, _ height: Int, to size: (width: Int, height: Int)
    ) -> ScratchPicture? {
        guard let part = ScratchPicture.make(AV_PIX_FMT_BGRA, width: width, height: height) else { return nil }
        let (target, stride) = (UnsafeMutableRawPointer(part.av.pointee.data.0!), Int(part.av.pointee.linesize.0))
        surface.pixels.withUnsafeBytes { bytes in
            for y in 0..<height {
                (target + y * stride).copyMemory(
                    from: bytes.baseAddress! + ((top + y) * surface.width + left) * 4, byteCount: width * 4)
            }
        }
        if size == (width, height) { return part }
        guard let picture = ScratchPicture.make(AV_PIX_FMT_BGRA, width: size.width, height: size.height),
            let context = ScaleContext.make(
                from: (AV_PIX_FMT_BGRA, width, height), to: (AV_PIX_FMT_BGRA, size.width, size.height),
                flags: SWS_BICUBIC | SWS_FULL_CHR_H_INT | SWS_FULL_CHR_H_INP | SWS_ACCURATE_RND)
        else { return nil }
        context.run(from: part.planes, to: picture.planes)
        return picture
    }
}
