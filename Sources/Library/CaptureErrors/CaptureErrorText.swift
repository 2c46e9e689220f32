// Like PlayerErrors: a target of its own, since the player itself does without FoundationEssentials.
import FoundationEssentials
import KioskCapture

extension CaptureError: LocalizedError {
    /// ``KioskCapture/CaptureError/description``.
    public var errorDescription: String? { description }
}
