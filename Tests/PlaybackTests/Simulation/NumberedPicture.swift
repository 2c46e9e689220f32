import CFFmpeg
import Media

/// Pictures that say which they are: a number in their four pixels, low byte first.
enum NumberedPicture {
    static let width = 4, height = 1

    /// A picture that bears `number`.
    static func frame(_ number: Int) -> VideoFrame {
        let frame = av_frame_alloc()!
        (frame.pointee.format, frame.pointee.width, frame.pointee.height) = (AV_PIX_FMT_GRAY8.rawValue, Int32(width), Int32(height))
        precondition(av_frame_get_buffer(frame, 0) == 0, "out of memory")
        for byte in 0..<width { frame.pointee.data.0![byte] = UInt8(truncatingIfNeeded: number >> (8 * byte)) }
        return VideoFrame(adopting: frame)
    }

    /// The number a picture bears; 0 is the bare background's.
    static func number(of frame: borrowing VideoFrame?) -> Int {
        switch frame {
        case .some(let frame): (0..<width).reduce(0) { $0 | Int(frame.av.pointee.data.0![$1]) << (8 * $1) }
        case .none: 0
        }
    }
}
