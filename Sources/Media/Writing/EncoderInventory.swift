import KioskVocabulary

/// The encoders that films can be made with here: for `kiosk devices`.
package struct EncoderInventory {
    /// One of the encoders that the installed FFmpeg has for a codec.
    package struct Entry: Hashable, Sendable {
        /// What it makes, by FFmpeg's short name.
        package var codec: String
        /// FFmpeg's name of it, with the node of its device where it has one.
        package var title: String
        /// Why it cannot be opened; nil where it can.
        package var problem: String?
    }

    /// Opens each of them once, for pictures of 1280×720, in the order in which a film tries them. Blocks for a moment, at most for some
    /// seconds for each device whose driver hangs. `device` is the node of the only one to be tried; nil is each of /dev/dri/renderD*.
    package static func entries(device: String? = nil) -> [Entry] {
        [FilmFormat.VideoCodec.h264, .hevc].flatMap { codec in
            EncoderChoice.ways(codec, EncoderWish(.automatic, device: device)).compactMap { way in
                var video = FilmFormat.Video(width: 1280, height: 720, frameRate: 30)
                (video.codec, video.isLive, video.threads) = (codec, true, 1)
                switch VideoEncoder.open(way, video, path: "") {
                case .absent: return nil
                case .open: return Entry(codec: codec.rawValue, title: way.title, problem: nil)
                case .refused(let reason): return Entry(codec: codec.rawValue, title: way.title, problem: reason)
                }
            }
        }
    }
}
