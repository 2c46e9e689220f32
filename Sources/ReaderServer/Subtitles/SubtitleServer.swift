import CSubtitles
import KioskMedia
import KioskPlatform
import KioskReaderProtocol
import KioskVocabulary

/// The subtitles of a source in playback: the tracks in it and beside it, the visible one, and its way to the drawing
/// (``SubtitleComposer``). The decoding thread has it.
struct SubtitleServer: ~Copyable {
    /// The resources acquired before the sandbox is entered.
    struct Means: Sendable {
        let order: SubtitleOrder
        let memory: SharedMemory?
        /// Names of files beside the source, in its folder.
        let names: [String]
        /// The source's own name without its extension.
        let stem: String

        /// Lists the folder of the source, and loads libass if the order says so.
        init(_ order: SubtitleOrder, _ memory: SharedMemory?, source: String) {
            (self.order, self.memory) = (order, memory)
            let name = source.split(separator: "/").last.map(String.init) ?? ""
            stem = SubtitleFile.stem(of: name)
            names = order.folder.map { SubtitleFile.names(beside: name, in: $0) } ?? []
            if !names.isEmpty { SubtitleFile.loadCharacterSets() }
            if order.hasText { _ = kiosk_ass_load() }
        }

        /// Whether there is text to draw that this reader cannot draw.
        func needsText(for media: borrowing MediaReader) -> Bool {
            if order.hasText || order.screen == nil || media.description.video == nil || media.description.isStill { return false }
            return !names.isEmpty || media.description.tracks.contains { $0.kind == .subtitle && media.isText($0.id) }
        }
    }

    /// The tracks beside the source.
    let beside: [AssetTrack]
    /// The ``AssetTrack/id`` of the visible track.
    private(set) var selected: Int?

    private let means: Means
    private var order: SubtitleOrder
    private let channel: ReaderChannel
    private let page: ControlPage
    private let composer: SubtitleComposer
    private let publisher: SubtitlePublisher
    private let shape: SubtitleComposer.PictureShape
    /// All cues of a file beside the source.
    private var cues: [SubtitleCue] = []
    /// Reads subtitles that have a list of their own.
    private var feed: SubtitleFeed?
    /// Whether each picture waits for its subtitles: no viewer is watching.
    private let isPatient: Bool
    /// The picture decoded last; the composer learns of it once the next one is decoded.
    private var last: MediaTime?

    /// Ids of tracks beside a source start here, above those of any track in it.
    private static let firstBeside = 1 << 19

    /// nil if the source has no moving pictures, or no subtitles at all.
    init?(_ means: Means, _ order: OpenOrder, _ media: inout MediaReader, _ channel: ReaderChannel, _ page: ControlPage) {
        let inside = media.description.tracks.count { $0.kind == .subtitle }
        guard let memory = means.memory, let video = media.description.video, !media.description.isStill, inside > 0 || !means.names.isEmpty
        else {
            _ = media.selectSubtitles(nil)
            return nil
        }
        (self.means, self.order, self.channel, self.page, isPatient) = (means, means.order, channel, page, order.takesTime)
        beside = means.names.enumerated().compactMap { index, name in
            guard var track = SubtitleFile.track(of: name, stem: means.stem) else { return nil }
            (track.id, track.number, track.isBeside) = (Self.firstBeside + index, inside + index + 1, true)
            return track
        }
        let (width, height) = video.presentationSize
        shape = .init(
            stored: PixelSize(width: video.width, height: video.height), presented: PixelSize(width: width, height: height))
        publisher = SubtitlePublisher(channel, page, memory)
        composer = SubtitleComposer(publisher) { wish in
            channel.ask(for: wish) {
                page.countMessage()
                page.playerBell.ring(.messages)
            }
        }
        select(&media)
    }

    deinit {
        feed?.stop()
        composer.stop()
    }

    /// Selects the track of the order.
    private mutating func select(_ media: inout MediaReader) {
        let tracks = media.description.tracks + beside
        let sound = media.selectedTracks[.audio].flatMap { id in tracks.first { $0.id == id } }?.language
        let track = tracks.subtitles(order.choice, sound: sound)
        if track == nil, order.choice != .off, order.choice != .automatic {
            let have = tracks.filter { $0.kind == .subtitle }.map(\.summary).joined(separator: "; ")
            media.report("has no subtitles “\(order.choice)”: kiosk shows none; there is \(have)")
        }
        feed?.stop()
        (selected, cues, feed, last) = (track?.id, [], nil, nil)
        guard let track else {
            _ = media.selectSubtitles(nil)
            return composer.order(.begin(nil, order, shape))
        }
        if track.isBeside {
            _ = media.selectSubtitles(nil)
            read(track, &media)
        } else {
            let script = media.selectSubtitles(track.id)
            composer.order(.begin(script, order, shape))
            feed = media.feed(track.id) { [composer] news in
                composer.order(.cues(news.cues))
                if let (time, first) = news.again { composer.order(.state(at: time, from: first)) }
                if let newest = news.newest { composer.order(.picture(newest)) }
            }
        }
    }

    /// Reads a file beside the source.
    private mutating func read(_ track: AssetTrack, _ media: inout MediaReader) {
        let name = means.names[track.id - Self.firstBeside]
        do throws(MediaError) {
            guard let file = try? channel.ask(for: name, in: order.folder).get(), let bytes = file.bytes(atMost: SubtitleFile.largest)
            else {
                throw MediaError(name, .failed("cannot be read, or is larger than \(SubtitleFile.largest >> 20) MB"))
            }
            let (script, cues) = try SubtitleFile.read(bytes, name: name, language: track.language, encoding: order.style.encoding)
            self.cues = cues
            composer.order(.begin(script, order, shape))
            composer.order(.cues(cues))
        } catch {
            selected = nil
            media.report("plays without its subtitles: \(name): \(error.reason.text)")
            composer.order(.begin(nil, order, shape))
        }
    }

    // MARK: Decoding

    /// A picture has been decoded.
    mutating func decoded(_ time: MediaTime, _ media: inout MediaReader) {
        guard selected != nil else { return }
        let cues = media.takeCues()
        if !cues.isEmpty { composer.order(.cues(cues)) }
        if let feed {
            for problem in feed.takeProblems() { media.report(problem) }
            // A slow server is no hung decoder.
            feed.decoded(time, ticks: media.streamTicks(at: time), atMost: isPatient ? .seconds(30) : .zero) { page.advance() }
        }
        if let last { draw(last) }
        last = time
    }

    /// Handles the end of the pictures.
    mutating func ended() {
        guard let last = last.take() else { return }
        draw(last)
        // The player takes nothing after this picture. It is a fifth of a second until the picture is visible.
        composer.wait(atMost: .milliseconds(100))
    }

    private func draw(_ time: MediaTime) {
        composer.order(.picture(time))
        if isPatient { composer.wait(atMost: .seconds(30)) }
    }

    /// Continues at another item time. The subtitles visible there from a file beside the source have been sent when this returns: in a
    /// pause nothing looks again.
    mutating func restart(at time: MediaTime, _ media: borrowing MediaReader) {
        last = nil
        composer.order(.restart)
        if cues.isEmpty, feed == nil { return }
        composer.order(.cues(cues))
        show(at: time, media)
        // The visible picture may have begun before `time`.
        composer.order(.state(at: time, from: .zero))
        composer.wait(atMost: .milliseconds(200))
    }

    /// Fetches the subtitles of a list for an item time.
    private func show(at time: MediaTime, _ media: borrowing MediaReader) {
        feed?.restart(at: time, ticks: media.streamTicks(at: time))
        feed?.wait(for: time, atMost: isPatient ? .seconds(30) : .milliseconds(200)) { page.advance() }
    }

    /// Changes the choice or the screen; `time` is the item time on the screen. The subtitles visible there have been sent when this
    /// returns.
    mutating func change(_ wish: SubtitleOrder, _ media: inout MediaReader, at time: MediaTime) {
        let former = order
        order = wish
        // The folder stays the one of the opened source.
        (order.folder, order.hasText) = (former.folder, former.hasText)
        if order.choice != former.choice || order.style.encoding != former.style.encoding {
            select(&media)
            show(at: time, media)
        } else {
            composer.order(.look(order))
        }
        composer.order(.state(at: time, from: time))
        composer.wait(atMost: .seconds(1))
    }
}

extension OpenedFile {
    /// Returns all bytes; nil if there are more than `most`, or if they cannot be read.
    fileprivate func bytes(atMost most: Int) -> [UInt8]? {
        guard version.size <= most else { return nil }
        var bytes = [UInt8](repeating: 0, count: Int(version.size))
        let count = bytes.withUnsafeMutableBytes {
            $0.baseAddress.map { read(into: $0, count: version.size == 0 ? 0 : Int(version.size), at: 0).count } ?? 0
        }
        guard count >= 0 else { return nil }
        bytes.removeLast(bytes.count - count)
        return bytes
    }
}
