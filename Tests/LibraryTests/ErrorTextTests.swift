import Foundation
import KioskInput
import KioskInputErrors
import KioskPlayer
import KioskPlayerErrors
import Testing

/// Tests/Client checks the same in an application that imports only the libraries.
@Suite struct ErrorTextTests {
    @Test func `Foundation says of an error what the error says`() async throws {
        let missing = await #expect(throws: PlaybackError.self) { try await Asset("/nowhere/at/all.mp4").load() }
        #expect(missing?.localizedDescription == missing?.description && missing?.description.contains("all.mp4") == true)
        let unknown = #expect(throws: InputDevices.UnknownKeyError.self) { _ = try InputDevices(keys: ["playpuase"]) }
        #expect(unknown?.localizedDescription == unknown?.description && unknown?.description.contains("playpuase") == true)
    }
}
