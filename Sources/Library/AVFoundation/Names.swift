// Apple's names for the types of the libraries. A program that runs on both systems imports by condition:
//
//     #if canImport(AVFoundation)
//     import AVFoundation
//     #else
//     import KioskAVFoundation
//     #endif
//
// The article "Coming from AVPlayer" of KioskPlayer lists each symbol: the same, different, or missing, and the reason.
@_exported public import KioskAudio
@_exported public import KioskDisplay
@_exported public import KioskPlayer

/// A player of one item.
public typealias AVPlayer = Player
/// A player of several items.
public typealias AVQueuePlayer = QueuePlayer
/// An asset in a playlist.
public typealias AVPlayerItem = PlayerItem
/// The repetition of an item.
public typealias AVPlayerLooper = PlayerLooper
/// A measurement of an item in a player.
public typealias AVMetricEvent = MetricEvent
/// A variant of a stream.
public typealias AVAssetVariant = Asset.Variant
/// Items to play at times of other items.
public typealias AVPlayerInterstitialEventController = InterstitialEventController
/// Items to play at a time of another item.
public typealias AVPlayerInterstitialEvent = InterstitialEvent
/// The media in a file or at a URL.
public typealias AVAsset = Asset
/// The media in a file or at a URL.
public typealias AVURLAsset = Asset
/// A track of an asset.
public typealias AVAssetTrack = Asset.Track
/// A track of an item.
public typealias AVPlayerItemTrack = PlayerItem.Track
/// The kind of a track.
public typealias AVMediaType = Asset.Track.MediaType
/// How to fit a picture into its place.
public typealias AVLayerVideoGravity = VideoGravity
/// The numerator of a time.
public typealias CMTimeValue = Int64
/// The denominator of a time.
public typealias CMTimeScale = Int32
/// The rule for a time between two units.
public typealias CMTimeRoundingMethod = CMTime.RoundingMethod

extension Player {
    /// Whether a player plays, waits or is paused.
    public typealias TimeControlStatus = KioskPlayer.TimeControlStatus
}

extension TimeControlStatus {
    /// The same as `waitingToPlay`.
    public static var waitingToPlayAtSpecifiedRate: TimeControlStatus { .waitingToPlay }
}
