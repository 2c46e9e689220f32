import CKioskFFmpeg
import KioskPlatform
import TestSupport
import Testing

@testable import KioskMedia

@Suite(.serialized) struct DecodingLoadTests {
    @Test func whatTakesLessThanHalfACoreIsLightUntilItTakesMore() {
        let source = "/clips/load-1.mp4"
        for (share, isLight) in [(0.6, false), (0.3, true), (0.6, true), (0.8, false), (0.6, false), (0.49, true)] {
            DecodingLoad.note(Path(source), share)
            #expect(DecodingLoad.isLight(source) == isLight, "after \(share)")
        }
        #expect(!DecodingLoad.isLight("/clips/load-2.mp4"))
    }

    /// A decoder returns the same pictures with one thread, with three, and with more threads after a seek.
    @Test func oneThreadGivesTheSamePictures() throws {
        let clip = try Clips.named("mix-6.mp4")
        DecodingLoad.note(Path(clip), 0.9)
        let plain = try pictures(of: clip, seekingTo: nil)
        let sought = try pictures(of: clip, seekingTo: .milliseconds(480))
        DecodingLoad.note(Path(clip), 0.1)
        #expect(try pictures(of: clip, seekingTo: nil) == plain)
        DecodingLoad.note(Path(clip), 0.1)
        #expect(try pictures(of: clip, seekingTo: .milliseconds(480)) == sought)
        #expect(plain.count == 50 && sought.count == 26)
        DecodingLoad.note(Path(clip), 0.9)
    }

    /// Returns the times of a clip's pictures and the sums of their luma; if `time` is given, after ten pictures and a seek to it.
    private func pictures(of clip: String, seekingTo time: MediaTime?) throws -> [String] {
        var reader = try MediaReader.open(clip, samples: nil, decoderThreads: 3)
        if let time {
            for _ in 0..<10 { _ = reader.nextFrame() }
            _ = try reader.seek(to: time, precision: .exact)
        }
        var found: [String] = []
        while let frame = reader.nextFrame() {
            let av = frame.frame.av.pointee
            var sum: UInt64 = 0
            for y in 0..<Int(av.height) {
                for x in 0..<Int(av.width) { sum = sum &* 31 &+ UInt64(av.data.0![y * Int(av.linesize.0) + x]) }
            }
            found.append("\(frame.time.nanoseconds) \(sum)")
        }
        return found
    }
}
