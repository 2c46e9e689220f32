internal import KioskMedia
internal import KioskPlatform
internal import KioskPlayback
public import KioskVocabulary

// Properties of an item from the player that has it. Each read takes the engine's lock, which is held for some microseconds.

/// A choice of the track of a kind: AVMediaSelection.
public enum TrackSelection: Hashable, Sendable {
    /// The file's default track, then the one with most channels or pixels. For subtitles, the forced ones in the language of the sound, or
    /// a file beside the asset that names no language.
    case automatic
    /// The best track in this language, a code of ISO 639 or a tag of BCP 47 (`de`, `deu`, `de-AT`). Without such a track, or if the text
    /// is no such code, the same as ``automatic``.
    case language(String)
    /// A track of the item; the same as ``automatic`` if the item has fewer tracks of that kind.
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

/// The properties of an item while a player has it. They are empty, `unknown` or nil before that player has opened it, and once it has left
/// the list. From any thread. ``statusUpdates`` reports new properties.
extension PlayerItem {
    /// A track of an item.
    public struct Track: Hashable, Sendable {
        /// The asset's track.
        public var assetTrack: Asset.Track
        /// Whether it is in use.
        public var isEnabled: Bool
    }

    /// The error of the last attempt to open it; nil otherwise.
    public var error: PlaybackError? { reading(\.error) { if case .failed(let error) = status { error } else { nil } } }

    /// Its duration within its options: the item time at the end of its last frame. ``CMTime/indefinite`` until the item has been opened, for a
    /// live stream, and for a file without a duration in its header.
    public var duration: CMTime { reading(\.duration) { if case .time(let time) = facts?.duration { CMTime(time) } else { .indefinite } } }

    /// Pixels across and down of its picture at its own size, upright and with square pixels. nil without a picture, also while its picture
    /// track is off.
    public var presentationSize: PixelSize? { reading(\.presentationSize) { facts?.presentationSize } }

    /// All its tracks, and whether each is in use.
    public var tracks: [Track] {
        guard let facts = reading(\.tracks, { facts }) else { return [] }
        return facts.tracks.map { Track(assetTrack: Asset.Track($0), isEnabled: facts.selectedTracks.values.contains($0.id)) }
    }

    /// Its chapters in order, in item time.
    public var chapters: [Asset.Chapter] { reading(\.chapters) { facts?.chapters.map(Asset.Chapter.init) ?? [] } }

    /// The metadata of its file.
    public var metadata: Asset.Metadata { reading(\.metadata) { facts.map { Asset.Metadata($0.metadata) } ?? Asset.Metadata() } }

    /// The item times that are available without waiting for the source: all of a file. Of a stream, the received part beyond the picture
    /// on the screen, and nothing while it is not on the screen.
    public var loadedTimeRanges: [CMTimeRange] { readingOften(\.loadedTimeRanges) { facts?.loadedTimeRanges.map(CMTimeRange.init) ?? [] } }

    /// The item times that it can seek to; none for a live stream.
    public var seekableTimeRanges: [CMTimeRange] { reading(\.seekableTimeRanges) { facts?.seekableTimeRanges.map(CMTimeRange.init) ?? [] } }

    /// Whether it can probably play to its end without waiting for its source.
    ///
    /// For a stream, the measured speed of the line and the received part decide: the end has to arrive before its time to play. A live
    /// stream keeps up while at least half of its latency is buffered. A stream buffers up to 30 seconds; on a slow line this can stay
    /// false with all of them loaded. False while the item is not on the screen, unless it is a file.
    public var isPlaybackLikelyToKeepUp: Bool {
        readingOften(\.isPlaybackLikelyToKeepUp) { facts?.isPlaybackLikelyToKeepUp ?? false }
    }

    /// Plays another track of a kind from now on, or none. Sound changes within a second or two, while the picture continues. For pictures,
    /// the player reopens the item at its current position. Subtitles change at once, or with the next one in the file. The choice also
    /// holds for later showings, and can be made before a player has the item.
    ///
    /// - Returns: whether that changes anything: false if the choice is the current one.
    @discardableResult public func select(_ selection: TrackSelection, in mediaType: Asset.Track.MediaType) -> Bool {
        let (isChanged, place) = choose(selection, in: mediaType)
        guard isChanged else { return false }
        defer { noteChange() }
        return place.map { $0.engine.select(selection.engine, of: mediaType.engine, in: $0.id) } ?? true
    }

    /// The engine's facts; nil if no engine has the item.
    private var facts: ItemFacts? { place.flatMap { $0.engine.facts(of: $0.id) } }
}

extension CMTimeRange {
    init(_ range: Range<MediaTime>) { self.init(start: CMTime(range.lowerBound), end: CMTime(range.upperBound)) }
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
        self.init(title: chapter.title, timeRange: CMTimeRange(chapter.start..<max(chapter.start, chapter.end)))
    }
}

extension Asset.Metadata {
    init(_ metadata: AssetMetadata) {
        self.init(
            title: metadata.title, artist: metadata.artist, albumName: metadata.album, creationDate: metadata.date,
            hasArtwork: metadata.cover != nil)
    }
}
