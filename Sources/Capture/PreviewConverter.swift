import CKioskFFmpeg
import KioskMedia
import KioskPlayback
import KioskVocabulary

/// Makes a drawn picture of what a camera sees, as large as there is room on the screen. One thread's. The corresponding C function is
/// `sws_scale_frame`.
final class PreviewConverter: @unchecked Sendable {
    // Sendable because the thread that reads the camera alone uses it.
    private var context: OpaquePointer?
    private var wanted: Wanted?

    private struct Wanted: Equatable {
        var width: Int32, height: Int32, format: Int32, targetWidth: Int, targetHeight: Int, matrix: UInt32, isFull: Bool
    }

    deinit { sws_freeContext(context) }

    /// The largest size of that shape that fits, even, and its place in the middle.
    static func fit(_ width: Int, _ height: Int, into screen: (width: Int, height: Int)) -> (x: Int, y: Int, width: Int, height: Int) {
        guard width > 0, height > 0 else { return (0, 0, 2, 2) }
        let scale = min(Double(screen.width) / Double(width), Double(screen.height) / Double(height))
        let (w, h) = (max(2, Int(Double(width) * scale) / 2 * 2), max(2, Int(Double(height) * scale) / 2 * 2))
        return ((screen.width - w) / 2, (screen.height - h) / 2, w, h)
    }

    /// The picture of that size as it is stored, then turned and mirrored; nil where libswscale cannot read it.
    func surface(_ frame: borrowing VideoFrame, width: Int, height: Int, rotation: Rotation, isMirrored: Bool) -> Surface? {
        let (storedWidth, storedHeight) = rotation.swapsAxes ? (height, width) : (width, height)
        let av = frame.av
        let now = Wanted(
            width: av.pointee.width, height: av.pointee.height, format: av.pointee.format, targetWidth: storedWidth,
            targetHeight: storedHeight,
            matrix: av.pointee.colorspace.rawValue, isFull: av.pointee.color_range == AVCOL_RANGE_JPEG)
        if now != wanted {
            sws_freeContext(context)
            context = sws_getContext(
                now.width, now.height, AVPixelFormat(rawValue: now.format), Int32(storedWidth), Int32(storedHeight), AV_PIX_FMT_BGRA,
                SWS_FAST_BILINEAR, nil, nil, nil)
            wanted = now
            let matrix = av.pointee.colorspace == AVCOL_SPC_BT709 ? SWS_CS_ITU709 : SWS_CS_ITU601
            if let context {
                _ = sws_setColorspaceDetails(
                    context, sws_getCoefficients(matrix), now.isFull ? 1 : 0, sws_getCoefficients(SWS_CS_ITU601), 1, 0, 1 << 16, 1 << 16)
            }
        }
        guard let context else { return nil }
        var isDrawn = false
        var pixels = [UInt32](unsafeUninitializedCapacity: storedWidth * storedHeight) { memory, count in
            count = storedWidth * storedHeight
            memory.initialize(repeating: 0xff00_0000)
            var source: [UnsafePointer<UInt8>?] = [
                av.pointee.data.0.map { UnsafePointer($0) }, av.pointee.data.1.map { UnsafePointer($0) },
                av.pointee.data.2.map { UnsafePointer($0) }, nil,
            ]
            var strides = [av.pointee.linesize.0, av.pointee.linesize.1, av.pointee.linesize.2, 0]
            var planes: [UnsafeMutablePointer<UInt8>?] = [
                UnsafeMutableRawPointer(memory.baseAddress)?.assumingMemoryBound(to: UInt8.self), nil, nil, nil,
            ]
            var lines: [Int32] = [Int32(storedWidth * 4), 0, 0, 0]
            isDrawn = sws_scale(context, &source, &strides, 0, now.height, &planes, &lines) > 0
        }
        guard isDrawn else { return nil }
        if rotation != .none || isMirrored {
            pixels = Self.turned(pixels, width: storedWidth, height: storedHeight, rotation: rotation, isMirrored: isMirrored)
        }
        return Surface(width: width, height: height, pixels: pixels)
    }

    /// Pixels turned clockwise, and then mirrored left to right.
    static func turned(_ pixels: [UInt32], width: Int, height: Int, rotation: Rotation, isMirrored: Bool) -> [UInt32] {
        let (w, h) = rotation.swapsAxes ? (height, width) : (width, height)
        return [UInt32](unsafeUninitializedCapacity: w * h) { target, count in
            count = w * h
            pixels.withUnsafeBufferPointer { source in
                for y in 0..<h {
                    // Where the row's first pixel comes from, and where the next lies behind it.
                    let (start, step) =
                        switch rotation {
                        case .none: (y * width, 1)
                        case .clockwise90: ((height - 1) * width + y, -width)
                        case .clockwise180: ((height - 1 - y) * width + width - 1, -1)
                        case .clockwise270: (width - 1 - y, width)
                        }
                    for x in 0..<w { target[y * w + (isMirrored ? w - 1 - x : x)] = source[start + x * step] }
                }
            }
        }
    }
}
