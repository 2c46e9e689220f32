import KioskAudioCore
import KioskInputCore
import KioskMedia
import KioskPlatform
import Logging

/// Has the log of the process written to standard error from `level` on, the lines of the C libraries (at `debug`) with it. Call once, at
/// the start, with the signals blocked that no thread may receive.
func startLog(_ level: Logger.Level) {
    StandardErrorLog.bootstrap(level: level)
    StartTrace.startLog()
    FFmpegLog.capture()
    ALSALog.capture()
    EvdevLog.capture()
}
