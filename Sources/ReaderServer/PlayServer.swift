import CKioskFFmpeg
import Glibc
import KioskMedia
import KioskPlatform
import KioskReaderProtocol
import KioskVocabulary
import Synchronization

/// Plays a source for the player: decodes the wanted pictures and sound, and no more. Sends its messages about them before it publishes
/// them.
///
/// One thread. It sleeps at the reader's bell until the player wants something.
struct PlayServer: ~Copyable {
    /// A picture and its record.
    private struct Waiting: ~Copyable {
        let frame: VideoFrame
        var record: PictureRecord

        consuming func intoFrame() -> VideoFrame { frame }
    }

    private var media: MediaReader
    private let channel: ReaderChannel
    private let page: ControlPage
    private let store: any PictureStore
    /// The display memory for its decoder; nil if it shares that with the player.
    private let planes: BorrowedPlanes?
    private var pictures: ReaderPictures
    private var sound: ReaderSound
    private var sleeper: Sleeper
    /// The picture that has no room until the player gives another one back.
    private var waiting: Waiting?
    /// Whether the player has given one back since the last attempt.
    private var hasRoom = false
    /// The values sent last.
    private var toldProblems = 0
    private var toldDamage = MediaDamage()
    private var toldDecoder = "software", toldSpeed: Double?
    private let usesDevices: Bool
    private var hasToldFailure = false
    /// Of a stream: shows its received part while this thread waits for it.
    private let reception: ReceptionGauges?
    private let source: String
    /// Item time up to which pictures have been handed out.
    private var time: MediaTime
    private var subtitles: SubtitleServer?

    /// How long a wait for a live stream's receiver leaves the shown values unchanged.
    private static let refresh = MediaTime.milliseconds(50)

    /// The visible track of subtitles.
    private var selectedSubtitles: Int?

    /// Opens the ordered source, and plays it until the player has gone. Blocks until then.
    ///
    /// - Parameters:
    /// - subtitles: the means for subtitles; nil if none are wanted.
    /// - hasFilters: whether libavfilter is loaded, or can be. Without it this plays nothing interlaced, and requests a reader with it.
    static func serve(
        _ order: OpenOrder, _ serial: UInt32, on channel: ReaderChannel, _ page: ControlPage, _ store: any PictureStore,
        _ planes: BorrowedPlanes?, _ subtitles: SubtitleServer.Means?, hasFilters: Bool
    ) {
        MediaReader.takeFoundLength(order.found, of: order.source)
        if order.isLight { DecodingLoad.note(Path(order.source), 0) }
        do throws(MediaError) {
            var media = try MediaReader.open(
                order.source, isKept: order.isKept, reach: order.reach, samples: order.samples, decoderThreads: order.threads,
                decoder: order.decoder,
                audio: order.audio, video: order.video, hasSubtitles: subtitles != nil, interruption: channel.interruption,
                deinterlacing: order.deinterlacing,
                pictureMemory: order.pictureMemory, settings: order.settings,
                displaySize: order.displaySize.map { ($0.width, $0.height) })
            if media.wouldUseDevice { return channel.send(.request(1, .device), serial: serial) }
            if !hasFilters, order.deinterlacing != .off, media.description.video?.isInterlaced == true {
                return channel.send(.request(1, .deinterlacer), serial: serial)
            }
            if let subtitles, subtitles.needsText(for: media) { return channel.send(.request(1, .subtitles), serial: serial) }
            if order.isMuted { media.leaveOutSound() }
            if order.takesTime { media.takeTime() }
            var time = MediaTime.zero
            // A source that cannot seek plays from its beginning: better than not at all.
            if order.start > .zero, !media.description.isStill, media.description.isSeekable {
                time = try media.seek(to: order.start, precision: order.precision)
            }
            var server = PlayServer(media, from: time, order, channel, page, store, planes, subtitles)
            server.describe(serial)
            server.run()
        } catch {
            channel.send(.failed(error.reason), serial: serial)
            page.countMessage()
            page.playerBell.ring(.messages)
        }
    }

    private init(
        _ media: consuming MediaReader, from time: MediaTime, _ order: OpenOrder, _ channel: ReaderChannel, _ page: ControlPage,
        _ store: any PictureStore, _ planes: BorrowedPlanes?, _ means: SubtitleServer.Means?
    ) {
        var media = media
        subtitles = means.flatMap { SubtitleServer($0, order, &media, channel, page) }
        selectedSubtitles = subtitles?.selected ?? nil
        self.media = media
        self.planes = planes
        (source, toldSpeed, usesDevices) = (order.source, order.lineSpeed, order.usesDevices)
        reception = order.needsNetwork ? ReceptionGauges(page, channel) : nil
        (self.time, self.channel, self.page, self.store) = (time, channel, page, store)
        (pictures, sound) = (ReaderPictures(page), ReaderSound(page))
        sleeper = Sleeper(at: page.readerBell)
    }

    /// Describes the opened source.
    private mutating func describe(_ serial: UInt32) {
        var description = ReaderDescription(media.description)
        (description.tracks, description.nominalFrameDuration) = (tracks, media.nominalFrameDuration)
        description.asset.tracks += subtitles?.beside ?? []
        description.found = MediaReader.foundLength(of: source)
        say(.described(description), serial: serial)
        if usesDevices, media.isRefusedByDevices, let shape = media.shape { say(.note(.refusedByDevices(shape))) }
        tell()
        land(Landing(time, pictures: pictures.count, sound: sound.count), serial)
    }

    private mutating func run() {
        while !channel.isClosed {
            while let slot = pictures.takeReturn() {
                store.free(slot)
                hasRoom = true
            }
            if let (order, serial, _) = channel.takeOrder() {
                carryOut(order, serial)
            } else if sound.isWanted {
                sound.write { samples in
                    defer { Self.show(media, at: time, on: page, reception) }
                    return media.readSamples(into: samples, channelCount: page.layout.channelCount)
                }
                tell()
            } else if waiting != nil {
                if hasRoom || pictures.areAllFree { publishWaiting() } else { sleep() }
            } else if pictures.isWanted, pictures.freeSlot != nil {
                publishNext()
            } else {
                sleep()
            }
        }
    }

    /// Sleeps until the player wants something. Meanwhile shows the received part of a stream.
    private mutating func sleep() {
        let isReceived = media.reception != nil
        // Returned pictures are freed before the next one is decoded: that alone wakes nobody.
        let returns: Bell.Subjects = waiting != nil || pictures.freeSlot == nil ? .returns : []
        _ = sleeper.sleep(for: [.pictures, .sound, .messages, returns], until: isReceived ? .now + Self.refresh : nil) {
            waiting == nil && pictures.isWanted && pictures.freeSlot != nil || sound.isWanted || channel.hasOrder || channel.isClosed
                || !returns.isEmpty && pictures.hasReturn ? true : nil
        }
        if isReceived { show() }
    }

    private mutating func publishNext() {
        page.activity = .decoding
        let frame = media.nextFrame()
        page.advance()
        tell()
        guard let frame else {
            if let reason = media.prematureEnd { say(.ended(reason)) }
            subtitles?.ended()
            page.playerBell.ring(.messages)
            return pictures.end()
        }
        subtitles?.decoded(frame.time, &media)
        time = frame.time + frame.duration
        var record = PictureRecord(frame.frame)
        (record.time, record.duration) = (frame.time, frame.duration)
        record.nominalDuration = media.nominalFrameDuration
        if media.isTooSlowForFields { record.flags.insert(.tooSlowForFields) }
        waiting = Waiting(frame: frame.intoFrame(), record: record)
        publishWaiting()
    }

    /// Publishes the waiting picture if there is room. Drops it if there will be none, like a damaged one.
    private mutating func publishWaiting() {
        guard let slot = pictures.freeSlot, let next = waiting.take() else { return }
        hasRoom = false
        var record = next.record
        record.slot = slot
        guard let rest = store.put(next.intoFrame(), &record) else {
            show()
            return pictures.publish(record)
        }
        if pictures.areAllFree { return say(.problem("a picture is left out: it has no room")) }
        waiting = Waiting(frame: rest, record: record)
    }

    // MARK: Orders

    private mutating func carryOut(_ order: ReaderOrder, _ serial: UInt32) {
        switch order {
        case .seek(let target, let precision):
            do throws(MediaError) {
                time = try media.seek(to: target, precision: precision)
                goOn(serial, time)
            } catch {
                say(.failed(error.reason), serial: serial)
                page.playerBell.ring(.messages)
            }
        case .catchUp:
            let landed = media.catchUp()
            if let landed { time = landed }
            goOn(serial, landed)
        case .select(let choice, let place):
            let selection = media.select(audio: choice, at: place)
            if selection == .begins { sound.restart() }
            tell()
            say(.selected(tracks), serial: serial)
            land(Landing(nil, selection: selection, pictures: pictures.count, sound: sound.count), serial)
        case .subtitles(let wish, let place):
            subtitles?.change(wish, &media, at: place)
            selectedSubtitles = subtitles?.selected ?? nil
            tell()
            say(.selected(tracks), serial: serial)
            land(Landing(nil, pictures: pictures.count, sound: sound.count), serial)
        case .planes(let offers): planes?.set(offers)
        case .open, .preview, .close, .cancel, .grant, .refuse, .addresses, .lend, .film: break
        }
    }

    /// Continues at item time `time`; nil if nothing changes.
    private mutating func goOn(_ serial: UInt32, _ time: MediaTime?) {
        if let time {
            waiting = nil
            pictures.restart()
            sound.restart()
            subtitles?.restart(at: time, media)
        }
        tell()
        land(Landing(time, pictures: pictures.count, sound: sound.count), serial)
    }

    private mutating func land(_ landing: Landing, _ serial: UInt32) {
        show()
        say(.landed(landing), serial: serial)
        page.playerBell.ring(.messages)
    }

    // MARK: Messages

    private func say(_ message: ReaderMessage, serial: UInt32 = 0) {
        channel.send(message, serial: serial)
        page.countMessage()
    }

    /// Sends the changes since the last call.
    private mutating func tell() {
        var isNews = false
        let problems = media.problems
        for problem in problems.dropFirst(toldProblems) {
            say(.problem(problem))
            isNews = true
        }
        toldProblems = problems.count
        let damage = media.damage
        if damage != toldDamage {
            say(.damage(damage))
            (toldDamage, isNews) = (damage, true)
        }
        let decoder = media.decoder
        if decoder != toldDecoder {
            say(.note(.decoder(decoder)))
            (toldDecoder, isNews) = (decoder, true)
        }
        if reception != nil, let speed = Throughput.seen(of: source), speed != toldSpeed {
            say(.note(.lineSpeed(speed)))
            toldSpeed = speed
        }
        if usesDevices, !hasToldFailure, let failure = HardwareHistory.failure(source) {
            say(.note(.deviceFailed(failure)))
            (hasToldFailure, isNews) = (true, true)
        }
        if isNews { page.playerBell.ring(.messages) }
    }

    /// Shows how much of the source is there.
    private func show() { Self.show(media, at: time, on: page, reception) }

    private static func show(_ media: borrowing MediaReader, at time: MediaTime, on page: ControlPage, _ reception: ReceptionGauges?) {
        let loading = media.loading(from: time)
        var gauges = ReaderGauges(loading.loaded(at: .now))
        (gauges.reception, gauges.soundEnd) = (media.reception, media.soundEnd)
        if let reception { reception.show(gauges, loading) } else { page.show(gauges) }
    }

    private var tracks: ReaderTracks {
        var tracks = ReaderTracks()
        (tracks.selected, tracks.audio) = (media.selectedTracks, media.description.audio)
        tracks.selected[.subtitle] = selectedSubtitles
        (tracks.hasPicture, tracks.hasSound) = (media.hasPicture, media.hasSound)
        return tracks
    }
}

/// Shows the state of a stream on the page while the playing thread waits for more: a thread of its own looks at the received part.
private final class ReceptionGauges: Sendable {
    private let page: ControlPage
    private let last = Mutex<(gauges: ReaderGauges, loading: Loading)?>(nil)

    /// Updates `page` until the player has gone.
    init(_ page: ControlPage, _ channel: ReaderChannel) {
        self.page = page
        Thread("gauges") { [weak self] in
            while !channel.isClosed, let self {
                self.refresh()
                usleep(100_000)
            }
        }.detach()
    }

    /// Shows the values of the playing thread.
    func show(_ gauges: ReaderGauges, _ loading: Loading) {
        last.withLock { last in
            last = (gauges, loading)
            page.show(gauges)
        }
    }

    private func refresh() {
        last.withLock { last in
            guard var gauges = last?.gauges, let loading = last?.loading else { return }
            gauges.loaded = loading.loaded(at: .now)
            page.show(gauges)
        }
    }
}

/// Keeps pictures while the player shows them.
protocol PictureStore: Sendable {
    /// Keeps a picture in the slot of its record, and notes its place there. Returns the picture if there is no room.
    func put(_ frame: consuming VideoFrame, _ record: inout PictureRecord) -> VideoFrame?
    /// Frees the slot of a picture that the player no longer shows.
    func free(_ slot: Int)
}

/// A store in one process: the player takes the picture itself.
extension HandedFrames: PictureStore {
    func put(_ frame: consuming VideoFrame, _ record: inout PictureRecord) -> VideoFrame? {
        record.place = .handed
        put(frame, record.slot)
        return nil
    }

    func free(_ slot: Int) { _ = take(slot) }
}
