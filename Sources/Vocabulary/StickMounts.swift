/// Where USB sticks are mounted, each in a folder of its own, by kiosk-usb@.service. What a stranger brings is only what lies there: links of theirs
/// are not followed, and what is a list to libavformat is not played.
package enum StickMounts {
    package static let folder = "/run/kiosk-usb"

    /// Whether a path leads to what is on a stick.
    package static func hold(_ path: String) -> Bool { path == folder || path.hasPrefix(folder + "/") }
}
