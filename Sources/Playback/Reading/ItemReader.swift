import KioskMedia
import KioskPlatform
import KioskReaderProtocol
import KioskReaders
import KioskVocabulary

/// The cached files of network sources. Cache implements it; all calls come from threads that open items.
package protocol AssetFiles: Sendable {
    /// Returns the file to open instead of a source; nil if there is none.
    func file(for source: String) -> String?
    /// Notes that the file that was returned for the source cannot be played.
    func reject(_ source: String, at file: String)
}

/// A reader of an item: its pictures and its samples, each in order, from a chosen item time on.
///
/// ``SourceReader`` reads files and streams. The tests' simulation has synthetic media, so that it runs everything above this protocol.
///
/// The protocol is bound to classes. The opener hands the feeder one reference. A call is one call through a table, without a box or a copy
/// of the reader's contents. Properties that are read for every picture are cheap; `description` is a large value, and not among them. One
/// thread at a time uses a reader.
protocol ItemReader: AnyObject, Sendable {
    /// The description of the source.
    var description: AssetDescription { get }
    /// How long a frame lasts at the average rate; nil for stills, and if the container does not say.
    var nominalFrameDuration: MediaTime? { get }
    /// Whether there is sound that can be played.
    var hasSound: Bool { get }
    /// The problems of the source, as far as it has been read. Each is listed once; later ones come last.
    var problems: [String] { get }
    /// Why the source ended before its time, if reading it failed half-way.
    var prematureEnd: String? { get }
    /// The item time at which the sound read so far ends; nil if none has been read.
    var soundEnd: MediaTime? { get }
    /// Returns how much of the source is loaded; `time` is the item time up to which its pictures have been handed out.
    func loading(from time: MediaTime) -> Loading
    /// The received data of a live stream that is still to be played; nil for anything else.
    var reception: Reception? { get }
    /// Ends the reader's waits for good; from any thread.
    var interruption: Interruption { get }

    /// Returns the next picture in order, in item time; nil after the last. Blocks for reading and decoding.
    func nextFrame() -> TimedFrame?
    /// Fills `destination` (whole frames) with the next samples. Returns the frames filled, fewer only if the sound has ended.
    func readSamples(into destination: UnsafeMutableBufferPointer<Float>, channelCount: Int) -> Int
    /// Tells the reader that nothing is wanted for a while.
    func rest()
    /// Plays another sound track (``MediaReader/select(audio:at:)``), which begins at item time `time` if there is no sound before it.
    func select(audio choice: TrackChoice, at time: MediaTime) -> MediaReader.AudioSelection
    /// Draws other subtitles, or for another screen; ``takeSubtitles()`` then returns those of item time `time`.
    func draw(_ subtitles: SubtitleOrder, at time: MediaTime)
    /// Returns the news of subtitles since the last call, in order.
    func takeSubtitles() -> [SubtitleNews]
    /// The streams of the source that are played, by their kind.
    var selectedTracks: [TrackKind: Int] { get }
    /// Seeks to item time `time`, clamped to the source. Returns the item time of the next picture and sample.
    ///
    /// - Throws: ``MediaError`` if the source cannot seek, or was cancelled.
    func seek(to time: MediaTime, precision: MediaReader.SeekPrecision) throws(MediaError) -> MediaTime
    /// Discards the surplus that was received of a live stream, beyond its goal. Returns the item time of the next picture and sample; nil
    /// if nothing is discarded.
    func catchUp() -> MediaTime?
}

extension ItemReader {
    var reception: Reception? { nil }
    func catchUp() -> MediaTime? { nil }
    func rest() {}
    func draw(_ subtitles: SubtitleOrder, at time: MediaTime) {}
    func takeSubtitles() -> [SubtitleNews] { [] }
}

/// The damage of each source that could not be decoded, by the worst of the passes through it.
final class DamageLog: Sendable {
    private let state = Monitor<[Path: MediaDamage]>([:])

    func add(_ damage: MediaDamage, of source: String) { state.withLock { $0[Path(source), default: MediaDamage()].merge(damage) } }

    /// The damage of a source; nil if all of it could be decoded.
    subscript(source: String) -> MediaDamage? { state.withLock { $0[Path(source)] } }
}
