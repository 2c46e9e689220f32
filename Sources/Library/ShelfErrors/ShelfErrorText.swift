// Like PlayerErrors: a target of its own, since the player itself does without FoundationEssentials.
import FoundationEssentials
import KioskShelf

extension ShelfError: LocalizedError {
    /// ``KioskShelf/ShelfError/description``.
    public var errorDescription: String? { description }
}
