import Foundation
import KioskExport
import KioskPlayer

/// Exports a film of two clips with a fade and with the second clip's sound as music.
func checkExport(_ clips: [String]) async throws {
    let folder = NSTemporaryDirectory() + "kiosk-client-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    var composition = Composition()
    composition.append(Asset(clips[0]), timeRange: CMTimeRange(start: .milliseconds(200), duration: .milliseconds(800)))
    var second = Composition.Clip(Asset(clips[1]), timeRange: CMTimeRange(start: .zero, duration: .seconds(1)))
    second.transition = .fade(.milliseconds(400))
    second.isMuted = true
    composition.clips.append(second)
    var music = Composition.Music(Asset(clips[1]))
    music.mix = .mix
    composition.music = music
    composition.renderSize = PixelSize(width: 320, height: 180)
    composition.frameDuration = CMTime(value: 1, timescale: 25)

    let session = AssetExportSession(composition, preset: .lowQuality)
    Check.expect(session.status == .unknown, "an export waits")
    let progress = Task { [updates = session.progressUpdates] in
        var all: [AssetExportSession.Progress] = []
        for await update in updates { all.append(update) }
        return all
    }
    let path = folder + "/film.mp4"
    let film = try await session.export(to: path)
    let updates = await progress.value
    Check.expect(session.status == .completed && updates.last?.fraction == 1, "an export tells of its progress: \(updates.count)")
    Check.expect(film.duration == .milliseconds(1400) && film.frameCount == 35, "a film of 0.8 and 1 s with a fade of 0.4 s: \(film)")
    let properties = try await Asset(path).load()
    let picture = properties.tracks.first { $0.mediaType == .video }
    Check.expect(
        picture?.naturalSize == PixelSize(width: 320, height: 180) && picture?.nominalFrameRate == 25
            && properties.tracks.contains { $0.mediaType == .audio }, "it has its size, its rate and sound: \(properties.tracks)")

    func code(_ composition: Composition, to path: String, cancels: Bool = false) async -> AssetExportError.Code? {
        let session = AssetExportSession(composition)
        if cancels { session.cancelExport() }
        do { _ = try await session.export(to: path) } catch let error as AssetExportError {
            let isTold = error.localizedDescription == error.description && !error.description.isEmpty
            Check.expect(isTold, "an error of an export is told: \(error)")
            return error.code
        } catch {}
        return nil
    }
    Check.expect(await code(composition, to: path) == .cannotWrite, "no film replaces a file unasked")
    Check.expect(await code(composition, to: folder + "/film.mkv") == .cannotWrite, "a film is MP4 or MOV")
    Check.expect(await code(Composition(), to: folder + "/none.mp4") == .sources, "a film needs a clip")
    Check.expect(await code(Composition([.init(Asset("/nowhere.mp4"))]), to: folder + "/none.mp4") == .sources, "a film needs its clips")
    var odd = composition
    odd.renderSize = PixelSize(width: 321, height: 180)
    Check.expect(await code(odd, to: folder + "/none.mp4") == .invalidComposition, "a size is even")
    odd = composition
    odd.clips[0].timeRange = .invalid
    Check.expect(await code(odd, to: folder + "/none.mp4") == .invalidComposition, "a range is one")
    odd.clips[0].timeRange = CMTimeRange(start: .zero, duration: .positiveInfinity)
    odd.frameDuration = .zero
    Check.expect(await code(odd, to: folder + "/none.mp4") == .invalidComposition, "a frame lasts")
    Check.expect(await code(composition, to: folder + "/none.mp4", cancels: true) == .cancelled, "an export is cancelled")
    do { _ = try await session.export(to: folder + "/again.mp4") } catch let error as AssetExportError {
        Check.expect(error.code == .isUsed, "a session makes one film: \(error)")
    }
    let task = Task { try await AssetExportSession(composition).export(to: folder + "/late.mp4") }
    task.cancel()
    Check.expect((try? await task.value) == nil, "the end of its task cancels it")
    Check.expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["film.mp4"], "nothing else is left")
}

/// Exports a QuickTime film with a picture in the picture, a transform, an opacity and a volume that change, and metadata.
func checkPlaces(_ clips: [String]) async throws {
    let folder = NSTemporaryDirectory() + "kiosk-client-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    var base = Composition.Clip(Asset(clips[0]), timeRange: CMTimeRange(start: .zero, duration: .seconds(1)))
    base.setOpacityRamp(fromStartOpacity: 1, toEndOpacity: 0.5, timeRange: CMTimeRange(start: .zero, duration: .seconds(1)))
    base.setVolumeRamp(fromStartVolume: 1, toEndVolume: 0, timeRange: CMTimeRange(start: .zero, duration: .seconds(1)))
    var small = Composition.Clip(Asset(clips[1]))
    let corner = Composition.Transform(scaleX: 0.25, y: 0.25).concatenating(.init(translationX: 230, y: 10))
    small.transform = corner
    small.setTransformRamp(
        fromStart: corner, toEnd: corner.concatenating(.init(translationX: -220, y: 0)),
        timeRange: CMTimeRange(start: .zero, duration: .milliseconds(500)))
    var composition = Composition([base, .empty(.milliseconds(400))])
    composition.overlays = [.init(small, at: .milliseconds(200))]
    (composition.renderSize, composition.frameDuration) = (PixelSize(width: 320, height: 180), CMTime(value: 1, timescale: 25))
    let session = AssetExportSession(composition, preset: .size640x480)
    (session.outputFileType, session.shouldOptimizeForNetworkUse, session.fileLengthLimit) = (.mov, false, 4_000_000)
    session.metadata.title = "A film\nof two clips"
    let film = try await session.export(to: folder + "/film.mov")
    Check.expect(film.frameCount == 35 && film.notes == [], "a film with a picture in the picture: \(film)")
    Check.expect(session.estimatedOutputFileLength > 1000, "its length was estimated: \(session.estimatedOutputFileLength)")
    let bytes = try Data(contentsOf: URL(fileURLWithPath: film.path))
    Check.expect(bytes[4..<12].elementsEqual("ftypqt  ".utf8), "its file is QuickTime's")
    Check.expect(try await Asset(film.path).load().metadata.title == "A film of two clips", "it has its title, on one line")
}
