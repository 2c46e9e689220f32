extension Vblank {
    /// The overlay planes of drawn pictures: all but the lowest plane, with an alpha channel.
    package var overlays: [Plane] { planes.dropFirst().filter { $0.format == "AR24" } }
}

/// A vblank from which on the overlay planes differ. A picture blended into the video leaves no such trace: it is in the video's own
/// framebuffer.
package struct OverlayChange: Sendable, Equatable {
    /// The kinds of changes.
    package enum Kind: Sendable {
        /// There was no overlay before.
        case shown
        /// There is no overlay any more.
        case hidden
        /// The overlay has another drawing, or another place.
        case changed
    }

    /// The kind of change.
    package var kind: Kind
    /// The time of the vblank, from the start of the player.
    package var time: Duration
    /// The sequence number of the vblank.
    package var sequence: Int

    /// Returns all changes in a log, in order. The overlays at the first vblank are not a change.
    package static func all(in vblanks: some Sequence<Vblank>) -> [OverlayChange] {
        var changes: [OverlayChange] = []
        var last: [Vblank.Plane]?
        for vblank in vblanks {
            let overlays = vblank.overlays
            if let last, last != overlays {
                let kind: Kind = last.isEmpty ? .shown : overlays.isEmpty ? .hidden : .changed
                changes.append(OverlayChange(kind: kind, time: vblank.time, sequence: vblank.sequence))
            }
            last = overlays
        }
        return changes
    }
}

extension Record {
    /// Returns the changes of the overlay planes on a display.
    package func overlayChanges(on display: Int = 0) -> [OverlayChange] { OverlayChange.all(in: displays[display]) }

    /// Returns the time from the event to the first change of the overlay planes; nil if there is none.
    package func overlayResponse(to name: String, on display: Int = 0) -> Duration? {
        let time = time(of: name)
        return overlayChanges(on: display).first { $0.time >= time }.map { $0.time - time }
    }
}
