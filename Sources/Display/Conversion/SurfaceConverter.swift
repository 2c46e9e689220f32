import CKioskFFmpeg
import KioskMedia
import KioskPlayback
import KioskVocabulary

/// Makes surfaces of decoded frames, as of what a camera sees: by the steps of ``PictureConverter``, scaled and rotated before they are RGB where that can be.
///
/// A surface of 1920x1080 is 8 MB, which malloc takes from the system each time: two thousand page faults. So the pixels of one that nobody shows any more become
/// those of the next.
package final class SurfaceConverter: @unchecked Sendable {
    // Sendable because one thread uses it at a time.
    private let converter = PictureConverter()
    /// Those made last.
    private var made: [Surface] = []
    /// One is drawn, one waits for its vblank, one is on the screen, one is about to leave it.
    private static let most = 4

    package init() {}

    /// A frame at that size, rotated clockwise, and then mirrored left to right; nil where it cannot be converted.
    package func surface(_ frame: borrowing VideoFrame, width: Int, height: Int, rotation: Rotation, isMirrored: Bool) -> Surface? {
        guard width > 0, height > 0, width <= PictureConverter.maximumPixels / height, frame.width > 0, frame.height > 0 else { return nil }
        // Mirrored and then rotated the other way is the same, and what can be said of a picture.
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
        // RGB may be copied as it is, with whatever stands where alpha is.
        if PictureFormat(AVPixelFormat(frame.av.pointee.format))?.isRGB != false {
            for index in pixels.indices { pixels[index] |= 0xff00_0000 }
        }
        let surface = Surface(width: width, height: height, pixels: pixels, isOpaque: true)
        if made.count == Self.most { made.removeFirst() }
        made.append(surface)
        return surface
    }

    /// Pixels that nobody looks at any more, or new ones.
    private func spare(_ count: Int) -> [UInt32] {
        for index in made.indices where isKnownUniquelyReferenced(&made[index]) {
            let pixels = made.remove(at: index).pixels
            return pixels.count == count ? pixels : [UInt32](repeating: 0xff00_0000, count: count)
        }
        return [UInt32](repeating: 0xff00_0000, count: count)
    }
}
