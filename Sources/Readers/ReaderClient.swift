import CKioskFFmpeg
import Glibc
import KioskMedia
import KioskPlatform
import KioskReaderProtocol
import KioskReaderServer
import KioskVocabulary
import Logging
import Synchronization

/// A source in playback: its pictures and samples, each in order from a chosen item time on. A reader decodes them.
///
/// The client wakes the reader once for all its needs: before the player would wait for something, or in ``rest()``. Between two wake-ups
/// the reader works ahead, as a rule some pictures.
///
/// Every wait sleeps on the player's bell. It checks four things each time: the ring, the socket, the cancellation and the time limit. If a
/// reader dies, lies or makes no progress, the source ends like a file that ends too soon. The player plays the published frames, and
/// ``prematureEnd`` has the reason.
///
/// One thread at a time uses it; any thread may cancel ``interruption``.
package final class ReaderClient: @unchecked Sendable {
    // Sendable because one thread at a time uses it, and locks guard the parts that other threads see.

    /// The contents of the source.
    package private(set) var description: AssetDescription
    /// The streams in playback, by their kind.
    package private(set) var selectedTracks: [TrackKind: Int]
    /// Whether the source has playable sound.
    package private(set) var hasSound: Bool
    /// The duration of a frame at the average rate; nil for stills and if the container states none.
    package private(set) var nominalFrameDuration: MediaTime?
    /// The faults of the source found so far, in the order of their discovery, each once.
    package private(set) var problems: [String] = []
    /// The reason why the source ended early.
    package private(set) var prematureEnd: String?
    /// The damage to decoding so far.
    package private(set) var damage = MediaDamage()
    /// The decoder of its pictures: `software`, or an interface and a device.
    package private(set) var decoder = "software"
    /// Whether the machine has proved too slow for one picture per field.
    package private(set) var isTooSlowForFields = false
    /// Whether its interlaced pictures need a reader with libavfilter (``OpenOrder/needsFilters``).
    package let needsFilters: Bool
    /// Whether its subtitles need a reader with libass (``SubtitleOrder/hasText``).
    package let needsText: Bool
    /// Whether the reader has devices, and the shape of its pictures if no device takes that shape.
    package let usesDevices: Bool
    package private(set) var refusedShape: String?
    /// Why the reader is gone; nil while there is one.
    package private(set) var death: ReaderDeath?

    /// Ends every wait, for good; from any thread.
    package let interruption: Interruption

    let session: ReaderSession
    private let page: ControlPage
    /// The pictures that a reader on a thread of this process hands over as they are.
    private let handed: HandedFrames?
    /// The pictures of a reader process: in shared memory, and in surfaces of its device.
    private let shared: ArenaFrames?, surfaces: DeviceSurfaces?
    private var pictures: PlayerPictures
    private var sound: PlayerSound
    private var sleeper: Sleeper
    /// The path or URL that the reader reads; may be a file in place of another source.
    package let source: String
    /// The number of messages that the reader claimed at the last look.
    private var heard: UInt32 = 0
    /// The result of the last order.
    private var landing: Landing?
    private var news: [SubtitleNews] = []
    /// Bytes of the pictures in `news`.
    private var newsBytes = 0
    /// The limits of untaken news. The client drops the rest, so a flood costs no more memory.
    private static let mostNews = 256, mostNewsBytes = 96 << 20
    private var failure: MediaError.Reason?
    /// The number of pictures to decode ahead: as many as the player last took at a time. While the player draws, the reader would
    /// otherwise idle.
    private var ahead = 1
    /// The most bytes of pictures to decode ahead beyond the first picture: one of 1080p, two of 720p.
    private static let aheadBytes = 4 << 20
    private static let mostAhead = 8
    /// Bytes of the last picture.
    private var pictureBytes = 1
    /// Pictures and frames of sound taken since the last ``rest()``.
    private var taken = 0, heardFrames = 0
    /// Frames of sound to decode ahead: as many as the player last took at a time. A live stream's sound does not come sooner.
    private var soundAhead = leastSoundAhead
    /// The subjects that the reader has to look at, and does not know yet.
    private var due: Bell.Subjects = []
    /// Item time at which the last picture handed out ends.
    private var shownTo: MediaTime
    /// The processor time that this process and the reader take for the source; nil if threads cannot be saved, or without a reader
    /// process.
    private var load: DecodingLoad?

    /// How long the player sleeps at a time, whatever the reader does.
    private static let slice = MediaTime.milliseconds(100)
    /// How long a reader may decode without reading further and without a picture.
    package static let progressLimit = MediaTime.seconds(2)
    private let progressLimit: MediaTime
    /// How long the reader may give nothing, and how long an order may take.
    private let silenceLimit: MediaTime, orderLimit: MediaTime
    /// The record of a session with a live server; the client reports when the reader has closed the session.
    private let closing: ClosingSource?
    private static let leastSoundAhead = 2048, mostSoundAhead = 8192

    // MARK: Opening

    /// Has a reader open a source and decode its beginning. If the source needs libavfilter, or devices that may decode it
    /// (``DecoderWish/elsewhere``), another reader that has them takes over. Blocks until then, or until `interruption` ends it.
    ///
    /// - Throws: ``MediaError`` with the fault of the source or of its reader.
    package init(
        _ order: OpenOrder, by readers: Readers, _ interruption: Interruption, progressWithin limit: MediaTime = ReaderClient.progressLimit
    ) throws(MediaError) {
        progressLimit = limit
        var order = order
        let handed = readers.isolation == .thread ? HandedFrames() : nil
        (silenceLimit, orderLimit) = (order.silenceLimit, order.stepLimit * 3)
        // A reader on a thread of this process waits for it itself.
        var closing = handed == nil ? ClosingSource.of(order.source, interruption) : nil
        defer { closing?.hasClosed() }
        order.isLogged = FFmpegLog.isSeen
        if handed == nil {
            order.lineSpeed = order.needsNetwork ? Throughput.seen(of: order.source) : nil
            (order.isLight, order.found) = (DecodingLoad.isLight(order.source), MediaReader.foundLength(of: order.source))
        }
        let begun = try OpenedReader(&order, by: readers, handed, interruption)
        let (session, opened) = (begun.session, begun.description)
        self.closing = closing.take()
        (needsFilters, usesDevices) = (order.needsFilters, order.usesDevices)
        needsText = order.subtitles?.hasText == true
        if handed == nil {
            MediaReader.takeFoundLength(opened.found, of: order.source)
            if order.threads > 1 { load = DecodingLoad(order.source, and: session.reader.clock) }
        }
        (description, nominalFrameDuration, problems) = (opened.asset, opened.nominalFrameDuration, begun.problems)
        (selectedTracks, hasSound) = (opened.tracks.selected, opened.tracks.hasSound)
        (self.interruption, self.handed, source, page) = (interruption, handed, order.source, session.page)
        let rules = PictureRules(
            arenaBytes: session.results.bytes.count, pictureMemory: order.pictureMemory,
            places: handed != nil ? [.handed] : order.usesDevices ? [.arena, .surface, .planeBuffer] : [.arena, .planeBuffer])
        (pictures, sound) = (PlayerPictures(session.page, rules), PlayerSound(session.page))
        shared = handed == nil ? ArenaFrames(session.results, pictures.held) : nil
        surfaces = handed == nil && order.usesDevices ? DeviceSurfaces(session, rules, pictures.held) : nil
        sleeper = Sleeper(at: session.page.playerBell, slice: Self.slice)
        shownTo = begun.landing.time ?? .zero
        self.session = session
        interruption.whenCancelled { [page, reader = self.session.reader] in
            reader.cancel()
            page.playerBell.ring(.messages, always: true)
        }
        for (message, descriptor) in begun.notes { take(message, descriptor) }
    }

    deinit {
        // Frees the decoder for the next item at once, as some devices have only one. The reader itself stays while its pictures are held.
        if decoder != "software", usesDevices, death == nil {
            session.send(.close)
            page.readerBell.ring(.messages)
            page.waitForFreeDecoder(until: .now + Self.freeLimit)
        }
        guard let closing else { return }
        Self.leave(session, closing)
    }

    /// Tells a camera that its session is over before another one begins. Only the next opening of the same camera waits for that.
    private static func leave(_ session: ReaderSession, _ closing: ClosingSource) {
        session.send(.close)
        Thread("leaving") {
            session.waitForEnd(until: .now + OpenedReader.leaveLimit)
            closing.hasClosed()
        }.detach()
    }

    /// How long the next item waits for the decoder of the previous one.
    private static let freeLimit = MediaTime.milliseconds(200)

    /// Item time of the first picture and sample.
    package var start: MediaTime { shownTo }

    // MARK: Reading

    /// Returns the next picture in order, in item time; nil after the last, and if the reader is gone. Blocks for reading and decoding.
    package func nextFrame() -> TimedFrame? {
        if handed == nil, let offers = session.planes.news() {
            session.send(.planes(offers))
            page.readerBell.ring(.messages)
        }
        if death == nil, pictures.want(1 + ahead) { due.insert(.pictures) }
        let found = wait(for: .pictures) { () throws(ReaderLie) -> PictureRecord?? in
            if let record = try pictures.take() { return .some(record) }
            return pictures.isOver ? .some(nil) : nil
        }
        guard let record = found ?? nil else {
            listen()
            return nil
        }
        hear()
        nominalFrameDuration = record.nominalDuration ?? nominalFrameDuration
        isTooSlowForFields = record.flags.contains(.tooSlowForFields)
        taken += 1
        // Hardware decoders have few surfaces.
        if record.flags.contains(.pooled) { (ahead, taken) = (0, 0) }
        shownTo = record.time + record.duration
        load?.gaveOut(record.time)
        guard let frame = frame(of: record) else {
            die(.lied(.slot(UInt16(clamping: record.slot))))
            return nil
        }
        pictureBytes = max(frame.byteCount, 1)
        return TimedFrame(frame: frame, time: record.time, duration: record.duration)
    }

    /// Fills `destination` (whole frames, interleaved) with the next samples. Returns the number of frames filled, fewer only after the end
    /// of the sound. Blocks for reading and decoding.
    package func readSamples(into destination: UnsafeMutableBufferPointer<Float>, channelCount: Int) -> Int {
        guard channelCount == page.layout.channelCount else { return 0 }
        let count = destination.count / channelCount
        var done = 0
        while done < count {
            if death == nil, sound.want(count - done + soundAhead) { due.insert(.sound) }
            let rest = UnsafeMutableBufferPointer(rebasing: destination[(done * channelCount)...])
            let taken = wait(for: .sound) { () throws(ReaderLie) -> Int? in
                let taken = try sound.take(into: rest)
                if taken > 0 { return taken }
                return try sound.isOver() ? 0 : nil
            }
            guard let taken, taken > 0 else { break }
            done += taken
        }
        heardFrames += done
        hear()
        return done
    }

    /// Says that the player wants nothing for a while: the reader works ahead.
    package func rest() {
        if taken > 0, death == nil {
            ahead = min(taken, max(Self.aheadBytes / pictureBytes, 1), Self.mostAhead)
            if pictures.want(ahead) { due.insert(.pictures) }
        }
        if heardFrames > 0, death == nil, description.isLocal {
            soundAhead = min(max(heardFrames, Self.leastSoundAhead), Self.mostSoundAhead)
            if sound.want(soundAhead) { due.insert(.sound) }
        }
        (taken, heardFrames) = (0, 0)
        ringDue()
    }

    /// Wakes the reader for the subjects that are due.
    private func ringDue() {
        if due.isEmpty { return }
        page.readerBell.ring(due)
        due = []
    }

    /// Returns how much of the source is there without waiting; `time` is the item time up to which pictures have been handed out.
    package func loading(from time: MediaTime) -> Loading { Loading(until: time, known: { [page] in page.gauges?.loaded }) }
    /// The received part of a live stream that is still to play; nil for other sources.
    package var reception: Reception? { page.gauges?.reception }
    /// Item time at which the sound read so far ends; nil if the reader has read none.
    package var soundEnd: MediaTime? { page.gauges?.soundEnd }

    // MARK: Orders

    /// Continues at item time `time`, clamped to the source; returns the item time of the next picture and sample.
    ///
    /// - Throws: ``MediaError`` if the source cannot seek, or was cancelled.
    package func seek(to time: MediaTime, precision: MediaReader.SeekPrecision) throws(MediaError) -> MediaTime {
        guard let landing = carryOut(.seek(time, precision)), let landed = landing.time else {
            throw MediaError(source, failure ?? (interruption.cancelled ? .cancelled : .failed(prematureEnd ?? "cannot seek")))
        }
        skip(to: landing)
        return landed
    }

    /// Drops the delay of a live stream; returns the item time of the next picture and sample, nil if nothing is dropped.
    package func catchUp() -> MediaTime? {
        guard let landing = carryOut(.catchUp), let landed = landing.time else { return nil }
        skip(to: landing)
        return landed
    }

    /// Plays another sound track (``MediaReader/select(audio:at:)``).
    package func select(audio choice: TrackChoice, at time: MediaTime) -> MediaReader.AudioSelection {
        carryOut(.select(choice, at: time))?.selection ?? .unchanged
    }

    /// Draws other subtitles, or for another screen. The news then has those visible at item time `time`.
    package func draw(_ subtitles: SubtitleOrder, at time: MediaTime) {
        if session.subtitles != nil { _ = carryOut(.subtitles(subtitles, at: time)) }
    }

    /// Returns the subtitle news since the last call.
    package func takeSubtitles() -> [SubtitleNews] {
        defer { (news, newsBytes) = ([], 0) }
        return news
    }

    /// Sends an order and waits for its result; nil if the order failed.
    private func carryOut(_ order: ReaderOrder) -> Landing? {
        guard death == nil else { return nil }
        (landing, failure) = (nil, nil)
        session.send(order)
        page.readerBell.ring(.messages)
        _ = wait(for: .messages, within: orderLimit) { landing != nil || failure != nil ? true : nil }
        return landing
    }

    private func skip(to landing: Landing) {
        do throws(ReaderLie) {
            try pictures.skip(to: landing.pictures)
            try sound.skip(to: landing.sound)
        } catch { die(.lied(error)) }
        shownTo = landing.time ?? shownTo
        load?.restart()
    }

    // MARK: Waiting

    /// Waits until `look` finds something; nil if the reader is gone, or after a cancellation.
    private func wait<Found>(
        for subjects: Bell.Subjects, within limit: MediaTime? = nil, _ look: () throws(ReaderLie) -> Found?
    ) -> Found? {
        var (progress, moved) = (page.progress, HostTime.now)
        var time: FairTime?
        do throws(ReaderLie) {
            let found = try sleeper.sleep(for: [subjects, .messages]) { () throws(ReaderLie) -> Found?? in
                if let found = try look() { return .some(found) }
                ringDue()
                listen()
                // Plays the frames that it published before it died.
                if let found = try look() { return .some(found) }
                if death != nil || interruption.cancelled { return .some(nil) }
                let now = HostTime.now
                if page.progress != progress { (progress, moved, time) = (page.progress, now, nil) }
                let limit = limit ?? (page.activity == .reading ? silenceLimit : progressLimit)
                guard now - moved >= limit.scaled(by: 0.2) else { return nil }
                // Reading another process's clock costs a system call. No picture that comes in time should pay for it.
                if time == nil { time = FairTime(session.reader.clock, every: limit.scaled(by: 0.2), from: now) }
                guard let total = time?.total(at: now), total >= limit.scaled(by: 0.8) else { return nil }
                die(ReaderDeath(noProgressWithin: limit, at: page))
                return .some(nil)
            }
            return found ?? nil
        } catch {
            die(.lied(error))
            return nil
        }
    }

    /// Takes the reader's messages, if it claims to have sent new ones.
    private func hear() {
        let count = page.messageCount
        if count == heard { return }
        heard = count
        listen()
    }

    /// Takes the reader's messages so far.
    private func listen() {
        while death == nil {
            switch session.receive(until: HostTime(nanoseconds: 0)) {
            case .nothing: return
            case .death(let death): die(death)
            case .message(let message, let descriptor): take(message, descriptor)
            }
        }
    }

    private func take(_ message: ReaderMessage, _ descriptor: SharedDescriptor?) {
        switch message {
        case .landed(let landing): self.landing = landing
        case .failed(let reason): failure = reason
        case .problem(let problem): if problems.count < Self.mostProblems { problems.append(problem) }
        case .ended(let reason): prematureEnd = reason
        case .damage(let damage): self.damage = damage
        case .note(.decoder(let name)):
            decoder = name
            if surfaces != nil, name != "software", let video = description.video {
                HardwareHistory.announce(source, "\(video.codec) \(video.width)×\(video.height)", codec: video.codec, by: name)
            }
        case .note(.device(let name)): if surfaces != nil { HardwareHistory.announce(device: name) }
        case .note(.refusedByDevices(let shape)): refusedShape = shape
        case .note(.deviceFailed(let reason)): if surfaces != nil { HardwareHistory.failed(source, reason) }
        case .surface(let surface): if surfaces?.take(surface, descriptor) == false { die(.lied(.surface)) }
        case .note(.lineSpeed(let rate)): if handed == nil { Throughput.note(rate, of: source) }
        case .selected(let tracks):
            (selectedTracks, hasSound, description.audio) = (tracks.selected, tracks.hasSound, tracks.audio)
        case .subtitle(let subtitle): take(subtitle)
        case .cue(let cue): if news.count < Self.mostNews { news.append(.said(cue)) }
        case .ready, .described, .log, .request, .result, .film: break
        }
    }

    /// Copies the visible subtitles.
    private func take(_ subtitle: ReaderSubtitle) {
        guard let memory = session.subtitles else { return }
        do throws(ReaderLie) {
            var pictures: [SubtitlePicture] = [], bytes = 0
            for part in subtitle.parts where news.count < Self.mostNews && newsBytes + bytes < Self.mostNewsBytes {
                let pixels = try part.pixels(in: memory.bytes)
                bytes += pixels.count * 4
                pictures.append(SubtitlePicture(x: part.x, y: part.y, width: part.width, height: part.height, pixels: pixels))
            }
            page.subtitlesTaken = subtitle.serial
            guard news.count < Self.mostNews, pictures.count == subtitle.parts.count else { return }
            newsBytes += bytes
            news.append(.seen(pictures, on: subtitle.screen, from: subtitle.time))
        } catch { die(.lied(error)) }
    }

    private static let mostProblems = 64

    /// The reader is gone, or has to go.
    private func die(_ death: ReaderDeath) {
        guard self.death == nil else { return }
        self.death = death
        prematureEnd = session.end(for: death)
    }

    // MARK: Pictures

    /// Returns the picture of a record; nil if it is missing.
    private func frame(of record: PictureRecord) -> VideoFrame? {
        switch record.place {
        case .handed:
            let frame = handed?.take(record.slot)
            pictures.held.giveBack(record.slot)
            return frame
        case .arena: return shared?.frame(record, codec: description.video?.codec ?? "")
        case .surface: return surfaces?.frame(record, codec: description.video?.codec ?? "")
        case .planeBuffer: return session.planes.frame(record, codec: description.video?.codec ?? "", pictures.held)
        }
    }
}

/// News of subtitles from a reader.
package enum SubtitleNews: Sendable {
    /// The subtitles visible from the picture at an item time on, in pixels of a screen; none if the list is empty.
    case seen([SubtitlePicture], on: PixelSize, from: MediaTime)
    case said(ReaderCue)
}
