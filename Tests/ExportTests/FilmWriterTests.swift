import CKioskFFmpeg
import Foundation
import KioskMedia
import KioskPlatform
import KioskReaders
import KioskVocabulary
import TestSupport
import Testing

@testable import KioskExportCore

/// A temporary folder; the value's end removes it.
final class ExportFolder {
    let path = NSTemporaryDirectory() + "kiosk-export-\(UUID().uuidString)"
    init() throws { try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true) }
    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// The names of its files.
    var names: [String] { (try? FileManager.default.contentsOfDirectory(atPath: path).sorted()) ?? [] }
}

@Suite struct FilmWriterTests {
    static let stereo = AudioFormat(sampleRate: 48000, channelCount: 2)

    /// A gray picture with a burned-in number, as planes.
    struct DrawnPicture {
        let width: Int, height: Int
        var luma: [UInt8]
        let chroma: [UInt8]

        init(_ number: Int, width: Int = 320, height: Int = 180) {
            (self.width, self.height) = (width, height)
            luma = (0..<width * height).map { UInt8(40 + ($0 % width + $0 / width + number) % 160) }
            chroma = [UInt8](repeating: 128, count: width * height / 4)
            for cell in 0..<16 {
                let brightness: UInt8 = number >> (15 - cell) & 1 == 1 ? 235 : 16
                for y in height * 43 / 45..<height {
                    for x in cell * width / 40..<(cell + 1) * width / 40 { luma[y * width + x] = brightness }
                }
            }
        }

        func write(to writer: inout FilmWriter, at time: MediaTime, duration: MediaTime? = nil) throws -> Bool {
            try luma.withUnsafeBufferPointer { luma in
                try chroma.withUnsafeBufferPointer { chroma in
                    let (y, c) = (luma.baseAddress!, chroma.baseAddress!)
                    return try writer.write(planes: (y, c, c), strides: (width, width / 2, width / 2), at: time, duration: duration)
                }
            }
        }
    }

    /// Returns the numbers and times of a file's pictures, the end of the last one, and the sound.
    static func read(_ path: String) throws -> (numbers: [Int], times: [Double], end: Double, left: [Float]) {
        var reader = try MediaReader.open(path, samples: stereo)
        var numbers: [Int] = [], times: [Double] = [], end = 0.0
        while let frame = reader.nextFrame() {
            numbers.append(burnedInNumber(frame.frame))
            times.append(frame.time.seconds)
            end = (frame.time + frame.duration).seconds
        }
        var left: [Float] = []
        var chunk = [Float](repeating: 0, count: 2 * 4096)
        while true {
            let count = chunk.withUnsafeMutableBufferPointer { reader.readSamples(into: $0, channelCount: 2) }
            left += stride(from: 0, to: count * 2, by: 2).map { chunk[$0] }
            if count < 4096 { break }
        }
        return (numbers, times, end, left)
    }

    /// Writes `count` pictures at 25 a second, and silence with a click at each half second.
    private func write(_ count: Int, to writer: inout FilmWriter) throws {
        for index in 0..<count {
            #expect(try DrawnPicture(index + 1).write(to: &writer, at: .milliseconds(40 * Int64(index)), duration: .milliseconds(40)))
            var samples = [Float](repeating: 0, count: 2 * 1920)
            for sample in 0..<1920 where (index * 1920 + sample) % 24000 < 48 {
                (samples[2 * sample], samples[2 * sample + 1]) = (0.8, 0.8)
            }
            try samples.withUnsafeBufferPointer { try writer.write(samples: $0) }
        }
    }

    @Test(arguments: [FilmFormat.Container.mp4, .fragmentedMP4], [FilmFormat.VideoCodec.h264, .hevc, .mpeg4])
    func writesWhatIsRead(container: FilmFormat.Container, codec: FilmFormat.VideoCodec) throws {
        let folder = try ExportFolder()
        let path = folder.path + "/out.mp4"
        var video = FilmFormat.Video(width: 320, height: 180, frameRate: 25)
        video.codec = codec
        var writer = try FilmWriter.open(path, FilmFormat(container: container, video: video, audio: .init(Self.stereo)))
        try write(75, to: &writer)
        #expect(folder.names == [".out.mp4.part"])
        try writer.finish()
        #expect(folder.names == ["out.mp4"])

        let (numbers, times, end, left) = try Self.read(path)
        #expect(numbers == Array(1...75))
        for (index, time) in times.enumerated() { #expect(abs(time - 0.04 * Double(index)) < 0.0005, "\(index)") }
        #expect(abs(end - 3) < 0.001)
        // The clicks begin at each half second, to the sample. AAC rings a little before them.
        let clicks = left.indices.filter { left[$0] > 0.3 && ($0 == 0 || !left[max(0, $0 - 400)..<$0].contains { $0 > 0.3 }) }
        #expect(clicks.count == 6)
        for (index, click) in clicks.enumerated() { #expect(abs(click - 24000 * index) <= 4, "\(clicks)") }
        #expect(abs(left.count - 144_000) <= 1024)
    }

    @Test func pictureComesBack() throws {
        let folder = try ExportFolder()
        let path = folder.path + "/out.mp4"
        var video = FilmFormat.Video(width: 320, height: 180, frameRate: 25)
        video.quality = 10
        var writer = try FilmWriter.open(path, FilmFormat(video: video, audio: nil))
        let drawn = DrawnPicture(5)
        _ = try drawn.write(to: &writer, at: .zero)
        try writer.finish()
        var reader = try MediaReader.open(path, samples: nil)
        guard let frame = reader.nextFrame() else {
            Issue.record("no picture")
            return
        }
        let stride = Int(frame.frame.av.pointee.linesize.0)
        let plane = try #require(frame.frame.av.pointee.data.0)
        var error = 0.0
        for y in 0..<180 {
            for x in 0..<320 {
                let difference = Double(plane[y * stride + x]) - Double(drawn.luma[y * 320 + x])
                error += difference * difference
            }
        }
        let ratio = 10 * log10(255 * 255 / (error / (320 * 180)))
        #expect(ratio > 40, "\(ratio) dB")
    }

    @Test func timesMayBeAny() throws {
        let folder = try ExportFolder()
        let path = folder.path + "/out.mp4"
        var writer = try FilmWriter.open(path, FilmFormat(video: .init(width: 320, height: 180, frameRate: 30), audio: nil))
        let times: [Int64] = [0, 33, 70, 71, 200, 1000]
        for (index, time) in times.enumerated() { #expect(try DrawnPicture(index + 1).write(to: &writer, at: .milliseconds(time))) }
        // This picture is not later than the one before.
        #expect(try !DrawnPicture(99).write(to: &writer, at: .milliseconds(1000)))
        #expect(try DrawnPicture(7).write(to: &writer, at: .milliseconds(1100), duration: .milliseconds(250)))
        try writer.finish()
        let read = try Self.read(path)
        #expect(read.numbers == Array(1...7))
        for (time, expected) in zip(read.times, times + [1100]) { #expect(abs(time - Double(expected) / 1000) < 0.0005) }
        let duration = try MediaReader.open(path, samples: nil).description.duration
        #expect(abs((duration ?? .zero).seconds - 1.35) < 0.002)
    }

    @Test(arguments: [Rotation.none, .clockwise90, .clockwise180, .clockwise270], [false, true])
    func orientation(rotation: Rotation, isMirrored: Bool) throws {
        let folder = try ExportFolder()
        var video = FilmFormat.Video(width: 320, height: 180, frameRate: 25)
        video.orientation = Orientation(rotation: rotation, isMirrored: isMirrored)
        var writer = try FilmWriter.open(folder.path + "/out.mp4", FilmFormat(video: video, audio: nil))
        _ = try DrawnPicture(1).write(to: &writer, at: .zero)
        try writer.finish()
        let reader = try MediaReader.open(folder.path + "/out.mp4", samples: nil)
        let read = reader.description.video?.orientation
        #expect(read == video.orientation)
    }

    @Test func otherPicturesAreConverted() throws {
        let folder = try ExportFolder()
        let path = folder.path + "/out.mp4"
        // The clip is 4:2:2, full range, of another size.
        var reader = try MediaReader.open(Clips.named("mix-8.mkv"), samples: nil)
        var writer = try FilmWriter.open(path, FilmFormat(video: .init(width: 320, height: 180, frameRate: 15), audio: nil))
        while let frame = reader.nextFrame() { _ = try writer.write(frame.frame, at: frame.time, duration: frame.duration) }
        try writer.finish()
        #expect(try Self.read(path).numbers == Array(8001...8015))
    }

    @Test func whatIsCutOffCanBePlayed() throws {
        let folder = try ExportFolder()
        let path = folder.path + "/out.mp4"
        var video = FilmFormat.Video(width: 320, height: 180, frameRate: 25)
        video.isLive = true
        var writer = try FilmWriter.open(path, FilmFormat(container: .fragmentedMP4, video: video, audio: .init(Self.stereo)))
        try write(100, to: &writer)
        // As after a power cut: nothing has finished the file.
        let draft = folder.path + "/cut.mp4"
        try FileManager.default.copyItem(atPath: FilmWriter.draftPath(of: path), toPath: draft)
        let plain = folder.path + "/plain.mp4"
        try FilmWriter.remux(from: draft, to: plain)
        let read = try Self.read(plain)
        #expect(read.numbers == Array(1...max(1, read.numbers.count)))
        #expect(read.numbers.count >= 75, "\(read.numbers.count) of 100 pictures: more than a second is lost")
        #expect(folder.names.contains("plain.mp4") && !folder.names.contains(".plain.mp4.part"))
        // A playable draft stays until the caller discards it.
        writer.discard()
        #expect(!folder.names.contains(".out.mp4.part"))
    }

    @Test func halfAFileIsNeverInTheWay() throws {
        let folder = try ExportFolder()
        let path = folder.path + "/out.mp4"
        try Data("half".utf8).write(to: URL(fileURLWithPath: FilmWriter.draftPath(of: path)))
        let format = FilmFormat(video: .init(width: 320, height: 180, frameRate: 25), audio: nil)
        do {
            var writer = try FilmWriter.open(path, format)
            _ = try DrawnPicture(1).write(to: &writer, at: .zero)
            // Meanwhile no other writer may open the file.
            do throws(FilmError) {
                _ = try FilmWriter.open(path, format)
                Issue.record("written twice at once")
            } catch { #expect(error.reason == .isBeingWritten) }
        }
        // An unfinished film leaves no file.
        #expect(folder.names == [])
        try Data("whole".utf8).write(to: URL(fileURLWithPath: path))
        var writer = try FilmWriter.open(path, format)
        _ = try DrawnPicture(1).write(to: &writer, at: .zero)
        try writer.finish()
        #expect(folder.names == ["out.mp4"])
        #expect(try Self.read(path).numbers == [1])
    }

    @Test(.needsFullDevice) func errorsSayWhatIsWrong() throws {
        let format = FilmFormat(video: .init(width: 320, height: 180, frameRate: 25), audio: nil)
        func reason(_ path: String, _ format: FilmFormat) -> FilmError.Reason? {
            do throws(FilmError) {
                var writer = try FilmWriter.open(path, format)
                for index in 0..<200 {
                    do throws(FilmError) {
                        let noise = DrawnNoise(seed: index)
                        try noise.write(to: &writer, at: .milliseconds(40 * Int64(index)))
                    } catch { return error.reason }
                }
                try writer.finish()
                return nil
            } catch { return error.reason }
        }
        let folder = try ExportFolder()
        #expect(reason(folder.path + "/none/out.mp4", format) == .noFolder)
        #expect(reason(folder.path, format) == .isDirectory)
        var odd = format
        odd.audio = .init(AudioFormat(sampleRate: 1, channelCount: 2))
        let refusal = reason(folder.path + "/out.mp4", odd)
        if case .noEncoder("AAC", _) = refusal {} else { Issue.record("\(String(describing: refusal))") }
        #expect(folder.names == [])
        // /dev/full refuses writes. The draft lies beside its file, so a link leads there.
        try FileManager.default.createSymbolicLink(
            atPath: FilmWriter.draftPath(of: folder.path + "/full.mp4"), withDestinationPath: "/dev/full")
        #expect(reason(folder.path + "/full.mp4", format) == .noSpace)
        #expect(folder.names == [])
    }

    /// Noise that no encoder compresses well.
    private struct DrawnNoise {
        var bytes: [UInt8]
        init(seed: Int) {
            var state = UInt64(seed) &* 0x9E37_79B9_7F4A_7C15 | 1
            bytes = (0..<320 * 180).map { _ in
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                return UInt8(truncatingIfNeeded: state >> 40)
            }
        }
        func write(to writer: inout FilmWriter, at time: MediaTime) throws(FilmError) {
            let base = UnsafeMutablePointer<UInt8>.allocate(capacity: bytes.count)
            defer { base.deallocate() }
            for (index, byte) in bytes.enumerated() { base[index] = byte }
            let plane = UnsafePointer(base)
            _ = try writer.write(planes: (plane, plane, plane), strides: (320, 160, 160), at: time)
        }
    }
}
