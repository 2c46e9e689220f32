import CKioskFFmpeg
import Glibc
import KioskMedia
import KioskPlayback

/// Writes decoded pictures into the memory of a plane. Copies them if the format is the same. Otherwise one pass of libswscale scales them
/// or rearranges their samples; its context is kept until the layout changes.
///
/// Belongs to the compositor thread.
struct VideoWriter {
    private struct Key: Equatable {
        var from: AVPixelFormat, to: AVPixelFormat
        var crop: PixelRectangle
        var width: Int, height: Int
        var keepsRange: Bool
    }

    private var pass: (key: Key, context: Owned<ScaleContext>)?

    /// Writes `frame` as `candidate` into `buffer`.
    mutating func write(
        _ frame: borrowing VideoFrame, as candidate: PicturePlan.Candidate, into buffer: VideoBuffer
    ) throws(DeviceError) {
        if frame.surface != nil {
            guard let downloaded = frame.downloaded() else { throw DeviceError("read a hardware decoder's picture", code: EOPNOTSUPP) }
            return try write(inMemory: downloaded, candidate, buffer)
        }
        try write(inMemory: frame, candidate, buffer)
    }

    private mutating func write(
        inMemory frame: borrowing VideoFrame, _ candidate: PicturePlan.Candidate, _ buffer: VideoBuffer
    ) throws(DeviceError) {
        guard let format = PictureFormat(frame.pixelFormat) else { throw DeviceError("read a decoded picture", code: EINVAL) }
        let isScaled = candidate.path == .scale
        if !isScaled, format.av == buffer.layout.format.av {
            return buffer.copy(PicturePlanes(frame.av), width: frame.width, height: frame.height)
        }
        let crop = isScaled ? candidate.crop : PixelRectangle(x: 0, y: 0, width: frame.width, height: frame.height)
        let key = Key(
            from: format.av, to: buffer.layout.format.av, crop: crop, width: candidate.width, height: candidate.height,
            keepsRange: format.isGray)
        if pass?.key != key {
            pass = nil
            let flags =
                isScaled ? ScaleContext.filter(from: (crop.width, crop.height), to: (candidate.width, candidate.height)) : SWS_POINT
            let context = ScaleContext.make(
                from: (format.av, crop.width, crop.height), to: (key.to, key.width, key.height), flags: flags, keepsRange: key.keepsRange)
            guard let context else {
                throw DeviceError("scale \(crop.width)x\(crop.height) to \(key.width)x\(key.height)", code: ENOMEM)
            }
            pass = (key, Owned(context))
        }
        pass!.context.value.run(from: PicturePlanes(frame.av, x: crop.x, y: crop.y), to: buffer.planes)
    }
}
