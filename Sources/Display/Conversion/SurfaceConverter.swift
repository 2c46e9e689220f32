import CKioskFFmpeg
import KioskMedia
import KioskPlayback
import KioskVocabulary

/// Makes surfaces of decoded frames, such as a camera's, by the steps of ``PictureConverter``. Scales and rotates before the conversion to
/// RGB, if possible.
///
/// A surface of 1920x1080 is 8 MB, which malloc takes from the system each time: two thousand page faults. So the next surface reuses the
/// pixels of one that is no longer shown.
package final class SurfaceConverter: @unchecked Sendable {
    // Sendable: one thread at a time uses it.
    private let converter = PictureConverter()
    /// The latest surfaces.
    private var made: [Surface] = []
    /// One in drawing, one waiting for its vblank, one on the screen, one about to leave it.
    private static let most = 4

    package init() {}

    /// Returns a frame at that size, rotated clockwise and then mirrored left to right; nil if it cannot be converted.
    package func surface(_ frame: borrowing VideoFrame, width: Int, height: Int, rotation: Rotation, isMirrored: Bool) -> Surface? {
        guard width > 0, height > 0, width <= PictureConverter.maximumPixels / height, frame.width > 0, frame.height > 0 else { return nil }
        // Mirroring and then rotating the other way is the same, and is a valid orientation.
        let geometry = PictureGeometry(
            storedWidth: frame.width, storedHeight: frame.height,
            orientation: Orientation(rotation: isMirrored ? -rotation : rotation, isMirrored: isMirrored), gravity: .resize,
            screenWidth: width, screenHeight: height)
        var pixels = spare(width * height)
        let isDrawn = pixels.withUnsafeMutableBytes { memory -> Bool in
            guard let base = memory.baseAddress else { return false }
            let buffer = ScanoutBuffer(
                pixels: PixelMemory(base: base, stride: width * 4, width: width, height: height, format: .xrgb8888))
            do throws(PictureConverter.Refusal) { try converter.draw(frame, geometry, background: 0, into: buffer) } catch { return false }
            return true
        }
        guard isDrawn else { return nil }
        // A copy of RGB may have any value as alpha.
        if PictureFormat(AVPixelFormat(frame.av.pointee.format))?.isRGB != false {
            for index in pixels.indices { pixels[index] |= 0xff00_0000 }
        }
        let surface = Surface(width: width, height: height, pixels: pixels, isOpaque: true)
        if made.count == Self.most { made.removeFirst() }
        made.append(surface)
        return surface
    }

    /// Returns unused pixels, or new ones.
    private func spare(_ count: Int) -> [UInt32] {
        for index in made.indices where isKnownUniquelyReferenced(&made[index]) {
            let pixels = made.remove(at: index).pixels
            return pixels.count == count ? pixels : [UInt32](repeating: 0xff00_0000, count: count)
        }
        return [UInt32](repeating: 0xff00_0000, count: count)
    }
}
