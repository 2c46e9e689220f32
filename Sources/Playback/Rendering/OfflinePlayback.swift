import DequeModule
import KioskMedia
import KioskPlatform
import KioskReaderProtocol
import KioskReaders
import KioskVocabulary

/// Plays a list from its beginning to its end without a display and a sound card, as fast as it is asked to: the engine of ``PlaybackEngine`` on one
/// thread, in the time of the film.
///
///     opener ─▶ feeder ──frames──▶ FrameScheduler ──scene──▶ whoever asked
///                  └───samples──▶ AudioQueue ─────samples──▶
///
/// Opener, feeder, timeline and scheduler are those that play, so scaling, fades, gravity, slots, fields and the length of sound are not
/// decided a second time. What is left out is what real time needs: queues of prepared buffers, the presenter's waiting, the card's clock.
///
/// Each ``advance()`` is a vblank of a display that is never late, beside a card that never drifts: vblank k shows the timeline at exactly
/// k refresh periods, and the samples between two vblanks are those between two instants of the timeline. Where frames do not fit the
/// refresh, the sound is not stretched to follow the picture, as it would be beside a display (``SoundLock``): samples pass as they are, and
/// a frame stands for one vblank more or less when picture and sound are apart by ``FrameScheduler/lockedTolerance``. And a picture that the
/// display would leave out is shown a vblank later where there is one for it (``FilmGrid``).
package struct OfflinePlayback: ~Copyable {
    /// What ``advance()`` came to.
    package enum Step: Hashable, Sendable {
        /// Another picture than at the vblank before.
        case picture
        /// The same picture.
        case same
        /// The film is over.
        case end
    }

    /// Why it cannot go on.
    package enum Failure: Error, Hashable, Sendable {
        /// The items at these places have not been shown, and what the engine said of the last of them.
        case skipped(places: [Int], message: String?)
        /// There is no picture for this instant, and none is to come: a mistake of this program.
        case stalled(at: MediaTime)
    }

    /// Where a playthrough begins.
    package struct Beginning: Hashable, Sendable {
        /// Which item, by its place on the list.
        package var place: Int
        /// The instant of the timeline.
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
    /// What the present vblank shows: one frame, none before the first.
    private var shown = UniqueDeque<EnqueuedFrame>(minimumCapacity: 2)
    private var candidates: [FrameScheduler.Frame] = []
    private var complaintsTold = 0
    private var beginnings: [Beginning] = []

    /// Vblanks so far, the present one included.
    package private(set) var vblanks: Int64 = 0

    /// The instant before the first vblank.
    private static let origin = HostTime(nanoseconds: 1_000_000_000)

    /// Playback of `items`, one after the other, at a refresh that is kept from 10 to 240 Hz.
    ///
    /// - Parameters:
    ///   - cadences: how long pictures of each item stand on average; nil where nobody knows.
    ///   - imageDuration: how long a still stands that has no duration of its own.
    ///   - transition: how long an item fades into the next at most; zero is a cut.
    ///   - samples: the format of the sound.
    ///   - subtitles: how they are drawn; nil where none are.
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

    /// The timeline's instant at the present vblank.
    package var time: MediaTime { refresh.time(of: max(vblanks - 1, 0)) }

    /// Samples of each channel from the beginning of the film to the end of the present vblank.
    package var samplePosition: Int64 { refresh.sample(at: vblanks, sampleRate: audio.format.sampleRate) }

    /// Goes to the next vblank. Reads and decodes what that takes.
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

    /// Calls `body` with what is shown at the present vblank, and the subtitles over it.
    package func withScene<Result>(_ body: (borrowing Scene, Overlay) -> Result) -> Result {
        precondition(!shown.isEmpty, "no vblank has been yet")
        return body(shown[0].scene, pipeline.withLock { $0.drawn[Overlay.Order.subtitles.rawValue] })
    }

    /// Takes the samples of the present vblank, those up to ``samplePosition``; to be called once for each.
    package mutating func readSamples(into samples: inout [Float]) {
        let begin = refresh.sample(at: vblanks - 1, sampleRate: audio.format.sampleRate)
        let count = Int(samplePosition - begin) * audio.format.channelCount
        samples = [Float](repeating: 0, count: count)
        unsafe samples.withUnsafeMutableBufferPointer { unsafe audio.render(into: $0) }
        audio.report(unheard: 0, at: clock.withLock { $0 })
    }

    /// A volume, 0…1, as a factor of amplitude, by the player's scale.
    package static func gain(ofVolume volume: Double) -> Double { AudioQueue.gain(ofVolume: volume) }

    /// What has been said of items since the last call: by their places.
    package mutating func newComplaints() -> [(place: Int, message: String)] {
        let new = complaints.withLock { Array($0.dropFirst(complaintsTold)) }
        complaintsTold += new.count
        return new
    }

    /// What could not be decoded of a source so far; nil where all of it could.
    package func damage(of source: String) -> MediaDamage? { damages[source] }

    /// The playthroughs that have begun so far, in order; of those that fade in from where that begins.
    package var begun: [Beginning] { beginnings }

    // MARK: Reading

    /// How far beyond its own time the scheduler may look for the picture that is due.
    private static let lookAhead = FrameScheduler.lockedTolerance + .milliseconds(5)

    /// Has the engine read until it is known what is shown at `instant`, and there is so much sound.
    private mutating func read(until instant: MediaTime, samples: Int) throws(Failure) {
        let wanted = instant + refresh.time(of: 1) + Self.lookAhead
        while true {
            // What stands for long, a still, is on the screen with nothing behind it.
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
            // There is no room for the picture that comes: what will not be seen goes.
            if dropPassed(at: instant) { continue }
            if hasSound, end != nil { return }
            try checkBeginnings(isOver: true)
            throw .stalled(at: instant)
        }
    }

    /// Drops the first picture that waits where it will not be shown: the one behind it is due by `instant`, too.
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

    /// Which of the pictures that wait is shown, where those up to index `due` are due: not an older one of another playthrough, or all that
    /// follow would come as late.
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
    }

    /// Throws where an item has been left out.
    private func checkBeginnings(isOver: Bool) throws(Failure) {
        let begun = Set(beginnings.map(\.place))
        let last = isOver ? count : begun.max() ?? 0
        let skipped = (0..<last).filter { !begun.contains($0) }
        guard let first = skipped.first else { return }
        let message = complaints.withLock { $0.last { $0.place == first }?.message }
        throw .skipped(places: skipped, message: message)
    }
}
