// tutorial-merge [--offscreen] FILM CLIP CLIP   merges two clips into FILM, the second fading in over the end of the first, and plays it.
import Foundation
import KioskAVExport
import KioskAVFoundation
import Stage

let stage = try Stage(usage: "tutorial-merge [--offscreen] FILM CLIP CLIP", count: 3)
let (film, firstAsset, secondAsset) = (stage.files[0], AVAsset(url: stage.files[1]), AVAsset(url: stage.files[2]))
let overlap = CMTime(seconds: 1, preferredTimescale: 600)
let start = CMTimeSubtract(firstAsset.duration, overlap)

/// Adds the picture of a clip on a track of its own, and its sound.
func add(_ asset: AVAsset, to mixComposition: AVMutableComposition, at time: CMTime) throws -> AVMutableCompositionTrack? {
    let range = CMTimeRangeMake(start: .zero, duration: asset.duration)
    let track = mixComposition.addMutableTrack(withMediaType: .video, preferredTrackID: kCMPersistentTrackID_Invalid)
    if let video = asset.tracks(withMediaType: .video).first { try track?.insertTimeRange(range, of: video, at: time) }
    let audioTrack = mixComposition.addMutableTrack(withMediaType: .audio, preferredTrackID: kCMPersistentTrackID_Invalid)
    if let audio = asset.tracks(withMediaType: .audio).first { try audioTrack?.insertTimeRange(range, of: audio, at: time) }
    return track
}
let mixComposition = AVMutableComposition()
guard let firstTrack = try add(firstAsset, to: mixComposition, at: .zero),
    let secondTrack = try add(secondAsset, to: mixComposition, at: start)
else { exit(1) }

/// The size of the film. A clip is scaled to its width: a transform is in pixels of the clip.
let renderSize = CGSize(width: 640, height: 360)
func fitting(_ asset: AVAsset) -> CGAffineTransform {
    guard let size = asset.tracks(withMediaType: .video).first?.naturalSize else { return .identity }
    let scale = renderSize.width / Double(size.width)
    return CGAffineTransform(scaleX: scale, y: scale)
}

let mainInstruction = AVMutableVideoCompositionInstruction()
mainInstruction.timeRange = CMTimeRangeMake(start: .zero, duration: CMTimeAdd(start, secondAsset.duration))
let firstInstruction = AVMutableVideoCompositionLayerInstruction(assetTrack: firstTrack)
firstInstruction.setTransform(fitting(firstAsset), at: .zero)
firstInstruction.setOpacity(0, at: firstAsset.duration)
let secondInstruction = AVMutableVideoCompositionLayerInstruction(assetTrack: secondTrack)
secondInstruction.setTransform(fitting(secondAsset), at: .zero)
secondInstruction.setOpacityRamp(fromStartOpacity: 0, toEndOpacity: 1, timeRange: CMTimeRangeMake(start: start, duration: overlap))
// The first layer is in front.
mainInstruction.layerInstructions = [secondInstruction, firstInstruction]
let videoComposition = AVMutableVideoComposition()
videoComposition.instructions = [mainInstruction]
videoComposition.frameDuration = CMTimeMake(value: 1, timescale: 30)
videoComposition.renderSize = renderSize

guard let exporter = AVAssetExportSession(asset: mixComposition, presetName: AVAssetExportPresetMediumQuality) else { exit(1) }
exporter.outputURL = film
exporter.outputFileType = .mov
exporter.shouldOptimizeForNetworkUse = true
exporter.videoComposition = videoComposition
await exporter.export()
if let error = exporter.error {
    print(error.localizedDescription)
    exit(1)
}
let length = CMTimeGetSeconds(AVAsset(url: film).duration)
let expected = CMTimeGetSeconds(mainInstruction.timeRange.duration)
let result = abs(length - expected) < 0.1 ? "as long as it should be" : "\(length) s instead of \(expected)"
print("has merged \(film.lastPathComponent), \(result)")

let player = AVPlayer(url: film)
_ = await player.preroll(atRate: 1)
await player.seek(to: CMTimeAdd(start, CMTime(seconds: 0.5, preferredTimescale: 600)))
try stage.photograph("merge")
await player.seek(to: .zero)
player.play()
if stage.isOffscreen {
    await stage.until("plays it") { player.timeControlStatus == .playing && player.statistics.framesShown > 10 }
} else {
    for await event in player.events { if case .itemEnded = event { break } }
}
player.stop()
