import CKioskFFmpeg
import KioskMedia
import KioskVocabulary

// Tests/Clips/make burns a number into every picture: 16 cells along its bottom, from the left, the most significant first. A cell is a
// 40th of the picture's width and two 45ths of its height. The number of a field is a Gray code, and its first cell is white.

/// Returns the number in a picture, 0 if it has none. A turned picture counts as it reads upright.
package let burnedInNumber: @Sendable (borrowing VideoFrame) -> Int = { frame in
    // A picture in a surface is downloaded.
    if frame.surface == nil { return number(in: frame) }
    switch frame.downloaded() {
    case .some(let plain): return number(in: plain)
    case .none: return 0
    }
}

private func number(in frame: borrowing VideoFrame) -> Int {
    guard let format = av_pix_fmt_desc_get(AVPixelFormat(rawValue: frame.av.pointee.format)) else { return 0 }
    // For black and white, green serves as the luma of RGB.
    let isRGB = format.pointee.flags & UInt64(AV_PIX_FMT_FLAG_RGB) != 0
    let component = isRGB ? format.pointee.comp.1 : format.pointee.comp.0
    let planes = [frame.av.pointee.data.0, frame.av.pointee.data.1, frame.av.pointee.data.2]
    let strides = [frame.av.pointee.linesize.0, frame.av.pointee.linesize.1, frame.av.pointee.linesize.2]
    guard let plane = planes[Int(component.plane)] else { return 0 }
    let (width, height, orientation) = (frame.width, frame.height, frame.orientation)
    let isTurned = orientation.rotation.swapsAxes
    return burnedInNumber(width: isTurned ? height : width, height: isTurned ? width : height) { x, y in
        let stored = orientation.stored(x: x, y: y, width: width, height: height)
        let pixel = plane + stored.y * Int(strides[Int(component.plane)]) + stored.x * Int(component.step) + Int(component.offset)
        // Components of more than 8 bits are 16-bit little-endian numbers; their upper part decides.
        return component.depth > 8 ? (Int(pixel[0]) | Int(pixel[1]) << 8) >> Int(component.shift + component.depth - 8) : Int(pixel[0])
    }
}

/// Returns the number in an upright picture of `width`×`height` pixels. `brightness` gives a pixel's brightness, 0 to 255.
package func burnedInNumber(width: Int, height: Int, _ brightness: (_ x: Int, _ y: Int) -> Int) -> Int {
    guard width >= 40, height >= 23 else { return 0 }
    let cells = (0..<16).reduce(0) { number, cell in
        number << 1 | (brightness((2 * cell + 1) * width / 80, height * 44 / 45) > 128 ? 1 : 0)
    }
    guard cells >> 15 == 1 else { return cells }
    return [1, 2, 4, 8].reduce(cells & 0x7FFF) { $0 ^ $0 >> $1 }
}

extension Orientation {
    /// Returns the place in a stored picture of `width`×`height` for the pixel at `x`, `y` of the upright picture.
    fileprivate func stored(x: Int, y: Int, width: Int, height: Int) -> (x: Int, y: Int) {
        let (mirroredX, storedY) =
            switch rotation {
            case .none: (x, y)
            case .clockwise90: (y, height - 1 - x)
            case .clockwise180: (width - 1 - x, height - 1 - y)
            case .clockwise270: (width - 1 - y, x)
            }
        return (isMirrored ? width - 1 - mirroredX : mirroredX, storedY)
    }
}
