import CKioskFFmpeg
import Foundation
import Glibc
import KioskMedia
import KioskPlatform
import KioskVocabulary
import TestSupport
import Testing

@testable import KioskCaptureCore

/// Tests of films from simulated cameras and microphones.
@Suite struct RecordingTests {
    final class Folder {
        let path = NSTemporaryDirectory() + "kiosk-record-\(UUID().uuidString)"
        init() throws { try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true) }
        deinit { try? FileManager.default.removeItem(atPath: path) }
        var names: [String] { (try? FileManager.default.contentsOfDirectory(atPath: path).sorted()) ?? [] }
    }

    static let format = CameraFormat(code: "YU12", width: 320, height: 180, numerator: 1, denominator: 25)
    static let stereo = AudioFormat(sampleRate: 48000, channelCount: 2)
    static let origin = HostTime(nanoseconds: 77_000_000_000)

    /// Returns a gray picture with a burned-in number.
    static func picture(_ number: Int, at seconds: Double) -> CapturedPicture {
        let frame = av_frame_alloc()!
        frame.pointee.format = AV_PIX_FMT_YUV420P.rawValue
        (frame.pointee.width, frame.pointee.height) = (320, 180)
        av_frame_get_buffer(frame, 0)
        for plane in 0..<3 {
            let (data, stride) =
                plane == 0
                ? (frame.pointee.data.0!, Int(frame.pointee.linesize.0))
                : plane == 1
                    ? (frame.pointee.data.1!, Int(frame.pointee.linesize.1)) : (frame.pointee.data.2!, Int(frame.pointee.linesize.2))
            for y in 0..<(plane == 0 ? 180 : 90) { for x in 0..<(plane == 0 ? 320 : 160) { data[y * stride + x] = 128 } }
        }
        let stride = Int(frame.pointee.linesize.0)
        for cell in 0..<16 {
            let brightness: UInt8 = number >> (15 - cell) & 1 == 1 ? 235 : 16
            for y in 180 * 43 / 45..<180 {
                for x in cell * 8..<(cell + 1) * 8 { frame.pointee.data.0![y * stride + x] = brightness }
            }
        }
        return CapturedPicture(
            frame: VideoFrame(adopting: frame), number: 0, time: origin + .seconds(seconds), frameDuration: .milliseconds(40))
    }

    static func read(_ path: String) throws -> (numbers: [Int], times: [Double], samples: Int) {
        var reader = try MediaReader.open(path, samples: stereo)
        var (numbers, times, samples) = ([Int](), [Double](), 0)
        while let frame = reader.nextFrame() {
            numbers.append(burnedInNumber(frame.frame))
            times.append(frame.time.seconds)
        }
        var chunk = [Float](repeating: 0, count: 2 * 4096)
        while true {
            let count = chunk.withUnsafeMutableBufferPointer { reader.readSamples(into: $0, channelCount: 2) }
            samples += count
            if count < 4096 { break }
        }
        return (numbers, times, samples)
    }

    private func open(_ request: RecordingRequest, sound: Bool = false) throws -> Recording {
        try Recording.open(request, Self.format, colours: nil, samples: sound ? Self.stereo : nil)
    }

    @Test func droppedPicturesKeepTheirTime() throws {
        let folder = try Folder()
        let path = folder.path + "/out.mp4"
        var recording = try open(RecordingRequest(path: path), sound: true)
        var dropped = 5
        for number in 1...50 {
            if 20..<23 ~= number {
                dropped += 1
                continue
            }
            recording.write(Self.picture(number, at: 0.04 * Double(number - 1)), dropped: dropped)
            recording.write(SoundResampler.Piece(silence: 0, samples: [Float](repeating: 0.1, count: 2 * 1920)))
        }
        recording.end(at: Self.origin + .seconds(2))
        let report = recording.finish()
        #expect(report.failure == nil && report.path == path)
        #expect(report.pictureCount == 47 && report.droppedCount == 3)
        #expect(abs(report.length.seconds - 2) < 0.001)
        #expect(folder.names == ["out.mp4"])
        let read = try Self.read(path)
        #expect(read.numbers == Array(1..<20) + Array(23...50))
        for (number, time) in zip(read.numbers, read.times) { #expect(abs(time - 0.04 * Double(number - 1)) < 0.0005) }
        #expect(abs(read.samples - 96000) <= 1024)
        // The index comes first, and there are no fragments.
        let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        #expect(bytes.range(of: Data("moof".utf8)) == nil)
        #expect(bytes.range(of: Data("moov".utf8))!.lowerBound < bytes.range(of: Data("mdat".utf8))!.lowerBound)
    }

    @Test func aPauseIsCutOut() throws {
        let folder = try Folder()
        let path = folder.path + "/out.mp4"
        var recording = try open(RecordingRequest(path: path))
        for number in 1...75 {
            let time = 0.04 * Double(number - 1)
            if number == 26 { recording.pause(at: Self.origin + .seconds(time)) }
            if number == 51 { recording.resume(at: Self.origin + .seconds(time)) }
            // Frames that the camera drops during a pause do not count.
            recording.write(Self.picture(number, at: time), dropped: number > 30 ? 7 : 0)
        }
        recording.end(at: Self.origin + .seconds(3))
        let report = recording.finish()
        #expect(report.pictureCount == 50 && report.droppedCount == 0)
        let read = try Self.read(path)
        #expect(read.numbers == Array(1...25) + Array(51...75))
        for (index, time) in read.times.enumerated() { #expect(abs(time - 0.04 * Double(index)) < 0.0005) }
    }

    @Test func itEndsAfterItsDuration() throws {
        let folder = try Folder()
        var request = RecordingRequest(path: folder.path + "/out.mp4")
        request.duration = .seconds(1)
        request.orientation = Orientation(rotation: .clockwise90, isMirrored: true)
        var recording = try open(request)
        for number in 1...40 { recording.write(Self.picture(number, at: 0.04 * Double(number - 1)), dropped: 0) }
        let isComplete = recording.isComplete
        #expect(isComplete)
        #expect(recording.finish().pictureCount == 25)
        #expect(try MediaReader.open(request.path, samples: nil).description.video?.orientation == request.orientation)
    }

    @Test func aCameraThatIsUnpluggedLeavesAFilm() throws {
        let folder = try Folder()
        let path = folder.path + "/out.mp4"
        var recording = try open(RecordingRequest(path: path), sound: true)
        for number in 1...30 { recording.write(Self.picture(number, at: 0.04 * Double(number - 1)), dropped: 0) }
        recording.fail(.cameraUnplugged("/dev/video0"))
        let isComplete = recording.isComplete
        #expect(isComplete)
        let report = recording.finish()
        #expect(report.failure == .cameraUnplugged("/dev/video0") && report.path == path)
        let read = try Self.read(path)
        #expect(read.numbers == Array(1...30))
        #expect(abs(read.samples - 57600) <= 1024, "sound is as long as the picture: \(read.samples)")
    }

    @Test func nothingRecordedLeavesNothing() throws {
        let folder = try Folder()
        var recording = try open(RecordingRequest(path: folder.path + "/out.mp4"))
        recording.end(at: Self.origin)
        let report = recording.finish()
        #expect(report.path == nil && report.failure == .nothingRecorded)
        #expect(folder.names == [])
    }

    @Test func afterAPowerCut() throws {
        let folder = try Folder()
        let path = folder.path + "/out.mp4"
        var recording = try open(RecordingRequest(path: path), sound: true)
        for number in 1...100 {
            recording.write(Self.picture(number, at: 0.04 * Double(number - 1)), dropped: 0)
            recording.write(SoundResampler.Piece(silence: 1920, samples: []))
        }
        // A power cut leaves the draft. Truncate it at several lengths of its last quarter, which is about a second.
        let draft = try Data(contentsOf: URL(fileURLWithPath: folder.path + "/.out.mp4.part"))
        for length in stride(from: draft.count, to: draft.count * 3 / 4, by: -draft.count / 20) {
            let other = try Folder()
            try draft.prefix(length).write(to: URL(fileURLWithPath: other.path + "/.out.mp4.part"))
            try Data("export".utf8).write(to: URL(fileURLWithPath: other.path + "/.film.mp4.part"))
            // The next recording has the same name.
            let recovered = RecordingFile.recover(in: other.path, besides: other.path + "/out.mp4")
            #expect(recovered == [RecordingFile.Recovered(path: other.path + "/out-1.mp4")])
            #expect(other.names == [".film.mp4.part", "out-1.mp4"])
            let numbers = try Self.read(other.path + "/out-1.mp4").numbers
            #expect(numbers == Array(1...max(1, numbers.count)))
            if length == draft.count { #expect(numbers.count >= 75, "\(numbers.count) of 100: more than a second is lost") }
        }
        // Recovery skips a draft that is still being written.
        #expect(RecordingFile.recover(in: folder.path) == [])
        recording.discard()
        #expect(folder.names == [])
    }

    @Test(arguments: [("greeting", "greeting-1"), ("a.b.mov", "a.b-1.mov"), ("c.MP4", "c-1.MP4")])
    func ofAnyName(name: String, second: String) throws {
        let folder = try Folder()
        var recording = try open(RecordingRequest(path: folder.path + "/a.mp4"))
        for number in 1...50 { recording.write(Self.picture(number, at: 0.04 * Double(number - 1)), dropped: 0) }
        let draft = try Data(contentsOf: URL(fileURLWithPath: folder.path + "/.a.mp4.part"))
        recording.discard()
        for film in [name, second] {
            try draft.write(to: URL(fileURLWithPath: folder.path + "/.\(name).part"))
            #expect(RecordingFile.recover(in: folder.path) == [RecordingFile.Recovered(path: folder.path + "/" + film)])
        }
        // Files of other programs with similar names.
        let others = [".x.part", ".y.left", ".part", ".left"]
        for other in others { try Data("half".utf8).write(to: URL(fileURLWithPath: folder.path + "/" + other)) }
        #expect(RecordingFile.recover(in: folder.path) == [])
        #expect(Set(folder.names).isSuperset(of: others))
    }

    @Test func interruptedWhileItWasPutTogether() throws {
        let folder = try Folder()
        var recording = try open(RecordingRequest(path: folder.path + "/a.mp4"))
        for number in 1...50 { recording.write(Self.picture(number, at: 0.04 * Double(number - 1)), dropped: 0) }
        let draft = try Data(contentsOf: URL(fileURLWithPath: folder.path + "/.a.mp4.part"))
        recording.discard()
        try draft.write(to: URL(fileURLWithPath: folder.path + "/.a.mp4.left"))
        try Data("half".utf8).write(to: URL(fileURLWithPath: folder.path + "/.a.mp4.part"))
        #expect(RecordingFile.recover(in: folder.path + "/") == [RecordingFile.Recovered(path: folder.path + "/a.mp4")])
        #expect(folder.names == ["a.mp4"])
    }

    @Test func aFullDiskLeavesAFilm() throws {
        let folder = try Folder()
        let path = folder.path + "/out.mp4"
        var recording = try open(RecordingRequest(path: path))
        for number in 1...100 { recording.write(Self.picture(number, at: 0.04 * Double(number - 1)), dropped: 0) }
        recording.fail(.diskFull(path: path))
        let report = recording.finish()
        #expect(report.failure == .diskFull(path: path) && report.path == path)
        #expect(try Self.read(path).numbers == Array(1...100))
    }

    @Test func checksComeFirst() throws {
        let folder = try Folder()
        let path = folder.path + "/out.mp4"
        try Data("there".utf8).write(to: URL(fileURLWithPath: path))
        #expect(throws: CaptureError.outputExists(path)) { _ = try open(RecordingRequest(path: path)) }
        #expect(throws: CaptureError.self) {
            var request = RecordingRequest(path: path)
            (request.replaces, request.duration) = (true, .seconds(86400 * 365))
            _ = try open(request)
        }
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == Data("there".utf8))
    }
}
