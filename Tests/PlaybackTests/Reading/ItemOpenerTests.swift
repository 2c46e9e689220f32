import Glibc
import KioskPlatform
import KioskReaders
import KioskVocabulary
import TestSupport
import Testing

@testable import KioskMedia
@testable import KioskPlayback

@Suite(.blocking) struct ItemOpenerTests {
    /// Opens an item once for each of `uses`, which are given the reader.
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

    /// What stands before a source is opened: the cache's disk hangs while it is asked for the file, for one.
    @Test func whatHangsBeforeTheFirstStepIsGivenUp() throws {
        let outcomes = Monitor(0), isFree = Monitor(false)
        let opener = ItemOpener(
            open: { (request, _) throws(MediaError) in
                if request.item.source == "stuck.mp4" { _ = isFree.wait { $0 ? true : nil } }
                throw MediaError(request.item.source, .notMedia)
            }, onOutcome: { outcomes.signal { $0 += 1 } })
        let thread = Thread("opener") { opener.run() }
        func error(_ source: String, _ serial: UInt64) throws -> MediaError? {
            opener.request(.init(serial: serial, item: PlaylistItem(source: source), time: .zero, precision: .exact))
            #expect(outcomes.wait(until: .now + .seconds(120)) { $0 >= Int(serial) ? true : nil } == true)
            guard case .failure(let error) = try #require(opener.takeOutcome(of: serial)) else { return nil }
            return error
        }
        #expect(try error("stuck.mp4", 1) == .timedOut("stuck.mp4"))
        #expect(try error("other.mp4", 2)?.reason == .notMedia)
        isFree.signal { $0 = true }
        opener.stop()
        thread.join()
    }

    /// A viewer who goes from item to item while one hangs.
    @Test func whatHangsIsGivenUpHoweverOftenSomethingElseIsAskedFor() throws {
        let opened = Monitor<Set<String>>([]), isFree = Monitor(false)
        let opener = ItemOpener(
            open: { (request, _) throws(MediaError) in
                opened.signal { _ = $0.insert(request.item.source) }
                if request.item.source == "stuck.mp4" { _ = isFree.wait { $0 ? true : nil } }
                throw MediaError(request.item.source, .notMedia)
            }, onOutcome: {})
        let thread = Thread("opener") { opener.run() }
        func ask(_ source: String, _ serial: UInt64) {
            opener.request(.init(serial: serial, item: PlaylistItem(source: source), time: .zero, precision: .exact))
        }
        ask("stuck.mp4", 1)
        #expect(opened.wait(until: .now + .seconds(30)) { $0.isEmpty ? nil : true } == true)
        var serial: UInt64 = 1
        while serial < 100, opened.withLock({ $0.count }) == 1 {
            serial += 1
            ask("other.mp4", serial)
            usleep(500_000)
        }
        #expect(opened.withLock { $0 } == ["stuck.mp4", "other.mp4"], "\(serial) requests")
        isFree.signal { $0 = true }
        opener.stop()
        thread.join()
    }

    @Test(arguments: Deinterlace.allCases) func fieldsBecomePicturesWhereTheItemSaysSo(deinterlace: Deinterlace) throws {
        try open(PlaylistItem(source: Clips.named("interlaced.mp4"), deinterlace: deinterlace)) { reader in
            #expect(reader.nominalFrameDuration == .milliseconds(deinterlace == .auto ? 20 : 40))
            var count = 0
            while reader.nextFrame() != nil { count += 1 }
            #expect(count == (deinterlace == .auto ? 48 : 24))
        }
    }

    /// In the playthroughs after the one that has shown it nothing is tried again, and nothing said.
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
