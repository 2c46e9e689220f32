import Platform
import TestSupport
import Testing
import Vocabulary

@testable import Media
@testable import Playback

@Suite(.blocking) struct ItemOpenerTests {
    /// What is queued in a reader after all its pictures but the last have been taken and none of its sound.
    private func queued(_ item: PlaylistItem) -> (packets: Int, bytes: Int)? {
        let outcomes = Monitor(0)
        let opener = ItemOpener(samples: AudioFormat(sampleRate: 48000, channelCount: 2), decoderThreads: 1) { outcomes.signal { $0 += 1 } }
        let thread = Thread("opener") { opener.run() }
        defer {
            opener.stop()
            thread.join()
        }
        opener.request(.init(serial: 1, item: item, time: .zero, precision: .exact))
        _ = outcomes.wait { $0 > 0 ? true : nil }
        guard let outcome = opener.takeOutcome(of: 1) else { return nil }
        guard let reader = try? outcome.get().reader as? MediaItemReader else { return nil }
        while reader.nextFrame() != nil {}
        return reader.media.queued
    }

    @Test func soundThatNobodyHearsIsNotKept() throws {
        let clip = try Clips.named("keyframes.mp4")
        let heard = try #require(queued(PlaylistItem(source: clip)))
        #expect(heard.bytes > 10_000)
        let muted = try #require(queued(PlaylistItem(source: clip, isMuted: true)))
        #expect(muted == (0, 0))
    }
}
