import KioskMedia
import KioskPlatform

// Measurements for applications. The engine notes the time of each request to move anyway; it measures and reports only after
// ``measure()``.

/// A measurement of a ``PlaybackEngine``, beside those in the other events and in ``PlayerStatistics``.
package enum PlaybackMeasurement: Hashable, Sendable {
    /// The frame that a seek within an item led to is on the screen (`isSeek`), or the first one after a start or a skip. It lies at item
    /// time `time`. `latency` is the time from the request to the vblank that showed it. A request that a newer one replaced is not
    /// measured.
    case moved(item: QueueItem.ID, time: MediaTime, latency: MediaTime, isSeek: Bool)
    /// Picture and sound stand still, because nothing is ready.
    case stallBegan(item: QueueItem.ID)
    /// They go on, or a pause or an end has come. `duration` is the silence that the sound output had to insert.
    case stallEnded(item: QueueItem.ID, duration: MediaTime)
    /// An item has been opened with this variant of its HLS list. `former` is the variant of the opening before; nil for the first one.
    case variantChosen(item: QueueItem.ID, AssetDescription.Variant, former: AssetDescription.Variant?)
}

extension PlaybackEngine {
    /// Emits ``PlaybackEvent/measured(_:)`` from now on, until the end of the player.
    package func measure() { pipeline.withLock { $0.beginMeasuring() } }
}

extension Pipeline {
    /// Measures from now on.
    mutating func beginMeasuring() {
        if !isMeasured { moves.beginMeasuring() }
        isMeasured = true
    }

    /// Notes the time of a request to move, which `generation` shows; nil is the present one.
    mutating func noteRequest(at time: HostTime, shownBy generation: UInt64? = nil, isSeek: Bool = false) {
        moves.requested(at: time, shownBy: generation ?? self.generation, isSeek: isSeek)
    }

    /// Takes the request that a frame of `generation` at `place`, on the screen since `time`, answers: the last of a row of seeks.
    mutating func measured(_ place: FramePlace, _ generation: UInt64, at time: HostTime) -> PlaybackMeasurement? {
        guard let item = place.playthrough?.position.item, generation == self.generation, !seek.hasFollowUp,
            let (latency, isSeek) = moves.measured(generation, at: time)
        else { return nil }
        return .moved(item: item, time: place.itemTime, latency: latency, isSeek: isSeek)
    }

    /// Returns the measurement of a stall, if wanted.
    func measured(_ edge: StallRecord.Edge) -> PlaybackMeasurement? {
        guard isMeasured, let item = screen.place?.playthrough?.position.item else { return nil }
        switch edge {
        case .began: return .stallBegan(item: item)
        case .ended(let duration): return .stallEnded(item: item, duration: duration)
        }
    }

    /// Returns the measurement of an opening, if wanted: the variant of its stream, if that is another one than at the opening before.
    func measured(_ record: ItemFacts.Record, of item: QueueItem.ID) -> PlaybackMeasurement? {
        let former = records[item]?.asset?.variant
        guard isMeasured, let variant = record.asset?.variant, variant != former else { return nil }
        return .variantChosen(item: item, variant, former: former)
    }
}

/// Tells stalls from other silences: the sound output's counts at changes of the status in, edges out. A pure value.
struct StallRecord: Sendable {
    enum Edge: Hashable, Sendable {
        case began
        case ended(MediaTime)
    }

    /// The counts when the last stall had ended.
    private var ended = (count: 0, time: MediaTime.zero)
    private var isUnderWay = false

    /// Notes a change of the status. `isDry`: the clock should run and stands. `stalls` are the counts so far; the end of the last item
    /// adds none.
    mutating func statusChanged(isDry: Bool, stalls: (count: Int, time: MediaTime)) -> Edge? {
        if isDry, stalls.count > ended.count {
            defer { isUnderWay = true }
            return isUnderWay ? nil : .began
        }
        defer { (ended, isUnderWay) = (stalls, false) }
        return isUnderWay ? .ended(stalls.time - ended.time) : nil
    }
}
