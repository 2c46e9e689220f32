import Glibc
import KioskPlatform
import KioskReaders
import KioskVocabulary
import TestSupport
import Testing

@testable import KioskMedia
@testable import KioskPlayback

@Suite(.blocking) struct ItemOpenerTests {
    /// Opens an item once for each of `uses`, and passes it the reader.
    private func open(_ item: PlaylistItem, _ uses: (any ItemReader) throws -> Void...) throws {
        let outcomes = Monitor(0)
        let sources = SourceOpener(samples: AudioFormat(sampleRate: 48000, channelCount: 2), readers: Stage.readers)
        let opener = ItemOpener(sources) { outcomes.signal { $0 += 1 } }
        let thread = Thread("opener") { opener.run() }
        defer {
            opener.stop()
            thread.join()
        }
        for (index, use) in uses.enumerated() {
            opener.request(.init(serial: UInt64(index + 1), item: item, time: .zero, precision: .exact))
            _ = outcomes.wait { $0 > index ? true : nil }
            let opened = try #require(try opener.takeOutcome(of: UInt64(index + 1))?.get())
            try use(opened.reader)
        }
    }

    @Test(arguments: [false, true]) func soundThatNobodyHearsIsLeftOut(isMuted: Bool) throws {
        try open(PlaylistItem(source: Clips.named("keyframes.mp4"), isMuted: isMuted)) { reader in #expect(reader.hasSound != isMuted) }
    }

    @Test(arguments: Deinterlace.allCases) func fieldsBecomePicturesWhereTheItemSaysSo(deinterlace: Deinterlace) throws {
        try open(PlaylistItem(source: Clips.named("interlaced.mp4"), deinterlace: deinterlace)) { reader in
            #expect(reader.nominalFrameDuration == .milliseconds(deinterlace == .auto ? 20 : 40))
            var count = 0
            while reader.nextFrame() != nil { count += 1 }
            #expect(count == (deinterlace == .auto ? 48 : 24))
        }
    }

    /// The reader does not retry them in later playthroughs, and does not report them again.
    @Test func fieldsThatAreTooManyAreRemembered() throws {
        try open(
            PlaylistItem(source: Clips.moreFieldsThanCanBeMade()),
            { reader in
                while reader.nextFrame() != nil {}
                #expect(reader.problems.count == 1)
            },
            { reader in
                #expect(reader.nominalFrameDuration == .milliseconds(2))
                while reader.nextFrame() != nil {}
                #expect(reader.problems == [])
            })
    }
}
