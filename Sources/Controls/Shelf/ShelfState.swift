import KioskInputCore
import KioskMedia
import KioskPlatform
import KioskPlayback
import KioskReaders
import KioskVocabulary

/// An action that the shelf requests.
package enum ShelfAction: Hashable, Sendable {
    /// The shelf has opened, and the current item pauses; or the shelf has closed, and the item goes on.
    case opened, closed
    /// Plays this entry now, then returns to the player's previous position.
    case play(ShelfEntry)
    /// Plays these entries from now on, in this order.
    case playFrom([ShelfEntry])
    /// Makes a film of these clips.
    case export(ShelfFilm)
    case cancelExport
    /// Hands these entries to the program that has the viewer pick (``ShelfState/Picking``).
    case picked([ShelfEntry])
}

/// The clips that a viewer has chosen for a film, in order, and the sound under them.
package struct ShelfFilm: Hashable, Sendable {
    package var clips: [ShelfEntry] = []
    package var music: ShelfEntry?

    /// Creates a film without clips and sound.
    package init() {}
}

/// The progress of a film that kiosk makes of chosen clips.
package enum ShelfExport: Hashable, Sendable {
    /// The finished fraction, 0…1, and the time left, if known.
    case running(Double, left: MediaTime?)
    /// The file is complete.
    case done(String)
    /// The export has failed, for this reason.
    case failed(String)

    /// Whether the export is running.
    package var isRunning: Bool { if case .running = self { true } else { false } }
}

/// The program's functions that the shelf calls. The caller holds the lock of the controls; each function returns at once. Any thread.
package struct ShelfSurroundings: Sendable {
    /// Plays these entries from now on instead of the playlist.
    package var playFrom: @Sendable ([ShelfEntry]) -> Void = { _ in }
    /// Starts to make a film. The program reports its progress through ``Controls/changeShelf(at:isInput:_:)``.
    package var export: @Sendable (ShelfFilm) -> Void = { _ in }
    package var cancelExport: @Sendable () -> Void = {}
    /// Takes the picked entries, or nil if the viewer has closed the shelf.
    package var finish: @Sendable ([ShelfEntry]?) -> Void = { _ in }
    /// The readers of thumbnails.
    package var readers = Readers.shared
    /// The thumbnails on the disk; nil if the program keeps none.
    package var store: ThumbnailStore?

    /// Creates surroundings that do nothing.
    package init() {}
}

/// The shelf: clips to choose from, on cards in a grid that scrolls. A pure value: input events, entries and their facts in; actions and
/// the parts to draw (``parts(at:)``) out.
///
///     closed ── a button, a key, a command ──▶ open ── play, close, no input for a while ──▶ closed
///
/// A finger that moves scrolls (``Scroll``); a finger that does not move touches the item under it. With keys, one card has the focus. A
/// touch on a card opens a panel with the actions for that card. Nothing scrolls while a panel is open. The picture of a row of cards is a
/// *tile*. Another thread draws it; ``ShelfState/wantedRow`` is the next row to draw. Empty cards stand in for a missing tile.
package struct ShelfState: Sendable {
    /// The settings from the configuration.
    package struct Settings: Hashable, Sendable {
        /// Whether the shelf exists.
        package var isOffered = false
        /// The time from the last input until the shelf closes; nil means never.
        package var closeAfter: MediaTime?
        /// Whether viewers can make films of the clips.
        package var makesFilms = false
        /// Viewers pick entries for the program, if set, instead of playing them.
        package var picking: Picking?

        /// Whether viewers collect clips: for a film, or to pick several.
        var collects: Bool { makesFilms || picking.map { $0.most > 1 } ?? false }

        /// Creates settings without a shelf.
        package init() {}
    }

    /// A choice of entries for the program.
    package struct Picking: Hashable, Sendable {
        /// The most entries to pick; with one, the first choice ends it.
        package var most = 1
        /// The request to the viewer, in the head: `Choose a clip`.
        package var title: String?

        package init() {}
    }

    /// A panel over the cards.
    enum Panel: Hashable, Sendable {
        /// The actions for an entry.
        case entry(ShelfEntry)
        /// The film that the viewer is putting together.
        case film
        /// The film, with the actions for the clip at this index; the film alone if it has no such clip.
        case clip(Int)
    }

    /// The target that a finger is on.
    enum Target: Hashable, Sendable {
        case head(ShelfLayout.HeadButton)
        case card(Int)
        case button(ShelfButton)
        /// The line of the film's panel with the clip at this index.
        case clip(Int)
        case key(Int)
        /// The scroll bar at the right.
        case bar
        /// The area beside a panel; the panel itself.
        case outside, panel
        case nothing
    }

    /// A finger that is down.
    struct Touch: Sendable {
        var device: DeviceID, contact: Int
        var target: Target
        var startY: Double, lastY: Double
        var startX: Double
        /// Whether the finger scrolls. It then no longer touches the target on which it came down.
        var scrolls = false
        var isOn = true
        var speed = FingerSpeed()
    }

    /// A row that has been drawn.
    struct Tile: Sendable {
        var cards: [ShelfCard]
        var picture: PreviewPicture
    }

    /// The most bytes of thumbnails in memory.
    static let thumbnailLimit = 16 << 20
    /// The number of rows to draw ahead in the direction of a scroll, and the number behind it.
    static let rowsAhead = 3, rowsBehind = 1

    let settings: Settings
    package private(set) var isOpen = false
    package private(set) var entries: [ShelfEntry] = []
    var index = ShelfIndex()
    private var places: [ShelfEntry: Int] = [:]
    /// The entries that match the search, as indices of ``entries``.
    private(set) var shown: [Int] = []
    package private(set) var facts: [ShelfEntry: ClipFacts] = [:]
    var thumbnails = ThumbnailSchedule<PreviewPicture>(limit: thumbnailLimit)
    package internal(set) var search = ""
    package internal(set) var film = ShelfFilm()
    package internal(set) var export: ShelfExport?

    var layout: ShelfLayout?
    var scroll = Scroll()
    /// The card with the keyboard focus, and whether the focus is visible.
    var focus = 0, showsFocus = false
    var panel: Panel?
    /// The button of the panel with the keyboard focus.
    var chosenButton = 0
    var showsKeyboard = false
    var touch: Touch?
    var lastInput = HostTime(nanoseconds: 0)
    var tiles: [Int: Tile] = [:]
    /// The rows to draw, the most urgent first.
    var wantedRows: [Int] = []

    /// Creates an empty shelf.
    package init(_ settings: Settings = Settings()) { self.settings = settings }

    // MARK: Events

    /// Opens the shelf, if the configuration has one.
    package mutating func open(at time: HostTime) -> [ShelfAction] {
        guard settings.isOffered, !isOpen else { return [] }
        (isOpen, lastInput) = (true, time)
        (panel, showsKeyboard, touch, showsFocus) = (nil, false, nil, false)
        if !search.isEmpty { find("", at: time) }
        return [.opened]
    }

    /// Closes the shelf and keeps its scroll position.
    package mutating func close() -> [ShelfAction] {
        guard isOpen else { return [] }
        isOpen = false
        (panel, showsKeyboard, touch) = (nil, false, nil)
        // The tiles take some megabytes.
        (tiles, wantedRows) = ([:], [])
        thumbnails = ThumbnailSchedule(limit: Self.thumbnailLimit)
        scroll.jump(to: scroll.position(at: lastInput))
        return [.closed]
    }

    /// Takes over the entries, facts, film and export of another shelf: the one of the previous configuration.
    package mutating func adopt(_ other: ShelfState) {
        // First: ``setEntries(_:at:)`` indexes the titles in the files' metadata.
        facts = other.facts
        setEntries(other.entries, at: other.lastInput)
        (film, export) = (other.film, other.export)
    }

    /// Replaces the entries.
    package mutating func setEntries(_ new: [ShelfEntry], at time: HostTime) {
        if new == entries { return }
        let focused = focusedEntry, touched = touchedEntry
        entries = new
        index = ShelfIndex(new)
        places = Dictionary(new.enumerated().map { ($1, $0) }, uniquingKeysWith: { first, _ in first })
        facts = facts.filter { places[$0.key] != nil }
        for (entry, facts) in facts { if let title = facts.title, let place = places[entry] { index.add(title, at: place) } }
        thumbnails.keepOnly(Set(new))
        let sources = Set(new.map(\.path)), clips = film.clips
        film.clips.removeAll { !sources.contains($0.path) }
        if case .clip? = panel, film.clips != clips { panel = .film }
        if let music = film.music, !sources.contains(music.path) { film.music = nil }
        if case .entry(let entry)? = panel, places[entry] == nil { panel = nil }
        shown = index.places(search)
        focus = focused.flatMap { entry in shown.firstIndex { entries[$0] == entry } } ?? min(focus, max(0, shown.count - 1))
        renewRows(touched, at: time)
    }

    /// Adds the facts and the thumbnail of an entry.
    package mutating func set(_ facts: ClipFacts, _ picture: PreviewPicture?, of entry: ShelfEntry) {
        // The entry may have gone while the thumbnail thread read it.
        guard let place = places[entry] else { return }
        let bytes = picture.map { $0.surface.width * $0.surface.height * 4 } ?? 0
        thumbnails.made(picture, bytes: bytes, of: entry)
        self.facts[entry] = facts
        if let title = facts.title { index.add(title, at: place) }
    }

    /// Adds the tile of a row.
    mutating func set(_ tile: Tile, ofRow row: Int) {
        if isOpen, wantedRows.contains(row) { tiles[row] = tile }
    }

    /// Sets the progress or the outcome of an export.
    package mutating func set(_ export: ShelfExport?) { self.export = export }

    /// Lays the shelf out for another screen; nil while there is no screen.
    mutating func setGeometry(_ geometry: ScreenGeometry?, at time: HostTime) {
        let renewed = geometry.map { ShelfLayout(geometry: $0, hasFilm: settings.collects) }
        if renewed == layout { return }
        let first = layout.map { Int(scroll.position(at: time)) / max(1, $0.pitch) * $0.columns } ?? 0
        layout = renewed
        (tiles, touch) = ([:], nil)
        thumbnails = ThumbnailSchedule(limit: Self.thumbnailLimit)
        renewRows(nil, at: time)
        if let layout { scroll.jump(to: Double(first / layout.columns * layout.pitch)) }
    }

    /// Shows the entries that match `text`.
    package mutating func find(_ text: String, at time: HostTime) {
        let touched = touchedEntry
        search = String(text.prefix(80))
        shown = index.places(search)
        (focus, showsFocus) = (0, false)
        renewRows(touched, at: time)
        scroll.jump(to: 0)
    }

    /// The entry of the card under the finger.
    private var touchedEntry: ShelfEntry? { if case .card(let card)? = touch?.target { entry(card) } else { nil } }

    /// Discards state that is known by row or place, after the rows or their entries have changed. No row is wanted until ``prepare(at:)``
    /// has looked at the visible rows. The finger leaves its card if another entry is on that card now.
    private mutating func renewRows(_ touched: ShelfEntry?, at time: HostTime) {
        wantedRows = []
        if case .card(let card)? = touch?.target, entry(card) != touched { touch?.target = .nothing }
        guard let layout else { return }
        scroll.resize(
            limit: Double(layout.limit(shown.count)), viewport: Double(layout.viewport), density: layout.geometry.density, at: time)
    }

    // MARK: Time

    /// Closes the shelf if that is due.
    mutating func advance(to time: HostTime) -> [ShelfAction] {
        if let closeTime, time >= closeTime { return close() }
        return []
    }

    /// The time at which the shelf closes by itself.
    private var closeTime: HostTime? {
        guard isOpen, let after = settings.closeAfter, touch == nil, export?.isRunning != true else { return nil }
        return lastInput + after
    }

    /// The time of the next change without an event.
    func deadline(after time: HostTime) -> HostTime? { closeTime }

    /// Whether the cards move without a finger.
    func isMoving(at time: HostTime) -> Bool { isOpen && scroll.isMoving(at: time) }

    // MARK: Entries and the film

    /// The entry on a card.
    func entry(_ card: Int) -> ShelfEntry? { shown.indices.contains(card) ? entries[shown[card]] : nil }

    var focusedEntry: ShelfEntry? { entry(focus) }

    /// Returns the entry called `name`: its number among the entries found, its path, its file name or its title.
    package func entry(named name: String) -> ShelfEntry? {
        if let place = Int(name), place > 0, let entry = entry(place - 1) { return entry }
        return entries.first { $0.path == Path(name) } ?? entries.first { $0.name == name || $0.title == name || facts[$0]?.title == name }
    }

    /// The entries that match the search.
    package var found: [ShelfEntry] { shown.map { entries[$0] } }

    /// Returns the known problem of an entry; the shelf does not play such an entry.
    func problem(_ entry: ShelfEntry) -> String? { facts[entry]?.problem }

    /// Plays an entry now, and closes the shelf.
    package mutating func play(_ entry: ShelfEntry) -> [ShelfAction] { [.play(entry)] + close().filter { $0 != .closed } }

    /// Plays an entry and those after it, in the order on the shelf.
    package mutating func playFrom(_ entry: ShelfEntry) -> [ShelfAction] {
        let all = found.contains(entry) ? found : entries
        let rest = all.drop { $0 != entry }.filter { problem($0) == nil }
        return [.playFrom(Array(rest.prefix(Self.longestList)))] + close().filter { $0 != .closed }
    }

    /// Hands entries to the program, and closes the shelf.
    mutating func pick(_ entries: [ShelfEntry]) -> [ShelfAction] { [.picked(entries)] + close().filter { $0 != .closed } }

    /// The most entries of a playlist.
    static let longestList = 10_000
    /// The most clips of a film.
    static let mostClips = 100

    /// The reason why an entry cannot join the film: kiosk cannot play it, or the film is full. Returns nil if it can, or if its facts are
    /// not yet known.
    package func objection(toAdding entry: ShelfEntry) -> String? {
        if let problem = problem(entry) { return "\(entry.source): \(problem)" }
        let most = settings.picking?.most ?? Self.mostClips
        if isMusic(entry) || film.clips.count < most { return nil }
        return "the film has \(most) clips, which is the most"
    }

    /// Appends an entry to the film, or sets it as the music if it is sound. Does nothing if there is an objection.
    package mutating func add(_ entry: ShelfEntry) {
        if objection(toAdding: entry) != nil { return }
        if isMusic(entry) { film.music = entry } else { film.clips.append(entry) }
        forgetExport()
    }

    /// Whether an entry becomes the music of the film.
    private func isMusic(_ entry: ShelfEntry) -> Bool { entry.kind == .sound && settings.picking == nil }

    /// Removes an entry from the film; its last occurrence if there are several.
    package mutating func remove(_ entry: ShelfEntry) {
        if let last = film.clips.lastIndex(where: { $0.path == entry.path }) { film.clips.remove(at: last) }
        if film.music?.path == entry.path { film.music = nil }
        forgetExport()
    }

    /// Moves a clip of the film to another index, from 0; an index beyond the end means the end. Returns false if there is no clip at
    /// `place`.
    @discardableResult
    package mutating func moveClip(at place: Int, to other: Int) -> Bool {
        guard film.clips.indices.contains(place) else { return false }
        let clip = film.clips.remove(at: place)
        film.clips.insert(clip, at: min(max(other, 0), film.clips.count))
        forgetExport()
        return true
    }

    /// Removes the clip at an index from the film.
    mutating func removeClip(at place: Int) {
        guard film.clips.indices.contains(place) else { return }
        film.clips.remove(at: place)
        forgetExport()
    }

    /// Empties the film.
    package mutating func clearFilm() {
        film = ShelfFilm()
        forgetExport()
    }

    /// Clears the outcome of an export once the film has changed.
    private mutating func forgetExport() { if export?.isRunning == false { export = nil } }

    /// Starts the export of the film.
    package mutating func makeFilm() -> [ShelfAction] {
        guard settings.makesFilms, !film.clips.isEmpty, export?.isRunning != true else { return [] }
        export = .running(0, left: nil)
        return [.export(film)]
    }
}
