import CKioskAudio
import Logging

private let alsaLog = Logger(label: "alsa")

/// What libasound logs in its own words.
package enum ALSALog {
    /// Has the lines of libasound logged at `debug` with the label `alsa` for the rest of the process, instead of written to standard
    /// error. Call when swift-log has been bootstrapped. The corresponding C function is `snd_lib_error_set_handler`.
    package static func capture() { kiosk_capture_alsa_log { alsaLog.debug("\(String(cString: $0))") } }
}
