import KioskPlatform
import KioskPlayback
import KioskVocabulary

// What whoever draws has to know of a rotation before it is seen.
extension DisplayOutput {
    /// The rotation of pictures and overlays that are prepared from now on; that of what is on the screen is ``rotation``.
    package var nextRotation: Rotation { shared.withLock { $0.rotation.wanted.rotation } }

    /// What ``nextRotation`` would be after ``rotate(_:)``.
    package func rotation(after rotation: Rotation?) -> Rotation {
        shared.withLock { shared in
            let panel = (shared.rotation.wanted.rotation.rawValue - shared.rotation.configured.rawValue + 360) % 360
            return (rotation ?? shared.rotation.configured + .clockwise90) + Rotation(rawValue: panel)!
        }
    }
}
