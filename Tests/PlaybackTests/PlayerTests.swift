import Audio
import Foundation
import Media
import Platform
import Playback
import TestSupport
import Testing

/// The whole engine on a display that keeps what it was shown. What frame was shown, in which order, is judged; how punctual it was only as far as
/// a busy machine allows.
@Suite(.serialized) struct PlayerTests {
    /// A player that runs until the test is over.
    final class Stage {
        let display = RecordingDisplay()
        let player: Player
        private let log = Monitor<[PlayerEvent]>([])

        init(_ items: [PlaylistItem], _ configure: (inout Player.Options) -> Void = { _ in }) {
            var options = Player.Options()
            configure(&options)
            player = Player(items: items, options: options, video: display, audio: SilentOutput())
            player.addObserver { [log] event in log.withLock { $0.append(event) } }
            player.start()
        }

        deinit { player.stop() }

        var events: [PlayerEvent] { log.withLock { $0 } }
        var numbers: [Int] { display.flips.map(\.number) }

        /// Waits until `condition` holds; false after `seconds`.
        func wait(_ seconds: Double = 10, until condition: () -> Bool) -> Bool {
            let deadline = HostTime.now + .seconds(seconds)
            while HostTime.now < deadline {
                if condition() { return true }
                usleep(5000)
            }
            return condition()
        }
    }

    private func clip() throws -> String { try Clips.numbered("thirty.mp4", frames: 30) }

    @Test func loopsEveryFrameInOrder() throws {
        let stage = Stage([PlaylistItem(source: try clip())])
        #expect(stage.wait { stage.numbers.count > 100 })
        let numbers = stage.numbers
        let statistics = stage.player.snapshot.statistics
        let expected = (0..<numbers.count).map { $0 % 30 + 1 }
        if statistics.framesDropped == 0 { #expect(numbers == expected) }
        #expect(zip(numbers, numbers.dropFirst()).allSatisfy { $1 == $0 % 30 + 1 || statistics.framesDropped > 0 })
        #expect(statistics.seams >= 3)
        #expect(stage.events.contains(.itemStarted(index: 0, isSeam: false, late: 0)))
    }

    @Test func framesStandForTheirTime() throws {
        let stage = Stage([PlaylistItem(source: try clip())])
        #expect(stage.wait { stage.numbers.count > 90 })
        // After the first frames, which wait for the sound to begin, 30 on 60 Hz is two vblanks.
        let holds = stage.display.holds.dropFirst(5)
        let right = holds.count { $0.vblanks == 2 }
        #expect(Double(right) > 0.8 * Double(holds.count), "\(holds)")
    }
}
