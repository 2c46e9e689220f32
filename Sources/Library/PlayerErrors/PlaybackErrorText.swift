// The text of the libraries' errors in Foundation's localizedDescription. It is in targets of their own, which only the products have: the
// player itself does without FoundationEssentials, 7.4 MB of a static binary.
import FoundationEssentials
import KioskPlayer

extension PlaybackError: LocalizedError {
    /// ``KioskPlayer/PlaybackError/description``.
    public var errorDescription: String? { description }
}
