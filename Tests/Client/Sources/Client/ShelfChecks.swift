import Foundation
import KioskDisplay
import KioskInput
import KioskPlayer
import KioskShelf

/// Has keys pick clips from a folder, over a display in memory.
func checkShelf(_ clips: [String]) async throws {
    let folder = NSTemporaryDirectory() + "kiosk-client-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    for (clip, name) in zip(clips, ["a.mp4", "b.mp4"]) {
        try FileManager.default.copyItem(atPath: clip, toPath: folder + "/" + name)
    }
    let display = VideoOutput.offscreen(width: 1280, height: 720)
    func press(_ name: String, on shelf: Shelf) {
        shelf.handle(.key(.init(name: name, phase: .pressed)))
        shelf.handle(.key(.init(name: name, phase: .released)))
    }
    /// Presents a shelf, and presses these keys once it has its items.
    func pick(_ configuration: ShelfConfiguration, _ keys: [String]) async throws -> [ShelfItem] {
        let shelf = Shelf(configuration)
        let result = Task { try await shelf.present(on: display) }
        Check.expect(await eventually { shelf.items.count == 2 }, "a shelf lists its clips: \(shelf.items.map(\.title))")
        for key in keys { press(key, on: shelf) }
        return try await result.value
    }
    let choice = ["KEY_RIGHT", "KEY_RIGHT", "KEY_ENTER", "KEY_ENTER"]
    let listed = try await pick(ShelfConfiguration(assets: clips.map { Asset($0) }), choice)
    Check.expect(listed.map(\.asset.source) == [clips[1]], "an asset is picked: \(listed)")
    let found = try await pick(ShelfConfiguration(folders: [folder]), choice)
    Check.expect(found.map(\.asset.source) == [folder + "/b.mp4"], "a clip of a folder is picked: \(found)")
    Check.expect(try await pick(ShelfConfiguration(folders: [folder]), ["KEY_ESC"]).isEmpty, "a closed shelf has picked nothing")
    do throws(ShelfError) {
        _ = try await Shelf(ShelfConfiguration(folders: [])).present(on: display)
        Check.expect(false, "a shelf without content is refused")
    } catch {
        Check.expect(error.code == .noContent && error.localizedDescription == error.description, "a shelf needs content: \(error)")
    }
    Check.expect(Set(Shelf.keys).count == Shelf.keys.count && !Shelf.keys.isEmpty, "the keys of a shelf have names")
    display.close()
}
