// What Foundation's localizedDescription says of the libraries' errors. Targets of their own, which only the products have: the player itself does without
// FoundationEssentials, 7.4 MB of a static binary.
import FoundationEssentials
import KioskPlayer

extension PlaybackError: LocalizedError {
    /// ``KioskPlayer/PlaybackError/description``.
    public var errorDescription: String? { description }
}
