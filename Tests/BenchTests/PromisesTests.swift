import Foundation
import Testing

@testable import Bench

@Suite struct PromisesTests {
    private func findings(_ series: [(String, BenchCase.Player, [Measure: [Double]])]) -> Findings {
        Findings(
            circumstances: .example,
            series: series.map { Series(scenario: $0, player: $1.rawValue, runs: 1, samples: $2) })
    }

    @Test func `nothing is promised of what was not measured`() { #expect(findings([]).promises == []) }

    @Test func `figures at the targets keep the promises`() {
        let promises = findings([
            ("720p30@60", .kiosk, [.firstPicture: [250], .cpu: [4], .cleanSeams: [1, 1], .soundHole: [0, 0], .wrongHolds: [0]]),
            ("720p30@60", .mpv, [.firstPicture: [500], .cpu: [10]]), ("720p30@60", .ffmpeg, [.cpu: [3.2]]),
            ("720p30@60-two-items", .kiosk, [.peakShare: [80], .cleanSeams: [1]]), ("720p30@60-two-items", .mpv, [.peakShare: [100]]),
            // 50 Hz is not a multiple of 24 fps, and there are no promises for mpv.
            ("720p24@50", .kiosk, [.wrongHolds: [3]]), ("720p25@50", .mpv, [.wrongHolds: [9], .cleanSeams: [0]]),
            ("flash", .kiosk, [.soundOffset: [-20, 5]]), ("controls", .kiosk, [.touch: [20, 33.3], .key: [16]]),
        ]).promises
        #expect(promises.count == 10)
        #expect(promises.filter { !$0.isKept }.map(\.subject) == [])
    }

    @Test func `figures beyond the targets do not`() {
        let promises = findings([
            ("720p30@60", .kiosk, [.firstPicture: [251], .cpu: [4.1], .cleanSeams: [1, 0], .soundHole: [0, 20], .wrongHolds: [0, 0.3]]),
            ("720p30@60", .mpv, [.firstPicture: [600], .cpu: [10]]), ("720p30@60", .ffmpeg, [.cpu: [3.2]]),
            ("720p30@60-two-items", .kiosk, [.peakShare: [81]]), ("720p30@60-two-items", .mpv, [.peakShare: [100]]),
            ("flash", .kiosk, [.soundOffset: [-20.1, 5]]), ("controls", .kiosk, [.touch: [20, 34], .key: [34]]),
        ]).promises
        #expect(promises.count == 10)
        #expect(promises.filter(\.isKept).map(\.subject) == [])
        #expect(promises.first { $0.subject == "CPU, 720p30@60" }?.measured == "0.41 × mpv")
        #expect(promises.first?.measured == "1 of 2 clean")
    }

    @Test func `counts are compared in the same case`() {
        let promises = findings([
            ("720p30@60", .kiosk, [.systemCalls: [22.1], .instructions: [19.3]]), ("720p30@60", .mpv, [.instructions: [40]]),
            ("720p30@60", .ffmpeg, [.instructions: [18.1]]), ("1080p30@60-copy", .kiosk, [.instructions: [11]]),
            ("1080p30@60-copy", .decoding, [.instructions: [10]]),
        ]).promises
        #expect(promises.map(\.measured) == ["22.1", "0.48 × mpv", "1.07 × ffmpeg", "1.10 × ffmpeg, decoding alone"])
        #expect(promises.map(\.isKept) == [false, false, true, true])
    }

    @Test func `the first picture is judged by 1080p where that was measured`() {
        let promise = findings([
            ("1080p30@60", .kiosk, [.firstPicture: [500]]), ("1080p30@60", .mpv, [.firstPicture: [900]]),
            ("720p30@60", .kiosk, [.firstPicture: [200]]), ("720p30@60", .mpv, [.firstPicture: [900]]),
        ]).promises.first
        #expect(promise?.measured == "500 ms, 0.56 × mpv" && promise?.isKept == false)
    }

    @Test func `the JSON file has every sample beside its summary`() throws {
        let data = try JSONEncoder().encode(findings([("720p30@60", .kiosk, [.firstPicture: [480, 470]])]))
        let object = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
        let series = try #require((object["series"] as? [[String: Any]])?.first)
        let measures = try #require(series["measures"] as? [String: [String: Any]])
        let first = try #require(measures["firstPicture"])
        #expect(series["case"] as? String == "720p30@60" && series["runs"] as? Int == 1 && series["starved"] as? Int == 0)
        #expect(first["median"] as? Double == 475 && first["samples"] as? [Double] == [480, 470])
        #expect((object["circumstances"] as? [String: Any])?["kernel"] as? String == "7.3")
    }
}
