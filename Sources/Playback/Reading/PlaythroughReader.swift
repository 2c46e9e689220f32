import KioskMedia
import KioskPlatform
import KioskReaderProtocol
import KioskVocabulary

/// Reads one playthrough and maps its item time to the timeline. Its state changes in its own methods only; the feeder's thread alone calls
/// them.
///
/// ``nextFrame(over:)`` hands out the pictures in order, each with its place on the timeline. They end at the configured end, at the
/// source's own, or where the playthrough is to fade out. There the reader keeps the picture from which the fade begins. The
/// ``FadePlanner`` decides about it. Either a ``CrossFade`` takes the picture and reads on beneath the next playthrough, or the playthrough
/// is resumed and hands it out.
///
/// While something fades out beneath it, a long picture is handed out in pieces, so that the mixture can change. A still is one picture
/// with the configured duration. A playthrough with only sound has one picture, a cover or none, and lasts as long as its sound
/// (``PlaythroughSound``).
final class PlaythroughReader {
    let reader: any ItemReader
    /// The playthrough. Its end is the configured one, or the container's, until the source has given its last picture.
    var playthrough: Playthrough
    /// The item time at which to stop, from the configuration.
    let limit: MediaTime?
    /// Whether the container gives the length, or it is a still.
    let isLengthKnown: Bool
    /// Whether it has only sound, which sets its length; a cover does not count as a picture.
    let isSoundOnly: Bool

    /// Maps item time to the timeline, since the last seek or change of the rate.
    var mapping: TimeMapping
    /// The timeline instant at which the pictures handed out so far end; for a playthrough with only sound, the instant at which that ends.
    private(set) var end: MediaTime
    var pictures = Pictures.unread
    /// Whether a picture has been handed out since the beginning or the last seek.
    private var hasGivenPicture = false
    /// The one picture of a playthrough with only sound, once it has been read.
    private var cover: VideoFrame?
    /// The item time from which the next playthrough fades in; nil for a cut.
    private var fadeBegin: MediaTime?
    var sound: PlaythroughSound
    /// How many of the reader's problems have been reported, and whether anything was wrong with this playthrough.
    private var problemsTold = 0
    private(set) var isFlawed = false
    /// Whether the source ended by itself, not at a configured end.
    private(set) var hasSourceEnded = false
    /// Sets the speed of a live stream.
    private var liveClock: LiveClock
    private var lastLevel: MediaTime?
    /// The last order to draw subtitles; nil while the order of the opening holds, which had ``openedSubtitles`` as its choice.
    var drawnSubtitles: SubtitleOrder?
    let openedSubtitles: TrackChoice

    enum Pictures: ~Copyable {
        /// The next picture comes from the reader.
        case unread
        /// This one, which has been read: a fade was to begin here, but did not.
        case read(TimedFrame)
        /// The rest of a picture that is handed out in pieces. A still fades out behind it, from `fadeOut`.
        case rest(TimedFrame, fadeOut: TimedFrame?)
        /// None: the playthrough is to fade out from this picture.
        case fadesOut(TimedFrame)
        /// None: all have been handed out.
        case ended
    }

    /// The result of a call for a picture.
    enum Next: ~Copyable {
        case frame(EnqueuedFrame)
        /// There is no further picture; with a complaint if it ends too early.
        case end(complaint: String?)
        /// There is no picture between its beginning and its end.
        case nothing
        /// Reading was cancelled because something else is wanted.
        case cancelled
    }

    /// Creates a reader that begins at item time `itemTime`, which lies at `instant` on the timeline.
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

    /// Whether all pictures have been handed out; the playthrough then ends at ``end``, or fades out.
    var isAtEnd: Bool {
        switch pictures {
        case .fadesOut: true
        case .ended: true
        default: false
        }
    }

    /// Whether reading was cancelled because something else is wanted; do not trust its results then.
    var isCancelled: Bool { reader.interruption.cancelled }

    /// How much of a stream is loaded; nil if the whole source is there.
    var loading: Loading? { playthrough.isWhole ? nil : reader.loading(from: itemTime) }

    /// The item time up to which pictures have been handed out.
    var itemTime: MediaTime { mapping.itemTime(at: end) }

    // MARK: Beginning anew

    /// Begins at `instant` of the timeline, after it has waited for that since it was opened.
    func begin(at instant: MediaTime, rate: Double, format: AudioFormat) {
        restart(at: mapping.itemTime, instant: instant, rate: rate, format)
    }

    /// Moves to an item time and begins there at the timeline's zero, as the playthrough `serial`. Returns false if it cannot seek.
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

    /// Changes the rate from the end of the pictures handed out so far; the sound follows when it gets there.
    func setRate(_ rate: Double) {
        mapping = TimeMapping(itemTime: itemTime, instant: end, rate: rate)
        sound.follow(mapping)
    }

    // MARK: Pictures

    /// Returns the next picture with its place on the timeline, over the picture that `fade` has beneath it. Blocks for reading and
    /// decoding.
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

    /// Ends the pictures: the source has given its last picture, or none.
    private func endOfSource() -> Next {
        pictures = .ended
        hasSourceEnded = true
        if isCancelled { return .cancelled }
        if !hasGivenPicture { return .nothing }
        // The real length is known now, whatever the container said.
        playthrough.itemEnd = itemTime
        if let problem = reader.prematureEnd { return .end(complaint: "ends early: \(problem)") }
        return .end(complaint: ItemInspection.earlyEnd(itemTime, of: reader.description, soundEnd: reader.soundEnd))
    }

    /// Returns a picture with its place on the timeline, or the first piece of it.
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

    /// Returns the one picture of a playthrough with only sound, its cover or the background, without an end. It is needed again when the
    /// rate changes, because pictures tell the item time.
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

    /// The item time of the picture in hand, from which it is to fade out; nil if there is none.
    var fadeOutTime: MediaTime? {
        switch pictures {
        case .fadesOut(let frame): frame.time
        default: nil
        }
    }

    /// Hands over the picture in hand to a caller that reads on from there.
    func takeFadeOut() -> TimedFrame? {
        switch exchange(&pictures, with: .ended) {
        case .fadesOut(let frame): return frame
        default: return nil
        }
    }

    /// Hands out pictures again, from the one in hand up to the end or to the new start of the fade.
    func resume(fadeOutFrom begin: MediaTime?) {
        fadeBegin = begin
        if let frame = takeFadeOut() { pictures = .read(frame) }
    }

    // MARK: Sound

    /// Whether there is sound to read. If the sound sets the length, it is read even if muted. Without libavfilter, there is sound only at
    /// rate 1.
    private var givesSound: Bool {
        guard !playthrough.isStill, reader.hasSound, !sound.hasEnded else { return false }
        return isSoundOnly || !playthrough.item.isMuted && sound.hasFilter
    }

    /// Fills `destination` with sound at the rate of the playthrough. Returns the frames filled, fewer only if the sound has ended.
    func readSound(into destination: UnsafeMutableBufferPointer<Float>, channelCount: Int) -> Int {
        givesSound ? unsafe sound.read(into: destination, channelCount: channelCount, from: reader) : 0
    }

    /// Returns the gain of its volume at an instant of the timeline.
    func gain(at instant: MediaTime) -> Double {
        let item = playthrough.item
        return AudioQueue.gain(ofVolume: item.volumes?.value(at: playthrough.elapsed + instant - mapping.instant) ?? item.volume)
    }

    /// The rate changes that the pictures have made and the sound has not reached.
    var soundRateChanges: [TimeMapping] { sound.rateChanges }

    /// Carries out the first of ``soundRateChanges``. Sound has been enqueued up to `written`, at or past that change.
    func changeSoundRate(written: MediaTime, format: AudioFormat) {
        let change = sound.changeRate(format: format)
        // Sound that is not read is neither padded nor skipped: it falls behind by all that is played.
        if givesSound { sound.catchUp(with: change, written: written, format: format, from: reader) }
    }

    /// Whether its sound has ended without a single sample, though it was played from the beginning.
    var hasNoSound: Bool { isAtEnd && !sound.hasGiven && mapping.itemTime <= playthrough.item.start }

    /// Whether sound is left that will not be heard; called once, when it ends. A codec's padding past the end in the container is not
    /// sound.
    func hasSurplusSound(channelCount: Int) -> Bool {
        let asset = reader.description
        if let video = asset.video, let sound = asset.audio, let duration = sound.duration {
            let soundEnd = (sound.start ?? .zero) + duration - (video.start ?? .zero)
            if soundEnd <= itemTime + .milliseconds(1) { return false }
        }
        var probe = [Float](repeating: 0, count: channelCount)
        return unsafe probe.withUnsafeMutableBufferPointer { unsafe reader.readSamples(into: $0, channelCount: channelCount) } > 0
    }

    /// Notes that `count` more frames of a playthrough with only sound are enqueued, up to the timeline instant `instant`. If `isLast`,
    /// they are its last.
    func enqueuedSound(_ count: Int, to instant: MediaTime, isLast: Bool) {
        end = instant
        if count > 0 { sound.hasGiven = true }
        if isLast { pictures = .ended }
    }

    // MARK: Problems

    /// Returns the problems of the source that are new since the last call.
    func newProblems() -> ArraySlice<String> {
        let problems = reader.problems.dropFirst(problemsTold)
        problemsTold += problems.count
        if !problems.isEmpty { isFlawed = true }
        return problems
    }

    /// Marks this playthrough as faulty, so that a complaint about its item stands.
    func setFlawed() { isFlawed = true }

    // MARK: Live streams: surplus and speed

    /// Discards the surplus that a live stream received while it waited to be played, beyond its goal.
    func catchUpBeforeBeginning() {
        guard let reception = reader.reception, reception.receivedUntil - mapping.itemTime > reception.goal + .seconds(1) else { return }
        // A stream that comes in parts (HLS) keeps the parts that it has from the beginning.
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

    /// Compares the received end of a live stream with the timeline instant that is heard, `heard`. Discards a surplus that is too large
    /// for the clock to make good. `written` is the instant up to which sound has been enqueued.
    ///
    /// - Returns: the pace of the stream; nil if it is no live stream.
    func followSender(heard: MediaTime?, written: MediaTime, format: AudioFormat, mayCatchUp: Bool, at now: HostTime) -> LivePace? {
        guard mapping.rate == 1, !isSoundOnly, let reception = reader.reception else { return nil }
        // Until then, the sound heard is from before this playthrough, or from before the discarded surplus.
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

    // MARK: Another sound track, during playback

    /// Whether its sound is not to be heard. Sound that was read before is still read, so that it can be heard again at once.
    var isSilenced: Bool { playthrough.item.isMuted || playthrough.item.audioTrack == .off }

    /// Plays the sound track that was chosen for its item since it was opened. `written` is the timeline instant up to which sound has been
    /// enqueued. Sound that was read from the old track is heard first. Returns whether the choice has changed.
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

    /// Whether a subtitle track is selected.
    var hasSubtitles: Bool { reader.selectedTracks[.subtitle] != nil }

    /// Takes over the subtitles that were chosen for its item since it was opened. Returns whether the choice has changed.
    func select(subtitles choice: TrackChoice) -> Bool {
        guard choice != playthrough.item.subtitleTrack else { return false }
        playthrough.item.subtitleTrack = choice
        return true
    }

    /// Has subtitles drawn by `order` if that has changed; `time` is the item time on the screen. Returns whether it had the reader draw
    /// them.
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

/// Maps item time to the timeline: `itemTime` lies at `instant`, and `rate` item seconds follow in each timeline second.
struct TimeMapping: Hashable, Sendable {
    var itemTime: MediaTime
    var instant: MediaTime
    var rate: Double

    func instant(of time: MediaTime) -> MediaTime { instant + (time - itemTime).scaled(by: 1 / rate) }

    func itemTime(at instant: MediaTime) -> MediaTime { itemTime + (instant - self.instant).scaled(by: rate) }
}

extension PlaythroughReader {
    /// Reads an opened item, from `instant` of the timeline on. It ends at the configured end or the container's; the end of the frames
    /// decides in the end. A still stands for `imageDuration` if nothing else is configured.
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
