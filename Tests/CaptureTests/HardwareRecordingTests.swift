import KioskMedia
import KioskPlatform
import KioskReaders
import KioskVocabulary
import TestSupport
import Testing
import VADriver

@testable import KioskCaptureCore

extension RecordingTests {
    /// Tests with Tests/VADriver, whose device /dev/full encodes without loss.
    @Suite struct Hardware {
        private func record(_ setting: EncoderSetting, device: String) throws -> (numbers: [Int], times: [Double], report: RecordingReport)
        {
            let folder = try Folder()
            var request = RecordingRequest(path: folder.path + "/out.mp4")
            request.encoder = EncoderWish(setting, device: device)
            var recording = try Recording.open(request, RecordingTests.format, colours: nil, samples: RecordingTests.stereo, by: .inProcess)
            for number in 1...50 {
                recording.write(RecordingTests.picture(number, at: 0.04 * Double(number - 1)), dropped: 0)
                recording.write(SoundResampler.Piece(silence: 0, samples: [Float](repeating: 0.1, count: 2 * 1920)))
            }
            recording.end(at: RecordingTests.origin + .seconds(2))
            let report = recording.finish()
            #expect(report.failure == nil && report.pictureCount == 50 && folder.names == ["out.mp4"])
            let read = try RecordingTests.read(request.path)
            #expect(abs(read.samples - 96000) <= 1024)
            return (read.numbers, read.times, report)
        }

        @Test("A recording is encoded by the device, and the report says by which encoder") func records() throws {
            let (numbers, times, report) = try record(.hardware, device: "/dev/full")
            #expect(report.encoder == "h264_vaapi" && report.notes == [])
            #expect(numbers == Array(1...50))
            for (index, time) in times.enumerated() { #expect(abs(time - 0.04 * Double(index)) < 0.0005) }
        }

        @Test("Without a device it is encoded in software, which is said") func falls() throws {
            let (numbers, _, report) = try record(.hardware, device: "/dev/dri/renderD191")
            #expect(report.encoder == "libx264" && numbers == Array(1...50))
            #expect(report.notes == [report.encoderNote] && report.encoderNote?.contains("encoded in software: h264_vaapi") == true)
        }
    }
}
