import KioskMedia
import KioskPlatform
import KioskReaderProtocol
import KioskVocabulary

/// Reads one playthrough and maps its item time to the timeline. Its state changes in its own methods only; the feeder's thread alone calls them.
///
/// ``nextFrame(over:)`` hands out the pictures one after another, each with its place on the timeline, up to the configured end, to the source's own, or to
/// where the playthrough is to fade out. There the picture from which it fades is kept in hand. What comes of it is the ``FadePlanner``'s: a ``CrossFade``
/// takes that picture and reads on beneath the next playthrough; or the playthrough is resumed, and hands that picture out itself.
///
/// A picture that stands for long is handed out in pieces while something fades out beneath it, so that the mixture can change. A still is one picture that
/// lasts as long as is configured. A playthrough that is only sound has one picture, a cover or none, and is as long as its sound (``PlaythroughSound``).
final class PlaythroughReader {
    let reader: any ItemReader
    /// What is played. Its end is what the container says until the last picture has been read.
    var playthrough: Playthrough
    /// Item time at which to stop, by the configuration.
    let limit: MediaTime?
    /// Whether the container tells how long it is.
    let isLengthKnown: Bool
    /// Whether its sound is its length; a cover is no picture in this sense.
    let isSoundOnly: Bool

    /// How item time lies on the timeline from the last seek or change of the rate on.
    var mapping: TimeMapping
    /// Timeline instant at which the pictures handed out so far end; of a playthrough that is only sound, the sound.
    private(set) var end: MediaTime
    var pictures = Pictures.unread
    /// Whether a picture has been handed out since it began or was moved.
    private var hasGivenPicture = false
    /// The one picture of a playthrough that is only sound, once it has been read.
    private var cover: VideoFrame?
    /// Item time from which on the next playthrough fades in; nil for a cut.
    private var fadeBegin: MediaTime?
    var sound: PlaythroughSound
    /// How many of the reader's problems have been told, and whether anything has been wrong with this playthrough.
    private var problemsTold = 0
    private(set) var isFlawed = false
    /// Whether the source ended by itself, and not where it was told to.
    private(set) var hasSourceEnded = false
    /// How fast a live stream is played.
    private var liveClock: LiveClock
    private var lastLevel: MediaTime?
    /// How its subtitles are drawn; nil as they were when it was opened, with this choice.
    var drawnSubtitles: SubtitleOrder?
    let openedSubtitles: TrackChoice

    enum Pictures: ~Copyable {
        /// The reader's next.
        case unread
        /// This one, which has been read: it was to fade out from here, and nothing came of that.
        case read(TimedFrame)
        /// The rest of one that is handed out in pieces. A still fades out behind it, from `fadeOut`.
        case rest(TimedFrame, fadeOut: TimedFrame?)
        /// None: it is to fade out from this one.
        case fadesOut(TimedFrame)
        /// None: all have been handed out.
        case ended
    }

    /// What the call for a picture came to.
    enum Next: ~Copyable {
        case frame(EnqueuedFrame)
        /// There is no further one; a complaint where that is earlier than it should be.
        case end(complaint: String?)
        /// Not one lies between its beginning and its end.
        case nothing
        /// Reading was given up because something else is wanted.
        case cancelled
    }

    /// A playthrough that begins at item time `itemTime`, which lies at `instant` on the timeline.
    init(
        _ reader: any ItemReader, of playthrough: Playthrough, at itemTime: MediaTime, instant: MediaTime, rate: Double, limit: MediaTime?,
        isLengthKnown: Bool
    ) {
        (self.reader, self.playthrough, self.limit, self.isLengthKnown) = (reader, playthrough, limit, isLengthKnown)
        isSoundOnly = reader.description.video == nil
        openedSubtitles = playthrough.item.subtitleTrack
        mapping = TimeMapping(itemTime: itemTime, instant: instant, rate: rate)
        end = instant
        sound = PlaythroughSound(at: itemTime, rate: rate)
        liveClock = LiveClock(keepsFirst: playthrough.item.source.lowercased().hasPrefix("http") && playthrough.item.stream.latency == nil)
    }

    /// Whether every picture has been handed out; the playthrough then ends at ``end``, or where it fades out.
    var isAtEnd: Bool {
        switch pictures {
        case .fadesOut: true
        case .ended: true
        default: false
        }
    }

    /// Whether its reading was given up because something else is wanted; nothing it gives is to be believed then.
    var isCancelled: Bool { reader.interruption.cancelled }

    /// How much of a stream is there without waiting for its source; nil of what is there as a whole.
    var loading: Loading? { playthrough.isWhole ? nil : reader.loading(from: itemTime) }

    /// The item time up to which pictures have been handed out.
    var itemTime: MediaTime { mapping.itemTime(at: end) }

    // MARK: Beginning anew

    /// Begins at `instant` of the timeline, where it has waited for that since it was opened.
    func begin(at instant: MediaTime, rate: Double, format: AudioFormat) {
        restart(at: mapping.itemTime, instant: instant, rate: rate, format)
    }

    /// Moves to an item time and begins anew there at the timeline's zero, as the playthrough `serial`; false where it cannot be moved
    /// about in.
    func seek(to time: MediaTime, precision: MediaReader.SeekPrecision, serial: UInt64, rate: Double, format: AudioFormat) -> Bool {
        guard !playthrough.isStill, reader.description.isSeekable, let landed = try? reader.seek(to: time, precision: precision) else {
            return false
        }
        playthrough.serial = serial
        playthrough.isSeam = false
        playthrough.position.isPaused = false
        restart(at: landed, instant: .zero, rate: rate, format)
        return true
    }

    private func restart(at itemTime: MediaTime, instant: MediaTime, rate: Double, _ format: AudioFormat) {
        mapping = TimeMapping(itemTime: itemTime, instant: instant, rate: rate)
        end = instant
        pictures = .unread
        hasGivenPicture = false
        sound.restart(at: itemTime, rate: rate, format: format)
    }

    /// Changes the rate from the end of the pictures handed out so far on; the sound follows when it has come there.
    func setRate(_ rate: Double) {
        mapping = TimeMapping(itemTime: itemTime, instant: end, rate: rate)
        sound.follow(mapping)
    }

    // MARK: Pictures

    /// The next picture with its place on the timeline, mixed with what `fade` has beneath it. Blocks for reading and decoding.
    func nextFrame(over fade: CrossFade?) -> Next {
        var frame: TimedFrame?
        switch exchange(&pictures, with: .unread) {
        case .rest(let rest, let fadeOut): return .frame(enqueued(rest, fadeOut: fadeOut, over: fade))
        case .read(let given): frame = consume given
        case .unread: frame = reader.nextFrame()
        default: break
        }
        guard let frame else { return endOfSource() }
        let isStill = playthrough.isStill
        let itemTime = isStill ? self.itemTime : max(frame.time, mapping.itemTime)
        if hasGivenPicture, let fadeBegin, itemTime >= fadeBegin {
            pictures = .fadesOut(frame)
            return .end(complaint: nil)
        }
        if hasGivenPicture, let limit, itemTime >= limit {
            pictures = .ended
            return .end(complaint: nil)
        }
        var itemEnd = frame.time + frame.duration
        if isStill { itemEnd = max(limit ?? itemEnd, itemTime + .milliseconds(1)) }
        if let limit { itemEnd = min(itemEnd, max(limit, itemTime + .milliseconds(1))) }
        var fadeOut: TimedFrame?
        if isStill, let fadeBegin, fadeBegin > itemTime, let copy = frame.frame.shared() {
            itemEnd = fadeBegin
            fadeOut = TimedFrame(frame: copy, time: fadeBegin, duration: .zero)
        }
        let picture = TimedFrame(frame: frame.intoFrame(), time: itemTime, duration: max(itemEnd - itemTime, .zero))
        return .frame(enqueued(picture, fadeOut: fadeOut, over: fade))
    }

    /// The source has given its last picture, or none.
    private func endOfSource() -> Next {
        pictures = .ended
        hasSourceEnded = true
        if isCancelled { return .cancelled }
        if !hasGivenPicture { return .nothing }
        // What the container says of the length, if anything, has proved right or wrong.
        playthrough.itemEnd = itemTime
        if let problem = reader.prematureEnd { return .end(complaint: "ends early: \(problem)") }
        return .end(complaint: ItemInspection.earlyEnd(itemTime, of: reader.description, soundEnd: reader.soundEnd))
    }

    /// A picture with its place on the timeline, or the first piece of it.
    private func enqueued(_ picture: consuming TimedFrame, fadeOut: consuming TimedFrame?, over fade: CrossFade?) -> EnqueuedFrame {
        let (itemTime, itemEnd) = (picture.time, picture.time + picture.duration)
        let start = mapping.instant(of: itemTime)
        var end = max(mapping.instant(of: itemEnd), start)
        var cadence = reader.nominalFrameDuration?.scaled(by: 1 / mapping.rate)
        if let fade, start < fade.end, end - start > CrossFade.longestFrame, let copy = picture.frame.shared() {
            end = start + CrossFade.pieceLength
            cadence = CrossFade.pieceLength
            let time = itemTime + CrossFade.pieceLength.scaled(by: mapping.rate)
            pictures = .rest(TimedFrame(frame: copy, time: time, duration: itemEnd - time), fadeOut: fadeOut)
        } else if let fadeOut {
            pictures = .fadesOut(fadeOut)
        } else {
            pictures = playthrough.isStill ? .ended : .unread
        }
        self.end = end
        return frame(picture.intoFrame(), over: fade, from: start, to: end, itemTime: itemTime, cadence: cadence)
    }

    /// The one picture of a playthrough that is only sound: its cover, or the background, without an end. Again where the rate changes, as
    /// it is the pictures that tell the item time.
    func coverFrame() -> EnqueuedFrame {
        if cover == nil, let read = reader.nextFrame() { cover = read.intoFrame() }
        return frame(
            cover?.shared(), over: nil, from: mapping.instant, to: MediaTime(nanoseconds: .max / 4), itemTime: mapping.itemTime,
            cadence: nil)
    }

    private func frame(
        _ picture: consuming VideoFrame?, over fade: CrossFade?, from start: MediaTime, to end: MediaTime, itemTime: MediaTime,
        cadence: MediaTime?
    ) -> EnqueuedFrame {
        let place = FramePlace(
            start: start, end: end, itemTime: itemTime, rate: mapping.rate, cadence: cadence, playthrough: playthrough,
            isFirst: !hasGivenPicture)
        hasGivenPicture = true
        return EnqueuedFrame(picture, over: fade?.underlay(from: start, to: end), at: place)
    }

    // MARK: Fading out

    func setFadeOut(from begin: MediaTime?) { fadeBegin = begin }

    /// The item time of the picture in hand from which it is to fade out; nil where there is none.
    var fadeOutTime: MediaTime? {
        switch pictures {
        case .fadesOut(let frame): frame.time
        default: nil
        }
    }

    /// Gives up the picture in hand to whom reads on from there.
    func takeFadeOut() -> TimedFrame? {
        switch exchange(&pictures, with: .ended) {
        case .fadesOut(let frame): return frame
        default: return nil
        }
    }

    /// Goes on handing out pictures with the one in hand, up to the end or to where it is to fade out now.
    func resume(fadeOutFrom begin: MediaTime?) {
        fadeBegin = begin
        if let frame = takeFadeOut() { pictures = .read(frame) }
    }

    // MARK: Sound

    /// Whether there is sound of it to be read. Where the sound is the item's length it is read even if it is muted; without libavfilter
    /// there is none at another rate than one.
    private var givesSound: Bool {
        guard !playthrough.isStill, reader.hasSound, !sound.hasEnded else { return false }
        return isSoundOnly || !playthrough.item.isMuted && sound.hasFilter
    }

    /// Fills `destination` with sound at the rate of the playthrough; returns the frames filled, fewer only where it has ended.
    func readSound(into destination: UnsafeMutableBufferPointer<Float>, channelCount: Int) -> Int {
        givesSound ? unsafe sound.read(into: destination, channelCount: channelCount, from: reader) : 0
    }

    /// The changes of the rate that the pictures have made and the sound has not come to.
    var soundRateChanges: [TimeMapping] { sound.rateChanges }

    /// Carries out the first of ``soundRateChanges``, up to which, or further, sound has been enqueued: up to `written`.
    func changeSoundRate(written: MediaTime, format: AudioFormat) {
        let change = sound.changeRate(format: format)
        // Nothing is made ready or skipped of what is not heard: while nobody reads, it falls behind by all that is played.
        if givesSound { sound.catchUp(with: change, written: written, format: format, from: reader) }
    }

    /// Whether its sound has ended without a single sample, though it was played from its beginning.
    var hasNoSound: Bool { isAtEnd && !sound.hasGiven && mapping.itemTime <= playthrough.item.start }

    /// Whether there is sound left that will not be heard; asked once, when it ends. A codec's padding behind the end that the container
    /// tells is not sound.
    func hasSurplusSound(channelCount: Int) -> Bool {
        let asset = reader.description
        if let video = asset.video, let sound = asset.audio, let duration = sound.duration {
            let soundEnd = (sound.start ?? .zero) + duration - (video.start ?? .zero)
            if soundEnd <= itemTime + .milliseconds(1) { return false }
        }
        var probe = [Float](repeating: 0, count: channelCount)
        return unsafe probe.withUnsafeMutableBufferPointer { unsafe reader.readSamples(into: $0, channelCount: channelCount) } > 0
    }

    /// Of a playthrough that is only sound: `count` frames more have been enqueued, up to the timeline instant `instant`; they are its last
    /// where `isLast`.
    func enqueuedSound(_ count: Int, to instant: MediaTime, isLast: Bool) {
        end = instant
        if count > 0 { sound.hasGiven = true }
        if isLast { pictures = .ended }
    }

    // MARK: Problems

    /// What has shown to be wrong with its source since the last call.
    func newProblems() -> ArraySlice<String> {
        let problems = reader.problems.dropFirst(problemsTold)
        problemsTold += problems.count
        if !problems.isEmpty { isFlawed = true }
        return problems
    }

    /// Something was wrong with this playthrough: a complaint about its item stands.
    func setFlawed() { isFlawed = true }

    // MARK: Live streams: what is left out, and how fast they are played

    /// Leaves out what a live stream has received, while it waited to be played, beyond what it is to have in hand.
    func catchUpBeforeBeginning() {
        guard let reception = reader.reception, reception.receivedUntil - mapping.itemTime > reception.goal + .seconds(1) else { return }
        // What comes in parts has all of them from the beginning on.
        if liveClock.keepsFirst, reception.receivedUntil - mapping.itemTime < Self.longestBeginning { return }
        if let landed = reader.catchUp() { mapping.itemTime = landed }
    }

    private var isUnread: Bool {
        switch pictures {
        case .unread: true
        default: false
        }
    }

    private static let longestBeginning = MediaTime.seconds(30)

    /// Compares what has been received of a live stream with what is heard of it, the timeline instant `heard`; leaves out what is too much
    /// for the clock to make good. `written` is the instant up to which sound has been enqueued.
    ///
    /// - Returns: how it is to be played; nil where it is no live stream.
    func followSender(heard: MediaTime?, written: MediaTime, format: AudioFormat, mayCatchUp: Bool, at now: HostTime) -> LivePace? {
        guard mapping.rate == 1, !isSoundOnly, let reception = reader.reception else { return nil }
        // Before that, what is heard is what came before, or before what was left out.
        guard let heard, heard >= mapping.instant else { return pace }
        let level = reception.receivedUntil - mapping.itemTime(at: heard)
        if liveClock.follow(level: level, goal: reception.goal, gaps: reception.gaps, at: now), mayCatchUp, isUnread,
            let landed = reader.catchUp()
        {
            mapping = TimeMapping(itemTime: landed, instant: end, rate: mapping.rate)
            sound.restart(at: landed, rate: mapping.rate, format: format)
            if givesSound { sound.catchUp(with: mapping, written: written, format: format, from: reader) }
        }
        lastLevel = level
        return pace
    }

    private var pace: LivePace { LivePace(serial: playthrough.serial, ratio: liveClock.ratio, latency: lastLevel) }

    // MARK: Another sound track, while it is read

    /// Whether its sound is not to be heard. It is read nevertheless where it has been read before, so that it can be heard again at once.
    var isSilenced: Bool { playthrough.item.isMuted || playthrough.item.audioTrack == .off }

    /// Plays the sound track that was chosen of its item since it was opened; `written` is the timeline instant up to which sound has been
    /// enqueued. What has been read of the track before is heard first.
    /// Returns whether it was another than is read.
    func select(audio choice: TrackChoice, written: MediaTime, format: AudioFormat) -> Bool {
        guard choice != playthrough.item.audioTrack else { return false }
        playthrough.item.audioTrack = choice
        if playthrough.item.isMuted, !isSoundOnly { return true }
        let time = mapping.itemTime(at: max(written, mapping.instant))
        switch reader.select(audio: choice, at: time) {
        case .unchanged: break
        // A track that had ended may be followed by a longer one.
        case .follows: if sound.hasEnded { sound.follow(from: time, format: format) }
        case .begins: sound.follow(from: time, format: format)
        }
        return true
    }
}

extension PlaythroughReader {
    // MARK: Subtitles

    /// Whether some are seen.
    var hasSubtitles: Bool { reader.selectedTracks[.subtitle] != nil }

    /// Shows those from now on that were chosen of its item since it was opened. Returns whether they are others than those that are seen.
    func select(subtitles choice: TrackChoice) -> Bool {
        guard choice != playthrough.item.subtitleTrack else { return false }
        playthrough.item.subtitleTrack = choice
        return true
    }

    /// Has them be drawn by an order, where that is not how they are; `time` is the item time that is on the screen. Returns whether they were.
    func drawSubtitles(_ order: SubtitleOrder, at time: MediaTime?) -> Bool {
        var order = order
        order.choice = playthrough.item.subtitleTrack
        guard order != drawnSubtitles else { return false }
        let isFirst = drawnSubtitles == nil
        drawnSubtitles = order
        // It was opened with these.
        if isFirst, order.choice == openedSubtitles { return false }
        reader.draw(order, at: time ?? mapping.itemTime)
        return true
    }
}

/// How item time lies on the timeline: `itemTime` at `instant`, and `rate` item seconds a timeline second from there on.
struct TimeMapping: Hashable, Sendable {
    var itemTime: MediaTime
    var instant: MediaTime
    var rate: Double

    func instant(of time: MediaTime) -> MediaTime { instant + (time - itemTime).scaled(by: 1 / rate) }

    func itemTime(at instant: MediaTime) -> MediaTime { itemTime + (instant - self.instant).scaled(by: rate) }
}

extension PlaythroughReader {
    /// Reads an item that has been opened, from `instant` of the timeline on. It ends where the configuration says, or the container; the
    /// end of the frames decides in the end. A still stands for `imageDuration` where nothing else is configured.
    convenience init(
        _ opened: ItemOpener.Opened, of upcoming: UpcomingPlaythrough.Item, imageDuration: MediaTime, instant: MediaTime, rate: Double
    ) {
        let (position, item) = (upcoming.position, upcoming.item)
        let description = opened.reader.description
        let time = description.isStill ? upcoming.time : opened.time
        var limit = item.end
        if let slot = position.remaining ?? item.slot(isStill: description.isStill) {
            let begin = position.remaining == nil ? item.start : time
            limit = min(limit ?? begin + slot, begin + slot)
        } else if description.isStill {
            limit = item.start + imageDuration
        }
        let natural = description.video?.duration ?? description.duration
        let itemEnd = [limit, description.isStill ? nil : natural].compactMap { $0 }.min()
        let playthrough = Playthrough(
            serial: upcoming.serial, position: position, item: item, itemEnd: itemEnd, isStill: description.isStill,
            isSeekable: description.isStill || description.isSeekable,
            isWhole: description.isStill || description.isSeekable && description.isLocal, isSeam: upcoming.isSeam)
        self.init(
            opened.reader, of: playthrough, at: time, instant: instant, rate: rate, limit: limit,
            isLengthKnown: natural != nil || description.isStill)
    }
}
