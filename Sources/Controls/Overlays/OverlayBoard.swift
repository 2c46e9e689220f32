import Glibc
import KioskConfiguration
import KioskMedia
import KioskPlatform
import KioskPlayback
import KioskSchedule
import KioskVocabulary
import Synchronization

/// Texts, clocks, pictures and QR codes over the picture, from `[[overlay]]` and from programs.
///
/// Thread `overlays` draws changed overlays, each one once, and hands the surfaces to the player. It runs only while there are overlays. It
/// draws a clock a second in advance. It hands the clock over within the refresh period before the vblank at which its second begins. So
/// both appear together: the compositor then only takes a finished surface.
package final class OverlayBoard: Sendable {
    private struct Shared {
        var entries: [OverlayEntry] = []
        var clock: LocalClock
        var safeArea: Int
        var changes = 0
        var isStopped = false
        var draws = false
    }

    private let shared: Monitor<Shared>
    private let player: PlaybackEngine
    private let screen: any ControlsScreen
    private let thread = Mutex<Thread?>(nil)
    private let observer = Mutex<PlayerObserver?>(nil)
    private let tickers: TickerStage

    /// The most overlays of programs that the configuration does not know.
    private static let mostMessages = 16
    /// The longest time until the thread notices another mode or rotation of the screen.
    private static let look = MediaTime.seconds(1)
    /// The longest time until the thread draws if no picture reaches the screen.
    private static let start = MediaTime.seconds(2)
    /// The delay after the first picture.
    private static let pause = MediaTime.milliseconds(500)

    package init(_ configuration: Configuration, player: PlaybackEngine, screen: any ControlsScreen) {
        (self.player, self.screen) = (player, screen)
        let shared = Monitor(Shared(clock: configuration.clock, safeArea: configuration.display.safeArea))
        self.shared = shared
        tickers = TickerStage(player: player, screen: screen) { shared.signal { $0.changes += 1 } }
        setConfiguration(configuration)
        let observer = player.addObserver { [weak self] event in
            if case .itemStarted = event { self?.noteItem() }
        }
        self.observer.withLock { $0 = observer }
    }

    /// Applies another configuration. The texts of programs stay.
    package func setConfiguration(_ configuration: Configuration) {
        change { shared in
            let former = shared.entries
            shared.entries = configuration.overlays.map { settings in
                var entry = OverlayEntry(settings)
                if let same = former.first(where: { $0.settings.name == settings.name }) { entry.order = same.order }
                if let source = settings.source {
                    for same in former where same.settings.source == source {
                        (entry.fileText, entry.picture) = (same.fileText, same.picture)
                    }
                }
                return entry
            }
            let names = Set(configuration.overlays.map(\.name))
            shared.entries += former.filter { $0.isMessage && !names.contains($0.settings.name) }
            (shared.clock, shared.safeArea) = (configuration.clock, configuration.display.safeArea)
        }
    }

    // MARK: Texts and pictures

    /// Sets a program's text on an overlay, for some time if that is given; nil restores the overlay's own text. Returns false if there are
    /// too many.
    package func say(_ text: String?, on name: String, for time: MediaTime?) -> Bool {
        change { shared in
            let order = text.map { OverlayEntry.Order(text: $0, until: time.map { .now + $0 }) }
            if let index = shared.entries.firstIndex(where: { $0.settings.name == name }) {
                shared.entries[index].order = order
                return true
            }
            guard order != nil else { return true }
            let now = HostTime.now
            shared.entries.removeAll { entry in
                guard entry.isMessage else { return false }
                return entry.order.map { $0.until.map { $0 <= now } ?? false } ?? true
            }
            if shared.entries.count(where: \.isMessage) >= Self.mostMessages { return false }
            var entry = OverlayEntry(message: name)
            entry.order = order
            shared.entries.append(entry)
            return true
        }
    }

    /// All overlays: the name, the program's text, and the time left for it.
    package var all: [(name: String, text: String?, left: MediaTime?)] {
        let now = HostTime.now
        return shared.withLock { shared in
            shared.entries.map { entry in
                let order = entry.order.flatMap { $0.until.map { now < $0 } ?? true ? $0 : nil }
                return (entry.settings.name, order?.text, order?.until.map { $0 - now })
            }
        }
    }

    /// Sets the text of a file or a feed in its overlays; nil if it is gone.
    package func setText(_ text: String?, of file: String) {
        change { shared in
            for index in shared.entries.indices where shared.entries[index].settings.source == file {
                shared.entries[index].fileText = text
            }
        }
    }

    package func setPicture(_ picture: SmallPicture?, of file: String) {
        let loaded = picture.map(OverlayEntry.LoadedPicture.init)
        change { shared in
            for index in shared.entries.indices where shared.entries[index].settings.source == file {
                shared.entries[index].picture = loaded
            }
        }
    }

    @discardableResult private func change<Result: Sendable>(_ body: (inout Shared) -> Result) -> Result {
        let (result, begins) = shared.signal { shared -> (Result, Bool) in
            let result = body(&shared)
            shared.changes += 1
            let begins = !shared.draws && !shared.isStopped && !shared.entries.isEmpty
            shared.draws = shared.draws || begins
            return (result, begins)
        }
        if begins { thread.withLock { $0 = Thread("overlays") { [weak self] in self?.run() } } }
        return result
    }

    /// Notes a new item: overlays for some items may appear or disappear.
    private func noteItem() {
        let isOfUse = shared.withLock { shared in
            shared.changes += 1
            return shared.entries.contains { !$0.settings.items.isEmpty }
        }
        if isOfUse { shared.signal { _ in } }
    }

    /// Ends the drawing, and waits for its end, a second at most.
    package func stop() {
        if let observer = observer.withLock({ $0.take() }) { player.removeObserver(observer) }
        shared.signal { $0.isStopped = true }
        tickers.stop()
        _ = thread.withLock { $0.take() }?.join(until: .now + .seconds(1))
    }

    // MARK: The thread

    /// The content and the box from which a surface was drawn.
    private struct Key: Hashable {
        var content: OverlayEntry.Content
        var look: OverlayLook
        var box: OverlayBox
    }

    private func run() {
        let drawing = OverlayDrawing()
        let formats = ClockFormats()
        var drawn: [Key: Surface?] = [:]
        var shown = Overlay()
        // The second on the screen, if it was handed over before its vblank.
        var ahead: Int64?
        var changes = -1

        func overlay(_ shared: Shared, at second: Int64, _ used: inout Set<Key>) -> (Overlay, [Ticker]) {
            guard let mode = screen.mode else { return (Overlay(), []) }
            let geometry = ScreenGeometry(mode: mode, rotation: screen.nextRotation)
            let item = player.snapshot.item.flatMap { player.item($0) }?.entry
            let (now, clock) = (HostTime.now, WallClock.now)
            var (pictures, tickers): ([Overlay.Picture], [Ticker]) = ([], [])
            var stack = OverlayStack()
            for entry in shared.entries.sorted(by: { $0.settings.order < $1.settings.order }) {
                let look = entry.settings.look
                guard look.opacity > 0,
                    let content = entry.content(at: second, now, isRight: clock.isRight, over: item, shared.clock, formats)
                else { continue }
                let box = OverlayBox(look, on: geometry, safeArea: shared.safeArea)
                if entry.settings.kind == .ticker {
                    guard case .text(let text) = content else { continue }
                    let runs = OverlayEntry.runs(text)
                    if runs.isEmpty { continue }
                    let height = drawing.tickerHeight(look, height: box.size)
                    let place = stack.placeRow(height: height, look.anchor, in: box)
                    tickers.append(
                        Ticker(
                            name: entry.settings.name, texts: runs, look: look, size: box.size,
                            place: PixelRectangle(x: place.x, y: place.y, width: box.width, height: height),
                            pace: TickerPace(speed: entry.settings.speed, width: geometry.width, period: mode.refreshPeriod),
                            isMirrored: drawing.isReadFromTheRight(String(text.prefix(200)), look), width: geometry.width,
                            height: geometry.height))
                    continue
                }
                let key = Key(content: content, look: look, box: box)
                used.insert(key)
                if drawn[key] == nil {
                    let surface: Surface? =
                        switch content {
                        case .text(let text): drawing.text(text, look, height: box.size, width: box.width)
                        case .code(let text): drawing.code(text, height: box.size)
                        case .picture(let picture): drawing.picture(picture.picture, height: box.size, width: box.width)
                        }
                    drawn[key] = .some(surface)
                }
                guard case .some(.some(let surface)) = drawn[key] else { continue }
                let place = stack.place(width: surface.width, height: surface.height, look.anchor, in: box)
                pictures.append(.init(surface: surface, x: place.x, y: place.y, alpha: Double(look.opacity) / 100))
            }
            return (Overlay(pictures: pictures, width: geometry.width, height: geometry.height), tickers)
        }

        // Fonts take their time: the first pictures have priority for the processor.
        let limit = HostTime.now + Self.start
        while HostTime.now < limit, shared.withLock({ !$0.isStopped }) {
            let isSeen = player.vblank(after: .now) != nil
            _ = shared.wait(until: .now + (isSeen ? Self.pause : .milliseconds(50))) { $0.isStopped ? true : nil }
            if isSeen { break }
        }
        while true {
            let state = shared.withLock { shared in
                changes = shared.changes
                return shared
            }
            if state.isStopped { return }
            var used: Set<Key> = []
            let second = WallClock.second
            let present = ahead == second + 1 ? second + 1 : second
            let (now, running) = overlay(state, at: present, &used)
            tickers.set(running) { drawing.tickerBackground($0) }
            tickers.fill { drawing.tile($0, of: $1) }
            if now != shown {
                shown = now
                player.setOverlay(now, by: .init(.signs))
            }

            // Waits until the next change: a clock, a new item or text, the end of a program's text.
            let time = HostTime.now
            var deadline = time + Self.look
            for case let until? in state.entries.map(\.order?.until) where until > time { deadline = min(deadline, until) }
            var handsOver = false
            var next = now
            if let tick = state.entries.compactMap(\.tick).min(), !now.pictures.isEmpty || screen.mode != nil {
                let boundary = (present / tick + 1) * tick
                let left = MediaTime(nanoseconds: boundary * 1_000_000_000 - nanoseconds(of: CLOCK_REALTIME))
                if left < .seconds(2) {
                    next = overlay(state, at: boundary, &used).0
                    if next != now {
                        let begin = HostTime.now + left
                        let vblank = player.vblank(after: begin - MediaTime(nanoseconds: 1)) ?? begin
                        let period = screen.mode?.refreshPeriod ?? .milliseconds(16)
                        let handover = vblank - period.scaled(by: 0.9)
                        if handover <= deadline { (deadline, handsOver) = (handover, true) }
                    }
                    if handsOver { ahead = boundary }
                }
            }
            drawn = drawn.filter { used.contains($0.key) }
            let before = changes
            let isChanged = shared.wait(until: deadline) { $0.isStopped || $0.changes != before ? true : nil }
            if handsOver, isChanged == nil {
                shown = next
                player.setOverlay(next, by: .init(.signs))
                // Not before its second has begun: until then the screen is ahead of the clock.
                let left = MediaTime(nanoseconds: ahead! * 1_000_000_000 - nanoseconds(of: CLOCK_REALTIME))
                if left > .zero, left < .seconds(1) { _ = shared.wait(until: .now + left) { $0.isStopped ? true : nil } }
            } else if handsOver {
                ahead = nil
            }
        }
    }
}
