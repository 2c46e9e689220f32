import FoundationEssentials
import KioskExport

extension AssetExportError: LocalizedError {
    /// ``KioskExport/AssetExportError/description``.
    public var errorDescription: String? { description }
}
