import KioskPlatform

/// What has been received of a live stream and is still to be played.
package struct Reception: Hashable, Sendable {
    /// The item time up to which it has been received, of that of its two streams that has come less far.
    package var receivedUntil: MediaTime
    /// How far behind that it is to be played.
    package var goal: MediaTime
    /// How often everything that was received had been played while more was to come.
    package var gaps: Int

    /// What has been received up to an item time.
    package init(receivedUntil: MediaTime, goal: MediaTime, gaps: Int) {
        (self.receivedUntil, self.goal, self.gaps) = (receivedUntil, goal, gaps)
    }
}

extension MediaReader {
    /// What has been received of it; nil where it is no live stream, or nothing has been read.
    package var reception: Reception? {
        guard let receiver = demuxer.source.receiver, receiver.isLive else { return nil }
        let level = receiver.level
        return received(with: level).map { Reception(receivedUntil: $0, goal: level.goal, gaps: level.gaps) }
    }

    /// The item time up to which it has been received, where so much lies ready; nil where nothing has been read.
    func received(with level: PacketReceiver.Level) -> MediaTime? {
        // A stream whose packets have stopped coming says nothing of the other.
        let ends = [demuxer.pictureReadTo.map { $0 + (level.pictures ?? .zero) }, demuxer.soundReadTo.map { $0 + (level.sound ?? .zero) }]
            .compactMap { $0 }
        guard let last = ends.max(), let first = ends.min() else { return nil }
        return (last - first < Self.longestLag ? first : last) - origin
    }

    private static let longestLag = MediaTime.seconds(3)

    /// The source has been opened: a live stream is received from now on, whether or not it is read.
    mutating func startReceiving() { demuxer.source.opened() }

    /// Leaves out what has been received of a live stream but for what is to lie between what is received and what is played. Blocks for
    /// decoding, as what comes depends on what is left out.
    ///
    /// - Returns: the item time of the next picture and sample; nil where nothing is left out.
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
