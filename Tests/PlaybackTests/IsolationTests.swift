import CTestSupport
import Foundation
import KioskPlatform
import KioskReaders
import KioskVocabulary
import Synchronization
import TestSupport
import Testing

@testable import KioskMedia
@testable import KioskPlayback

/// Clips whose decoder dies, played by readers that use Tests/HostileDecoder for libavcodec's decoder.
@Suite(.blocking, .needs("a build without sanitizers, whose threads keep it from forking", !test_is_sanitized()))
struct IsolationTests {
    private func stage(_ sources: String...) -> Stage { Stage(sources.map { PlaylistItem(source: $0) }, readers: Hostile.readers) }

    /// The pictures in runs of consecutive numbers, as the first and the last of each.
    private func runs(_ stage: Stage) -> [ClosedRange<Int>] {
        var runs: [ClosedRange<Int>] = []
        for number in stage.pictures {
            // Frames dropped by a busy machine do not end a run.
            if let last = runs.last, number > last.upperBound, number - last.upperBound <= 10 {
                runs[runs.count - 1] = last.lowerBound...number
            } else {
                runs.append(number...number)
            }
        }
        return runs
    }

    /// A decoder holds some pictures before it delivers the first one.
    private let upToTheCrash = 33...45

    @Test(arguments: ["crash", "abort", "exit", "trap"]) func `a clip with a bad place is seen up to that, then from there on`(
        _ deed: String
    ) throws {
        let stage = stage(try Hostile.clip([(45, nil), (15, deed), (60, nil)]), try Reel.three())
        #expect(stage.wait { runs(stage).count >= 8 }, "\(stage.numbers)")
        let (seen, complaints) = (runs(stage).prefix(7), stage.complaints.filter { $0.index == 0 }.map(\.message))
        for (place, run) in seen.enumerated() {
            switch place % 4 {
            case 0: #expect(run.lowerBound == 1 && upToTheCrash ~= run.upperBound, "\(seen)")
            case 2: #expect(run == 61...120, "\(seen)")
            default: #expect(run == 301...303, "\(seen)")
            }
        }
        // The background never shows, and each message comes once.
        #expect(!stage.pictures.contains(0))
        #expect(complaints.count == 2 && complaints[0].contains(": ends early: its decoder "), "\(complaints)")
        #expect(complaints.last?.contains(": begins at 2 s: its decoder ") == true, "\(complaints)")
    }

    @Test func `what dies behind the place as well is left out for a while`() throws {
        let stage = stage(try Hostile.clip([(45, nil), (15, "crash"), (45, nil), (15, "crash"), (30, nil)]), try Reel.three())
        #expect(
            stage.wait { stage.complaints.contains { $0.message.contains("its decoder crashed (SIGSEGV): kiosk leaves it out for 10 s") } },
            "\(stage.complaints)")
        let (seen, count) = (runs(stage), stage.numbers.count)
        #expect(upToTheCrash ~= seen[0].upperBound && seen[2].lowerBound == 61 && 93...105 ~= seen[2].upperBound, "\(seen)")
        // Meanwhile the other clip plays again and again; then the player retries this one.
        #expect(stage.wait { stage.numbers.dropFirst(count).contains(1) })
        #expect(!stage.pictures.contains(0))
    }

    @Test func `the only clip is shown up to the place, again and again`() throws {
        let stage = stage(try Hostile.clip([(45, nil), (15, "crash"), (15, "crash"), (90, "crash")]))
        #expect(stage.wait { runs(stage).count >= 5 }, "\(stage.numbers)")
        #expect(runs(stage).prefix(4).allSatisfy { $0.lowerBound == 1 && upToTheCrash ~= $0.upperBound }, "\(runs(stage))")
        #expect(!stage.pictures.contains(0))
    }

    /// The driver crashes at a picture in mid-item, or at the first one.
    @Test(arguments: [60, 1]) func `what kills the driver of a device is decoded in software`(picture: Int) throws {
        HardwareHistory.forgive()
        defer { HardwareHistory.forgive() }
        var item = PlaylistItem(source: try Clips.numbered("device-crash-\(picture).mp4", frames: 120, size: "320x240", sound: false))
        item.decoder = .hardware
        let readers = Hostile.readers(with: "VADriver", "KIOSK_TEST_VA_CRASH=\(picture)")
        var opener = SourceOpener(samples: AudioFormat(sampleRate: 48000, channelCount: 2), readers: readers)
        opener.decoderDevice = "/dev/null"
        func turn() throws -> (count: Int, end: String?) {
            let reader = try opener.open(.init(serial: 1, item: item, time: .zero, precision: .exact), Interruption()).reader
            var count = 0
            while reader.nextFrame() != nil { count += 1 }
            return (count, reader.prematureEnd)
        }
        if picture > 1 {
            let first = try turn()
            #expect(30...60 ~= first.count && first.end?.contains("its decoder crashed") == true, "\(first)")
        }
        let (count, end) = try turn()
        #expect(count == 120 && end == nil, "\(count)")
    }

    @Test func `a clip whose opening kills its decoder is left out, and said to be`() throws {
        let stage = stage(try Hostile.clip([(30, "crash")]), try Reel.three())
        stage.expectPlays([301, 302, 303], count: 12)
        #expect(stage.complaints.map(\.index) == [0] && stage.complaints[0].message.contains("its decoder crashed (SIGSEGV)"))
    }

    @Test func `nothing is seen of the only clip that dies at once`() throws {
        let stage = stage(try Hostile.clip([(30, "crash")]))
        #expect(stage.wait { stage.events.contains { if case .nothingPlayable = $0 { true } else { false } } })
        _ = stage.wait(2.5) { false }
        #expect(stage.numbers == [0] && stage.complaints.count == 1)
    }

    @Test func `another version of the file is played from its beginning`() throws {
        let path = Clips.folder + "/version-\(UInt32.random(in: 0 ... .max)).mp4"
        let bad = try Hostile.clip([(45, nil), (15, "crash"), (60, nil)]), good = try Hostile.clip([(45, nil), (75, nil)])
        func item(_ file: String, _ number: Int64) throws -> PlaylistItem {
            try? FileManager.default.removeItem(atPath: path)
            try FileManager.default.copyItem(atPath: file, toPath: path)
            return PlaylistItem(source: path, version: FileVersion(device: 0, inode: 0, size: 0, modified: number))
        }
        let stage = Stage([try item(bad, 1)], readers: Hostile.readers)
        #expect(stage.wait { !stage.complaints.isEmpty })
        stage.player.setItems([try item(good, 2)], at: .now)
        #expect(stage.wait { runs(stage).contains { $0.lowerBound == 1 && $0.upperBound == 120 } }, "\(runs(stage))")
    }

    /// Copies of a server's files, with a record of the rejected ones.
    private final class Copies: AssetFiles {
        private let file: String
        private let thrownAway = Mutex<[String]>([])
        var rejected: [String] { thrownAway.withLock { $0 } }

        init(_ file: String) { self.file = file }

        func file(for source: String) -> String? { file }
        func reject(_ source: String, at file: String) { thrownAway.withLock { $0.append(source) } }
    }

    @Test(arguments: [true, false]) func `what kills its decoder is not fetched to be decoded by the player`(_ kills: Bool) throws {
        let copies = Copies(kills ? try Hostile.clip([(30, "crash")]) : try Clips.file("no-media.mp4", Array("no media".utf8)))
        var opener = SourceOpener(samples: AudioFormat(sampleRate: 48000, channelCount: 2), readers: Hostile.readers)
        opener.files = copies
        let request = ItemOpener.Request(
            serial: 1, item: PlaylistItem(source: "http://127.0.0.1:9/a.mp4"), time: .zero, precision: .exact)
        for _ in 0..<2 {
            let error = #expect(throws: MediaError.self) { _ = try opener.open(request, Interruption()) }
            if case .readerFailed(let reason)? = error?.reason {
                #expect(kills && reason.hasPrefix("its decoder crashed (SIGSEGV)"))
            } else {
                // No server listens there.
                #expect(!kills && error?.description.contains("refused") == true, "\(error as Any)")
            }
        }
        #expect(copies.rejected.count == (kills ? 0 : 2))
    }

    @Test func `what is looked at before it is played may die, too`() throws {
        let item = PlaylistItem(source: try Hostile.clip([(45, nil), (15, "crash")]))
        let inspection = ItemInspection.inspect(item, refreshRate: 60, readers: Hostile.readers)
        #expect(
            inspection.failure == nil && inspection.warnings.contains { $0.contains("its decoder crashed (SIGSEGV)") },
            "\(inspection.warnings)")
        #expect(FileTrial.flaw(of: item, by: Hostile.readers) == "it is cut off: its decoder crashed (SIGSEGV)")
        #expect(FileTrial.flaw(ofStick: try Hostile.clip([(30, "abort")]), by: Hostile.readers) == "its decoder crashed (SIGABRT)")
        #expect(FileTrial.flaw(ofStick: try Reel.three(), by: Hostile.readers) == nil)
    }
}
