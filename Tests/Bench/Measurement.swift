import Bed

/// The samples of one run: one for most measures, and one per seam, flash or event for the others.
struct Measurement: Equatable {
    var samples: [Measure: [Double]] = [:]

    /// Measures everything in the record of a run of `scenario`.
    init(_ record: Record, _ scenario: BenchCase, _ player: BenchCase.Player) {
        // ffmpeg shows nothing; its frames are those of its option -frames:v.
        if player == .ffmpeg {
            measureUsage(record, frames: scenario.convertedFrames)
            return
        }
        switch scenario.kind {
        case .playback:
            measurePicture(record)
            measureSeams(record)
            measureUsage(record, frames: record.frames.count)
        case .flash: measureFlashes(record)
        case .controls: measureControls(record)
        case .counts: break
        }
    }

    private mutating func measurePicture(_ record: Record) {
        let frames = record.frames
        samples[.firstPicture] = record.firstPicture.map { [$0.milliseconds] }
        samples[.motion] = frames.dropFirst().first.map { [$0.time.milliseconds] }
        // The first and the last frame are not judged.
        if frames.count > 2 { samples[.wrongHolds] = [100 * Double(record.wrongHolds.count) / Double(frames.count - 2)] }
        samples[.skippedFrames] = [1000 * Steps.skippedShare(of: frames)]
        samples[.stepsBack] = [Double(zip(frames, frames.dropFirst()).count { Steps.isBack(from: $0.number, to: $1.number) })]
    }

    private mutating func measureSeams(_ record: Record) {
        let seams = record.seams.filter { !Steps.isBack(from: $0.last.number, to: $0.first.number) }
        // If there are more frames than vblanks, one is skipped now and then, at a seam as elsewhere.
        let cadence = record.clips.first.map { Cadence(frameRate: $0.frameRate, refreshRate: record.refreshRate) }
        samples[.cleanSeams] = seams.map { seam in
            var seam = seam
            if seam.lostFrames == 1, cadence?.holds.contains(0) == true { seam.lostFrames = 0 }
            return seam.isClean ? 1 : 0
        }
        samples[.lastFrameHold] = seams.map { Double($0.last.vblanks) }
        // The hold of a frame at the very end of the log is unknown.
        samples[.firstFrameHold] = seams.filter { $0.first != record.frames.last }.map { Double($0.first.vblanks) }
        guard let sound = record.sound else { return }
        let (holes, audible) = (sound.holes, sound.audible)
        let end = audible.start + audible.duration
        samples[.soundHole] = seams.map(\.first.time).filter { $0 + Self.around < end }.map { seam in
            holes.filter { $0.start > seam - Self.around && $0.start < seam + Self.around }.reduce(0) { $0 + $1.duration.milliseconds }
        }
    }

    /// The greatest distance between a seam of the picture and its seam in the sound.
    private static let around = Duration.milliseconds(300)

    private mutating func measureUsage(_ record: Record, frames: Int) {
        samples[.cpu] = [record.usage.cpu.milliseconds / Double(frames)]
        samples[.peakMemory] = [Double(record.usage.peakMemory) / 1_048_576]
        samples[.peakShare] = [Double(record.usage.peakShare) / 1_048_576]
        guard let first = record.usage.samples.first, let last = record.usage.samples.last, first != last else { return }
        let shown = record.frames.count { first.time <= $0.time && $0.time < last.time }
        if shown > 0 { samples[.steadyCPU] = [(last.cpu - first.cpu).milliseconds / Double(shown)] }
    }

    private mutating func measureFlashes(_ record: Record) {
        guard let sound = record.sound else { return }
        let flashes = record.frames.filter { FlashAndBeep.isFlash($0.number) }.map(\.time)
        samples[.soundOffset] = FlashAndBeep.offsets(flashes: flashes, beeps: sound.onsets).map(\.milliseconds)
    }

    private mutating func measureControls(_ record: Record) {
        for event in record.events {
            guard let name = event.name, let time = event.time, let control = Control(name: name) else { continue }
            let response = control.action == .pause ? Pause.response(to: time, in: record.vblanks) : record.response(to: name)
            let measure: Measure = control.action == .next ? .nextItem : control.device == .touchScreen ? .touch : .key
            samples[measure, default: []] += response.map { [$0.milliseconds] } ?? []
        }
    }
}

/// A visible pause of a clip with a frame for every vblank: it begins at the first vblank without a new frame.
enum Pause {
    /// Returns the time from the event to the pause; nil if the picture went on.
    static func response(to event: Duration, in vblanks: [Vblank]) -> Duration? {
        guard let next = vblanks.firstIndex(where: { $0.time >= event }), next > 0 else { return nil }
        let standing = vblanks.indices[next...].first { vblanks[$0].number == vblanks[$0 - 1].number }
        guard let standing else { return nil }
        // A frame that stood only a little longer is no pause.
        let rest = vblanks[standing...].prefix(stillness)
        return rest.count == stillness && rest.allSatisfy { $0.number == vblanks[standing].number } ? vblanks[standing].time - event : nil
    }

    /// A number of vblanks for which no frame of a playing clip stands.
    private static let stillness = 8
}

/// The steps from one frame's number to the next, within one loop of a clip.
enum Steps {
    /// Returns the share of frames that were never shown. Frames lost at a seam are counted at the seam.
    static func skippedShare(of frames: [ShownFrame]) -> Double {
        // A larger step forward leads to another clip.
        let steps = zip(frames, frames.dropFirst()).map { $1.number - $0.number }.filter { (1...60).contains($0) }
        let due = steps.reduce(0, +)
        return due == 0 ? 0 : Double(due - steps.count) / Double(due)
    }

    /// Returns whether an older picture was shown again. A seam leads back further.
    static func isBack(from last: Int, to next: Int) -> Bool { (1..<20).contains(last - next) }
}

extension Duration {
    var milliseconds: Double { self / .milliseconds(1) }
}
