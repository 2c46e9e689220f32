import CFFmpeg
import Media
import Playback

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

    /// The number that the front picture of a scene bears; 0 is the bare background's.
    static func number(of scene: borrowing Scene) -> Int {
        guard scene.count > 0 else { return 0 }
        return scene.withLayer(at: scene.count - 1) { layer in
            switch layer.content {
            case .video(let video): (0..<width).reduce(0) { $0 | Int(video.frame.av.pointee.data.0![$1]) << (8 * $1) }
            case .surface: 0
            }
        }
    }
}
