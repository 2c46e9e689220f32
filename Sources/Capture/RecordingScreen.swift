import Configuration
import Controls
import Glibc
import KioskInput
import KioskMedia
import KioskPlatform
import KioskPlayback
import KioskVocabulary
import Logging
import Synchronization

/// The recording as a viewer has it: the camera's picture on the display, buttons, the film that is reviewed, and the folder that it comes into.
///
/// ``RecordingStage`` decides; thread `recording` opens devices, draws and moves files. What the camera sees goes from the thread that reads it to the display,
/// behind the controls, without waiting for anybody: the newest picture takes the place of the one before. The player pauses meanwhile, as the microphone would hear it.
package final class RecordingScreen: Sendable {
    /// What is shown.
    private struct Shown {
        var isVisible = false
        var preview: Overlay.Picture?
        var drawn: [Overlay.Picture] = []
        var panel: RecordingPanel?
        var geometry: ScreenGeometry?
        /// Contacts that went down here.
        var contacts: Set<Int> = []
    }

    private struct Inbox {
        var orders: [(order: RecordingOrder, time: HostTime)] = []
        var isClosed = false
    }

    /// How it is, for programs.
    package struct Facts: Hashable, Sendable {
        /// `idle`, `opening`, `framing`, `recording`, `paused`, `finishing` or `reviewing`.
        package var state = "idle"
        package var elapsed = MediaTime.zero
        package var remaining: MediaTime?
        package var droppedCount = 0
        package var level: Float = 0
        /// The film that was kept last, and what went wrong last.
        package var film: String?
        package var failure: String?
    }

    private let settings: Configuration.Record
    private let folder: FilmFolder
    private let theme: Theme
    private let player: Player
    private let screen: any ControlsScreen
    private let shown = Mutex(Shown())
    private let inbox = Monitor(Inbox())
    private let known = Mutex(Facts())
    private let thread = Mutex<Thread?>(nil)

    /// How long something that went wrong is to be read.
    private static let reading = MediaTime.seconds(6)

    /// The recording that `settings` describe, of a player on `screen`; nil where they have no folder.
    package init?(_ settings: Configuration.Record, theme: Theme, player: Player, screen: any ControlsScreen) {
        guard let path = settings.folder else { return nil }
        (self.settings, self.theme, self.player, self.screen, folder) = (settings, theme, player, screen, FilmFolder(path))
        let thread = Thread("recording") { [weak self] in
            Thread.comeSecond()
            if let self {
                for film in folder.tidy() { log.notice("\(film): a film that was cut off, as far as it went") }
            }
            var work = Work(onRecord: settings.onRecord)
            // What is to be waited for; the object may go meanwhile.
            while let self, self.step(&work) {}
        }
        self.thread.withLock { $0 = thread }
    }

    /// Somebody has asked for something. Any thread; returns at once.
    package func order(_ order: RecordingOrder) { inbox.signal { $0.orders.append((order, .now)) } }

    /// How it is.
    package var facts: Facts { known.withLock { $0 } }

    /// Ends it: what is being recorded is kept. Blocks until it is, for some seconds at most.
    package func close() {
        inbox.signal { $0.isClosed = true }
        _ = thread.withLock { $0.take() }?.join(until: .now + .seconds(4))
    }

    /// Whether an event is for a button here, or for nobody as this lies over everything. On the input thread.
    package func takes(_ event: InputEvent) -> Bool {
        guard case .contact(let touch) = event, touch.contact.surface == .display else { return false }
        let (isTaken, pressed) = shown.withLock { shown -> (Bool, RecordingPanel.Button?) in
            let id = touch.contact.id
            switch touch.phase {
            case .down:
                guard shown.isVisible, let panel = shown.panel, let geometry = shown.geometry else { return (false, nil) }
                shown.contacts.insert(id)
                return (true, panel.button(atX: touch.contact.x, y: touch.contact.y, on: geometry))
            case .move: return (shown.contacts.contains(id), nil)
            case .up, .cancelled: return (shown.contacts.remove(id) != nil, nil)
            }
        }
        if let pressed { order(pressed.order) }
        return isTaken
    }

    // MARK: The thread

    /// What the thread has.
    private struct Work: ~Copyable {
        var stage: RecordingStage
        var session: CaptureSession?
        /// Loaded when it is first needed: fonts are some megabytes.
        var drawing: RecordingDrawing?
        var draft: String?
        /// Whether the player is to play again.
        var wasPlaying = false
        var message: (text: String, until: HostTime)?
        init(onRecord: OnRecord) { stage = RecordingStage(onRecord) }
    }

    /// Waits for the next thing and does it; false at the end.
    private func step(_ work: inout Work) -> Bool {
        let isBusy = work.stage.state != .idle || work.message != nil
        let (orders, isClosed) =
            inbox.wait(until: isBusy ? .now + .milliseconds(100) : nil) { inbox -> ([(order: RecordingOrder, time: HostTime)], Bool)? in
                if inbox.orders.isEmpty, !inbox.isClosed { return nil }
                defer { inbox.orders = [] }
                return (inbox.orders, inbox.isClosed)
            } ?? ([], false)
        for (order, time) in orders { carryOut(work.stage.order(order, at: time), &work) }
        if let report = work.session?.report(until: .now) { note(report, &work) }
        if let failure = work.session?.status.failure, work.stage.state == .framing {
            complain(failure.description, &work)
            carryOut(work.stage.failed(), &work)
        }
        carryOut(work.stage.expire(at: .now), &work)
        // Whatever has had it play: the microphone would hear it.
        if work.session != nil, player.snapshot.status != .paused { player.perform(.pause) }
        if let message = work.message, message.until < .now { work.message = nil }
        show(&work)
        if !isClosed { return true }
        finish(&work)
        return false
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
        for text in report.notes { log.warning("\(text)") }
        if let failure = report.failure { complain(failure.description, &work) }
        carryOut(work.stage.ended(isThere: report.path != nil, at: .now), &work)
    }

    private func complain(_ text: String, _ work: inout Work) {
        log.warning("\(text)")
        known.withLock { $0.failure = text }
        work.message = (text, .now + Self.reading)
    }

    private func carryOut(_ actions: [RecordingStage.Action], _ work: inout Work) {
        for action in actions {
            switch action {
            case .open: open(&work)
            case .close:
                work.session?.close()
                work.session = nil
                shown.withLock { $0.preview = nil }
                if work.stage.state == .idle { playOn(&work) }
            case .begin: begin(&work)
            case .pause: work.session?.pause()
            case .resume: work.session?.resume()
            case .end: work.session?.end()
            case .keep: keep(&work)
            case .discard:
                if let draft = work.draft { unlink(draft) }
                work.draft = nil
            case .play:
                // What it returns to plays, too.
                player.play()
                if let draft = work.draft { player.perform(.playSource(draft, resumes: true)) }
            case .stopPlaying:
                // Back to where the playlist was.
                if player.snapshot.source == work.draft { player.perform(.nextItem) }
                if work.stage.state == .idle { playOn(&work) }
            }
        }
    }

    private func playOn(_ work: inout Work) {
        if work.wasPlaying { player.play() }
        work.wasPlaying = false
    }

    private func open(_ work: inout Work) {
        if player.snapshot.status != .paused {
            player.perform(.pause)
            work.wasPlaying = true
        }
        let converter = PreviewConverter()
        do throws(CaptureError) {
            work.session = try CaptureSession.open(camera: settings.camera, microphone: settings.microphone, mode: settings.mode) {
                [weak self] picture in self?.preview(picture, converter)
            }
            carryOut(work.stage.opened(at: .now), &work)
        } catch {
            complain(error.description, &work)
            carryOut(work.stage.failed(), &work)
        }
    }

    private func begin(_ work: inout Work) {
        do throws(CaptureError) {
            let path = try folder.nextPath()
            var request = RecordingRequest(path: path)
            (request.duration, request.orientation) = (settings.duration, Orientation(rotation: settings.rotation))
            work.draft = path
            work.session?.begin(request)
        } catch {
            complain(error.description, &work)
            carryOut(work.stage.failed(), &work)
        }
    }

    private func keep(_ work: inout Work) {
        guard let draft = work.draft.take() else { return }
        do throws(CaptureError) {
            let film = try folder.keep(draft, number: settings.keptNumber, age: settings.keptAge, space: settings.keptSpace)
            known.withLock { $0.film = film }
            log.notice("\(film): recorded")
        } catch { complain(error.description, &work) }
    }

    // MARK: On the display

    private var geometry: ScreenGeometry? { screen.mode.map { ScreenGeometry(mode: $0, rotation: screen.nextRotation) } }

    /// Puts a picture of the camera on the display. On the thread that reads the camera.
    private func preview(_ picture: borrowing CapturedPicture, _ converter: PreviewConverter) {
        guard let geometry, shown.withLock({ $0.isVisible }) else { return }
        let swaps = settings.rotation.swapsAxes
        let (width, height) = (picture.frame.width, picture.frame.height)
        let place = PreviewConverter.fit(swaps ? height : width, swaps ? width : height, into: (geometry.width, geometry.height))
        guard
            let surface = converter.surface(
                picture.frame, width: place.width, height: place.height, rotation: settings.rotation, isMirrored: settings.mirrorsPreview)
        else { return }
        shown.withLock { shown in
            guard shown.isVisible else { return }
            shown.preview = .init(surface: surface, x: place.x, y: place.y)
            shown.geometry = geometry
            present(shown)
        }
        log.trace("preview of a picture taken at \(picture.time.nanoseconds / 1000) µs")
    }

    private func present(_ shown: borrowing Shown) {
        guard let geometry = shown.geometry else { return }
        let pictures = (shown.preview.map { [$0] } ?? []) + shown.drawn
        player.setBackdrop(Overlay(pictures: pictures, width: geometry.width, height: geometry.height))
    }

    private func hide() {
        let wasVisible = shown.withLock { shown in
            defer { (shown.isVisible, shown.preview, shown.drawn, shown.panel) = (false, nil, [], nil) }
            return shown.isVisible
        }
        if wasVisible { player.setBackdrop(Overlay()) }
    }

    private func show(_ work: inout Work) {
        let status = work.session?.status ?? CaptureSession.Status()
        known.withLock { known in
            (known.state, known.elapsed, known.remaining) = (work.stage.state.name, status.elapsed, status.remaining)
            (known.droppedCount, known.level) = (status.droppedCount, status.level)
        }
        guard work.stage.state != .idle || work.message != nil, let geometry else { return hide() }
        if work.drawing == nil { work.drawing = RecordingDrawing(theme) }
        let panel = RecordingPanel(
            work.stage.state, status, hasSound: work.session?.microphone != nil, message: work.message?.text)
        let isSame = shown.withLock { $0.panel == panel && $0.geometry == geometry && $0.isVisible }
        if isSame { return }
        let drawn = work.drawing?.pictures(panel, on: geometry) ?? []
        shown.withLock { shown in
            (shown.isVisible, shown.panel, shown.geometry, shown.drawn) = (true, panel, geometry, drawn)
            present(shown)
        }
    }
}

extension RecordingStage.State {
    /// The word for programs.
    var name: String {
        switch self {
        case .idle: "idle"
        case .opening: "opening"
        case .framing: "framing"
        case .recording: "recording"
        case .paused: "paused"
        case .finishing: "finishing"
        case .reviewing: "reviewing"
        }
    }
}

extension RecordingPanel {
    /// What a viewer sees and can press in a state.
    init(_ state: RecordingStage.State, _ status: CaptureSession.Status, hasSound: Bool, message: String?) {
        let buttons: [Button] =
            switch state {
            case .idle, .opening, .finishing: []
            case .framing: [.start, .cancel]
            case .recording: [.stop, .pause, .cancel]
            case .paused: [.stop, .resume, .cancel]
            case .reviewing: [.keep, .retake, .cancel]
            }
        func clock(_ time: MediaTime) -> String {
            let seconds = Int(time.seconds)
            return "\(seconds / 60):\(seconds % 60 < 10 ? "0" : "")\(seconds % 60)"
        }
        let isRecording = state == .recording || state == .paused
        let decibels = status.level > 0 ? 20 * log10f(status.level) : -100
        // What is left, as it may be less than the duration: the disk.
        let time = isRecording ? clock(status.elapsed) + (status.remaining.map { " −\(clock($0))" } ?? "") : nil
        self.init(
            time: time ?? (state == .framing && hasSound ? "●" : nil),
            level: hasSound && (isRecording || state == .framing) ? min(max(Int((decibels + 50) / 5), 0), 10) : nil,
            isPaused: state == .paused,
            buttons: buttons, message: message)
    }
}
