import KioskVocabulary

/// `[playback] usb`: the use of the media on a USB stick, which kiosk-usb@.service mounts read-only.
package enum StickUse: String, CaseIterable, Sendable {
    /// No use: a stranger's stick changes nothing.
    case off
    /// Play them instead of the playlist while the stick is plugged in.
    case play
    /// Copy them, and play the copies instead of the playlist from then on.
    case copy

    /// Returns the folder whose files, if any, replace the playlist; nil for none. `state` is the folder of the service's own files, an
    /// absolute path.
    package func folder(state: String) -> String? {
        switch self {
        case .off: nil
        case .play: StickMounts.folder
        case .copy: Self.copies(state: state)
        }
    }

    /// Returns the folder of the copies.
    package static func copies(state: String) -> String { state + "/usb" }
}

extension Configuration {
    /// Whether a setting needs the media on sticks, so that sticks must be mounted.
    package var wantsSticks: Bool {
        playback.usb != .off || shelf.folders.contains(where: StickMounts.hold)
            || entries.contains { StickMounts.hold($0.source.location) }
    }
}
