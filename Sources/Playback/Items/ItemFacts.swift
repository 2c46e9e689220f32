import KioskMedia
import KioskPlatform
import KioskVocabulary

/// What is known of an item of the playlist at one moment: the properties of AVPlayerItem. Times are item time.
package struct ItemFacts: Hashable, Sendable {
    /// Whether an item can be played.
    package enum Status: Hashable, Sendable {
        /// It has not been opened yet.
        case unknown
        /// It has been opened, and its first picture decoded.
        case readyToPlay
        /// It could not be opened or played the last time, for this reason. It is tried again in its place.
        case failed(reason: String)
    }

    /// How long an item lasts.
    package enum Duration: Hashable, Sendable {
        /// It has not been opened yet.
        case unknown
        /// Nobody knows: a live stream, an item without a length in its header.
        case indefinite
        case time(MediaTime)
    }

    /// Whether it can be played.
    package var status = Status.unknown
    /// The item time after its last frame.
    package var duration = Duration.unknown
    /// Pixels across and down of its picture at its own size, upright and of square pixels; nil without a picture.
    package var presentationSize: PixelSize?
    /// All its tracks.
    package var tracks: [AssetTrack] = []
    /// Those that are played, by their ``AssetTrack/id``; a kind that is switched off or not there is missing.
    package var selectedTracks: [TrackKind: Int] = [:]
    /// In their order.
    package var chapters: [AssetChapter] = []
    /// What the file says of itself.
    package var metadata = AssetMetadata()
    /// What is there without waiting for its source: all of a file; of a stream what has been received beyond the picture on the screen.
    package var loadedTimeRanges: [Range<MediaTime>] = []
    /// Where one can seek to; nothing of a live stream.
    package var seekableTimeRanges: [Range<MediaTime>] = []
    /// Whether it is likely to play to its end without waiting for its source.
    package var isPlaybackLikelyToKeepUp = false

    /// Of an item that has not been opened.
    init() {}
}

extension ItemFacts {
    /// What the engine keeps of an item that it has opened, or tried to.
    struct Record: Hashable, Sendable {
        var status = Status.unknown
        var asset: AssetDescription?
        var selectedTracks: [TrackKind: Int] = [:]
    }

    /// What is known of an item that is not on the screen.
    ///
    /// - Parameter imageDuration: how long a still stands that has no duration of its own.
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

    /// Takes over where it ends, which a playthrough that is on the screen knows best.
    mutating func setDuration(_ end: MediaTime?, from start: MediaTime, isSeekable: Bool) {
        duration = end.map { .time($0) } ?? .indefinite
        seekableTimeRanges = isSeekable ? end.flatMap { $0 > start ? [start..<$0] : nil } ?? [] : []
    }

    /// Takes over how much of a stream on the screen is there. `time` is what is on the screen, `ahead` what lies decoded behind it, `rate`
    /// the item seconds a second that are played.
    mutating func setLoaded(_ loaded: LoadedMedia?, from time: MediaTime, rate: Double, ahead: BufferLevel, isWaiting: Bool) {
        loadedTimeRanges = loaded.flatMap { $0.until > time ? [time..<$0.until] : nil } ?? []
        isPlaybackLikelyToKeepUp = loaded.map { keepsUp($0, from: time, rate: rate, ahead: ahead, isWaiting: isWaiting) } ?? false
    }

    /// A live stream comes as fast as it is played: it keeps up while it has half in hand of what it is to have. Of anything else the end
    /// must be received before it is played. Where nobody receives ahead, what is decoded decides.
    private func keepsUp(_ loaded: LoadedMedia, from time: MediaTime, rate: Double, ahead: BufferLevel, isWaiting: Bool) -> Bool {
        if loaded.isWhole { return true }
        if isWaiting { return false }
        if let goal = loaded.goal { return loaded.until - time >= goal.scaled(by: 0.5) }
        guard let speed = loaded.speed, case .time(let end) = duration else {
            return ahead.frames >= Self.enough.frames && ahead.sound >= Self.enough.sound
        }
        return (end - loaded.until).seconds * rate <= (end - time).seconds * speed * Self.speedTrusted
    }

    /// So much of the speed that has been measured is counted on: a clip takes more in some places than in others.
    private static let speedTrusted = 0.9
    /// With so much decoded a source that plays is ahead of its need: about half of what the queues hold of pictures.
    private static let enough = BufferLevel(frames: 3, sound: .milliseconds(60))
}

extension [AssetChapter] {
    /// The chapter that an item time lies in, by its place, from 0; nil before the first.
    package func place(at time: MediaTime) -> Int? { lastIndex { $0.start <= time } }

    /// Into a chapter by more than this, the chapter before is its own beginning.
    private static var returnLimit: MediaTime { .seconds(3) }

    /// Where the chapter `count` behind (before, where negative) the one at `time` begins; nil where there is none.
    func start(_ count: Int, from time: MediaTime) -> MediaTime? {
        guard !isEmpty else { return nil }
        guard let place = place(at: time) else { return count > 0 ? self[0].start : nil }
        let goesToOwn = count < 0 && time - self[place].start > Self.returnLimit
        let target = place + count + (goesToOwn ? 1 : 0)
        return target >= count.signum() && indices.contains(target) ? self[target].start : count < 0 ? self[0].start : nil
    }
}

// What the player tells of its items.
extension PlaybackEngine {
    /// What is known of an item; nil of one that has left the list long ago.
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

    /// The same of the item on the screen; nil where there is none.
    package var currentFacts: ItemFacts? { snapshot.item.flatMap { facts(of: $0) } }

    // MARK: Tracks

    /// Plays another track of an item from now on, in its later playthroughs, too: of its sound within a second or two, while the picture goes on;
    /// of its picture by opening it once more where it stands; of its subtitles at once, or with the next one that the source has. What has been chosen holds
    /// until the item is forgotten. False where that changes nothing: it is chosen already, or there is no such item.
    @discardableResult package func select(_ choice: TrackChoice, of kind: TrackKind, in item: QueueItem.ID) -> Bool {
        let isChanged: Bool = pipeline.signal { $0.cursor.list.select(choice, of: kind, in: item) }
        if isChanged, kind == .video { reopen(item) }
        return isChanged
    }

    /// Plays the sound track after the one that is heard of the item on the screen, after the last the first.
    func selectNextAudioTrack() {
        guard let item = snapshot.item, let facts = facts(of: item) else { return }
        let tracks = facts.tracks.filter { $0.kind == .audio }
        guard let next = tracks.first(where: { $0.id > facts.selectedTracks[.audio] ?? -1 }) ?? tracks.first else { return }
        select(.number(next.number), of: .audio, in: item)
    }

    /// Shows the subtitles after those that are seen of the item on the screen, after the last none, and after none the first.
    func selectNextSubtitles() {
        guard let item = snapshot.item, let facts = facts(of: item) else { return }
        let tracks = facts.tracks.filter { $0.kind == .subtitle }
        let present = tracks.firstIndex { $0.id == facts.selectedTracks[.subtitle] }
        let next = present.map { $0 + 1 } ?? 0
        select(tracks.indices.contains(next) ? .number(tracks[next].number) : .off, of: .subtitle, in: item)
    }

    // MARK: Chapters

    /// The item time at which a chapter of the item on the screen begins, by its number from 1; nil where there is no such.
    func chapterStart(_ number: Int) -> MediaTime? {
        guard let chapters = currentFacts?.chapters, chapters.indices.contains(number - 1) else { return nil }
        return chapters[number - 1].start
    }

    /// The same of a chapter so many behind the present one.
    func chapterStart(by count: Int) -> MediaTime? { currentFacts?.chapters.start(count, from: snapshot.time) }
}
