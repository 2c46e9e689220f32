import Foundation
import KioskAVFoundation
import KioskConfiguration
import KioskPlatform
import KioskVocabulary
import Testing

@testable import KioskAVExport
@testable import KioskExport
@testable import KioskPlayer

/// Tracks as one value of KioskExport. Tests/Client makes films of them.
@Suite struct AVCompositionTests {
    private func track(_ name: String, _ kind: AVMediaType = .video) -> AVAssetTrack {
        var track = Asset.Track(id: 0, mediaType: kind, number: 1, codec: "h264", isDefault: true)
        track.asset = Asset(name)
        return track
    }

    private func seconds(_ start: Double, _ duration: Double) -> CMTimeRange {
        CMTimeRange(start: .seconds(start), duration: .seconds(duration))
    }

    @Test func `parts that follow each other become clips, with gaps`() throws {
        let mix = AVMutableComposition()
        let video = try #require(mix.addMutableTrack(withMediaType: .video, preferredTrackID: kCMPersistentTrackID_Invalid))
        let audio = try #require(mix.addMutableTrack(withMediaType: .audio, preferredTrackID: kCMPersistentTrackID_Invalid))
        #expect(mix.addMutableTrack(withMediaType: .subtitle, preferredTrackID: 0) == nil && video.trackID != audio.trackID)
        try video.insertTimeRange(seconds(1, 2), of: track("/a.mp4"), at: .zero)
        try video.insertTimeRange(seconds(0, 3), of: track("/b.mp4"), at: .seconds(4))
        try audio.insertTimeRange(seconds(0, 3), of: track("/b.mp4", .audio), at: .seconds(4))
        #expect(mix.duration == .seconds(7))
        let film = try mix.composition(nil, nil)
        var b = Composition.Clip(Asset("/b.mp4"), timeRange: seconds(0, 3))
        b.volume = 1
        var a = Composition.Clip(Asset("/a.mp4"), timeRange: seconds(1, 2))
        a.isMuted = true
        #expect(film.clips == [a, .empty(.seconds(2)), b] && film.overlays == [] && film.music == nil, "\(film)")
    }

    @Test func `an insertion moves what follows, and splits a part`() throws {
        let mix = AVMutableComposition()
        let video = try #require(mix.addMutableTrack(withMediaType: .video, preferredTrackID: 7))
        try video.insertTimeRange(seconds(0, 4), of: track("/a.mp4"), at: .invalid)
        try video.insertTimeRange(seconds(0, 1), of: track("/b.mp4"), at: .seconds(3))
        video.insertEmptyTimeRange(seconds(0, 1))
        #expect(video.trackID == 7 && video.segments.map(\.start) == [.seconds(1), .seconds(4), .seconds(5)])
        #expect(video.segments.map(\.source) == [seconds(0, 3), seconds(0, 1), seconds(3, 1)])
        #expect(throws: AVCompositionError.self) { try video.insertTimeRange(seconds(0, 0), of: track("/a.mp4"), at: .zero) }
        #expect(throws: AVCompositionError.self) { try video.insertTimeRange(seconds(0, 1), of: track("/a.mp4"), at: .seconds(-1)) }
        #expect(throws: AVCompositionError.self) { try video.insertTimeRange(seconds(0, 1), of: track("/a", .audio), at: .zero) }
        #expect(throws: AVCompositionError.self) { try video.insertTimeRange(.invalid, of: track("/a.mp4"), at: .zero) }
    }

    @Test func `tracks at the same time lie over each other, the first instruction in front`() throws {
        let mix = AVMutableComposition()
        let (one, two) = (
            try #require(mix.addMutableTrack(withMediaType: .video, preferredTrackID: 0)),
            try #require(mix.addMutableTrack(withMediaType: .video, preferredTrackID: 0))
        )
        try one.insertTimeRange(seconds(0, 3), of: track("/a.mp4"), at: .zero)
        try two.insertTimeRange(seconds(0, 3), of: track("/b.mp4"), at: .seconds(2))
        // Without instructions only the first is seen.
        #expect(try mix.composition(nil, nil).clips.map(\.asset.source) == ["/a.mp4", ""])
        let video = AVMutableVideoComposition()
        video.renderSize = CGSize(width: 641, height: 360)
        video.frameDuration = CMTime(value: 1, timescale: 30)
        let instruction = AVMutableVideoCompositionInstruction()
        instruction.timeRange = seconds(0, 5)
        let (first, second) = (
            AVMutableVideoCompositionLayerInstruction(assetTrack: one), AVMutableVideoCompositionLayerInstruction(assetTrack: two)
        )
        first.setOpacityRamp(fromStartOpacity: 1, toEndOpacity: 0, timeRange: seconds(2, 1))
        second.setTransform(CGAffineTransform(scaleX: 0.5, y: 0.5), at: .zero)
        instruction.layerInstructions = [first, second]
        video.instructions = [instruction]
        let film = try mix.composition(video, nil)
        #expect(film.clips == [.empty(.seconds(5))] && film.renderSize == PixelSize(width: 642, height: 360))
        #expect(film.overlays.map(\.clip.asset.source) == ["/b.mp4", "/a.mp4"] && film.overlays.map(\.start) == [.seconds(2), .zero])
        let engine = try film.arrangement().insets.map(\.clip.changes)
        #expect(engine.allSatisfy { $0.isOfStored })
        let scales: [Double] = engine.map { $0.transform?.at(MediaTime.zero).to.a ?? 0 }
        #expect(scales == [0.5, 1])
        let opacities: [Double] = [0, 1, 2, 2.5, 3].map { engine[1].opacity?.value(at: MediaTime.seconds($0)) ?? -1 }
        #expect(opacities == [1, 1, 1, 0.5, 0])
    }

    @Test func `the mix of a track is that of its clip, as a factor of the amplitude`() throws {
        let mix = AVMutableComposition()
        let video = try #require(mix.addMutableTrack(withMediaType: .video, preferredTrackID: 0))
        let audio = try #require(mix.addMutableTrack(withMediaType: .audio, preferredTrackID: 0))
        for start in [0.0, 2] {
            try video.insertTimeRange(seconds(0, 2), of: track("/a.mp4"), at: .seconds(start))
            try audio.insertTimeRange(seconds(0, 2), of: track("/a.mp4", .audio), at: .seconds(start))
        }
        let parameters = AVMutableAudioMixInputParameters(track: audio)
        parameters.setVolume(0.125, at: .zero)
        parameters.setVolumeRamp(fromStartVolume: 0.125, toEndVolume: 1, timeRange: seconds(1, 2))
        let audioMix = AVMutableAudioMix()
        audioMix.inputParameters = [parameters]
        let engine = try mix.composition(nil, audioMix).arrangement().clips.map(\.changes.volume)
        func value(_ clip: Int, _ seconds: Double) -> Double { engine[clip]?.value(at: MediaTime.seconds(seconds)) ?? -1 }
        #expect(value(0, 0) == 0.5)
        // Half-way through the ramp the second clip begins.
        let half = Double(cbrt(Float(0.5625)))
        #expect(abs(value(0, 2) - 0.75) < 0.01)
        #expect(abs(value(1, 0) - half) < 0.001 && value(1, 1) == 1)
    }

    @Test func `presets have Apple's names`() {
        let mix = AVMutableComposition()
        #expect(AVAssetExportSession(asset: mix, presetName: "nonsense") == nil)
        #expect(AVAssetExportSession.allExportPresets().allSatisfy { AVAssetExportSession(asset: mix, presetName: $0)?.presetName == $0 })
    }
}
