import CKioskFFmpeg
import CTestSupport
import Foundation
import KioskMedia
import KioskPlatform
import KioskReaderProtocol
import KioskVocabulary
import TestSupport
import Testing

@testable import KioskReaders

/// Films made by a process of its own, and their fate if it ends. Tests/VADriver is an encoder that crashes or hangs.
@Suite(.blocking, .needs("a build without sanitizers, whose threads keep it from forking", !test_is_sanitized()))
struct FilmProcessTests {
    private let folder = NSTemporaryDirectory() + "kiosk-film-\(UUID().uuidString)"
    private var path: String { folder + "/out.mp4" }
    private var names: [String] { (try? FileManager.default.contentsOfDirectory(atPath: folder).sorted()) ?? [] }
    private func remove() { try? FileManager.default.removeItem(atPath: folder) }

    init() throws { try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true) }

    private func format(_ container: FilmFormat.Container, _ setting: EncoderSetting = .software) -> FilmFormat {
        var video = FilmFormat.Video(width: 320, height: 240, frameRate: 25)
        (video.codec, video.isLive, video.encoder) = (.h264, true, EncoderWish(setting, device: "/dev/null"))
        return FilmFormat(container: container, video: video, audio: nil)
    }

    /// Writes gray pictures, each brighter than the one before, at 25 a second. Returns their number, and the error that ended it.
    private func write(_ count: Int, to writer: inout FilmWriter) -> (Int, FilmError?) {
        for number in 0..<count {
            let pixels = UnsafeMutableBufferPointer<UInt32>.allocate(capacity: 320 * 240)
            defer { pixels.deallocate() }
            pixels.initialize(repeating: UInt32(number % 200 + 20) * 0x01_0101)
            do throws(FilmError) {
                _ = try writer.write(
                    pixels: pixels.baseAddress!, stride: 1280, at: .milliseconds(40 * Int64(number)), duration: .milliseconds(40))
            } catch { return (number, error) }
        }
        return (count, nil)
    }

    /// Returns the brightness of each picture of a film.
    private func read(_ path: String) throws -> [Int] {
        var reader = try MediaReader.open(path, samples: nil)
        var found: [Int] = []
        while let frame = reader.nextFrame() { found.append(Int(frame.frame.av.pointee.data.0![320 * 100 + 100])) }
        return found
    }

    @Test(arguments: [FilmFormat.Container.mp4, .fragmentedMP4]) func `a film is made by a process that has no file`(
        container: FilmFormat.Container
    ) throws {
        defer { remove() }
        var writer = try FilmWriter.open(path, format(container))
        #expect(writer.videoEncoder == "libx264" && writer.videoEncoderNote == nil)
        let (count, error) = write(100, to: &writer)
        #expect(count == 100 && error == nil && names == [".out.mp4.part"])
        try writer.finish()
        #expect(names == ["out.mp4"])
        let found = try read(path)
        #expect(found.count == 100)
        // Limited range: 16 + 219/255 of the value, give or take the encoder's error.
        for (number, value) in found.enumerated() { #expect(abs(value - (16 + (number + 20) * 219 / 255)) <= 2, "\(number): \(value)") }
    }

    @Test(arguments: ["CRASH", "HANG"]) func `an encoder that ends its process costs the film, or leaves what can be played of it`(
        deed: String
    ) throws {
        defer { remove() }
        // The process encodes one picture first, as a trial.
        let readers = Hostile.readers(with: "VADriver", "KIOSK_TEST_VA_FILM_\(deed)=60")
        for container in [FilmFormat.Container.fragmentedMP4, .mp4] {
            let begin = HostTime.now
            var writer = try FilmWriter.open(path, format(container, .hardware), by: readers)
            #expect(writer.videoEncoder == "h264_vaapi")
            let (count, error) = write(1000, to: &writer)
            #expect(55...70 ~= count, "\(count)")
            guard case .encoderFailed(let text)? = error?.reason else {
                Issue.record("\(String(describing: error))")
                continue
            }
            #expect(text.hasPrefix(deed == "CRASH" ? "its process crashed (SIG" : "its process made no progress for 2 s"), "\(text)")
            #expect(throws: FilmError.self) { try writer.finish() }
            #expect(HostTime.now - begin < .seconds(120))
            _ = consume writer
            #expect(names == (container == .mp4 ? [] : [".out.mp4.part"]))
            if container == .fragmentedMP4 {
                try FilmWriter.remux(from: folder + "/.out.mp4.part", to: folder + "/saved.mp4")
                let saved = try read(folder + "/saved.mp4").count
                #expect(20...60 ~= saved, "\(saved)")
                try FileManager.default.removeItem(atPath: folder + "/saved.mp4")
                try FileManager.default.removeItem(atPath: folder + "/.out.mp4.part")
            }
        }
    }

    /// Beside a player, kiosk makes films only when nothing else wants the processor.
    @Test func `readers can run when nothing else does`() throws {
        defer { remove() }
        func policy(_ readers: Readers) throws -> Int32 {
            let client = try ReaderClient(
                OpenOrder(.play, try Clips.numbered("policy.mp4", frames: 5, size: "320x240", sound: false)), by: readers, Interruption())
            let clock = try #require(client.session.reader.clock)
            return sched_getscheduler(pid_t(bitPattern: ~UInt32(bitPattern: clock >> 3)))
        }
        #expect(try policy(.shared) == SCHED_OTHER && policy(Readers.shared.whenIdle) == 5)
    }

    @Test func `no further thread reads while some hang`() throws {
        let readers = Readers(executable: "/nowhere", isolation: .thread, mostEnding: 1, endLimit: .milliseconds(50))
        let life = Readers.ThreadLife(of: readers)
        _ = try readers.reader(priority: .normal)
        life.isLeft()
        #expect(throws: ReaderStartError.stuck(1)) { _ = try readers.reader(priority: .normal) }
        life.hasEnded()
        _ = try readers.reader(priority: .normal)
        life.isLeft()
        _ = try readers.reader(priority: .normal)
    }

    @Test func `without a program films are not made, and that is said`() throws {
        defer { remove() }
        let error = #expect(throws: FilmError.self) { _ = try FilmWriter.open(path, format(.mp4), by: Readers(executable: "/nowhere")) }
        #expect(error?.description.contains("there is no /nowhere") == true, "\(String(describing: error))")
        #expect(names == [])
    }

    @Test func `what nobody can put together anew is named`() throws {
        defer { remove() }
        try Data("no film".utf8).write(to: URL(fileURLWithPath: folder + "/a.mp4"))
        for name in ["/a.mp4", "/nothing.mp4"] {
            let error = #expect(throws: FilmError.self) { try FilmWriter.remux(from: folder + name, to: path) }
            guard case .unreadable? = error?.reason, error?.path == folder + name else {
                Issue.record("\(String(describing: error))")
                continue
            }
        }
        #expect(names == ["a.mp4"])
    }
}
