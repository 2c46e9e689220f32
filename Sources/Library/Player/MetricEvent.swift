internal import KioskMedia
internal import KioskPlatform
public import KioskVocabulary

/// A measurement of an item in a player: AVMetricEvent.
///
///     for await event in player.metrics {
///         if case .stallEnded(let duration) = event.kind { print("\(event.item.asset.source) stood for \(duration.seconds) s") }
///     }
///
/// A player measures from the first read of ``Player/metrics`` or ``PlayerItem/metrics`` on. Its events come from the flips of the display
/// and from the counts that it keeps anyway.
public struct MetricEvent: Hashable, Sendable {
    /// The item that the measurement is about.
    public let item: PlayerItem
    /// The time of the event, by the clock of ``CMTime/hostTime``.
    public let hostTime: CMTime
    /// The item time on the screen at the event.
    public let mediaTime: CMTime
    /// The measurement.
    public let kind: Kind

    /// The kinds of measurements.
    public enum Kind: Hashable, Sendable {
        /// The first frame after a start, a skip or a change of the item is on the screen. `latency` is the time from the request to the
        /// vblank that showed it. An item after a seam has ``seam(lateVblanks:)`` instead.
        case firstFrame(latency: CMTime)
        /// The frame of a seek within an item is on the screen: AVMetricPlayerItemSeekDidCompleteEvent. `latency` is the time from the
        /// request to the vblank that showed it. A seek that a newer one replaced is not measured.
        case seek(latency: CMTime)
        /// An item followed the one before without a seek or a skip. Its first frame came `lateVblanks` vblanks after its time; 0 is a
        /// clean seam.
        case seam(lateVblanks: Int)
        /// Picture and sound stand still, because nothing is ready: AVMetricPlayerItemStallEvent. Reported within 0.1 s.
        case stallBegan
        /// Picture and sound go on, or playback was paused. `duration` is the time for which the sound output had nothing to play.
        case stallEnded(duration: CMTime)
        /// Playback runs after a start, a seek or a stall: AVMetricPlayerItemLikelyToKeepUpEvent. `timeTaken` is the time since the player
        /// began to wait (``TimeControlStatus/waitingToPlay``).
        case likelyToKeepUp(timeTaken: CMTime)
        /// The player has opened a stream with a variant of its HLS list: AVMetricPlayerItemVariantSwitchEvent. `from` is the variant of
        /// the opening before, nil for the first one. A player switches if the line is too slow; it may also do so at the item's next turn.
        case variantSwitch(from: Asset.Variant?, to: Asset.Variant)
        /// The counts of one showing of an item, at its end or when it is left: AVMetricPlayerItemPlaybackSummaryEvent.
        case playbackSummary(Summary)
        /// The item has a fault: AVMetricErrorEvent. The same as ``PlayerEvent/itemFailed(_:_:)``.
        case error(PlaybackError)
    }

    /// The counts of one showing of an item.
    public struct Summary: Hashable, Sendable {
        /// Frames that reached the screen.
        public var framesShown: Int
        /// Of those, the frames that came a vblank or more late.
        public var framesLate: Int
        /// Frames dropped because their time had passed before they could be shown.
        public var framesDropped: Int
        /// The number of stalls.
        public var stallCount: Int
        /// How long they lasted in all.
        public var timeSpentRecoveringFromStall: CMTime
    }
}

extension Asset {
    /// A variant of an HLS list, as the server describes it: AVAssetVariant.
    public struct Variant: Hashable, Sendable {
        /// The maximum bits a second.
        public var peakBitRate: Double
        /// Pixels across and down; nil if the list does not state them, and for sound alone.
        public var presentationSize: PixelSize?

        init(_ variant: AssetDescription.Variant) {
            peakBitRate = variant.bandwidth
            if let width = variant.width, let height = variant.height { presentationSize = PixelSize(width: width, height: height) }
        }
    }
}

extension Player {
    /// The measurements of all its items from now on. Each read returns a sequence of its own, which ends with the player. It keeps the
    /// newest 1024 that are not taken.
    public var metrics: AsyncStream<MetricEvent> {
        board.metrics.begin(engine)
        return board.metrics.events.stream()
    }
}

extension PlayerItem {
    /// The measurements of this item from now on, in any player. Each read returns a sequence of its own. It keeps the newest 1024 that are
    /// not taken.
    public var metrics: AsyncStream<MetricEvent> {
        beginMetrics()
        return measurements.stream()
    }
}
