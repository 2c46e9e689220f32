import Foundation
import KioskInput
import KioskPlayer

/// Checks Foundation's description of errors as plain `Error` values.
func checkErrors() async {
    do { _ = try await Asset("/nowhere/at/all.mp4").load() } catch let error as any Error {
        Check.expect(
            error.localizedDescription == "\(error)", "Foundation says of an error what it says itself: \(error.localizedDescription)")
    }
    do { _ = try InputDevices(keys: ["playpuase"]) } catch let error as any Error {
        Check.expect(error.localizedDescription == "\(error)", "of a key's, too: \(error.localizedDescription)")
    }
}
