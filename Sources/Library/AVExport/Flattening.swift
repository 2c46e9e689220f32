import Foundation
import KioskExport
import KioskPlayer

// A composition of tracks as one value of KioskExport. Parts that follow each other become clips; parts that are seen at the same time become
// overlays over an empty clip as long as the film.

extension AVMutableComposition {
    private typealias Segment = AVMutableCompositionTrack.Segment

    /// Returns the film's content.
    ///
    /// - Throws: ``AVCompositionError`` if kiosk cannot make a film of it.
    func composition(_ video: AVMutableVideoComposition?, _ mix: AVMutableAudioMix?) throws -> Composition {
        let pictures = tracks(withMediaType: .video).filter { $0.isEnabled && !$0.segments.isEmpty }
        var sounds = tracks(withMediaType: .audio).filter(\.isEnabled).flatMap { track in track.segments.map { (track, $0) } }
        // Without instructions, only the rearmost track is seen.
        let isSeen = video == nil ? Array(pictures.prefix(1)) : sorted(pictures, by: video)
        var composition = Composition()
        if let video {
            if video.renderSize != .zero { composition.renderSize = PixelSize(even: video.renderSize) }
            if video.frameDuration.isValid { composition.frameDuration = video.frameDuration }
        }
        var parts: [(segment: Segment, clip: Composition.Clip)] = []
        for track in isSeen {
            for segment in track.segments {
                var clip = Composition.Clip(segment.asset, timeRange: segment.source)
                clip.isMuted = true
                if let place = sounds.firstIndex(where: { $0.1 == segment }) {
                    setSound(of: sounds.remove(at: place).0, segment, mix, &clip)
                }
                setPicture(of: track, segment, video, &clip)
                parts.append((segment, clip))
            }
        }
        // The sound of an asset that is not seen.
        for (track, segment) in sounds {
            guard segment.asset.tracks.contains(where: { $0.mediaType == .video }) else {
                guard composition.music == nil, segment.start == .zero else {
                    throw AVCompositionError(
                        "\(segment.asset.source): a film has one piece of sound without a picture, from its beginning on")
                }
                composition.music = music(of: track, segment, mix)
                continue
            }
            var clip = Composition.Clip(segment.asset, timeRange: segment.source)
            clip.opacity = 0
            setSound(of: track, segment, mix, &clip)
            parts.append((segment, clip))
        }
        arrange(parts, in: &composition)
        return composition
    }

    /// Puts clips one after the other, or over each other if some are there at the same time.
    private func arrange(_ parts: [(segment: Segment, clip: Composition.Clip)], in composition: inout Composition) {
        let ordered = parts.sorted { $0.segment.start < $1.segment.start }
        guard zip(ordered, ordered.dropFirst()).allSatisfy({ $0.segment.end <= $1.segment.start }) else {
            composition.clips = [.empty(duration)]
            composition.overlays = parts.map { Composition.Overlay($0.clip, at: $0.segment.start) }
            return
        }
        var end = CMTime.zero
        for (segment, clip) in ordered {
            if segment.start > end { composition.clips.append(.empty(segment.start - end)) }
            composition.clips.append(clip)
            end = segment.end
        }
        if duration > end { composition.clips.append(.empty(duration - end)) }
    }

    /// Returns the tracks in the order of the first instruction, the rearmost first.
    private func sorted(_ tracks: [AVMutableCompositionTrack], by video: AVMutableVideoComposition?) -> [AVMutableCompositionTrack] {
        let order = video?.instructions.max { $0.layerInstructions.count < $1.layerInstructions.count }?.layerInstructions ?? []
        func place(_ track: AVMutableCompositionTrack) -> Int { order.firstIndex { $0.trackID == track.trackID } ?? order.count }
        return tracks.sorted { place($0) > place($1) }
    }

    private func setPicture(
        of track: AVMutableCompositionTrack, _ segment: Segment, _ video: AVMutableVideoComposition?, _ clip: inout Composition.Clip
    ) {
        guard let video else {
            if track.preferredTransform != .identity { (clip.transform, clip.transformsStoredPicture) = (track.preferredTransform, true) }
            return
        }
        clip.transformsStoredPicture = true
        // Without an instruction for it, a track is not seen.
        clip.opacity = 0
        // The identity alone would let gravity place the picture.
        clip.setTransform(track.preferredTransform, at: .zero)
        for instruction in video.instructions {
            let range = instruction.timeRange.intersection(CMTimeRange(start: segment.start, end: segment.end))
            guard !range.isEmpty else { continue }
            let layer = instruction.layerInstructions.first { $0.trackID == track.trackID }
            let opacities = (layer?.opacities ?? []).within(range, base: layer == nil ? 0 : 1) { $0 + ($1 - $0) * Float($2) }
            let transforms = (layer?.transforms ?? []).within(range, base: track.preferredTransform) { $0.between($1, $2) }
            for change in opacities {
                clip.setOpacityRamp(
                    fromStartOpacity: change.from, toEndOpacity: change.to, timeRange: change.range(from: segment.start))
            }
            for change in transforms {
                clip.setTransformRamp(fromStart: change.from, toEnd: change.to, timeRange: change.range(from: segment.start))
            }
        }
        // After the last instruction.
        if let end = video.instructions.map(\.timeRange.end).max(), end > segment.start, end < segment.end {
            clip.setOpacity(0, at: end - segment.start)
        }
    }

    // MARK: Sound

    private func changes(of track: AVMutableCompositionTrack, _ segment: Segment, _ mix: AVMutableAudioMix?) -> [Change<Float>] {
        let range = CMTimeRange(start: segment.start, end: segment.end)
        let all = mix?.inputParameters.first { $0.trackID == track.trackID }?.volumes ?? []
        return all.within(range, base: track.preferredVolume) { $0 + ($1 - $0) * Float($2) }
    }

    /// Returns the player's volume for a factor of amplitude: its cube root.
    private func volume(_ amplitude: Float) -> Float { cbrt(min(max(amplitude.isNaN ? 1 : amplitude, 0), 1)) }

    private func setSound(
        of track: AVMutableCompositionTrack, _ segment: Segment, _ mix: AVMutableAudioMix?, _ clip: inout Composition.Clip
    ) {
        clip.isMuted = false
        let changes = changes(of: track, segment, mix)
        clip.volume = volume(changes[0].from)
        guard changes.count > 1 || changes[0].from != changes[0].to else { return }
        for change in changes {
            clip.setVolumeRamp(
                fromStartVolume: volume(change.from), toEndVolume: volume(change.to), timeRange: change.range(from: segment.start))
        }
    }

    private func music(of track: AVMutableCompositionTrack, _ segment: Segment, _ mix: AVMutableAudioMix?) -> Composition.Music {
        var music = Composition.Music(segment.asset)
        (music.start, music.mix, music.isRepeated, music.fadeOut) = (segment.source.start, .mix, false, .zero)
        for change in changes(of: track, segment, mix) {
            music.setVolumeRamp(
                fromStartVolume: volume(change.from), toEndVolume: volume(change.to), timeRange: change.range(from: .zero))
        }
        music.setVolume(0, at: segment.end)
        return music
    }
}

extension PixelSize {
    /// Creates the nearest size of even numbers.
    fileprivate init(even size: CGSize) {
        func even(_ length: Double) -> Int { length.isFinite ? Int((min(max(length, 0), 1e6) / 2).rounded()) * 2 : 0 }
        self.init(width: even(size.width), height: even(size.height))
    }
}

extension Change {
    /// The times of the change, counted from another one.
    fileprivate func range(from time: CMTime) -> CMTimeRange { CMTimeRange(start: start - time, end: end - time) }
}

extension Array {
    /// Returns the changes within a range, the first at its start; `base` is the value before the first change of all.
    fileprivate func within<Value>(
        _ range: CMTimeRange, base: Value, between: (Value, Value, Double) -> Value
    ) -> [Change<Value>] where Element == Change<Value> {
        var result = [Change(from: base, to: base, start: range.start, end: range.start)]
        for change in filter(\.start.isNumeric).sorted(by: { $0.start < $1.start }) where change.start < range.end {
            if change.start >= range.start {
                result.append(change)
            } else if change.end <= range.start {
                result[0] = Change(from: change.to, to: change.to, start: range.start, end: range.start)
            } else {
                let share = (range.start - change.start).seconds / (change.end - change.start).seconds
                result[0] = Change(from: between(change.from, change.to, share), to: change.to, start: range.start, end: change.end)
            }
        }
        return result
    }
}

extension CGAffineTransform {
    /// Returns the transform whose numbers lie between those of this and another one.
    fileprivate func between(_ other: CGAffineTransform, _ share: Double) -> CGAffineTransform {
        func number(_ path: KeyPath<CGAffineTransform, Double>) -> Double {
            self[keyPath: path] + (other[keyPath: path] - self[keyPath: path]) * share
        }
        return CGAffineTransform(
            a: number(\.a), b: number(\.b), c: number(\.c), d: number(\.d), tx: number(\.tx), ty: number(\.ty))
    }
}
