import KioskPlatform
import KioskPlayback
import KioskVocabulary

// What whoever draws has to know of a turn before it is seen.
extension DisplayOutput {
    /// The turn of pictures and overlays that are prepared from now on; that of what is on the screen is ``rotation``.
    package var nextRotation: Rotation { shared.withLock { $0.turn.wanted.rotation } }

    /// What ``nextRotation`` would be after ``rotate(_:)``.
    package func rotation(after turn: Rotation?) -> Rotation {
        shared.withLock { shared in
            let panel = (shared.turn.wanted.rotation.rawValue - shared.turn.configured.rawValue + 360) % 360
            return (turn ?? shared.turn.configured + .clockwise90) + Rotation(rawValue: panel)!
        }
    }
}
