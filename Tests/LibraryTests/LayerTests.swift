import Glibc
import KioskDisplay
import KioskMedia
import KioskPlatform
import KioskPlayer
import KioskVocabulary
import TestSupport
import Testing

@Suite(.blocking) struct LayerTests {
    /// Returns the number in the picture on an output; 0 for none.
    private func number(on output: VideoOutput) throws -> Int {
        let path = try Clips.file("layer-\(UInt64.random(in: 0 ... .max)).png", output.png())
        defer { unlink(path) }
        var reader = try MediaReader.open(path, samples: nil)
        return switch reader.nextFrame() {
        case .some(let frame): burnedInNumber(frame.frame)
        case .none: 0
        }
    }

    @Test func aPlayerIsSeenOnTwoDisplays() async throws {
        let displays = (0..<2).map { _ in VideoOutput.offscreen(width: 320, height: 180) }
        let clip = try Clips.numbered("layers.mp4", frames: 90, from: 1001)
        let (player, other) = (Player(PlayerItem(clip), video: displays[0]), Player(video: displays[1]))
        #expect(await eventually { player.statistics.framesShown > 0 })
        let layer = PlayerLayer(player: player, on: displays[1])
        #expect(layer.videoOutput === displays[1] && layer.region == .full)
        player.play()
        #expect(await eventually { (try? number(on: displays[1])).map { $0 > 1010 } ?? false })
        #expect(
            await eventually { (try? number(on: displays[0])) == 1090 && (try? number(on: displays[1])) == 1090 },
            "both have the last frame")

        layer.region = Region(x: 0.5, y: 0.5, width: 0.25, height: 0.25)
        #expect(await eventually { (try? number(on: displays[1])) != 1090 })
        layer.region = .full
        #expect(await eventually { (try? number(on: displays[1])) == 1090 })
        layer.remove()
        layer.remove()
        #expect(await eventually { (try? number(on: displays[1])) == 0 })
        #expect(try number(on: displays[0]) == 1090)
        for player in [player, other] { player.stop() }
        for display in displays { display.close() }
    }

    @Test func layersComeAndGoWhileItPlays() async throws {
        let display = VideoOutput.offscreen(width: 320, height: 180)
        let player = QueuePlayer(items: [PlayerItem(try Clips.named("thirty.mp4"))], loop: .queue, video: display)
        player.play()
        #expect(await eventually { player.statistics.framesShown > 5 })
        for round in 0..<5 {
            var layer: PlayerLayer? = PlayerLayer(player: player, region: Region(x: 0, y: 0, width: 0.5, height: 0.5))
            let other = PlayerLayer(player: player, region: Region(x: 0.5, y: 0, width: 0.5, height: 0.5))
            let count = player.statistics.framesShown
            #expect(await eventually { player.statistics.framesShown > count + 10 }, "round \(round)")
            #expect(layer?.region.width == 0.5)
            layer = nil
            other.remove()
        }
        player.stop()
        display.close()
    }
}
