import Foundation
import KioskConfiguration
import KioskMedia
import KioskPlatform
import KioskReaders
import KioskVocabulary
import TestSupport
import Testing
import VADriver

@testable import KioskExportCore

extension ExportSessionTests {
    /// With Tests/VADriver, whose device /dev/full encodes without loss.
    @Suite struct Hardware {
        private func film(_ setting: EncoderSetting, device: String) throws -> (numbers: [Int], end: Double, report: ExportSession.Report) {
            let folder = try ExportFolder()
            var arrangement = try ExportSessionTests.arrangement(["thirty.mp4", "turned-90.mp4"], gravity: .resizeAspectFill)
            arrangement.output.encoder = setting
            var options = ExportSession.Options(output: folder.path + "/film.mp4")
            (options.device, options.readers) = (device, .inProcess)
            let report = try ExportSession.run(arrangement, options)
            #expect(folder.names == ["film.mp4"])
            let read = try FilmWriterTests.read(options.output)
            return (Array(read.numbers.prefix(30)), read.end, report)
        }

        @Test("A film is encoded by the device, and the report says by which encoder") func exports() throws {
            let (numbers, end, report) = try film(.hardware, device: "/dev/full")
            #expect(report.encoder == "h264_vaapi" && report.notes == [], "\(report.notes)")
            #expect(numbers == Array(1...30))
            #expect(abs(end - report.length.seconds) < 0.002)
        }

        @Test("Without a device it is encoded in software, which is said") func falls() throws {
            let (numbers, _, report) = try film(.hardware, device: "/dev/dri/renderD191")
            #expect(report.encoder == "libx264" && numbers == Array(1...30))
            let note = report.notes.first ?? ""
            #expect(report.notes.count == 1 && note.contains("encoded in software: h264_vaapi (/dev/dri/renderD191): "), "\(note)")
        }
    }
}
