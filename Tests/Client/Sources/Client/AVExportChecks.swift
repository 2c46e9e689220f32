import Foundation
import KioskAVExport
import KioskAVFoundation

// Lines of tutorials that merge videos, unchanged except for the imports.

func checkAVExport(_ clips: [String]) async throws {
    let folder = NSTemporaryDirectory() + "kiosk-client-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let first = AVURLAsset(url: URL(fileURLWithPath: clips[0]))
    let second = AVURLAsset(url: URL(fileURLWithPath: clips[1]))
    let url = URL(fileURLWithPath: folder + "/mergeVideo.mov")

    let mix = AVMutableComposition()
    guard let track = mix.addMutableTrack(withMediaType: .video, preferredTrackID: kCMPersistentTrackID_Invalid) else { return }
    try track.insertTimeRange(
        CMTimeRangeMake(start: .zero, duration: first.duration), of: first.tracks(withMediaType: .video)[0], at: .zero)
    guard
        let secondTrack = mix.addMutableTrack(withMediaType: .video, preferredTrackID: Int32(kCMPersistentTrackID_Invalid))
    else { return }
    do {
        try secondTrack.insertTimeRange(
            CMTimeRangeMake(start: .zero, duration: second.duration), of: second.tracks(withMediaType: .video)[0],
            at: first.duration)
    } catch {
        Check.expect(false, "Failed to load second track: \(error)")
        return
    }
    let mainInstruction = AVMutableVideoCompositionInstruction()
    mainInstruction.timeRange = CMTimeRangeMake(start: .zero, duration: CMTimeAdd(first.duration, second.duration))
    let instruction = AVMutableVideoCompositionLayerInstruction(assetTrack: track)
    instruction.setTransform(first.tracks(withMediaType: .video)[0].preferredTransform, at: .zero)
    instruction.setOpacity(0.0, at: first.duration)
    let secondInstruction = AVMutableVideoCompositionLayerInstruction(assetTrack: secondTrack)
    let transform = second.tracks(withMediaType: .video)[0].preferredTransform
    secondInstruction.setTransform(transform.concatenating(CGAffineTransform(scaleX: 0.5, y: 0.5)), at: .zero)
    mainInstruction.layerInstructions = [instruction, secondInstruction]
    let composition = AVMutableVideoComposition()
    composition.instructions = [mainInstruction]
    composition.frameDuration = CMTimeMake(value: 1, timescale: 30)
    composition.renderSize = CGSize(width: 320, height: 180)

    guard let exporter = AVAssetExportSession(asset: mix, presetName: AVAssetExportPresetHighestQuality) else { return }
    exporter.outputURL = url
    exporter.outputFileType = .mov
    exporter.shouldOptimizeForNetworkUse = true
    exporter.videoComposition = composition
    let isDone = Counter()
    exporter.exportAsynchronously {
        isDone.add()
    }
    Check.expect(await eventually { isDone.count == 1 }, "a tutorial's export ends")
    Check.expect(exporter.status == AVAssetExportSession.Status.completed && exporter.error == nil, "with a film: \(exporter.error as Any)")
    let film = AVAsset(url: url)
    let (duration, tracks) = try await film.load(.duration, .tracks)
    let length = CMTimeGetSeconds(first.duration) + CMTimeGetSeconds(second.duration)
    Check.expect(abs(CMTimeGetSeconds(duration) - length) < 0.1, "as long as both clips: \(duration) and \(length)")
    Check.expect(tracks.first { $0.mediaType == .video }?.naturalSize == PixelSize(width: 320, height: 180), "of the render size")

    // An asset alone, a part of it, by the newer form.
    guard let part = AVAssetExportSession(asset: first, presetName: AVAssetExportPreset640x480) else { return }
    part.timeRange = CMTimeRange(start: .zero, duration: CMTime(seconds: 0.4, preferredTimescale: 600))
    try await part.export(to: URL(fileURLWithPath: folder + "/part.mp4"), as: .mp4)
    Check.expect(part.progress == 1 && part.status == .completed, "a part of an asset is exported")
    let missing = AVAssetExportSession(asset: AVAsset("/nowhere.mp4"), presetName: AVAssetExportPresetLowQuality)
    missing?.outputURL = URL(fileURLWithPath: folder + "/none.mp4")
    await missing?.export()
    Check.expect(missing?.status == .failed && missing?.error?.localizedDescription.contains("nowhere") == true, "an error is told")
    Check.expect(
        try FileManager.default.contentsOfDirectory(atPath: folder).sorted() == ["mergeVideo.mov", "part.mp4"], "nothing else is left")
}
