internal import KioskMedia
internal import KioskPlatform
internal import KioskPlayback
public import KioskVocabulary

// What the player that has an item knows of it. It is asked for under the engine's lock, which is held for some microseconds.

/// How long an item lasts: the duration of AVPlayerItem with its two special values.
public enum ItemDuration: Hashable, Sendable {
    /// It has not been opened yet.
    case unknown
    /// Nobody knows: a live stream, or a file without a length in its header. CMTime's `indefinite`.
    case indefinite
    /// The item time behind its last frame.
    case time(Duration)
}

/// Which track of a kind is played: AVMediaSelection.
public enum TrackSelection: Hashable, Sendable {
    /// The one that the file marks as its default, then the one with most channels or pixels. Of subtitles, what is forced in the language of the sound, or a
    /// file beside the asset that names no language.
    case automatic
    /// The best one in this language, a code of ISO 639 or a tag of BCP 47 (`de`, `deu`, `de-AT`). Where there is none in it, or the text is no
    /// such code, it is as ``automatic``.
    case language(String)
    /// A track of the item's; as ``automatic`` where it has fewer of that kind.
    case track(Asset.Track)
    /// None.
    case none

    var engine: TrackChoice {
        switch self {
        case .automatic: .automatic
        case .language(let text): LanguageCode(text).map(TrackChoice.language) ?? .automatic
        case .track(let track): TrackChoice.numbers ~= track.number ? .number(track.number) : .automatic
        case .none: .off
        }
    }
}

/// What is known of an item while a player has it; all of it is empty, `unknown` or nil before that has opened it, and when it has left the list.
/// From any thread. ``statusUpdates`` tells when there is something to ask for.
extension PlayerItem {
    /// A track of an item.
    public struct Track: Hashable, Sendable {
        /// What the file says of it.
        public var assetTrack: Asset.Track
        /// Whether it is played.
        public var isEnabled: Bool
    }

    /// Why it could not be opened the last time; nil otherwise.
    public var error: PlaybackError? { if case .failed(let error) = status { error } else { nil } }

    /// How long it lasts, within its options: the item time behind its last frame.
    public var duration: ItemDuration {
        switch facts?.duration {
        case .time(let time): .time(time.duration)
        case .indefinite: .indefinite
        case .unknown, nil: .unknown
        }
    }

    /// Pixels across and down of its picture at its own size, upright and of square pixels; nil without a picture, as while its picture track is
    /// switched off.
    public var presentationSize: PixelSize? { facts?.presentationSize }

    /// All its tracks, and which are played.
    public var tracks: [Track] {
        guard let facts else { return [] }
        return facts.tracks.map { Track(assetTrack: Asset.Track($0), isEnabled: facts.selectedTracks.values.contains($0.id)) }
    }

    /// Its chapters in their order, in item time.
    public var chapters: [Asset.Chapter] { facts?.chapters.map(Asset.Chapter.init) ?? [] }

    /// What its file says of itself.
    public var metadata: Asset.Metadata { facts.map { Asset.Metadata($0.metadata) } ?? Asset.Metadata() }

    /// The item times that are there without waiting for the source: all of a file; of a stream what has been received beyond the picture on
    /// the screen, and nothing while it is not on the screen.
    public var loadedTimeRanges: [Range<Duration>] { facts?.loadedTimeRanges.map(\.durations) ?? [] }

    /// The item times that one can seek to; nothing of a live stream.
    public var seekableTimeRanges: [Range<Duration>] { facts?.seekableTimeRanges.map(\.durations) ?? [] }

    /// Whether it is likely to play to its end without waiting for its source.
    ///
    /// Of a stream, the measured speed of the line and what has been received decide: the end must be there before it is played. A live
    /// stream keeps up while it has at least half of its latency in hand. Up to 30 seconds are received ahead; on a slow line it can stay
    /// false with all of these loaded. False while the item is not on the screen, unless it is a file.
    public var isPlaybackLikelyToKeepUp: Bool { facts?.isPlaybackLikelyToKeepUp ?? false }

    /// Plays another track of a kind from now on, or none: of sound within a second or two, while the picture goes on; of the picture by opening
    /// the item once more where it stands; of subtitles at once, or with the next one that the file has. It holds for later showings, too, and may be chosen
    /// before a player has the item.
    ///
    /// - Returns: whether that changes anything: false where it is chosen already.
    @discardableResult public func select(_ selection: TrackSelection, in mediaType: Asset.Track.MediaType) -> Bool {
        let (isChanged, place) = choose(selection, in: mediaType)
        guard isChanged else { return false }
        return place.map { $0.engine.select(selection.engine, of: mediaType.engine, in: $0.id) } ?? true
    }

    /// What the engine knows; nil where none has it.
    private var facts: ItemFacts? { place.flatMap { $0.engine.facts(of: $0.id) } }
}

extension Range<MediaTime> {
    fileprivate var durations: Range<Duration> { lowerBound.duration..<upperBound.duration }
}

extension Asset.Track.MediaType {
    private static let kinds: KeyValuePairs<Self, TrackKind> = [.audio: .audio, .video: .video, .subtitle: .subtitle]

    init(_ kind: TrackKind) { self = Self.kinds.first { $0.value == kind }!.key }
    var engine: TrackKind { Self.kinds.first { $0.key == self }!.value }
}

extension Asset.Track {
    init(_ track: AssetTrack) {
        self.init(
            id: track.id, mediaType: MediaType(track.kind), number: track.number, codec: track.codec,
            languageTag: track.language?.description, title: track.title, isDefault: track.isDefault, sampleRate: track.sampleRate,
            channelCount: track.channelCount)
        (containsOnlyForcedSubtitles, isForHardOfHearing) = (track.isForced, track.isForHardOfHearing)
        if let width = track.width, let height = track.height { naturalSize = PixelSize(width: width, height: height) }
    }
}

extension Asset.Chapter {
    init(_ chapter: AssetChapter) {
        self.init(title: chapter.title, timeRange: (chapter.start..<max(chapter.start, chapter.end)).durations)
    }
}

extension Asset.Metadata {
    init(_ metadata: AssetMetadata) {
        self.init(
            title: metadata.title, artist: metadata.artist, albumName: metadata.album, creationDate: metadata.date,
            hasArtwork: metadata.cover != nil)
    }
}
