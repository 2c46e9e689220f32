import CKioskInput
import Logging

private let evdevLog = Logger(label: "evdev")

/// What libevdev logs in its own words.
package enum EvdevLog {
    /// Has the lines of libevdev logged at `debug` with the label `evdev` for the rest of the process, instead of written to standard
    /// error. Call when swift-log has been bootstrapped. The corresponding C function is `libevdev_set_log_function`.
    package static func capture() { kiosk_capture_evdev_log { evdevLog.debug("\(String(cString: $0))") } }
}
