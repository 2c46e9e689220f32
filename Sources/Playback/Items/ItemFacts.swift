import KioskMedia
import KioskPlatform
import KioskVocabulary

/// The facts about a playlist item at one moment: the properties of AVPlayerItem. Times are item time.
package struct ItemFacts: Hashable, Sendable {
    /// Whether an item can be played.
    package enum Status: Hashable, Sendable {
        /// kiosk has not opened the item yet.
        case unknown
        /// kiosk has opened the item and decoded its first picture.
        case readyToPlay
        /// kiosk could not open or play the item the last time, for this reason. It retries when the item's turn comes.
        case failed(reason: String)
    }

    /// The duration of an item.
    package enum Duration: Hashable, Sendable {
        /// kiosk has not opened the item yet.
        case unknown
        /// The duration is unknown: a live stream, or an item without a length in its header.
        case indefinite
        case time(MediaTime)
    }

    /// Whether the item can be played.
    package var status = Status.unknown
    /// The item time after its last frame.
    package var duration = Duration.unknown
    /// The size of the picture in pixels across and down, upright and with square pixels; nil without a picture.
    package var presentationSize: PixelSize?
    /// All tracks of the item.
    package var tracks: [AssetTrack] = []
    /// The tracks that play, by their ``AssetTrack/id``. A kind that is off or absent is missing.
    package var selectedTracks: [TrackKind: Int] = [:]
    /// The chapters, in order.
    package var chapters: [AssetChapter] = []
    /// The file's own metadata.
    package var metadata = AssetMetadata()
    /// The ranges that are available without waiting for the source: all of a file; of a stream the part received beyond the picture on the
    /// screen.
    package var loadedTimeRanges: [Range<MediaTime>] = []
    /// The ranges to which you can seek; empty for a live stream.
    package var seekableTimeRanges: [Range<MediaTime>] = []
    /// Whether the item is likely to play to its end without waiting for its source.
    package var isPlaybackLikelyToKeepUp = false

    /// Creates the facts about an item that has not been opened.
    init() {}
}

extension ItemFacts {
    /// The engine's record of an item that it has opened, or tried to open.
    struct Record: Hashable, Sendable {
        var status = Status.unknown
        var asset: AssetDescription?
        var selectedTracks: [TrackKind: Int] = [:]
    }

    /// Creates the facts about an item that is not on the screen.
    ///
    /// - Parameter imageDuration: The duration of a still without a duration of its own.
    init(_ record: Record, of entry: PlaylistItem, imageDuration: MediaTime) {
        status = record.status
        guard let asset = record.asset else { return }
        (tracks, selectedTracks) = (asset.tracks, record.selectedTracks)
        if entry.audioTrack == .off || entry.isMuted { selectedTracks[.audio] = nil }
        (chapters, metadata) = (asset.chapters, asset.metadata)
        presentationSize = asset.video.map { PixelSize(width: $0.presentationSize.width, height: $0.presentationSize.height) }
        let natural = asset.isStill ? entry.start + (entry.slot(isStill: true) ?? imageDuration) : asset.video?.duration ?? asset.duration
        let end = [entry.end, asset.isStill ? nil : entry.duration.map { entry.start + $0 }, natural].compactMap { $0 }.min()
        setDuration(natural == nil ? nil : end, from: entry.start, isSeekable: asset.isSeekable || asset.isStill)
        if asset.isLocal || asset.isStill, case .readyToPlay = status {
            loadedTimeRanges = seekableTimeRanges
            isPlaybackLikelyToKeepUp = true
        }
    }

    /// Sets the item's end, which a playthrough on the screen knows best.
    mutating func setDuration(_ end: MediaTime?, from start: MediaTime, isSeekable: Bool) {
        duration = end.map { .time($0) } ?? .indefinite
        seekableTimeRanges = isSeekable ? end.flatMap { $0 > start ? [start..<$0] : nil } ?? [] : []
    }

    /// Sets the loaded part of a stream on the screen. `time` is the item time on the screen, `ahead` the amount decoded beyond it, `rate`
    /// the item seconds played in a second.
    mutating func setLoaded(_ loaded: LoadedMedia?, from time: MediaTime, rate: Double, ahead: BufferLevel, isWaiting: Bool) {
        loadedTimeRanges = loaded.flatMap { $0.until > time ? [time..<$0.until] : nil } ?? []
        isPlaybackLikelyToKeepUp = loaded.map { keepsUp($0, from: time, rate: rate, ahead: ahead, isWaiting: isWaiting) } ?? false
    }

    /// Returns whether the source keeps up. A live stream arrives as fast as it plays: it keeps up while it holds half its goal. Any other
    /// source must deliver its end before it is played. If the source does not receive ahead, the decoded amount decides.
    private func keepsUp(_ loaded: LoadedMedia, from time: MediaTime, rate: Double, ahead: BufferLevel, isWaiting: Bool) -> Bool {
        if loaded.isWhole { return true }
        if isWaiting { return false }
        if let goal = loaded.goal { return loaded.until - time >= goal.scaled(by: 0.5) }
        guard let speed = loaded.speed, case .time(let end) = duration else {
            return ahead.frames >= Self.enough.frames && ahead.sound >= Self.enough.sound
        }
        return (end - loaded.until).seconds * rate <= (end - time).seconds * speed * Self.speedTrusted
    }

    /// The share of the measured speed to rely on: a clip takes more in some places than in others.
    private static let speedTrusted = 0.9
    /// The decoded amount with which a playing source is ahead of its need: about half the pictures that the queues hold.
    private static let enough = BufferLevel(frames: 3, sound: .milliseconds(60))
}

extension [AssetChapter] {
    /// Returns the place, from 0, of the chapter at an item time; nil before the first chapter.
    package func place(at time: MediaTime) -> Int? { lastIndex { $0.start <= time } }

    /// The time into a chapter after which the step back goes to that chapter's own beginning.
    private static var returnLimit: MediaTime { .seconds(3) }

    /// Returns the start of the chapter `count` after the one at `time` (before it, if negative); nil if there is none.
    func start(_ count: Int, from time: MediaTime) -> MediaTime? {
        guard !isEmpty else { return nil }
        guard let place = place(at: time) else { return count > 0 ? self[0].start : nil }
        let goesToOwn = count < 0 && time - self[place].start > Self.returnLimit
        let target = place + count + (goesToOwn ? 1 : 0)
        return target >= count.signum() && indices.contains(target) ? self[target].start : count < 0 ? self[0].start : nil
    }
}

// The player's reports about its items.
extension PlaybackEngine {
    /// Returns the facts about an item; nil if the item left the list long ago.
    package func facts(of id: QueueItem.ID) -> ItemFacts? {
        pipeline.withLock { pipeline in
            guard let entry = pipeline.cursor.list[id] else { return nil }
            var facts = ItemFacts(
                pipeline.records[id] ?? .init(), of: entry, imageDuration: pipeline.cursor.rules.imageDuration)
            guard let present = pipeline.screen.place?.playthrough, present.position.item == id else { return facts }
            facts.setDuration(present.itemEnd, from: present.item.start, isSeekable: present.isSeekable)
            if !present.isWhole {
                let ahead = BufferLevel(
                    frames: pipeline.framesAhead, sound: audio.ahead(of: audio.timelineTime(at: now()) ?? .zero))
                facts.setLoaded(
                    pipeline.loaded(of: present, at: now()), from: itemTime(pipeline), rate: pipeline.rate, ahead: ahead,
                    isWaiting: pipeline.playback.status == .waitingToPlay)
            } else {
                facts.loadedTimeRanges = facts.seekableTimeRanges
            }
            return facts
        }
    }

    /// The facts about the item on the screen; nil if there is none.
    package var currentFacts: ItemFacts? { snapshot.item.flatMap { facts(of: $0) } }

    // MARK: Tracks

    /// Chooses another track of an item, for its later playthroughs too. Sound changes within a second or two, while the picture goes on.
    /// For a video track kiosk reopens the item at its position. Subtitles change at once, or with the next one that the source has. The
    /// choice lasts until the playlist forgets the item. Returns false if nothing changes: the track is chosen already, or there is no such
    /// item.
    @discardableResult package func select(_ choice: TrackChoice, of kind: TrackKind, in item: QueueItem.ID) -> Bool {
        let isChanged: Bool = pipeline.signal { $0.cursor.list.select(choice, of: kind, in: item) }
        if isChanged, kind == .video { reopen(item) }
        return isChanged
    }

    /// Plays the next sound track of the item on the screen; after the last one, the first.
    func selectNextAudioTrack() {
        guard let item = snapshot.item, let facts = facts(of: item) else { return }
        let tracks = facts.tracks.filter { $0.kind == .audio }
        guard let next = tracks.first(where: { $0.id > facts.selectedTracks[.audio] ?? -1 }) ?? tracks.first else { return }
        select(.number(next.number), of: .audio, in: item)
    }

    /// Shows the next subtitles of the item on the screen: after the last ones none, then the first again.
    func selectNextSubtitles() {
        guard let item = snapshot.item, let facts = facts(of: item) else { return }
        let tracks = facts.tracks.filter { $0.kind == .subtitle }
        let present = tracks.firstIndex { $0.id == facts.selectedTracks[.subtitle] }
        let next = present.map { $0 + 1 } ?? 0
        select(tracks.indices.contains(next) ? .number(tracks[next].number) : .off, of: .subtitle, in: item)
    }

    // MARK: Chapters

    /// Returns the item time at which a chapter of the item on the screen begins, by its number from 1; nil if there is no such chapter.
    func chapterStart(_ number: Int) -> MediaTime? {
        guard let chapters = currentFacts?.chapters, chapters.indices.contains(number - 1) else { return nil }
        return chapters[number - 1].start
    }

    /// Returns the beginning of the chapter `count` after the present one.
    func chapterStart(by count: Int) -> MediaTime? { currentFacts?.chapters.start(count, from: snapshot.time) }
}
