import Foundation
import KioskDisplay
import KioskInput
import KioskPlayback
import KioskPlayer
import KioskShelfErrors
import TestSupport
import Testing

@testable import KioskControlsCore
@testable import KioskShelf

/// A shelf over a display in memory, used by made touches and keys. On 1280 x 720 pixels without a physical size the first card lies at the top
/// left, below the head.
@Suite(.blocking, .serialized) struct ShelfLibraryTests {
    final class Folder {
        let path = NSTemporaryDirectory() + "kiosk-shelf-\(UUID().uuidString)"
        init(_ names: [String], subfolder: String? = nil) throws {
            let clip = try Clips.named("still.jpg")
            try FileManager.default.createDirectory(atPath: path + (subfolder.map { "/" + $0 } ?? ""), withIntermediateDirectories: true)
            for name in names { try FileManager.default.copyItem(atPath: clip, toPath: path + "/" + name) }
        }
        deinit { try? FileManager.default.removeItem(atPath: path) }
    }

    private func press(_ name: String, on shelf: Shelf) {
        shelf.handle(.key(.init(name: name, phase: .pressed)))
        shelf.handle(.key(.init(name: name, phase: .released)))
    }

    private func tap(_ x: Double, _ y: Double, on shelf: Shelf) {
        shelf.handle(.touch(.init(phase: .began, x: x, y: y)))
        shelf.handle(.touch(.init(phase: .ended, x: x, y: y)))
    }

    /// Presents a shelf, and passes it to `body` once it has so many items.
    private func present(
        _ configuration: ShelfConfiguration, items: Int, on output: VideoOutput = .offscreen(width: 1280, height: 720),
        _ body: (Shelf) async throws -> Void
    ) async throws -> [ShelfItem] {
        let shelf = Shelf(configuration)
        let result = Task { try await shelf.present(on: output) }
        #expect(await eventually { shelf.isPresented && shelf.items.count == items }, "\(shelf.items.count) of \(items) items")
        try await body(shelf)
        let picked = try await result.value
        #expect(!shelf.isPresented && shelf.items == [])
        return picked
    }

    @Test func `Keys choose a clip of a folder`() async throws {
        let folder = try Folder(["a.jpg", "b.jpg", "c.jpg", "notes.txt", ".hidden.jpg"])
        let picked = try await present(ShelfConfiguration(folders: [folder.path]), items: 3) { shelf in
            #expect(shelf.items.map(\.title) == ["a", "b", "c"])
            // The first key shows the focus, the others move it, open the panel, and choose.
            for key in ["KEY_RIGHT", "KEY_RIGHT", "KEY_ENTER", "KEY_ENTER"] { press(key, on: shelf) }
        }
        #expect(picked.map(\.asset.source) == [folder.path + "/b.jpg"] && picked.first?.kind == .image)
    }

    @Test func `A finger chooses a clip`() async throws {
        let folder = try Folder(["a.jpg"])
        let output = VideoOutput.offscreen(width: 1280, height: 720)
        let picked = try await present(ShelfConfiguration(folders: [folder.path]), items: 1, on: output) { shelf in
            let before = try output.png()
            let controls = try #require(shelf.presentation?.controls)
            let layout = try #require(controls.shelf.layout)
            /// Taps the middle of a rectangle of the screen.
            func tap(_ place: PixelRectangle) {
                let (x, y) = (Double(place.x) + Double(place.width) / 2, Double(place.y) + Double(place.height) / 2)
                self.tap(x / Double(layout.geometry.width), y / Double(layout.geometry.height), on: shelf)
            }
            tap(layout.card(0, 0))
            #expect(await eventually { (try? output.png()) != before }, "the shelf is on the display")
            #expect(controls.shelf.panelText?.buttons == [.choose, .dismiss])
            let places = try #require(controls.shelf.panelPlaces)
            var button = places.buttons[0]
            (button.x, button.y) = (button.x + places.box.x, button.y + places.box.y)
            tap(button)
        }
        #expect(picked.map(\.asset.source) == [folder.path + "/a.jpg"])
    }

    @Test func `Several are picked in the order of the choice, up to the limit`() async throws {
        let folder = try Folder(["a.jpg", "b.jpg", "c.jpg"])
        var configuration = ShelfConfiguration(folders: [folder.path])
        (configuration.selectionLimit, configuration.title) = (2, "Choose two")
        let picked = try await present(configuration, items: 3) { shelf in
            // c, then a; b no longer finds room.
            for key in ["KEY_RIGHT", "KEY_RIGHT", "KEY_RIGHT", "KEY_ENTER", "KEY_ENTER"] { press(key, on: shelf) }
            for key in ["KEY_LEFT", "KEY_LEFT", "KEY_ENTER", "KEY_ENTER"] { press(key, on: shelf) }
            for key in ["KEY_RIGHT", "KEY_ENTER", "KEY_ENTER", "KEY_RED", "KEY_ENTER"] { press(key, on: shelf) }
        }
        #expect(picked.map(\.title) == ["c", "a"])
    }

    @Test func `A closed shelf has picked nothing, and plays on`() async throws {
        let folder = try Folder(["a.jpg"])
        let output = VideoOutput.offscreen(width: 640, height: 360)
        let player = QueuePlayer(items: [PlayerItem(try Clips.numbered("shelf.mp4", frames: 60))], loop: .queue, video: output)
        player.play()
        #expect(await eventually { player.timeControlStatus == .playing })
        let shelf = Shelf(ShelfConfiguration(folders: [folder.path]))
        for end in ["key", "dismiss", "task"] {
            let events = Task { [events = shelf.events] in
                await events.first { if case .cancelled = $0 { true } else { false } }
            }
            let result = Task { try await shelf.present(on: output) }
            #expect(await eventually { shelf.isPresented && player.timeControlStatus == .paused }, "\(end): the player pauses")
            switch end {
            case "key": press("KEY_ESC", on: shelf)
            case "dismiss": shelf.dismiss()
            default: result.cancel()
            }
            #expect(try await result.value == [] && !shelf.isPresented)
            #expect(await eventually { player.timeControlStatus == .playing }, "\(end): the player plays on")
            events.cancel()
        }
        player.stop()
    }

    @Test func `It closes by itself, and lets nobody in twice`() async throws {
        let folder = try Folder([])
        let output = VideoOutput.offscreen(width: 640, height: 360)
        var configuration = ShelfConfiguration(folders: [folder.path])
        configuration.timeout = .seconds(4)
        let shelf = Shelf(configuration)
        let result = Task { try await shelf.present(on: output) }
        #expect(await eventually { shelf.isPresented })
        let twice = await #expect(throws: ShelfError.self) { try await shelf.present(on: output) }
        let other = await #expect(throws: ShelfError.self) { try await Shelf(configuration).present(on: output) }
        #expect(twice?.code == .isPresented && other?.code == .isPresented)
        // An empty shelf has nothing to press.
        for key in ["KEY_RIGHT", "KEY_ENTER", "KEY_ENTER"] { press(key, on: shelf) }
        #expect(try await result.value == [])
    }

    @Test func `Hostile names and places hurt nobody`() async throws {
        let names = [
            "\u{1b}[2J.jpg", "new\nline.jpg", "ü.jpg", "u\u{308}.jpg", "a%00b.jpg", "-rf.jpg", String(repeating: "x", count: 250) + ".jpg",
        ]
        let folder = try Folder(names)
        let picked = try await present(ShelfConfiguration(folders: [folder.path]), items: names.count) { shelf in
            #expect(Set(shelf.items.map { Array($0.asset.source.utf8) }) == Set(names.map { Array((folder.path + "/" + $0).utf8) }))
            for (x, y) in [(Double.nan, 0.5), (.infinity, -.infinity), (-1e300, 1e300)] { tap(x, y, on: shelf) }
            shelf.handle(.key(.init(name: "KEY_NOWHERE", phase: .pressed)))
            press("KEY_ESC", on: shelf)
            if shelf.isPresented { shelf.dismiss() }
        }
        #expect(picked == [])
    }

    @Test func `Assets are offered in their order, with their options`() async throws {
        let folder = try Folder(["a.jpg", "b.jpg"])
        var second = Asset(folder.path + "/a.jpg")
        second = Asset(
            second.source,
            options: {
                var options = Asset.Options(); options.userAgent = "mine"; return options
            }())
        let assets = [Asset(folder.path + "/b.jpg"), second, Asset(folder.path + "/b.jpg"), Asset("bad\0name.jpg")]
        let picked = try await present(ShelfConfiguration(assets: assets), items: 2) { shelf in
            #expect(shelf.items.map(\.title) == ["b", "a"])
            for key in ["KEY_RIGHT", "KEY_RIGHT", "KEY_ENTER", "KEY_ENTER"] { press(key, on: shelf) }
        }
        #expect(picked.map(\.asset) == [second])
    }

    @Test func `Mistakes have a typed error with a remedy`() async throws {
        let folder = try Folder(["a.jpg"])
        func error(_ configuration: ShelfConfiguration) async -> ShelfError? {
            do throws(ShelfError) {
                _ = try await Shelf(configuration).present(on: .offscreen())
                return nil
            } catch { return error }
        }
        #expect(await error(ShelfConfiguration(folders: []))?.code == .noContent)
        #expect(await error(ShelfConfiguration(assets: []))?.code == .noContent)
        let file = await error(ShelfConfiguration(folders: [folder.path, folder.path + "/a.jpg"]))
        #expect(file?.code == .cannotRead && file?.localizedDescription == file?.description)
        #expect(await error(ShelfConfiguration(folders: ["/tmp\0/x"]))?.code == .cannotRead)
    }
}
