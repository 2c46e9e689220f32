import KioskVocabulary

/// `[playback] usb`: what is done with the videos of a USB stick, which kiosk-usb@.service mounts read-only.
package enum StickUse: String, CaseIterable, Sendable {
    /// Nothing: a stick that a stranger plugs in changes nothing.
    case off
    /// They are played instead of the playlist while the stick is plugged in.
    case play
    /// They are copied, and the copies are played instead of the playlist from then on.
    case copy

    /// The folder whose files are played instead of the playlist where there are any; nil for none. `state` is the folder of the service's
    /// own files, absolute.
    package func folder(state: String) -> String? {
        switch self {
        case .off: nil
        case .play: StickMounts.folder
        case .copy: Self.copies(state: state)
        }
    }

    /// Where copies are kept.
    package static func copies(state: String) -> String { state + "/usb" }
}

extension Configuration {
    /// Whether anything in it asks for what is on sticks, so that they are mounted.
    package var wantsSticks: Bool {
        playback.usb != .off || shelf.folders.contains(where: StickMounts.hold)
            || entries.contains { StickMounts.hold($0.source.location) }
    }
}
