import KioskPlatform

/// The received part of a live stream that is still to be played.
package struct Reception: Hashable, Sendable {
    /// The item time up to which the stream was received; the earlier one of its two streams.
    package var receivedUntil: MediaTime
    /// The intended delay of playback behind reception.
    package var goal: MediaTime
    /// How often the queue ran dry while more was to come.
    package var gaps: Int

    /// Creates the reception up to an item time.
    package init(receivedUntil: MediaTime, goal: MediaTime, gaps: Int) {
        (self.receivedUntil, self.goal, self.gaps) = (receivedUntil, goal, gaps)
    }
}

extension MediaReader {
    /// The reception of a live stream; nil for any other source, or if nothing was read.
    package var reception: Reception? {
        guard let receiver = demuxer.source.receiver, receiver.isLive else { return nil }
        let level = receiver.level
        return received(with: level).map { Reception(receivedUntil: $0, goal: level.goal, gaps: level.gaps) }
    }

    /// Returns the item time up to which the source was received, with `level` in the queue; nil if nothing was read.
    func received(with level: PacketReceiver.Level) -> MediaTime? {
        // A stream whose packets stopped says nothing of the other one.
        let ends = [demuxer.pictureReadTo.map { $0 + (level.pictures ?? .zero) }, demuxer.soundReadTo.map { $0 + (level.sound ?? .zero) }]
            .compactMap { $0 }
        guard let last = ends.max(), let first = ends.min() else { return nil }
        return (last - first < Self.longestLag ? first : last) - origin
    }

    private static let longestLag = MediaTime.seconds(3)

    /// Marks the source as opened: a live stream is received from now on, even if nothing reads it.
    mutating func startReceiving() { demuxer.source.opened() }

    /// Skips received packets of a live stream until only ``Reception/goal`` separates playback from reception. Blocks for decoding, as
    /// later frames depend on skipped ones.
    ///
    /// - Returns: the item time of the next picture and sample; nil if nothing was skipped.
    package mutating func catchUp() -> MediaTime? {
        guard description.video != nil, let receiver = demuxer.source.receiver, let goal = reception?.goal else { return nil }
        let origin = origin
        let landed = pictures?.skip(from: &demuxer) { time, demuxer in
            guard let pictures = receiver.level.pictures, let readTo = demuxer.pictureReadTo else { return false }
            return readTo + pictures - time > goal
        }
        guard let landed else { return nil }
        sound?.restart(at: landed)
        return landed - origin
    }
}
