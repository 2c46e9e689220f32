import Glibc
import KioskCaptureCore
import KioskConfiguration
import KioskDisplayCore
import KioskInputCore
import KioskMedia
import KioskPlatform
import KioskPlayback
import KioskVocabulary
import Logging
import Synchronization

/// The viewer's side of a recording: the camera's picture, buttons, the film under review, and the folder for the films.
///
/// ``RecordingStage`` decides; thread `recording` opens devices, draws and moves files. The thread that reads the camera puts its pictures
/// on the display, behind the controls, without waiting. The newest picture replaces the one before. The player pauses meanwhile, as the
/// microphone would pick up its sound.
package final class RecordingScreen: Sendable {
    /// The state of the recording, for programs.
    package struct Facts: Hashable, Sendable {
        /// `idle`, `opening`, `framing`, `recording`, `paused`, `finishing` or `reviewing`.
        package var state = "idle"
        package var elapsed = MediaTime.zero
        package var remaining: MediaTime?
        package var droppedCount = 0
        package var level: Float = 0
        /// The last film that was kept, and the last failure.
        package var film: String?
        package var failure: String?
    }

    /// The requests to the thread.
    private struct Inbox {
        var orders: [(order: RecordingOrder, time: HostTime)] = []
        /// Whether the camera has been requested and its outcome is not yet known.
        var isOpening = false
        /// Whether the display has to be redrawn.
        var isToBeShown = false
        var isClosed = false
    }

    /// The content of the screen.
    private struct Shown {
        var isVisible = false
        var preview: Overlay.Picture?
        var drawn: [Overlay.Picture] = []
        var panel: RecordingPanel?
        var geometry: ScreenGeometry?
        /// Whether it takes touches and keys; a message alone does not.
        var isInUse = false
        /// The button with the keyboard focus; nil until a key is used.
        var focus: Int?
        /// The session whose pictures are shown; a session that ends may still deliver one.
        var session: Int?
        /// The contacts that went down here.
        var contacts: Set<Int> = []
    }

    private static let log = Logger(label: "capture")
    private let settings: Configuration.Record
    private let encoder: EncoderWish
    private let folder: FilmFolder
    private let theme: Theme
    private let player: PlaybackEngine
    private let screen: any ControlsScreen
    private let changed: @Sendable (Facts) -> Void
    private let shown = Mutex(Shown())
    private let inbox = Monitor(Inbox())
    private let known = Mutex(Facts())
    private let thread = Mutex<Thread?>(nil)

    /// How long a message stays.
    private static let reading = MediaTime.seconds(6)
    /// The rest of a film under review at which it starts again. At its end the player would return to the playlist.
    private static let reviewEnd = MediaTime.milliseconds(80)
    /// How often the thread looks for films past their age limit.
    private static let ageing = MediaTime.seconds(600)

    /// Creates the recording that `settings` describe; nil if they have no folder. If `device` is set, only this node may encode. `changed`
    /// is called on the thread `recording`, with a new state, a kept film or a failure.
    package init?(
        _ settings: Configuration.Record, device: String?, theme: Theme, player: PlaybackEngine, screen: any ControlsScreen,
        changed: @escaping @Sendable (Facts) -> Void
    ) {
        guard let path = settings.folder else { return nil }
        (self.settings, self.theme, self.player, self.screen, folder) = (settings, theme, player, screen, FilmFolder(path))
        self.changed = changed
        encoder = EncoderWish(settings.encoder, device: device)
        let thread = Thread("recording") { [weak self] in
            Thread.comeSecond()
            if let self {
                let (films, thrown) = folder.tidy(reviews: settings.onRecord == .review, limits)
                for film in films { Self.log.notice("\(film): a film that was cut off, as far as it went") }
                for draft in thrown { Self.log.notice("\(draft): discarded: the player ended before anybody kept it") }
            }
            var work = Work(onRecord: settings.onRecord)
            // `work` stays on the stack while the thread waits; the object may go meanwhile.
            while let self, self.step(&work) {}
        }
        self.thread.withLock { $0 = thread }
    }

    private var limits: FilmFolder.Limits {
        FilmFolder.Limits(number: settings.keptNumber, age: settings.keptAge, space: settings.keptSpace)
    }

    /// Requests an action. Any thread; returns at once.
    package func order(_ order: RecordingOrder) {
        inbox.signal { inbox in
            inbox.orders.append((order, .now))
            if order == .preview || order == .start || order == .toggle { inbox.isOpening = true }
        }
    }

    /// The state of the recording: `opening` as soon as the camera has been requested.
    package var facts: Facts {
        let isOpening = inbox.withLock { $0.isOpening }
        var facts = known.withLock { $0 }
        if isOpening, facts.state == "idle" { facts.state = "opening" }
        return facts
    }

    /// Whether a viewer is recording, or reviewing a film.
    package var isInUse: Bool { shown.withLock { $0.isInUse } }

    /// Ends the recording and keeps the film so far. Blocks until it is kept, for some seconds at most.
    package func close() {
        inbox.signal { $0.isClosed = true }
        _ = thread.withLock { $0.take() }?.join(until: .now + .seconds(4))
    }

    // MARK: The thread

    /// The state of the thread.
    private struct Work: ~Copyable {
        var stage: RecordingStage
        var (session, sessionCount): (CaptureSession?, Int) = (nil, 0)
        /// Loaded at first use: fonts take some megabytes.
        var drawing: RecordingDrawing?
        var draft: String?
        /// Whether the player has to resume.
        var wasPlaying = false
        var message: (text: String, until: HostTime)?
        /// Whether the film under review has been on the screen, and whether the loss of the microphone has been reported.
        var (hasSeenFilm, hasToldOfSilence) = (false, false)
        var told = Facts()
        /// The last note about the encoder, logged once.
        var encoderNote: String?
        /// The time of the next search for films past their age limit.
        var agesAt = HostTime.now
        init(onRecord: OnRecord) { stage = RecordingStage(onRecord) }
    }

    /// Waits for the next request or deadline and handles it. Returns false at the end.
    private func step(_ work: inout Work) -> Bool {
        let (orders, isClosed) =
            inbox.wait(until: deadline(work)) { inbox -> ([(order: RecordingOrder, time: HostTime)], Bool)? in
                if inbox.orders.isEmpty, !inbox.isClosed, !inbox.isToBeShown { return nil }
                defer { (inbox.orders, inbox.isToBeShown) = ([], false) }
                return (inbox.orders, inbox.isClosed)
            } ?? ([], false)
        for (order, time) in orders { carryOut(work.stage.order(order, at: time), &work) }
        if let report = work.session?.report(until: .now) { note(report, &work) }
        let status = work.session?.status
        if let failure = status?.failure, work.stage.state == .framing {
            complain(failure, &work)
            carryOut(work.stage.failed(), &work)
        } else if let failure = status?.soundFailure, !work.hasToldOfSilence {
            complain("the microphone was lost: the film is silent from here on: \(failure)", "The microphone was unplugged", &work)
            work.hasToldOfSilence = true
        }
        carryOut(work.stage.expire(at: .now), &work)
        // Pauses the player, whatever has resumed it: the microphone would pick up its sound.
        if work.session != nil, player.snapshot.status != .paused { player.perform(.pause) }
        playAgain(&work)
        if let age = settings.keptAge, work.agesAt <= .now, work.stage.state == .idle {
            folder.expire(age: age)
            work.agesAt = .now + Self.ageing
        }
        if let message = work.message, message.until < .now { work.message = nil }
        show(&work)
        inbox.withLock { if $0.orders.isEmpty { $0.isOpening = false } }
        if !isClosed { return true }
        finish(&work)
        return false
    }

    /// The time of the next work without a request.
    private func deadline(_ work: borrowing Work) -> HostTime? {
        if work.stage.state == .idle, work.message == nil { return settings.keptAge == nil ? nil : work.agesAt }
        guard work.stage.state == .reviewing else { return .now + .milliseconds(100) }
        let left = reviewed(work).map { $0 - Self.reviewEnd } ?? .milliseconds(100)
        return .now + min(max(left, .milliseconds(5)), .milliseconds(100))
    }

    /// Returns the rest of the film under review; nil if it is not on the screen.
    private func reviewed(_ work: borrowing Work) -> MediaTime? {
        let now = player.snapshot
        return isShown(work.draft) ? now.duration.map { $0 - now.time } : nil
    }

    /// Returns whether a film is on the screen.
    private func isShown(_ film: String?) -> Bool { player.snapshot.source.map { Path($0) } == film.map { Path($0) } }

    /// Repeats the film under review until the viewer has decided.
    private func playAgain(_ work: inout Work) {
        guard work.stage.state == .reviewing, let draft = work.draft else { return }
        if let left = reviewed(work) {
            work.hasSeenFilm = true
            if left <= Self.reviewEnd { player.perform(.seekTo(.zero)) }
        } else if work.hasSeenFilm, !isShown(draft) {
            player.perform(.playSource(draft, resumes: true))
        }
    }

    private func finish(_ work: inout Work) {
        if [.recording, .paused].contains(work.stage.state) {
            work.session?.end()
            if let report = work.session?.report(until: .now + .seconds(3)), report.path != nil { keep(&work) }
        }
        work.session?.close()
        work.session = nil
        hide()
    }

    private func note(_ report: RecordingReport, _ work: inout Work) {
        for text in report.notes where text != report.encoderNote || text != work.encoderNote { Self.log.warning("\(text)") }
        work.encoderNote = report.encoderNote
        if let failure = report.failure { complain(failure, &work) }
        carryOut(work.stage.ended(isThere: report.path != nil, at: .now), &work)
    }

    private func complain(_ error: CaptureError, _ work: inout Work) { complain(error.description, error.short, &work) }

    /// Reports a failure to programs and the log, and to the viewer in short.
    private func complain(_ text: String, _ short: String, _ work: inout Work) {
        Self.log.warning("\(text)")
        known.withLock { $0.failure = text }
        work.message = (short, .now + Self.reading)
    }

    private func carryOut(_ actions: [RecordingStage.Action], _ work: inout Work) {
        for action in actions {
            switch action {
            case .open: open(&work)
            case .close:
                work.session?.close()
                work.session = nil
                shown.withLock { ($0.session, $0.preview) = (nil, nil) }
                if work.stage.state == .idle { playOn(&work) }
            case .begin: begin(&work)
            case .pause: work.session?.pause()
            case .resume: work.session?.resume()
            case .end: work.session?.end()
            case .keep: keep(&work)
            case .discard:
                if let draft = work.draft.take() { folder.discard(draft) }
            case .play:
                // The item to which the player returns plays, too.
                player.play()
                work.hasSeenFilm = false
                if let draft = work.draft { player.perform(.playSource(draft, resumes: true)) }
            case .stopPlaying:
                // Returns to the playlist; also if the film is still on its way to the screen.
                if isShown(work.draft) || !work.hasSeenFilm { player.perform(.nextItem) }
                // Another film follows: the playlist stays silent while the camera opens.
                if work.stage.state == .idle { playOn(&work) } else { pausePlayer(&work) }
            }
        }
    }

    private func pausePlayer(_ work: inout Work) {
        if player.snapshot.status == .paused { return }
        player.perform(.pause)
        work.wasPlaying = true
    }

    private func playOn(_ work: inout Work) {
        if work.wasPlaying { player.play() }
        work.wasPlaying = false
    }

    private func open(_ work: inout Work) {
        let converter = SurfaceConverter()
        work.hasToldOfSilence = false
        work.sessionCount += 1
        let number = work.sessionCount
        shown.withLock { $0.session = number }
        known.withLock { $0.failure = nil }
        do throws(CaptureError) {
            // Before the camera: if kiosk cannot write a film, the playlist goes on undisturbed.
            try folder.check(settings.mode, hasSound: settings.microphone != .off, duration: settings.duration)
            work.session = try CaptureSession.open(camera: settings.camera, microphone: settings.microphone, mode: settings.mode) {
                [weak self] picture in self?.preview(picture, of: number, converter)
            }
            // Not before: if no device opens, the playlist goes on undisturbed.
            pausePlayer(&work)
            carryOut(work.stage.opened(at: .now), &work)
        } catch {
            complain(error, &work)
            carryOut(work.stage.failed(), &work)
        }
    }

    private func begin(_ work: inout Work) {
        do throws(CaptureError) {
            let path = try folder.nextPath()
            var request = RecordingRequest(path: path)
            (request.duration, request.orientation) = (settings.duration, Orientation(rotation: settings.rotation))
            request.encoder = encoder
            work.draft = path
            work.session?.begin(request)
        } catch {
            complain(error, &work)
            carryOut(work.stage.failed(), &work)
        }
    }

    private func keep(_ work: inout Work) {
        guard let draft = work.draft.take() else { return }
        do throws(CaptureError) {
            let film = try folder.keep(draft, limits)
            known.withLock { $0.film = film }
            Self.log.notice("\(film): recorded")
            work.message = ("The film is kept", .now + Self.reading)
        } catch { complain(error, &work) }
    }

    // MARK: The input thread

    /// Returns whether it takes an event: for a button here, or to keep it from the controls below. On the input thread.
    package func takes(_ event: InputEvent) -> Bool {
        switch event {
        case .contact(let touch): touch.contact.surface == .display && takes(touch)
        case .key(let key): takes(key)
        }
    }

    private func takes(_ key: KeyEvent) -> Bool {
        let meaning = shown.withLock { shown -> RecordingPanel.KeyMeaning? in
            guard shown.isInUse, var panel = shown.panel else { return nil }
            // The panel may not be drawn yet with the last focus.
            panel.focus = shown.focus
            guard let meaning = panel.meaning(of: key) else { return nil }
            if case .focus(let place) = meaning { shown.focus = place }
            return meaning
        }
        switch meaning {
        case .press(let button): order(button)
        case .focus: inbox.signal { $0.isToBeShown = true }
        case .nothing: break
        case nil: return false
        }
        return true
    }

    private func takes(_ touch: ContactEvent) -> Bool {
        let (isTaken, pressed) = shown.withLock { shown -> (Bool, RecordingOrder?) in
            let id = touch.contact.id
            switch touch.phase {
            case .down:
                guard shown.isInUse else { return (false, nil) }
                shown.contacts.insert(id)
                guard let panel = shown.panel, let geometry = shown.geometry else { return (true, nil) }
                return (true, panel.button(atX: touch.contact.x, y: touch.contact.y, on: geometry))
            case .move: return (shown.contacts.contains(id), nil)
            case .up, .cancelled: return (shown.contacts.remove(id) != nil, nil)
            }
        }
        if let pressed { order(pressed) }
        return isTaken
    }

    // MARK: On the display

    private var geometry: ScreenGeometry? { screen.mode.map { ScreenGeometry(mode: $0, rotation: screen.nextRotation) } }

    /// Puts a picture of the camera on the display. On the thread that reads the camera.
    private func preview(_ picture: borrowing CapturedPicture, of session: Int, _ converter: SurfaceConverter) {
        guard let geometry, shown.withLock({ $0.isVisible }) else { return }
        let swaps = settings.rotation.swapsAxes
        let (width, height) = (picture.frame.width, picture.frame.height)
        let begin = HostTime.now
        let place = geometry.fit(swaps ? height : width, swaps ? width : height)
        guard
            let surface = converter.surface(
                picture.frame, width: place.width, height: place.height, rotation: settings.rotation, isMirrored: settings.mirrorsPreview)
        else { return }
        shown.withLock { shown in
            guard shown.isVisible, shown.session == session else { return }
            shown.preview = .init(surface: surface, x: place.x, y: place.y)
            shown.geometry = geometry
            present(shown)
        }
        let times = [picture.time, begin, HostTime.now].map { $0.nanoseconds / 1000 }
        Self.log.trace("preview: picture \(picture.number), taken, drawn from and shown at \(times) µs")
    }

    private func present(_ shown: borrowing Shown) {
        guard let geometry = shown.geometry else { return }
        let pictures = (shown.preview.map { [$0] } ?? []) + shown.drawn
        player.setOverlay(Overlay(pictures: pictures, width: geometry.width, height: geometry.height), by: .init(.recording))
    }

    private func hide() {
        let wasVisible = shown.withLock { shown in
            defer { shown = Shown(isInUse: shown.isInUse, session: shown.session, contacts: shown.contacts) }
            return shown.isVisible
        }
        if wasVisible { player.setOverlay(Overlay(), by: .init(.recording)) }
    }

    private func show(_ work: inout Work) {
        let status = work.session?.status ?? CaptureSession.Status()
        let facts = known.withLock { known in
            (known.state, known.elapsed, known.remaining) = (work.stage.state.name, status.elapsed, status.remaining)
            (known.droppedCount, known.level) = (status.droppedCount, status.level)
            return known
        }
        if (facts.state, facts.film, facts.failure) != (work.told.state, work.told.film, work.told.failure) {
            work.told = facts
            changed(facts)
        }
        shown.withLock { $0.isInUse = work.stage.state != .idle }
        guard work.stage.state != .idle || work.message != nil, let geometry else { return hide() }
        if work.drawing == nil { work.drawing = RecordingDrawing(theme) }
        var panel = RecordingPanel(
            work.stage.state, status, hasSound: work.session?.microphone != nil, message: work.message?.text)
        let isSame = shown.withLock { shown in
            // The buttons have changed: focuses the first, which is the usual one.
            if shown.focus != nil, shown.panel?.buttons != panel.buttons { shown.focus = 0 }
            panel.focus = shown.focus
            return shown.panel == panel && shown.geometry == geometry && shown.isVisible
        }
        if isSame { return }
        let drawn = work.drawing?.pictures(panel, on: geometry) ?? []
        shown.withLock { shown in
            (shown.isVisible, shown.panel, shown.geometry, shown.drawn) = (true, panel, geometry, drawn)
            present(shown)
        }
    }
}
