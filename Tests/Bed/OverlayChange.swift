extension Vblank {
    /// The planes that lie over the picture, as drawn pictures do: in front of the lowest, with an alpha of their own.
    package var overlays: [Plane] { planes.dropFirst().filter { $0.format == "AR24" } }
}

/// A vblank from which on something else lay over the picture on planes of its own. What is blended into the picture leaves no such trace: that
/// is in the picture's own framebuffer.
package struct OverlayChange: Sendable, Equatable {
    /// What became of it.
    package enum Kind: Sendable {
        /// Nothing lay there before.
        case shown
        /// Nothing lies there any more.
        case hidden
        /// Another drawing, or the same elsewhere.
        case changed
    }

    /// What became of it.
    package var kind: Kind
    /// The vblank's, from the start of the player.
    package var time: Duration
    /// The vblank's.
    package var sequence: Int

    /// All in a log, in order. What lies there at its first vblank is no change.
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
    /// What came and went over the picture, on planes of its own.
    package func overlayChanges(on display: Int = 0) -> [OverlayChange] { OverlayChange.all(in: displays[display]) }

    /// From the event to the first vblank at which something else lay over the picture; nil where that never came.
    package func overlayResponse(to name: String, on display: Int = 0) -> Duration? {
        let time = time(of: name)
        return overlayChanges(on: display).first { $0.time >= time }.map { $0.time - time }
    }
}
