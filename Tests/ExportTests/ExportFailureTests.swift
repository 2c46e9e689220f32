import Foundation
import KioskConfiguration
import KioskMedia
import KioskPlatform
import KioskReaders
import KioskVocabulary
import TestSupport
import Testing

@testable import KioskExportCore

/// Failed exports: the error, and that no file remains.
@Suite(.serialized) struct ExportFailureTests {
    private func failure(_ arrangement: Arrangement, at path: String, force: Bool = false, cancel: Bool = false) -> ExportError? {
        var options = ExportSession.Options(output: path)
        options.replaces = force
        do throws(ExportError) {
            _ = try ExportSession.run(arrangement, options, isCancelled: { cancel })
            return nil
        } catch { return error }
    }

    @Test func everySourceThatCannotBeUsedIsNamed() throws {
        let folder = try ExportFolder()
        let tone = try Clips.named("sound-only.m4a")
        var arrangement = try ExportSessionTests.arrangement(["thirty.mp4", "/nowhere/a.mp4", "text.mp4", tone, "empty.mp4", "thirty.mp4"])
        arrangement.clips[5].start = .seconds(20)
        guard case .sources(let lines) = failure(arrangement, at: folder.path + "/film.mp4") else {
            Issue.record("no complaint about sources")
            return
        }
        #expect(lines.count == 5, "\(lines)")
        #expect(lines[0] == "/nowhere/a.mp4: no such file: check the path, or copy the file there")
        #expect(lines[2].contains("has no picture: sound goes under the film with --music"))
        #expect(lines[4].contains("start is at or after its end"))
        #expect(folder.names == [])
    }

    @Test func musicThatCannotBeUsed() throws {
        let folder = try ExportFolder()
        var arrangement = try ExportSessionTests.arrangement(["thirty.mp4"])
        for source in ["/nowhere/song.m4a", try Clips.named("silent.mp4")] {
            arrangement.music = .init(source: source)
            guard case .music = failure(arrangement, at: folder.path + "/film.mp4") else {
                Issue.record("no complaint about \(source)")
                return
            }
        }
        #expect(folder.names == [])
    }

    @Test func clipsAndMusicThatCannotBeUsedAreNamedAtOnce() throws {
        let folder = try ExportFolder()
        var arrangement = try ExportSessionTests.arrangement(["thirty.mp4", "/nowhere/a.mp4"])
        arrangement.music = .init(source: "/nowhere/song.m4a")
        #expect(
            failure(arrangement, at: folder.path + "/film.mp4")
                == .sources([
                    "/nowhere/a.mp4: no such file: check the path, or copy the file there",
                    "music: /nowhere/song.m4a: no such file: check the path, or copy the file there",
                ]))
    }

    @Test func whatIsNoFileAndTheArrangementAreNeverReplaced() throws {
        let folder = try ExportFolder()
        let arrangement = try ExportSessionTests.arrangement(["silent.mp4"])
        let (pipe, link, toml) = (folder.path + "/pipe.mp4", folder.path + "/link.mp4", folder.path + "/film.toml")
        // A link to the device, not the device itself: if this check fails, the film replaces only the link.
        let device = folder.path + "/null.mp4"
        try FileManager.default.createSymbolicLink(atPath: device, withDestinationPath: "/dev/null")
        #expect(mkfifo(pipe, 0o600) == 0)
        for path in [pipe, device] {
            #expect(failure(arrangement, at: path, force: true) == .film(FilmError(path, .isNoFile)))
        }
        #expect(failure(arrangement, at: folder.path, force: true) == .film(FilmError(folder.path, .isDirectory)))
        try Data("[output]".utf8).write(to: URL(fileURLWithPath: toml))
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: toml)
        for path in [toml, link] {
            var options = ExportSession.Options(output: path)
            (options.replaces, options.kept) = (true, [toml])
            #expect(throws: ExportError.outputIsArrangement(path)) { try ExportSession.run(arrangement, options) }
        }
        #expect(folder.names == ["film.toml", "link.mp4", "null.mp4", "pipe.mp4"])
        #expect(try String(contentsOfFile: toml, encoding: .utf8) == "[output]")
    }

    @Test func aFileIsReplacedOnlyWhereThatIsAskedFor() throws {
        let folder = try ExportFolder()
        let path = folder.path + "/film.mp4"
        let arrangement = try ExportSessionTests.arrangement(["silent.mp4"])
        try Data("mine".utf8).write(to: URL(fileURLWithPath: path))
        #expect(failure(arrangement, at: path) == .outputExists(path))
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "mine")
        // After a cancelled export the old file is still there.
        #expect(failure(arrangement, at: path, force: true, cancel: true) == .cancelled)
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "mine")
        #expect(folder.names == ["film.mp4"])
        #expect(failure(arrangement, at: path, force: true) == nil)
        #expect(try MediaReader.open(path, samples: nil).description.video != nil)
        // The film does not replace one of its own clips, even by force.
        let own = try ExportSessionTests.arrangement([path])
        #expect(failure(own, at: path, force: true) == .outputIsSource(path))
        #expect(failure(arrangement, at: folder.path + "/no/film.mp4") == .film(FilmError(folder.path + "/no/film.mp4", .noFolder)))
    }

    @Test(.needsFullDevice) func aDiskThatIsFullIsSaidBeforehandAndInTheMiddle() throws {
        let folder = try ExportFolder()
        let path = folder.path + "/film.mp4"
        let arrangement = try ExportSessionTests.arrangement(["a60.mp4"])
        var options = ExportSession.Options(output: path)
        options.free = 400_000
        do throws(ExportError) {
            _ = try ExportSession.run(arrangement, options)
            Issue.record("so little was enough")
        } catch {
            guard case .noRoom(path, let least, 400_000) = error else { throw error }
            #expect(least > 400_000)
            #expect(error.description.contains("its disk has 400 kB left"))
        }
        #expect(folder.names == [])
        // The estimated minimum is less than the size of the film.
        options.free = nil
        let report = try ExportSession.run(arrangement, options)
        let written = try #require(try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int64)
        let least = ExportRoom.least(
            arrangement.output, size: report.size, rate: report.rate, length: report.length, moving: report.length, hasSound: true)
        #expect(least < written, "\(least) of \(written)")
        // In the middle: /dev/full refuses writes to the draft.
        let full = folder.path + "/full.mp4"
        try FileManager.default.createSymbolicLink(atPath: FilmWriter.draftPath(of: full), withDestinationPath: "/dev/full")
        #expect(failure(arrangement, at: full) == .film(FilmError(full, .noSpace)))
        #expect(folder.names == ["film.mp4"])
    }

    @Test func withoutAnEncoderNothingIsWrittenAndItIsSaidWhatWasTried() throws {
        let folder = try ExportFolder()
        var arrangement = try ExportSessionTests.arrangement(["thirty.mp4"])
        // MPEG-4 part 2 allows no pictures of that width.
        (arrangement.output.codec, arrangement.output.size) = (.mpeg4, PictureSize(width: 8192, height: 64))
        guard case .film(let error)? = failure(arrangement, at: folder.path + "/film.mp4"), case .noEncoder(_, let tried) = error.reason
        else {
            Issue.record("no complaint about the encoder")
            return
        }
        #expect(tried.count == 1 && tried[0].contains("mpeg4"), "\(tried)")
        #expect(error.description.contains("there is no encoder for"))
        #expect(folder.names == [])
    }
}
