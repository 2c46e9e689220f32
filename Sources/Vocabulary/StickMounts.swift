/// The folder of mounted USB sticks; kiosk-usb@.service mounts each in a folder of its own. A stranger may use only files on the stick:
/// kiosk does not follow links there, and plays no lists for libavformat.
package enum StickMounts {
    package static let folder = "/run/kiosk-usb"

    /// Whether a path leads to a file on a stick.
    package static func hold(_ path: String) -> Bool { path == folder || path.hasPrefix(folder + "/") }
}
