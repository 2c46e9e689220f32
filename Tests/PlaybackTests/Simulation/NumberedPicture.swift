import CKioskFFmpeg
import KioskMedia
import KioskPlayback

/// Pictures with a number in their four pixels, low byte first.
enum NumberedPicture {
    static let width = 4, height = 1

    /// Returns a picture with a number.
    static func frame(_ number: Int) -> VideoFrame {
        let frame = av_frame_alloc()!
        (frame.pointee.format, frame.pointee.width, frame.pointee.height) = (AV_PIX_FMT_GRAY8.rawValue, Int32(width), Int32(height))
        precondition(av_frame_get_buffer(frame, 0) == 0, "out of memory")
        for byte in 0..<width { frame.pointee.data.0![byte] = UInt8(truncatingIfNeeded: number >> (8 * byte)) }
        return VideoFrame(adopting: frame)
    }

    /// Returns the number of a scene's front picture; 0 for the bare background. During a fade-in, also returns the number of the picture
    /// beneath, and the front picture's share of the mixture.
    static func numbers(of scene: borrowing Scene) -> (number: Int, underlay: (number: Int, share: Double)?) {
        guard scene.count > 0 else { return (0, nil) }
        let (front, share) = scene.withLayer(at: scene.count - 1) { (number(of: $0.frame), $0.alpha) }
        return (front, scene.count == 1 ? nil : (scene.withLayer(at: 0) { number(of: $0.frame) }, share))
    }

    /// Returns the number in a picture.
    static func number(of frame: borrowing VideoFrame) -> Int {
        let bytes = frame.av.pointee.data.0!
        return (0..<width).reduce(0) { $0 | Int(bytes[$1]) << (8 * $1) }
    }
}
