import Glibc
import KioskMedia
import KioskPlatform
import KioskPlayback
import KioskVocabulary
import Logging

/// Finds the display of the settings and takes it over: DRM cards first, then the framebuffer device. Presenter thread only.
///
/// Keeps the found card open, and stays its master, for as long as the card exists. Otherwise another program, or the console, would draw
/// on a display that is only unplugged for a moment.
final class DisplayFinder {
    private let settings: DisplaySettings
    private var card: DRMCard? { didSet { if let card, card !== oldValue { seat.hold(card) } } }
    private let seat: Seat
    /// The output's number in the seat.
    private let output: Int
    /// Ends the output's wait after another one has read its flips.
    private let wake: @Sendable () -> Void
    private var found: Found?
    /// The last logged notes, so that each is logged once.
    private var lastNote = ""
    private var lastUnmet = ""
    /// The driver's refusals on each display, by its name in ``DisplayState/Target``. Unplugging clears them, as the next display may have
    /// another cable.
    private var refusals: [String: Refusals] = [:]

    private enum Found {
        case connector(ConnectorRecord, mode: Int, FlipMethod)
        case framebuffer(String)
    }

    /// Whether only errors go into the log.
    private let isSilent: Bool

    init(
        _ settings: DisplaySettings, seat: Seat = Seat(), output: Int = 0, isSilent: Bool = false,
        wake: @escaping @Sendable () -> Void = {}
    ) {
        (self.settings, self.seat, self.output, self.isSilent, self.wake) = (settings, seat, output, isSilent, wake)
    }

    /// Whether kiosk could drive a display now: one is plugged in, and no other program has its card. Holds nothing afterwards; logs
    /// devices that kiosk may not open.
    static func hasFreeDisplay(_ settings: DisplaySettings) -> Bool {
        let finder = DisplayFinder(settings, isSilent: true)
        if case .nothing = finder.look(probing: true, active: nil) { return false }
        do throws(DeviceError) { try finder.card?.becomeMaster() } catch { return false }
        return true
    }

    /// Looks at the active display, or at everything if none is active. `probing` asks the displays themselves.
    func look(probing: Bool, active screen: (any Screen)?) -> DisplayState.Sighting {
        if screen is KMSScreen, let card, case .connector(let record, _, _) = found {
            guard let now = card.connector(record.id, probing: probing) else { return .nothing }
            if now.connector.status == .unknown, let sighting = lookForSurerDisplay(than: now, on: card) { return sighting }
            return sight(now, on: card)
        }
        var problem: DeviceError?
        if settings.connector.takesCards, let sighting = lookAtCards(probing: probing, &problem) { return sighting }
        if let path = settings.connector.framebufferPath, !seat.reservations(besides: output).contains(where: { $0.device == path }) {
            if let framebuffer = screen as? FramebufferScreen {
                return framebuffer.isAlive ? sightFramebuffer(path, framebuffer.mode) : .nothing
            }
            do throws(DeviceError) {
                let device = try FramebufferDevice.open(path)
                let shape = ConnectorMode(width: device.width, height: device.height, refresh: device.refresh)
                return sightFramebuffer(path, DisplayMode(path, shape))
            } catch { problem = problem ?? error }
        }
        switch problem {
        case .forbidden(let call)?: note("cannot \(call); add the user to the group video", .error)
        case .absent?, nil: note("no graphics device yet; waiting for one", .notice)
        case let problem?: note("cannot \(problem)", .error)
        }
        return .nothing
    }

    /// Whether the found display may later offer other modes. It had no EDID (one can come late; the kernel then offers 1024x768), or it
    /// had no mode as requested.
    var isUnsure: Bool {
        guard case .connector(let record, let mode, _) = found else { return false }
        return !record.hasEDID || settings.mode.choose(from: record.connector.modes) != .init(index: mode, isAsRequested: true)
    }

    /// Returns a function that makes the kernel probe the found display, for a thread of its own; the next look has the answer. It probes
    /// all connectors if the driver cannot tell whether there is a display. nil for a framebuffer device, which cannot report anything new.
    func probe() -> (@Sendable () -> Void)? {
        guard let card, case .connector(let record, _, _) = found else { return nil }
        let isSure = record.connector.status != .unknown
        return { [id = record.id] in
            if isSure {
                _ = card.connector(id, probing: true)
            } else {
                _ = card.connectors(probing: true)
            }
        }
    }

    /// Takes over the display that the last look found.
    func activate() throws(DeviceError) -> any Screen {
        switch found {
        case .connector(let record, let mode, let method):
            guard let card else { break }
            do throws(DeviceError) {
                try card.becomeMaster()
            } catch {
                let holders = DeviceHolder.find(card.path)
                let who = holders.isEmpty ? "another program" : holders.joined(separator: ", ")
                note("\(card.path) is held by \(who): stop it, or wait until it lets go (\(error)); trying again", .error)
                // The first program to open a free card becomes its master automatically, so the next attempt opens the card anew.
                self.card = nil
                throw error
            }
            let screen: KMSScreen
            do throws(DeviceError) {
                let reserved = Set(seat.reservations(besides: output).filter { $0.device == card.path }.compactMap(\.crtc))
                let route = try PipeRoute.find(card, record, mode: mode, besides: reserved)
                guard seat.reserve(Seat.Reservation(device: card.path, connector: record.id, crtc: route.crtc), for: output) else {
                    throw DeviceError("have \(record.connector.name) on \(card.path), which another output has", code: EBUSY)
                }
                screen = try KMSScreen(
                    route, record, mode: mode, method, background: settings.background.rgb, retrainingLink: record.linkIsBad, wake: wake)
            } catch {
                seat.release(output)
                if case .unsuitable = error { refuseModeset() }
                note("cannot \(error); trying again", .error)
                throw error
            }
            lastNote = ""
            let pacing = screen.reportsVblank ? "paced by vblank" : "without vblanks, paced by timer"
            let flips = method == .blocking ? ", flips that block" : ""
            let rotated = record.panelRotation == .none ? "" : ", rotated \(record.panelRotation.rawValue)° as the panel is built in"
            let level: Logger.Level = refusals[display(record, on: card)]?.hasRested == true ? .debug : .notice
            log.log(
                level: level, "\(screen.mode.name) on \(card.name), \(card.isAtomic ? "atomic" : "legacy") KMS, \(pacing)\(flips)\(rotated)"
            )
            return screen
        case .framebuffer(let path):
            do throws(DeviceError) {
                guard seat.reserve(Seat.Reservation(device: path), for: output) else {
                    throw DeviceError("have \(path), which another output has", code: EBUSY)
                }
                let device = try FramebufferDevice.open(path)
                let (format, pages) = (device.format, device.pages)
                let screen = FramebufferScreen(device, background: settings.background.rgb)
                lastNote = ""
                let means = pages > 1 ? "panning" : "copying"
                log.notice("\(screen.mode.name), \(format.bytesPerPixel * 8) bits a pixel, \(means), paced by timer")
                return screen
            } catch {
                seat.release(output)
                note("cannot \(error); trying again", .error)
                throw error
            }
        case nil: break
        }
        throw DeviceError("light a display that has gone", code: ENODEV)
    }

    /// Records that the driver, or a cable, could not do the found mode.
    func refuseModeset() {
        guard case .connector(let record, let mode, _) = found, let card else { return }
        refusals[display(record, on: card), default: Refusals()].refusedModeset(record.connector.modes[mode])
    }

    /// Records that the driver took the found mode and then refused a flip. `isFirst`: it had taken no flip before.
    func refuseFlip(_ error: DeviceError, isFirst: Bool) {
        guard case .connector(let record, let mode, let method) = found, let card else { return }
        let shape = record.connector.modes[mode]
        let how = method == .event ? "flips" : "flips that block"
        let name = display(record, on: card)
        // kiosk retries a resting display now and then, and logs once that it rests.
        let level: Logger.Level = refusals[name]?.hasRested == true ? .debug : .warning
        log.log(level: level, "\(record.connector.name) \(shape.name): the driver refuses \(how) after it took the mode (\(error))")
        refusals[name, default: Refusals()].refusedFlip(shape, method, isFirst: isFirst)
    }

    /// Records that the driver has taken flips for a while.
    func proveFlips() {
        guard case .connector(let record, _, _) = found, let card else { return }
        refusals[display(record, on: card)]?.proved()
    }

    private func display(_ record: ConnectorRecord, on card: DRMCard) -> String { "\(card.path) \(record.connector.name)" }

    /// Looks at every card; nil if no card has connectors.
    private func lookAtCards(probing: Bool, _ problem: inout DeviceError?) -> DisplayState.Sighting? {
        let (cards, records) = survey(&problem) { $0.connectors(probing: probing) }
        guard !cards.isEmpty else {
            card = nil
            return nil
        }
        return choose(among: cards, records)
    }

    /// Opens every card that has connectors. Asks a held card through its own descriptor: a second one would not be master.
    private func survey(
        _ problem: inout DeviceError?, _ ask: (DRMCard) -> [ConnectorRecord]?
    ) -> (cards: [DRMCard], records: [[ConnectorRecord]]) {
        var (cards, records) = ([DRMCard](), [[ConnectorRecord]]())
        for path in DRMCard.paths() {
            if let held = seat.heldCard(path), let connectors = ask(held) {
                cards.append(held)
                records.append(connectors)
                continue
            }
            do throws(DeviceError) {
                let opened = try DRMCard.open(path)
                guard let connectors = ask(opened), connectors.contains(where: { !$0.connector.isWriteback }) else { continue }
                cards.append(opened)
                records.append(connectors)
            } catch { problem = problem ?? error }
        }
        return (cards, records)
    }

    /// Looks at all connectors if the driver cannot tell whether the active one has a display. Uses only the kernel's knowledge, as flips
    /// go on meanwhile. Returns nil to stay.
    private func lookForSurerDisplay(than active: ConnectorRecord, on activeCard: DRMCard) -> DisplayState.Sighting? {
        var problem: DeviceError?
        let (cards, records) = survey(&problem) { $0 === activeCard ? $0.knownConnectors() : $0.connectors(probing: false) }
        return replace(active, on: activeCard, among: cards, records)
    }

    /// Finds the connected display to drive instead of `active`; nil to stay.
    func replace(
        _ active: ConnectorRecord, on activeCard: DRMCard, among cards: [DRMCard], _ records: [[ConnectorRecord]]
    ) -> DisplayState.Sighting? {
        let activePlace = cards.firstIndex { $0 === activeCard }.flatMap { index in
            records[index].firstIndex { $0.id == active.id }.map { DisplayConnector.Place(card: index, connector: $0) }
        }
        guard let activePlace else { return nil }
        let (connectors, names) = (records.map { $0.map(\.connector) }, cards.map(\.name))
        let place = settings.connector.replacement(
            for: activePlace, from: connectors, named: names, resting: resting(cards, records), taken: taken(cards, records))
        guard let place else { return nil }
        card = cards[place.card]
        let record = records[place.card][place.connector]
        log.notice(
            "\(record.connector.name) is connected: leaving \(active.connector.name), of which the driver does not know whether it is")
        return sight(record, on: cards[place.card])
    }

    /// Returns the displays on which nothing is left to try.
    private func resting(_ cards: [DRMCard], _ records: [[ConnectorRecord]]) -> Set<DisplayConnector.Place> {
        var places: Set<DisplayConnector.Place> = []
        for (index, card) in cards.enumerated() {
            for (connector, record) in records[index].enumerated() {
                let name = display(record, on: card)
                if record.connector.status == .disconnected { refusals[name] = nil }
                switch refusals[name]?.verdict(on: record.connector.modes, at: .now) {
                case nil, .drive: continue
                case .rests:
                    note(
                        """
                        \(record.connector.name): the driver takes modes, but no flips, with events or without: kiosk shows nothing on it until you \
                        plug it in again, and tries every minute. KIOSK_KMS=legacy makes kiosk use the driver's older calls
                        """, .error)
                case .restsStill: break
                }
                places.insert(DisplayConnector.Place(card: index, connector: connector))
            }
        }
        return places
    }

    /// Returns the connectors of other outputs.
    private func taken(_ cards: [DRMCard], _ records: [[ConnectorRecord]]) -> Set<DisplayConnector.Place> {
        var places: Set<DisplayConnector.Place> = []
        for reservation in seat.reservations(besides: output) {
            guard let card = cards.firstIndex(where: { $0.path == reservation.device }),
                let connector = records[card].firstIndex(where: { $0.id == reservation.connector })
            else { continue }
            places.insert(DisplayConnector.Place(card: card, connector: connector))
        }
        return places
    }

    /// Chooses the display among the connectors of `cards`.
    func choose(among cards: [DRMCard], _ records: [[ConnectorRecord]]) -> DisplayState.Sighting {
        let resting = resting(cards, records)
        let place = settings.connector.choose(
            from: records.map { $0.map(\.connector) }, named: cards.map(\.name), resting: resting,
            taken: taken(cards, records))
        guard let place else {
            // Keep the card while its display is away.
            if let held = card, !cards.contains(where: { $0 === held }) { card = nil }
            refusals = [:]
            let names = zip(cards, records).flatMap { card, records in
                records.filter { !$0.connector.isWriteback }.map { "\(card.name):\($0.connector.name) \($0.connector.status.rawValue)" }
            }
            let wanted = settings.connector == .automatic ? "no display" : "no display on \(settings.connector)"
            note("\(wanted) (\(names.joined(separator: ", "))); waiting for one", .notice)
            return .nothing
        }
        card = cards[place.card]
        if resting.contains(place) { return .resting }
        return sight(records[place.card][place.connector], on: cards[place.card])
    }

    private func sight(_ record: ConnectorRecord, on card: DRMCard) -> DisplayState.Sighting {
        let name = display(record, on: card)
        if record.connector.status == .disconnected {
            refusals[name] = nil
            return .nothing
        }
        let offered = record.connector.modes
        var record = record
        let refused = refusals[name] ?? Refusals()
        record.leaveOut(refused.leavesOut)
        guard let choice = settings.mode.choose(from: record.connector.modes) else {
            note("\(record.connector.name): a display, but no modes yet", .notice)
            return .modeless
        }
        let mode = record.connector.modes[choice.index]
        if !choice.isAsRequested, settings.mode.choose(from: offered)?.isAsRequested == true {
            // The refusal itself has been logged.
            let unmet = "\(record.connector.name): the mode \(settings.mode) is refused; using \(mode.name)"
            if unmet != lastUnmet, !isSilent { log.log(level: refused.hasRested ? .debug : .warning, "\(unmet)") }
            lastUnmet = unmet
        } else if !choice.isAsRequested {
            var offered: [String] = []
            for name in record.connector.modes.map(\.name) where !offered.contains(name) { offered.append(name) }
            let name = record.connector.name
            let unmet = "\(name) has no mode \(settings.mode); using \(mode.name). It offers \(offered.joined(separator: ", "))"
            if unmet != lastUnmet, !isSilent { log.warning("\(unmet)") }
            lastUnmet = unmet
        }
        if record.linkIsBad { note("\(record.connector.name): the link to the display failed; setting it up again", .warning) }
        found = .connector(record, mode: choice.index, refused.method(in: mode))
        return .ready(DisplayState.Target(display: name, mode: mode), linkIsBad: record.linkIsBad)
    }

    private func sightFramebuffer(_ path: String, _ mode: DisplayMode) -> DisplayState.Sighting {
        found = .framebuffer(path)
        let mode = ConnectorMode(width: mode.width, height: mode.height, refresh: 1 / mode.refreshPeriod.seconds)
        return .ready(DisplayState.Target(display: path, mode: mode), linkIsBad: false)
    }

    private func note(_ text: String, _ level: Logger.Level) {
        guard text != lastNote, !isSilent || level == .error else { return }
        lastNote = text
        log.log(level: level, "\(text)")
    }
}
