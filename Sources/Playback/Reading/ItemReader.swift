import KioskMedia
import KioskPlatform
import KioskReaderProtocol
import KioskReaders
import KioskVocabulary

/// Knows the files that are kept of what comes over the network. Cache implements it; all calls come from threads that open items.
package protocol AssetFiles: Sendable {
    /// The file to be opened in place of a source; nil where there is none.
    func file(for source: String) -> String?
    /// That file, which was given out for the source, cannot be played.
    func reject(_ source: String, at file: String)
}

/// What an item is read from: its pictures and its samples, each in order, from a chosen item time on.
///
/// ``SourceReader`` reads files and streams. The tests' simulation has made-up media, so that it runs everything above this protocol.
///
/// Bound to classes: the opener hands the feeder one reference, and a call is one call through a table, without a box or a copy of what the
/// reader holds. What is asked for at every picture is cheap: no `description`, which is a large value. One thread at a time uses a reader.
protocol ItemReader: AnyObject, Sendable {
    /// What the source holds.
    var description: AssetDescription { get }
    /// How long a frame lasts at the average rate; nil for stills and where the container tells none.
    var nominalFrameDuration: MediaTime? { get }
    /// Whether there is sound that can be played.
    var hasSound: Bool { get }
    /// What is wrong with the source, as far as it has been read. Each is there once; what shows later comes last.
    var problems: [String] { get }
    /// Why the source ended before its time, if reading it failed half-way.
    var prematureEnd: String? { get }
    /// Item time at which the sound that has been read ends; nil where none has been.
    var soundEnd: MediaTime? { get }
    /// How much of the source is there without waiting for it; `time` is the item time up to which its pictures have been handed out.
    func loading(from time: MediaTime) -> Loading
    /// What has been received of a live stream and is still to be played; nil of anything else.
    var reception: Reception? { get }
    /// Ends the reader's waiting, for good; from any thread.
    var interruption: Interruption { get }

    /// The next picture in order, in item time; nil after the last. Blocks for reading and decoding.
    func nextFrame() -> TimedFrame?
    /// Fills `destination` (whole frames) with the next samples; returns the frames filled, fewer only when the sound has ended.
    func readSamples(into destination: UnsafeMutableBufferPointer<Float>, channelCount: Int) -> Int
    /// Nothing is wanted for a while.
    func rest()
    /// Plays another sound track (``MediaReader/select(audio:at:)``), which begins at item time `time` where there is no sound before it.
    func select(audio choice: TrackChoice, at time: MediaTime) -> MediaReader.AudioSelection
    /// Draws other subtitles, or for another screen; ``takeSubtitles()`` tells what is seen of them at item time `time` then.
    func draw(_ subtitles: SubtitleOrder, at time: MediaTime)
    /// What has come of subtitles since the last call, in order.
    func takeSubtitles() -> [SubtitleNews]
    /// The streams of the source that are played, by their kind.
    var selectedTracks: [TrackKind: Int] { get }
    /// Goes on at item time `time`, clamped to the source; returns the item time of the next picture and sample.
    ///
    /// - Throws: ``MediaError`` where the source cannot be moved about in, or was cancelled.
    func seek(to time: MediaTime, precision: MediaReader.SeekPrecision) throws(MediaError) -> MediaTime
    /// Leaves out what has been received of a live stream beyond what it is to have in hand; returns the item time of the next picture and
    /// sample, nil where nothing is left out.
    func catchUp() -> MediaTime?
}

extension ItemReader {
    var reception: Reception? { nil }
    func catchUp() -> MediaTime? { nil }
    func rest() {}
    func draw(_ subtitles: SubtitleOrder, at time: MediaTime) {}
    func takeSubtitles() -> [SubtitleNews] { [] }
}

/// What could not be decoded of each source, by the worst of the passes through it.
final class DamageLog: Sendable {
    private let state = Monitor<[Path: MediaDamage]>([:])

    func add(_ damage: MediaDamage, of source: String) { state.withLock { $0[Path(source), default: MediaDamage()].merge(damage) } }

    /// What there is of a source; nil where all of it could be decoded.
    subscript(source: String) -> MediaDamage? { state.withLock { $0[Path(source)] } }
}
