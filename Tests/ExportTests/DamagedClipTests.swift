import Foundation
import KioskConfiguration
import KioskMedia
import KioskPlatform
import TestSupport
import Testing

@testable import KioskExportCore

/// The notes about clips that cannot be decoded in full.
@Suite(.serialized) struct DamagedClipTests {
    /// Returns the bytes of an MP4, with one in five of its media bytes replaced after `share` of them. The result is the same each time.
    static func damaged(_ path: String, from share: Double) throws -> [UInt8] {
        var bytes = try Clips.bytes(path)
        let name = Array("mdat".utf8)
        let begin = try #require(bytes.indices.first { $0 + 4 <= bytes.count && Array(bytes[$0..<($0 + 4)]) == name })
        let length = bytes[(begin - 4)..<begin].reduce(0) { $0 << 8 | Int($1) }
        var random: UInt64 = 1
        for index in (begin + 4 + Int(Double(length) * share))..<(begin + length - 4) {
            random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            if random >> 40 % 5 == 0 { bytes[index] = UInt8(truncatingIfNeeded: random >> 33) }
        }
        return bytes
    }

    static func clip() throws -> String {
        try Clips.numbered("damage-whole.mp4", frames: 120, rate: 30, size: "640x360", extra: ["-g", "15", "-b:v", "2M"])
    }

    @Test(arguments: [false, true]) func aClipThatIsDamagedHalfWayIsNoted(_ copies: Bool) throws {
        let broken = try Clips.file("damage-half.mp4", Self.damaged(try Self.clip(), from: 0.5))
        let whole = try Self.clip()
        let report = try ExportSessionTests.film(try ExportSessionTests.arrangement([broken, whole, broken]), copies: copies).report
        let notes = report.notes.filter { $0.hasPrefix("\(broken): is damaged from ") }
        #expect(notes.count == 1 && !report.notes.contains { $0.hasPrefix(whole) }, "\(report.notes)")
        let match = try #require(
            notes.first?.firstMatch(of: /from 0:0([0-9.]+) on: ([0-9]+) pictures? and ([0-9]+) packets? of sound could/))
        let (begin, pictures, sound) = (try #require(Double(match.1)), try #require(Int(match.2)), try #require(Int(match.3)))
        // The pictures differ in size, so half of the bytes are not quite half of the time.
        #expect(1...3 ~= begin && 10...120 ~= pictures && sound > 5, "\(match.0)")
    }

    @Test func whatIsWholeHasNoNote() throws {
        for clip in Gallery.moving {
            var reader = try MediaReader.open(Clips.named(clip.name), samples: FilmWriterTests.stereo, decoderThreads: 2)
            var samples = [Float](repeating: 0, count: 4096)
            while reader.nextFrame() != nil {
                _ = samples.withUnsafeMutableBufferPointer { reader.readSamples(into: $0, channelCount: 2) }
            }
            _ = try reader.seek(to: .milliseconds(300), precision: .exact)
            while reader.nextFrame() != nil {}
            let damage = reader.damage
            #expect(damage.isEmpty, "\(clip.name): \(damage)")
        }
    }

    @Test func inWords() {
        var damage = MediaDamage()
        #expect(damage.isEmpty)
        var other = MediaDamage()
        other.merge(damage)
        #expect(other == damage)
        damage = MediaDamage(pictures: 37, sound: 1, begin: .milliseconds(2300))
        #expect(
            damage.description
                == "is damaged from 0:02.3 on: 37 pictures and 1 packet of sound could not be decoded in full: copy or export it again")
        other = MediaDamage(pictures: 2, sound: 5, begin: .seconds(1))
        damage.merge(other)
        #expect(damage == MediaDamage(pictures: 37, sound: 5, begin: .seconds(1)))
    }
}
