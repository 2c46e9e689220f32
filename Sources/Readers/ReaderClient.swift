import CKioskFFmpeg
import Glibc
import KioskMedia
import KioskPlatform
import KioskReaderProtocol
import KioskReaderServer
import KioskVocabulary
import Logging
import Synchronization

/// A source that is being played: its pictures and its samples, each in order, from a chosen item time on, decoded by somebody else.
///
/// The reader is woken for all that is wanted at once: when the player would wait for something, or says that it will want nothing for a while (``rest()``).
/// It works ahead for what the player takes between two of these, some pictures as a rule.
///
/// Whoever waits here waits for the player's bell, and looks four things up each time: the ring, the socket, whether it is still wanted, and how long
/// it has been. A reader that dies, lies or makes no progress ends the source as a file does that ends too soon: what it has published is played,
/// and ``prematureEnd`` says why there is no more.
///
/// One thread at a time uses it; ``interruption`` is cancelled from any.
package final class ReaderClient: @unchecked Sendable {
    // Sendable because one thread at a time uses it, and what others see of it is behind locks.

    /// What the source holds.
    package private(set) var description: AssetDescription
    /// The streams that are played, by their kind.
    package private(set) var selectedTracks: [TrackKind: Int]
    /// Whether there is sound that can be played.
    package private(set) var hasSound: Bool
    /// How long a frame lasts at the average rate; nil for stills and where the container tells none.
    package private(set) var nominalFrameDuration: MediaTime?
    /// What is wrong with the source, as far as it has been read. Each is there once; what shows later comes last.
    package private(set) var problems: [String] = []
    /// Why the source ended before its time.
    package private(set) var prematureEnd: String?
    /// What could not be decoded so far.
    package private(set) var damage = MediaDamage()
    /// What decodes its pictures: `software`, or an interface and a device.
    package private(set) var decoder = "software"
    /// Whether the machine has shown to be too slow for a picture of each of its fields.
    package private(set) var isTooSlowForFields = false
    /// Whether its interlaced pictures need a reader with libavfilter (``OpenOrder/needsFilters``).
    package let needsFilters: Bool
    /// Whether its subtitles need a reader with libass (``SubtitleOrder/hasText``).
    package let needsText: Bool
    /// Whether the reader has devices, and the shape of its pictures where none of them takes that.
    package let usesDevices: Bool
    package private(set) var refusedShape: String?
    /// Why there is no reader any more; nil while there is one.
    package private(set) var death: ReaderDeath?

    /// Ends its waiting, for good; from any thread.
    package let interruption: Interruption

    let session: ReaderSession
    private let page: ControlPage
    /// Where pictures are that the reader hands over as they are.
    private let handed: HandedFrames?
    /// Where they are of another process, and where they are of its device.
    private let shared: ArenaFrames?, surfaces: DeviceSurfaces?
    private var pictures: PlayerPictures
    private var sound: PlayerSound
    private var sleeper: Sleeper
    /// What is read, which may be a file in the place of another source.
    package let source: String
    /// Messages that the reader claims to have sent when it was last looked.
    private var heard: UInt32 = 0
    /// What the last order has come to.
    private var landing: Landing?
    private var news: [SubtitleNews] = []
    /// Bytes of pictures among them.
    private var newsBytes = 0
    /// What nobody takes is left out beyond this: one that floods costs no more memory.
    private static let mostNews = 256, mostNewsBytes = 96 << 20
    private var failure: MediaError.Reason?
    /// Pictures that are decoded before they are asked for: as many as were last taken at a time, as the reader would wait for nothing else while the player
    /// draws.
    private var ahead = 1
    /// No more bytes of pictures than this are decoded ahead beyond the first one: one of 1080p, two of 720p.
    private static let aheadBytes = 4 << 20
    private static let mostAhead = 8
    /// What the last one takes.
    private var pictureBytes = 1
    /// Pictures and frames of sound that have been taken since the last ``rest()``.
    private var taken = 0, heardFrames = 0
    /// Frames of sound that are decoded before they are asked for: as many as were last taken at a time, too. A live stream's do not come sooner.
    private var soundAhead = leastSoundAhead
    /// What the reader has to do, and does not know yet.
    private var due: Bell.Subjects = []
    /// Item time at which the pictures that were handed out end.
    private var shownTo: MediaTime
    /// What this process and the reader's take for it; nil where threads cannot be saved, or it is this process alone.
    private var load: DecodingLoad?

    /// How long the player sleeps at a time, whatever the reader does.
    private static let slice = MediaTime.milliseconds(100)
    /// How long a reader may decode without reading on and without a picture.
    package static let progressLimit = MediaTime.seconds(2)
    private let progressLimit: MediaTime
    /// How long it may give nothing, and how long an order may take.
    private let silenceLimit: MediaTime, orderLimit: MediaTime
    /// Of what is sent as it is made: told when the reader has closed it.
    private let closing: ClosingSource?
    private static let leastSoundAhead = 2048, mostSoundAhead = 8192

    // MARK: Opening

    /// Has a reader open a source and decode its beginning: where that asks for libavfilter, or for the devices that may decode it
    /// (``DecoderWish/elsewhere``), another reader, which has them. Blocks for as long as that takes, or until `interruption` ends it.
    ///
    /// - Throws: ``MediaError`` with what is wrong with the source, or with its reader.
    package init(
        _ order: OpenOrder, by readers: Readers, _ interruption: Interruption, progressWithin limit: MediaTime = ReaderClient.progressLimit
    ) throws(MediaError) {
        progressLimit = limit
        var order = order
        let handed = readers.isolation == .thread ? HandedFrames() : nil
        (silenceLimit, orderLimit) = (order.silenceLimit, order.stepLimit * 3)
        // A thread of this process waits for it itself.
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
        // Its decoder is free for the next item at once, as some devices have one only. It stays itself while its pictures are held.
        if decoder != "software", usesDevices, death == nil {
            session.send(.close)
            page.readerBell.ring(.messages)
            page.waitForFreeDecoder(until: .now + Self.freeLimit)
        }
        guard let closing else { return }
        Self.leave(session, closing)
    }

    /// A camera is told that its session is over before another one is begun; nobody waits for that but who opens it again.
    private static func leave(_ session: ReaderSession, _ closing: ClosingSource) {
        session.send(.close)
        Thread("leaving") {
            session.waitForEnd(until: .now + OpenedReader.leaveLimit)
            closing.hasClosed()
        }.detach()
    }

    /// How long the next item waits for the decoder of the one before it.
    private static let freeLimit = MediaTime.milliseconds(200)

    /// Item time of the first picture and sample.
    package var start: MediaTime { shownTo }

    // MARK: Reading

    /// The next picture in order, in item time; nil after the last, and when there is no reader any more. Blocks for reading and decoding.
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
        // Hardware decoders have few.
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

    /// Fills `destination` (whole frames, interleaved) with the next samples; returns the frames filled, fewer only when the sound has ended. Blocks for
    /// reading and decoding.
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

    /// Nothing is wanted for a while: the reader works ahead.
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

    /// Wakes the reader for what is due.
    private func ringDue() {
        if due.isEmpty { return }
        page.readerBell.ring(due)
        due = []
    }

    /// How much of the source is there without waiting for it; `time` is the item time up to which its pictures have been handed out.
    package func loading(from time: MediaTime) -> Loading { Loading(until: time, known: { [page] in page.gauges?.loaded }) }
    /// What has been received of a live stream and is still to be played; nil of anything else.
    package var reception: Reception? { page.gauges?.reception }
    /// Item time at which the sound that has been read ends; nil where none has been.
    package var soundEnd: MediaTime? { page.gauges?.soundEnd }

    // MARK: Orders

    /// Goes on at item time `time`, clamped to the source; returns the item time of the next picture and sample.
    ///
    /// - Throws: ``MediaError`` where the source cannot be moved about in, or was cancelled.
    package func seek(to time: MediaTime, precision: MediaReader.SeekPrecision) throws(MediaError) -> MediaTime {
        guard let landing = carryOut(.seek(time, precision)), let landed = landing.time else {
            throw MediaError(source, failure ?? (interruption.cancelled ? .cancelled : .failed(prematureEnd ?? "cannot seek")))
        }
        skip(to: landing)
        return landed
    }

    /// Leaves out what a live stream is behind; returns the item time of the next picture and sample, nil where nothing is left out.
    package func catchUp() -> MediaTime? {
        guard let landing = carryOut(.catchUp), let landed = landing.time else { return nil }
        skip(to: landing)
        return landed
    }

    /// Plays another sound track (``MediaReader/select(audio:at:)``).
    package func select(audio choice: TrackChoice, at time: MediaTime) -> MediaReader.AudioSelection {
        carryOut(.select(choice, at: time))?.selection ?? .unchanged
    }

    /// Draws other subtitles, or for another screen; what is seen of them at item time `time` is among the news then.
    package func draw(_ subtitles: SubtitleOrder, at time: MediaTime) {
        if session.subtitles != nil { _ = carryOut(.subtitles(subtitles, at: time)) }
    }

    /// What has come of subtitles since the last call.
    package func takeSubtitles() -> [SubtitleNews] {
        defer { (news, newsBytes) = ([], 0) }
        return news
    }

    /// Sends an order, and waits for what it leads to; nil where it has failed.
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

    /// Waits until `look` finds something; nil where there is no reader any more, or nothing is wanted of it.
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
                // What it had published before it died is played.
                if let found = try look() { return .some(found) }
                if death != nil || interruption.cancelled { return .some(nil) }
                let now = HostTime.now
                if page.progress != progress { (progress, moved, time) = (page.progress, now, nil) }
                let limit = limit ?? (page.activity == .reading ? silenceLimit : progressLimit)
                guard now - moved >= limit.scaled(by: 0.2) else { return nil }
                // A clock of another process costs a call of the system, which no picture that comes in time is to pay.
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

    /// Takes what the reader has said so far, where it claims to have said something.
    private func hear() {
        let count = page.messageCount
        if count == heard { return }
        heard = count
        listen()
    }

    /// Takes what the reader has said so far.
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

    /// Copies what is seen of subtitles.
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

    /// There is no reader any more, or there is to be none.
    private func die(_ death: ReaderDeath) {
        guard self.death == nil else { return }
        self.death = death
        prematureEnd = session.end(for: death)
    }

    // MARK: Pictures

    /// The picture of a record; nil where it is not there.
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

/// What a reader tells of subtitles.
package enum SubtitleNews: Sendable {
    /// What is seen from the picture of an item time on, in pixels of a screen; nothing where the list is empty.
    case seen([SubtitlePicture], on: PixelSize, from: MediaTime)
    case said(ReaderCue)
}
