import KioskMedia
import KioskPlatform
import KioskReaderProtocol
import KioskReaders
import KioskVocabulary

/// Reads a file or a stream through a reader whose death ends only this source (``ReaderClient``).
final class SourceReader: ItemReader, @unchecked Sendable {
    // Sendable because one thread at a time uses it: the opener's until it is handed over, then the feeder's.
    private let client: ReaderClient
    /// The problems known before it was read.
    private let firstProblems: [String]
    /// The log of damage that could not be decoded.
    private let damages: (log: DamageLog, source: String)?
    /// Called once, when the machine has proved too slow to make a picture of each field.
    private var onTooSlow: (@Sendable () -> Void)?

    /// The end of a turn.
    enum Ending: Sendable {
        case ended
        /// Died for a reason, at an item time; the turn began at `start`.
        case died(String, at: MediaTime, start: MediaTime)
        /// The disk or share gives nothing, for this reason.
        case fellSilent(String)
    }

    /// Called once, when its turn is over, if a picture was seen or the reader died.
    private let onEnding: @Sendable (Ending) -> Void
    /// The item time at which the turn began, and the item time up to which pictures have been handed out.
    private var turn: (start: MediaTime, end: MediaTime)
    private var hasGivenPicture = false, hasDied = false

    /// - Parameter problems: the problems of the source besides those that the reader reports.
    init(
        _ client: ReaderClient, problems: [String], damages: (log: DamageLog, source: String)?, onTooSlow: @escaping @Sendable () -> Void,
        onEnding: @escaping @Sendable (Ending) -> Void
    ) {
        (self.client, firstProblems, self.damages, self.onTooSlow) = (client, problems, damages, onTooSlow)
        (self.onEnding, turn) = (onEnding, (client.start, client.start))
    }

    deinit { if hasGivenPicture, !hasDied { onEnding(.ended) } }

    var description: AssetDescription { client.description }
    var nominalFrameDuration: MediaTime? { client.nominalFrameDuration }
    var hasSound: Bool { client.hasSound }
    var problems: [String] { firstProblems + client.problems }
    var prematureEnd: String? { client.prematureEnd }
    var soundEnd: MediaTime? { client.soundEnd }
    var interruption: Interruption { client.interruption }
    var selectedTracks: [TrackKind: Int] { client.selectedTracks }
    func loading(from time: MediaTime) -> Loading { client.loading(from: time) }
    var reception: Reception? { client.reception }
    func catchUp() -> MediaTime? { client.catchUp() }
    func select(audio choice: TrackChoice, at time: MediaTime) -> MediaReader.AudioSelection { client.select(audio: choice, at: time) }

    func draw(_ subtitles: SubtitleOrder, at time: MediaTime) { client.draw(subtitles, at: time) }
    func takeSubtitles() -> [SubtitleNews] { client.takeSubtitles() }

    func nextFrame() -> TimedFrame? {
        let frame = client.nextFrame()
        tellDamage()
        guard let frame else {
            if let death = client.death, !hasDied, !client.interruption.cancelled {
                hasDied = true
                switch death {
                case .lost: break
                // A server that gives nothing is retried, as the item says.
                case .silent where !client.description.isLocal: break
                case .silent: onEnding(.fellSilent(death.description))
                default: onEnding(.died(death.description, at: turn.end, start: turn.start))
                }
            }
            return nil
        }
        (turn.end, hasGivenPicture) = (frame.time + frame.duration, true)
        if client.isTooSlowForFields, let onTooSlow {
            onTooSlow()
            self.onTooSlow = nil
        }
        return frame
    }

    func readSamples(into destination: UnsafeMutableBufferPointer<Float>, channelCount: Int) -> Int {
        defer { tellDamage() }
        return unsafe client.readSamples(into: destination, channelCount: channelCount)
    }

    func rest() { client.rest() }

    private func tellDamage() {
        if let damages, !client.damage.isEmpty { damages.log.add(client.damage, of: damages.source) }
    }

    func seek(to time: MediaTime, precision: MediaReader.SeekPrecision) throws(MediaError) -> MediaTime {
        let landed = try client.seek(to: time, precision: precision)
        turn = (landed, landed)
        return landed
    }
}
