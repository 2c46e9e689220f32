// Like PlayerErrors: a target of its own, since the player itself does without FoundationEssentials.
import FoundationEssentials
import KioskInput

extension InputDevices.UnknownKeyError: LocalizedError {
    /// ``KioskInput/InputDevices/UnknownKeyError/description``.
    public var errorDescription: String? { description }
}
