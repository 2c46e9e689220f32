import CSubtitles
import KioskMedia
import KioskPlatform
import KioskReaderProtocol
import KioskVocabulary

/// Draws the subtitles visible with each picture, if they differ from those of the previous picture.
///
/// It has a thread of its own, so it delays no decoding. It learns of a picture once the next one is decoded: by then the reader has read
/// all of the picture's subtitles. If it cannot keep up, it skips waiting pictures.
///
///     cues, pictures ──▶ composer ──▶ memory that both have, and a message to the player
final class SubtitleComposer: Sendable {
    /// A job for the thread.
    enum Job: Sendable {
        /// Starts other subtitles: drawn from a script, or pictures; nil for none.
        case begin(SubtitleScript?, SubtitleOrder, PictureShape)
        case cues([SubtitleCue])
        /// Discards the cues read so far, as they will be read again, or not; keeps a script that is complete.
        case restart
        /// The picture at this item time is decoded.
        case picture(MediaTime)
        /// Draws the subtitles visible at an item time, and sends them in any case, as visible from the picture at another time on.
        case state(at: MediaTime, from: MediaTime)
        /// Says that all jobs before it are done.
        case done(Monitor<Bool>)
        /// Draws for another screen.
        case look(SubtitleOrder)
    }

    /// The size of the picture below the subtitles: as stored, and as presented, upright and with square pixels.
    struct PictureShape: Hashable, Sendable {
        var stored: PixelSize, presented: PixelSize
    }

    private struct State {
        var jobs: [Job] = []
        var isStopping = false
    }

    private let state = Monitor(State())
    private let publisher: SubtitlePublisher
    private let ask: @Sendable (FontWish) -> OpenedFile?

    /// The most pictures in the queue.
    private static let mostWaiting = 16

    init(_ publisher: SubtitlePublisher, ask: @escaping @Sendable (FontWish) -> OpenedFile?) {
        (self.publisher, self.ask) = (publisher, ask)
        Thread("subtitles") { [self] in run() }.detach()
    }

    func order(_ job: Job) {
        state.signal { state in
            if case .picture = job {
                // Only the newest ones are still of use.
                let waiting = state.jobs.indices.filter { if case .picture = state.jobs[$0] { true } else { false } }
                if waiting.count >= Self.mostWaiting { state.jobs.remove(at: waiting[0]) }
            }
            state.jobs.append(job)
        }
    }

    /// Waits until all ordered jobs are done, at most for `limit`: a script can take arbitrarily long.
    func wait(atMost limit: MediaTime) {
        let done = Monitor(false)
        order(.done(done))
        _ = done.wait(until: .now + limit) { $0 ? true : nil }
    }

    func stop() { state.signal { $0.isStopping = true } }

    // MARK: The thread

    /// Waits for the next job; nil at the end.
    private func next() -> Job? {
        state.wait { state -> Job?? in
            if state.isStopping { return .some(nil) }
            if state.jobs.isEmpty { return nil }
            return .some(state.jobs.removeFirst())
        } ?? nil
    }

    private func run() {
        var drawing = SubtitleDrawing(publisher, ask)
        while let job = next() {
            switch job {
            case .begin(let script, let order, let shape): drawing.begin(script, order, shape)
            case .cues(let cues): drawing.add(cues)
            case .restart: drawing.restart()
            case .picture(let time): drawing.draw(at: time)
            case .state(let time, let first): drawing.draw(at: time, from: first)
            case .done(let done): done.signal { $0 = true }
            case .look(let order): drawing.look(order)
            }
        }
    }
}

/// The state of the thread.
private struct SubtitleDrawing: ~Copyable {
    /// Owns the libass renderer. The corresponding C functions are `ass_renderer_init` and `ass_renderer_done`.
    private final class Renderer {
        let raw: OpaquePointer
        let book: FontBook

        init?(_ families: String, _ ask: @escaping (FontWish) -> OpenedFile?) {
            guard let raw = kiosk_ass_make() else { return nil }
            self.raw = raw
            book = FontBook(raw, families: families, ask: ask)
        }

        deinit {
            book.close()
            kiosk_ass_free(raw)
        }
    }

    /// A rectangle in pixels.
    private struct Place {
        var x: Int, y: Int, width: Int, height: Int
    }

    private let publisher: SubtitlePublisher
    private let ask: @Sendable (FontWish) -> OpenedFile?
    private var renderer: Renderer?
    private var order = SubtitleOrder()
    private var shape = SubtitleComposer.PictureShape(stored: PixelSize(width: 1, height: 1), presented: PixelSize(width: 1, height: 1))
    private var script: SubtitleScript?
    private var lines = SubtitleLines(header: "")
    /// Texts that are still to be sent; pictures, the newest last.
    private var texts: [ReaderCue] = []
    private var pictures: [(pictures: [SubtitlePicture], canvas: PixelSize, start: MediaTime, end: MediaTime?)] = []
    /// The start of the visible pictures.
    private var shownStart: MediaTime?
    private var hasShown = false
    private var hasToldOfFonts = false

    private static let mostTexts = 50_000, mostPast = 1000, mostPictures = 64

    init(_ publisher: SubtitlePublisher, _ ask: @escaping @Sendable (FontWish) -> OpenedFile?) {
        (self.publisher, self.ask) = (publisher, ask)
    }

    mutating func begin(_ script: SubtitleScript?, _ order: SubtitleOrder, _ shape: SubtitleComposer.PictureShape) {
        (self.script, self.shape) = (script, shape)
        (texts, events, pictures, shownStart) = ([], [], [], nil)
        guard let script else {
            renderer = nil
            return look(order)
        }
        if renderer == nil || order.style != self.order.style { renderer = Renderer(order.style.font, ask) }
        self.order = order
        guard let renderer, !renderer.book.isEmpty else {
            publisher.complain(
                "its subtitles are not drawn: \(renderer == nil ? "libass 0.17 is not installed (libass9)" : "no font is installed")")
            self.renderer = nil
            return
        }
        for font in script.fonts { renderer.book.add(font.bytes) }
        setScript()
    }

    /// Passes the script and the screen to the renderer.
    private mutating func setScript() {
        guard let renderer, let script else { return }
        let header = script.header.map { String(decoding: $0, as: UTF8.self) } ?? plainHeader(renderer.book.family)
        lines = SubtitleLines(header: header)
        lines.wantFonts(of: renderer.book)
        renderer.book.use()
        var text = header
        _ = text.withUTF8 { bytes in
            bytes.withMemoryRebound(to: CChar.self) { kiosk_ass_begin(renderer.raw, $0.baseAddress!, $0.count) }
        }
        setFrame()
    }

    /// Returns the header for subtitles without one: in 288ths of the window's height.
    private func plainHeader(_ family: String) -> String {
        let window = window
        let height = 288, width = max(1, height * window.width / max(window.height, 1))
        let size = Double(height) * order.style.size / 100
        let (across, down) = (width * order.style.safeArea / 100, height * order.style.safeArea / 100)
        let edge = (size / 16 * 100).rounded() / 100
        return """
            [Script Info]
            ScriptType: v4.00+
            PlayResX: \(width)
            PlayResY: \(height)
            ScaledBorderAndShadow: yes
            WrapStyle: 0

            [V4+ Styles]
            Format: Name, Fontname, Fontsize, PrimaryColour, SecondaryColour, OutlineColour, BackColour, Bold, Italic, Underline, StrikeOut, ScaleX, ScaleY, Spacing, Angle, BorderStyle, Outline, Shadow, Alignment, MarginL, MarginR, MarginV, Encoding
            Style: Default,\(family),\(size),&Hffffff,&Hffffff,&H0,&H0,0,0,0,0,100,100,0,0,1,\(edge),0,2,\(across),\(across),\(down),1

            [Events]
            Format: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text

            """
    }

    /// The part of the screen with the picture, in pixels.
    private var window: Place {
        guard let screen = order.screen else { return Place(x: 0, y: 0, width: 1, height: 1) }
        func side(_ start: Double, _ length: Double, _ whole: Int) -> (Int, Int) {
            let begin = Int((start * Double(whole)).rounded()), end = Int(((start + length) * Double(whole)).rounded())
            return (begin, max(end - begin, 1))
        }
        let (x, width) = side(screen.region.x, screen.region.width, screen.size.width)
        let (y, height) = side(screen.region.y, screen.region.height, screen.size.height)
        return Place(x: x, y: y, width: width, height: height)
    }

    /// The place of the picture in the window; parts of it may lie outside.
    private var picture: Place {
        let window = window
        let across = Double(window.width) / Double(max(shape.presented.width, 1)),
            down = Double(window.height) / Double(max(shape.presented.height, 1))
        let scale =
            switch order.screen?.gravity ?? .resizeAspect {
            case .resizeAspect: (min(across, down), min(across, down))
            case .resizeAspectFill: (max(across, down), max(across, down))
            case .resize: (across, down)
            }
        let width = Int((Double(shape.presented.width) * scale.0).rounded()),
            height = Int((Double(shape.presented.height) * scale.1).rounded())
        return Place(x: (window.width - width) / 2, y: (window.height - height) / 2, width: max(width, 1), height: max(height, 1))
    }

    private func setFrame() {
        guard let renderer, order.screen != nil else { return }
        let (window, picture) = (window, picture)
        var frame = kiosk_ass_frame()
        (frame.width, frame.height) = (Int32(clamping: window.width), Int32(clamping: window.height))
        (frame.stored_width, frame.stored_height) = (Int32(clamping: shape.stored.width), Int32(clamping: shape.stored.height))
        if script?.header != nil {
            (frame.left, frame.top) = (Int32(clamping: picture.x), Int32(clamping: picture.y))
            frame.right = Int32(clamping: window.width - picture.x - picture.width)
            frame.bottom = Int32(clamping: window.height - picture.y - picture.height)
        }
        kiosk_ass_set_frame(renderer.raw, &frame)
    }

    mutating func look(_ order: SubtitleOrder) {
        let former = self.order
        self.order = order
        guard former.screen != order.screen || former.style != order.style, renderer != nil else { return }
        // A script with styles of its own names its fonts, and has its own margins.
        guard script?.header == nil else { return setFrame() }
        if former.style.font != order.style.font, let other = Renderer(order.style.font, ask), !other.book.isEmpty { renderer = other }
        setScript()
        for event in events { put(event) }
    }

    // MARK: Cues

    /// The lines of a track without a script, kept to draw them again for another screen.
    private var events: [(line: String, start: MediaTime, end: MediaTime)] = []
    /// The item time of the last search for past events.
    private var looked = MediaTime.zero

    mutating func add(_ cues: [SubtitleCue]) {
        for cue in cues {
            switch cue {
            case .line(let line, let start, let end):
                if script?.header == nil, events.count < Self.mostTexts { events.append((line, start, end)) }
                put((line, start, end))
                let text = SubtitleCue.plainText(ofLine: line)
                if !text.isEmpty, texts.count < Self.mostTexts { texts.append(ReaderCue(text, start: start, end: end)) }
            case .pictures(let shown, let canvas, let start, let end):
                pictures.append((shown, canvas, start, end))
                if pictures.count > Self.mostPictures { pictures.removeFirst() }
            }
        }
        guard let renderer else { return }
        renderer.book.use()
        if let missing = renderer.book.missing, !hasToldOfFonts {
            hasToldOfFonts = true
            let character = Unicode.Scalar(missing).map { "“\($0)”" } ?? "one"
            publisher.complain(
                "no installed font has all characters of its subtitles, such as \(character): install packages such as fonts-noto-core and fonts-noto-cjk"
            )
        }
    }

    private func put(_ event: (line: String, start: MediaTime, end: MediaTime)) {
        guard let renderer else { return }
        var line = lines.prepared(event.line, renderer.book)
        let start = event.start.nanoseconds / 1_000_000
        let duration = max(event.end.nanoseconds / 1_000_000 - start, 0)
        line.withUTF8 { bytes in
            guard let base = bytes.baseAddress else { return }
            base.withMemoryRebound(to: CChar.self, capacity: bytes.count) { kiosk_ass_add(renderer.raw, $0, bytes.count, start, duration) }
        }
    }

    mutating func restart() {
        if let renderer { kiosk_ass_flush(renderer.raw) }
        (texts, events, pictures, shownStart) = ([], [], [], nil)
    }

    // MARK: Drawing

    /// Draws the subtitles visible at an item time, and publishes them if they have changed, or in any case with `first`.
    mutating func draw(at time: MediaTime, from first: MediaTime? = nil) {
        let always = first != nil
        tellTexts(at: time)
        forgetEvents(before: time)
        guard let screen = order.screen else { return }
        if let renderer {
            let isChanged = kiosk_ass_render(renderer.raw, max(time.nanoseconds, 0) / 1_000_000)
            if isChanged || always { publish(renderer, screen, at: first ?? time) }
            return
        }
        let present = pictures.last { $0.start <= time }
        let seen = present.flatMap { cue in cue.end.map { time < $0 } ?? true ? cue : nil }
        let isShown = seen.map { !$0.pictures.isEmpty } ?? false
        guard always || isShown != hasShown || isShown && seen?.start != shownStart else { return }
        shownStart = seen?.start
        publish(isShown ? seen.map { placed($0.pictures, on: $0.canvas) } ?? [] : [], screen, at: first ?? time)
    }

    /// Discards past lines, a thousand at a time: a live stream keeps adding lines.
    private mutating func forgetEvents(before time: MediaTime) {
        guard let renderer, events.count > Self.mostPast, time < looked || time >= looked + .seconds(60) else { return }
        looked = time
        let rest = events.filter { $0.end >= time }
        if events.count - rest.count <= Self.mostPast { return }
        events = rest
        kiosk_ass_flush(renderer.raw)
        for event in rest { put(event) }
    }

    private mutating func tellTexts(at time: MediaTime) {
        if texts.isEmpty { return }
        for text in texts where text.start <= time && time < text.end { publisher.tell(text) }
        texts.removeAll { $0.start <= time }
    }

    private mutating func publish(_ renderer: Renderer, _ screen: SubtitleScreen, at time: MediaTime) {
        var boxes = [kiosk_box](repeating: kiosk_box(), count: ReaderSubtitle.mostParts)
        let count = Int(kiosk_ass_boxes(renderer.raw, &boxes, Int32(boxes.count)))
        let window = window
        let parts = boxes.prefix(count).map { box in
            var pixels = [UInt32](repeating: 0, count: Int(box.width) * Int(box.height))
            kiosk_ass_draw(renderer.raw, box, &pixels)
            return SubtitlePicture(
                x: Int(box.x) + window.x, y: Int(box.y) + window.y, width: Int(box.width), height: Int(box.height), pixels: pixels)
        }
        publish(parts, screen, at: time)
    }

    private mutating func publish(_ parts: [SubtitlePicture], _ screen: SubtitleScreen, at time: MediaTime) {
        // Nothing after nothing is no change.
        if parts.isEmpty, !hasShown { return }
        hasShown = !parts.isEmpty
        publisher.publish(parts, on: screen.size, at: time)
    }

    /// Scales and moves pictures to their place on the screen, in its pixels.
    private func placed(_ pictures: [SubtitlePicture], on canvas: PixelSize) -> [SubtitlePicture] {
        let (window, picture) = (window, picture)
        let across = Double(picture.width) / Double(max(canvas.width, 1)), down = Double(picture.height) / Double(max(canvas.height, 1))
        return pictures.prefix(ReaderSubtitle.mostParts).compactMap { source in
            let width = Int((Double(source.width) * across).rounded()), height = Int((Double(source.height) * down).rounded())
            guard width > 0, height > 0, width <= 4 * window.width, height <= 4 * window.height else { return nil }
            var pixels = source.pixels
            if (width, height) != (source.width, source.height) {
                pixels = [UInt32](repeating: 0, count: width * height)
                kiosk_scale_pixels(
                    source.pixels, Int32(source.width), Int32(source.height), &pixels, Int32(width), Int32(height))
            }
            return SubtitlePicture(
                x: window.x + picture.x + Int((Double(source.x) * across).rounded()),
                y: window.y + picture.y + Int((Double(source.y) * down).rounded()), width: width, height: height, pixels: pixels)
        }
    }
}
