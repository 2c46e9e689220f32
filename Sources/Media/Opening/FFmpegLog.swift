import CKioskMedia
import Logging

private let ffmpegLog = Logger(label: "ffmpeg")

/// What libav* log in their own words.
package enum FFmpegLog {
    /// Has the lines of libav* logged at `debug` with the label `ffmpeg` for the rest of the process, instead of written to standard
    /// error. Call when swift-log has been bootstrapped. The corresponding C function is `av_log_set_callback`.
    package static func capture() { kiosk_capture_ffmpeg_log { ffmpegLog.debug("\(String(cString: $0))") } }
}
