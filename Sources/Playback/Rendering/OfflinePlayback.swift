import DequeModule
import KioskMedia
import KioskPlatform
import KioskReaderProtocol
import KioskReaders
import KioskVocabulary

/// Plays a list from beginning to end without a display and a sound card, as fast as the caller asks: the engine of ``PlaybackEngine`` on
/// one thread, in the film's own time.
///
///     opener ─▶ feeder ──frames──▶ FrameScheduler ──scene──▶ caller
///                  └───samples──▶ AudioQueue ─────samples──▶
///
/// Opener, feeder, timeline and scheduler are those of live playback, so scaling, fades, gravity, slots, fields and the length of sound
/// work the same. Only the real-time parts are missing: queues of prepared buffers, the presenter's waiting, the card's clock.
///
/// Each ``advance()`` is a vblank of a display that is never late, beside a card that never drifts. Vblank k shows the timeline at exactly
/// k refresh periods; the samples between two vblanks are those between two timeline instants. If frames do not fit the refresh, the sound
/// is not stretched to follow the picture, unlike beside a display (``SoundLock``). Samples pass unchanged, and a frame stands for one
/// vblank more or less once picture and sound differ by ``FrameScheduler/lockedTolerance``. A picture that a display would skip is shown a
/// vblank later if one is free (``FilmGrid``).
package struct OfflinePlayback: ~Copyable {
    /// The result of ``advance()``.
    package enum Step: Hashable, Sendable {
        /// The picture has changed since the vblank before.
        case picture
        /// The same picture.
        case same
        /// The film is over.
        case end
    }

    /// The reason why playback cannot go on.
    package enum Failure: Error, Hashable, Sendable {
        /// The items at these places were not shown. `message` is the engine's last error about the first of them.
        case skipped(places: [Int], message: String?)
        /// There is no picture for this instant, and none will come: a bug in this program.
        case stalled(at: MediaTime)
    }

    /// The beginning of a playthrough.
    package struct Beginning: Hashable, Sendable {
        /// The item's place on the list.
        package var place: Int
        /// The timeline instant.
        package var instant: MediaTime
        /// The vblank that shows its first picture.
        package var vblank: Int64
    }

    private let pipeline: Monitor<Pipeline>
    private let audio: AudioQueue
    private let opener: ItemOpener
    private var feeder: Feeder
    private var scheduler: FrameScheduler
    private let refresh: FrameRate
    private let grid: FilmGrid
    private let cadences: [MediaTime?]
    private let count: Int
    private let clock: Monitor<HostTime>
    private let damages = DamageLog()
    private let complaints: Monitor<[(place: Int, message: String)]>
    /// The frame of the present vblank; empty before the first one.
    private var shown = UniqueDeque<EnqueuedFrame>(minimumCapacity: 2)
    private var candidates: [FrameScheduler.Frame] = []
    private var complaintsTold = 0
    private var beginnings: [Beginning] = []
    /// The playthroughs in ``beginnings``: their serial numbers, and the time of their slots before them.
    private var serials: [(serial: UInt64, elapsed: MediaTime)] = []

    /// The number of vblanks so far, including the present one.
    package private(set) var vblanks: Int64 = 0

    /// The instant before the first vblank.
    private static let origin = HostTime(nanoseconds: 1_000_000_000)

    /// Creates a playback of `items`, one after the other, at a refresh rate from 10 to 240 Hz.
    ///
    /// - Parameters:
    ///   - cadences: The average duration of each item's pictures; nil if unknown.
    ///   - imageDuration: The duration of a still without a duration of its own.
    ///   - transition: The longest fade of an item into the next; zero is a cut.
    ///   - samples: The format of the sound.
    ///   - subtitles: The drawing order for subtitles; nil for none.
    package init(
        _ items: [PlaylistItem], cadences: [MediaTime?], refresh: FrameRate, imageDuration: MediaTime, transition: MediaTime,
        samples: AudioFormat,
        decoderThreads: Int, subtitles: SubtitleOrder? = nil, readers: Readers
    ) {
        var rules = PlaylistRules(loop: .off)
        (rules.imageDuration, rules.transition) = (imageDuration, transition)
        let pipeline = Monitor(Pipeline(cursor: PlaylistCursor(items, rules: rules)), groups: 2)
        let clock = Monitor(Self.origin), complaints = Monitor<[(place: Int, message: String)]>([])
        let audio = AudioQueue(format: samples) {}
        audio.isRunning = true
        var sources = SourceOpener(samples: samples, readers: readers)
        (sources.decoderThreads, sources.takesTime, sources.damages) = (decoderThreads, true, damages)
        sources.subtitles = { subtitles }
        opener = ItemOpener(sources) {}
        feeder = Feeder(
            pipeline: pipeline, audio: audio, opener: opener, imageDuration: imageDuration, transition: transition,
            emit: { event in
                if case .itemFailed(let item, let message) = event { complaints.withLock { $0.append((item.number, message)) } }
            }, wakePresenter: {}, interruptAudio: {}, now: { clock.withLock { $0 } })
        (self.pipeline, self.audio, self.clock, self.complaints) = (pipeline, audio, clock, complaints)
        (self.refresh, grid, self.cadences) = (refresh, FilmGrid(refresh), cadences)
        count = items.count
        scheduler = FrameScheduler(refreshPeriod: refresh.time(of: 1), commitTime: .zero)
        // The vblank before the first.
        scheduler.flipped(at: Self.origin)
    }

    /// The timeline instant of the present vblank.
    package var time: MediaTime { refresh.time(of: max(vblanks - 1, 0)) }

    /// The number of samples of each channel from the beginning of the film to the end of the present vblank.
    package var samplePosition: Int64 { refresh.sample(at: vblanks, sampleRate: audio.format.sampleRate) }

    /// Advances to the next vblank. Reads and decodes the data for it.
    package mutating func advance() throws(Failure) -> Step {
        let instant = refresh.time(of: vblanks)
        let vblank = Self.origin + refresh.time(of: vblanks + 1)
        let half = refresh.time(of: 1).scaled(by: 0.5)
        clock.withLock { $0 = vblank }
        let samples = Int(refresh.sample(at: vblanks + 1, sampleRate: audio.format.sampleRate) - samplePosition)
        try read(until: instant + half, samples: samples)

        let step = choose(at: instant, vblank: vblank)
        if step == .same, shown.isEmpty {
            try checkBeginnings(isOver: true)
            throw .stalled(at: instant)
        }
        if step == .same, isPlayedOut(at: instant + half) {
            try checkBeginnings(isOver: true)
            return .end
        }
        try checkBeginnings(isOver: false)
        scheduler.flipped(at: vblank)
        vblanks += 1
        return step
    }

    private func isPlayedOut(at time: MediaTime) -> Bool {
        guard !shown.isEmpty, shown[0].place.end <= time else { return false }
        return pipeline.withLock { $0.playback.isComplete && $0.frames.isEmpty }
    }

    /// Calls `body` with the scene at the present vblank and the subtitles over it.
    package func withScene<Result>(_ body: (borrowing Scene, Overlay) -> Result) -> Result {
        precondition(!shown.isEmpty, "no vblank has been yet")
        return body(shown[0].scene, pipeline.withLock { $0.drawn[Overlay.Order.subtitles.rawValue] })
    }

    /// A picture of the present scene.
    package struct Picture: Hashable, Sendable {
        /// The item's place on the list.
        package var place: Int
        /// The time since the beginning of the showing: of the playthrough, or of the slot that it helps to fill.
        package var time: MediaTime
    }

    /// Returns the pictures of the present scene, the rearmost first.
    package func pictures() -> [Picture] {
        guard !shown.isEmpty, let serial = shown[0].place.playthrough?.serial, let last = serials.lastIndex(where: { $0.serial == serial })
        else { return [] }
        // In a fade, the playthrough before lies beneath.
        let first = max(last - shown[0].scene.count + 1, 0)
        return (first...last).map { index in
            Picture(place: beginnings[index].place, time: serials[index].elapsed + max(time - beginnings[index].instant, .zero))
        }
    }

    /// Reads the samples of the present vblank, up to ``samplePosition``. Call it once for each vblank.
    package mutating func readSamples(into samples: inout [Float]) {
        let begin = refresh.sample(at: vblanks - 1, sampleRate: audio.format.sampleRate)
        let count = Int(samplePosition - begin) * audio.format.channelCount
        samples = [Float](repeating: 0, count: count)
        unsafe samples.withUnsafeMutableBufferPointer { unsafe audio.render(into: $0) }
        audio.report(unheard: 0, at: clock.withLock { $0 })
    }

    /// Returns the amplitude factor of a volume 0…1, by the player's scale.
    package static func gain(ofVolume volume: Double) -> Double { AudioQueue.gain(ofVolume: volume) }

    /// Returns the errors about items since the last call, by the items' places.
    package mutating func newComplaints() -> [(place: Int, message: String)] {
        let new = complaints.withLock { Array($0.dropFirst(complaintsTold)) }
        complaintsTold += new.count
        return new
    }

    /// Returns the damage found in a source so far; nil if everything was decoded.
    package func damage(of source: String) -> MediaDamage? { damages[source] }

    /// The playthroughs that have begun so far, in order; a playthrough that fades in counts from the start of the fade.
    package var begun: [Beginning] { beginnings }

    // MARK: Reading

    /// The longest time beyond its own at which the scheduler may look for the due picture.
    private static let lookAhead = FrameScheduler.lockedTolerance + .milliseconds(5)

    /// Runs the engine until the picture at `instant` is certain and this many samples are available.
    private mutating func read(until instant: MediaTime, samples: Int) throws(Failure) {
        let wanted = instant + refresh.time(of: 1) + Self.lookAhead
        while true {
            // A long-standing picture, such as a still, is on the screen with nothing queued behind it.
            let shownEnd = shown.isEmpty ? nil : shown[0].place.end
            let (isComplete, end) = pipeline.withLock { pipeline in
                let count = pipeline.frames.count
                return (pipeline.playback.isComplete, count == 0 ? shownEnd : pipeline.frames.withFrame(at: count - 1) { $0.place.end })
            }
            let hasSound = audio.available >= samples
            if isComplete || hasSound && end.map({ $0 >= wanted }) == true { return }
            if opener.step() { continue }
            if let work = feeder.nextWork {
                feeder.carryOut(work)
                continue
            }
            // There is no room for the next picture: drop one that will not be shown.
            if dropPassed(at: instant) { continue }
            if hasSound, end != nil { return }
            try checkBeginnings(isOver: true)
            throw .stalled(at: instant)
        }
    }

    /// Drops the first queued picture if it will not be shown: the one behind it is also due by `instant`.
    private mutating func dropPassed(at instant: MediaTime) -> Bool {
        let vblank = refresh.time(of: vblanks)
        let passed: EnqueuedFrame? = pipeline.withLock { pipeline in
            guard pipeline.frames.count > 1, pipeline.frames.withFrame(at: 1, { $0.place.start <= instant }),
                picture(upTo: 1, at: vblank, in: pipeline.frames) > 0
            else { return nil }
            return pipeline.frames.popFirst()
        }
        guard let passed else { return false }
        note(passed.place)
        return true
    }

    // MARK: Choosing

    private mutating func choose(at instant: MediaTime, vblank: HostTime) -> Step {
        candidates.removeAll(keepingCapacity: true)
        pipeline.withLock { pipeline in
            for index in 0..<pipeline.frames.count {
                candidates.append(
                    pipeline.frames.withFrame(at: index) { .init(start: $0.place.start, cadence: $0.place.cadence) })
            }
        }
        let before = vblank - refresh.time(of: 1).scaled(by: 0.5)
        guard case .show(let index, _, _) = scheduler.decide(now: before, ready: candidates, clock: { instant + ($0 - vblank) }) else {
            return .same
        }
        let chosen = pipeline.withLock { picture(upTo: index, at: instant, in: $0.frames) }
        for _ in 0...chosen {
            guard let frame = pipeline.withLock({ $0.frames.popFirst() }) else { break }
            note(frame.place)
            _ = shown.popFirst()
            shown.append(frame)
        }
        pipeline.withLock { pipeline in
            pipeline.seek.frameShown()
            pipeline.followSubtitles(shown[0].place)
        }
        return .picture
    }

    /// Returns the index of the picture to show, if those up to index `due` are due. It is never an older picture of another playthrough,
    /// because then all that follow would come as late.
    private func picture(upTo due: Int, at instant: MediaTime, in frames: borrowing FrameQueue) -> Int {
        guard let playthrough = frames.withFrame(at: due, { $0.place.playthrough }) else { return due }
        let first = (0...due).first { frames.withFrame(at: $0) { $0.place.playthrough?.serial } == playthrough.serial } ?? due
        let place = playthrough.position.item.number
        return first
            + grid.picture(upTo: due - first, at: instant, cadence: cadences.indices ~= place ? cadences[place] : nil) { index in
                frames.withFrame(at: first + index) { $0.place.start }
            }
    }

    private mutating func note(_ place: FramePlace) {
        guard place.isFirst, let playthrough = place.playthrough else { return }
        beginnings.append(Beginning(place: playthrough.position.item.number, instant: place.start, vblank: vblanks))
        serials.append((playthrough.serial, playthrough.elapsed))
    }

    /// Throws if an item was skipped.
    private func checkBeginnings(isOver: Bool) throws(Failure) {
        let begun = Set(beginnings.map(\.place))
        let last = isOver ? count : begun.max() ?? 0
        let skipped = (0..<last).filter { !begun.contains($0) }
        guard let first = skipped.first else { return }
        let message = complaints.withLock { $0.last { $0.place == first }?.message }
        throw .skipped(places: skipped, message: message)
    }
}
