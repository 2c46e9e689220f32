public import Foundation
public import KioskAVFoundation
public import KioskExport
public import KioskPlayer

/// The reason why a composition cannot take a part of an asset, or cannot become a film.
public struct AVCompositionError: LocalizedError, Hashable, CustomStringConvertible {
    /// The attempt, the cause of its failure and the remedy: for people.
    public let description: String
    /// The same.
    public var errorDescription: String? { description }

    init(_ description: String) { self.description = description }
}

/// Tracks of parts of assets: the content of a film. One thread at a time uses it.
public final class AVMutableComposition {
    /// The tracks, the rearmost first.
    public private(set) var tracks: [AVMutableCompositionTrack] = []

    /// Creates a composition without a track.
    public init() {}

    /// Adds an empty track; nil for subtitles, which films have in their pictures only.
    public func addMutableTrack(
        withMediaType mediaType: AVMediaType, preferredTrackID trackID: CMPersistentTrackID
    ) -> AVMutableCompositionTrack? {
        guard mediaType != .subtitle else { return nil }
        let isFree = trackID > 0 && !tracks.contains { $0.trackID == trackID }
        let track = AVMutableCompositionTrack(mediaType, isFree ? trackID : (tracks.map(\.trackID).max() ?? 0) + 1)
        tracks.append(track)
        return track
    }

    /// Removes a track.
    public func removeTrack(_ track: AVMutableCompositionTrack) { tracks.removeAll { $0 === track } }

    /// Returns the tracks of a kind.
    public func tracks(withMediaType mediaType: AVMediaType) -> [AVMutableCompositionTrack] { tracks.filter { $0.mediaType == mediaType } }

    /// Inserts a part of an asset, with its picture and its sound, into the first track of each kind; adds tracks that are missing. Blocks
    /// while it opens the asset.
    public func insertTimeRange(_ timeRange: CMTimeRange, of asset: Asset, at startTime: CMTime) throws {
        for kind in [AVMediaType.video, .audio] {
            guard let source = asset.tracks(withMediaType: kind).first else { continue }
            let track = tracks(withMediaType: kind).first ?? addMutableTrack(withMediaType: kind, preferredTrackID: 0)
            try track?.insertTimeRange(timeRange, of: source, at: startTime)
        }
    }

    /// The end of the track that ends last.
    public var duration: CMTime { tracks.map(\.end).max() ?? .zero }
}

/// A track of a composition: parts of assets, one after the other, and gaps between them.
public final class AVMutableCompositionTrack {
    /// A part of an asset in a track.
    struct Segment: Hashable {
        var asset: Asset
        /// The part of the asset.
        var source: CMTimeRange
        /// The time in the composition at which it begins.
        var start: CMTime
        var end: CMTime { start + source.duration }
    }

    /// The kind of the track.
    public let mediaType: AVMediaType
    /// Its number in the composition.
    public let trackID: CMPersistentTrackID
    /// Whether the film has it.
    public var isEnabled = true
    /// The loudness of the track, 0…1.
    public var preferredVolume: Float = 1
    /// The transform of its pictures if no instruction has one, in their own pixels before they are upright. Unless you set it, pictures stand
    /// upright and fit the film.
    public var preferredTransform = CGAffineTransform.identity
    private(set) var segments: [Segment] = []
    /// The end of what has been inserted, gaps too.
    private(set) var end = CMTime.zero

    init(_ mediaType: AVMediaType, _ trackID: CMPersistentTrackID) { (self.mediaType, self.trackID) = (mediaType, trackID) }

    /// The times from zero to its end.
    public var timeRange: CMTimeRange { CMTimeRange(start: .zero, duration: end) }

    /// Inserts a part of a track of an asset. What lies after `startTime` moves back; an invalid time is the end of the track.
    ///
    /// - Throws: ``AVCompositionError`` if a time is none, or the track belongs to no asset or is of another kind.
    public func insertTimeRange(_ timeRange: CMTimeRange, of track: AVAssetTrack, at startTime: CMTime) throws {
        guard let asset = track.asset, track.mediaType == mediaType else {
            throw AVCompositionError(
                "a track of \(track.asset?.source ?? "no asset"): load it from an asset, and insert it into a track of its kind")
        }
        guard timeRange.start.isNumeric, timeRange.duration.isNumeric, timeRange.start >= .zero, timeRange.duration > .zero else {
            throw AVCompositionError("\(asset.source): \(timeRange) is no part of it: use a start and a duration from zero on")
        }
        let start = try shift(timeRange.duration, from: startTime)
        segments.append(Segment(asset: asset, source: timeRange, start: start))
        segments.sort { $0.start < $1.start }
    }

    /// Inserts a gap, which shows the background. What lies after its start moves back.
    public func insertEmptyTimeRange(_ timeRange: CMTimeRange) {
        guard timeRange.duration.isNumeric, timeRange.duration > .zero else { return }
        _ = try? shift(timeRange.duration, from: timeRange.start)
    }

    /// Makes room at a time, and returns it.
    private func shift(_ duration: CMTime, from time: CMTime) throws -> CMTime {
        let start = time.isValid ? time : end
        guard start.isNumeric, start >= .zero else { throw AVCompositionError("\(time) is no time of a track: use one from zero on") }
        segments = segments.flatMap { segment -> [Segment] in
            if segment.end <= start { return [segment] }
            if segment.start >= start { return [Segment(asset: segment.asset, source: segment.source, start: segment.start + duration)] }
            let before = start - segment.start
            return [
                Segment(
                    asset: segment.asset, source: CMTimeRange(start: segment.source.start, duration: before), start: segment.start),
                Segment(
                    asset: segment.asset,
                    source: CMTimeRange(start: segment.source.start + before, duration: segment.source.duration - before),
                    start: start + duration),
            ]
        }
        end = max(end, start) + duration
        return start
    }
}
