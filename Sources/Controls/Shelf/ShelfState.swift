import KioskInputCore
import KioskMedia
import KioskPlatform
import KioskPlayback
import KioskVocabulary

/// What the shelf asks for.
package enum ShelfAction: Hashable, Sendable {
    /// It is open: what plays is to stand still; or closed, and is to go on.
    case opened, closed
    /// Play this now, and then go on where the player was.
    case play(ShelfEntry)
    /// Play these from now on, one after the other.
    case playFrom([ShelfEntry])
    /// Make a film of these.
    case export(ShelfFilm)
    case cancelExport
}

/// Clips that were chosen, in their order, and the sound under them.
package struct ShelfFilm: Hashable, Sendable {
    package var clips: [ShelfEntry] = []
    package var music: ShelfEntry?

    /// Nothing has been chosen.
    package init() {}
}

/// How far a film is that is made of chosen clips.
package enum ShelfExport: Hashable, Sendable {
    /// How much of it is there, 0…1, and how long it will take.
    case running(Double, left: MediaTime?)
    /// The file is there.
    case done(String)
    /// Why it is not.
    case failed(String)

    /// Whether it is being made.
    package var isRunning: Bool { if case .running = self { true } else { false } }
}

/// What the shelf needs of the program around it. Each is called with the lock of the controls held and returns at once; any thread.
package struct ShelfSurroundings: Sendable {
    /// Plays these from now on instead of the playlist.
    package var playFrom: @Sendable ([ShelfEntry]) -> Void = { _ in }
    /// Begins to make a film; how far it is comes by ``Controls/changeShelf(at:_:)``.
    package var export: @Sendable (ShelfFilm) -> Void = { _ in }
    package var cancelExport: @Sendable () -> Void = {}
    /// Thumbnails on the disk; nil where none are kept.
    package var store: ThumbnailStore?

    /// Nothing.
    package init() {}
}

/// The shelf: clips to choose from, on cards in a grid that scrolls. A pure value: input events, entries and what is known of them in; actions
/// out, and what is to be drawn (``parts(at:)``).
///
///     closed ── a button, a key, a command ──▶ open ── play, close, nobody there for a while ──▶ closed
///
/// A finger that moves scrolls (``Scroll``); one that does not touches what lies beneath it. With keys one card has the focus. A card that is
/// touched has a panel of what can be done with it; with the panel open nothing scrolls. What is drawn for a row of cards is a *tile*, made by
/// another thread: ``ShelfState/wantedRow`` says which is next. While one is missing, empty cards stand for it.
package struct ShelfState: Sendable {
    /// What the configuration says about it.
    package struct Settings: Hashable, Sendable {
        /// Whether there is a shelf.
        package var isOffered = false
        /// How long after the last touch it closes; nil is never.
        package var closeAfter: MediaTime?
        /// Whether films can be made of what is on it.
        package var makesFilms = false

        /// There is none.
        package init() {}
    }

    /// What lies over the cards.
    enum Panel: Hashable, Sendable {
        /// What can be done with an entry.
        case entry(ShelfEntry)
        /// The film that is put together.
        case film
        /// The same, with what can be done with its clip at this place; the film alone where there is none such.
        case clip(Int)
    }

    /// What a finger is on.
    enum Target: Hashable, Sendable {
        case head(ShelfLayout.HeadButton)
        case card(Int)
        case button(ShelfButton)
        /// A line of the film's panel, with the clip at this place.
        case clip(Int)
        case key(Int)
        /// The bar at the right that says where it is.
        case bar
        /// Beside a panel; the panel itself.
        case outside, panel
        case nothing
    }

    /// A finger that is down.
    struct Touch: Sendable {
        var device: DeviceID, contact: Int
        var target: Target
        var startY: Double, lastY: Double
        var startX: Double
        /// Whether it scrolls. What stood still when it came down is not touched any more then.
        var scrolls = false
        var isOn = true
        var speed = FingerSpeed()
    }

    /// A row that has been drawn.
    struct Tile: Sendable {
        var cards: [ShelfCard]
        var picture: PreviewPicture
    }

    /// Bytes of thumbnails that are kept in memory.
    static let thumbnailLimit = 16 << 20
    /// Rows that are drawn ahead in the direction of a scroll, and behind it.
    static let rowsAhead = 3, rowsBehind = 1

    let settings: Settings
    package private(set) var isOpen = false
    package private(set) var entries: [ShelfEntry] = []
    var index = ShelfIndex()
    private var places: [ShelfEntry: Int] = [:]
    /// The entries that the search finds, by their places.
    private(set) var shown: [Int] = []
    package private(set) var facts: [ShelfEntry: ClipFacts] = [:]
    var thumbnails = ThumbnailSchedule<PreviewPicture>(limit: thumbnailLimit)
    package internal(set) var search = ""
    package internal(set) var film = ShelfFilm()
    package internal(set) var export: ShelfExport?

    var layout: ShelfLayout?
    var scroll = Scroll()
    /// The card that keys are at, and whether it is shown.
    var focus = 0, showsFocus = false
    var panel: Panel?
    /// The button of the panel that keys are at.
    var chosenButton = 0
    var showsKeyboard = false
    var touch: Touch?
    var lastInput = HostTime(nanoseconds: 0)
    var tiles: [Int: Tile] = [:]
    /// Rows that are to be drawn, the most urgent first.
    var wantedRows: [Int] = []

    /// A shelf with nothing on it.
    package init(_ settings: Settings = Settings()) { self.settings = settings }

    // MARK: What happens to it

    /// Opens it, where there is one.
    package mutating func open(at time: HostTime) -> [ShelfAction] {
        guard settings.isOffered, !isOpen else { return [] }
        (isOpen, lastInput) = (true, time)
        (panel, showsKeyboard, touch, showsFocus) = (nil, false, nil, false)
        if !search.isEmpty { find("", at: time) }
        return [.opened]
    }

    /// Closes it; the place where it was scrolled to stays.
    package mutating func close() -> [ShelfAction] {
        guard isOpen else { return [] }
        isOpen = false
        (panel, showsKeyboard, touch) = (nil, false, nil)
        // What is drawn is some megabytes.
        (tiles, wantedRows) = ([:], [])
        thumbnails = ThumbnailSchedule(limit: Self.thumbnailLimit)
        scroll.jump(to: scroll.position(at: lastInput))
        return [.closed]
    }

    /// Takes over what another one has on it, and what has been put together there: that of the configuration before.
    package mutating func adopt(_ other: ShelfState) {
        // First, so that what files call themselves is found.
        facts = other.facts
        setEntries(other.entries, at: other.lastInput)
        (film, export) = (other.film, other.export)
    }

    /// There are other files now.
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

    /// What a file is has been found out, and how it looks.
    package mutating func set(_ facts: ClipFacts, _ picture: PreviewPicture?, of entry: ShelfEntry) {
        // It may have gone while it was read.
        guard let place = places[entry] else { return }
        let bytes = picture.map { $0.surface.width * $0.surface.height * 4 } ?? 0
        thumbnails.made(picture, bytes: bytes, of: entry)
        self.facts[entry] = facts
        if let title = facts.title { index.add(title, at: place) }
    }

    /// A row has been drawn.
    mutating func set(_ tile: Tile, ofRow row: Int) {
        if isOpen, wantedRows.contains(row) { tiles[row] = tile }
    }

    /// A film is being made, has been, or cannot be.
    package mutating func set(_ export: ShelfExport?) { self.export = export }

    /// It is shown on another screen; nil while there is none.
    mutating func setGeometry(_ geometry: ScreenGeometry?, at time: HostTime) {
        let renewed = geometry.map { ShelfLayout(geometry: $0, hasFilm: settings.makesFilms) }
        if renewed == layout { return }
        let first = layout.map { Int(scroll.position(at: time)) / max(1, $0.pitch) * $0.columns } ?? 0
        layout = renewed
        (tiles, touch) = ([:], nil)
        thumbnails = ThumbnailSchedule(limit: Self.thumbnailLimit)
        renewRows(nil, at: time)
        if let layout { scroll.jump(to: Double(first / layout.columns * layout.pitch)) }
    }

    /// Shows what `text` finds.
    package mutating func find(_ text: String, at time: HostTime) {
        let touched = touchedEntry
        search = String(text.prefix(80))
        shown = index.places(search)
        (focus, showsFocus) = (0, false)
        renewRows(touched, at: time)
        scroll.jump(to: 0)
    }

    /// The entry of the card that a finger is on.
    private var touchedEntry: ShelfEntry? { if case .card(let card)? = touch?.target { entry(card) } else { nil } }

    /// There are other rows now, or other entries in them. What was known by its row or place ends here: rows that were wanted, until ``prepare(at:)``
    /// has looked at what is seen now, and the card that a finger was on, where another one lies there.
    private mutating func renewRows(_ touched: ShelfEntry?, at time: HostTime) {
        wantedRows = []
        if case .card(let card)? = touch?.target, entry(card) != touched { touch?.target = .nothing }
        guard let layout else { return }
        scroll.resize(
            limit: Double(layout.limit(shown.count)), viewport: Double(layout.viewport), density: layout.geometry.density, at: time)
    }

    // MARK: Time

    /// Does what is due.
    mutating func advance(to time: HostTime) -> [ShelfAction] {
        if let closeTime, time >= closeTime { return close() }
        return []
    }

    /// When it closes by itself.
    private var closeTime: HostTime? {
        guard isOpen, let after = settings.closeAfter, touch == nil, export?.isRunning != true else { return nil }
        return lastInput + after
    }

    /// When it changes by itself.
    func deadline(after time: HostTime) -> HostTime? { closeTime }

    /// Whether it moves by itself.
    func isMoving(at time: HostTime) -> Bool { isOpen && scroll.isMoving(at: time) }

    // MARK: What is chosen

    /// The entry of a card.
    func entry(_ card: Int) -> ShelfEntry? { shown.indices.contains(card) ? entries[shown[card]] : nil }

    var focusedEntry: ShelfEntry? { entry(focus) }

    /// The entry that `name` names: its place among those that the search finds, its path, the name of its file, or its title.
    package func entry(named name: String) -> ShelfEntry? {
        if let place = Int(name), place > 0, let entry = entry(place - 1) { return entry }
        return entries.first { $0.path == Path(name) } ?? entries.first { $0.name == name || $0.title == name || facts[$0]?.title == name }
    }

    /// The entries that the search finds.
    package var found: [ShelfEntry] { shown.map { entries[$0] } }

    /// What is known of an entry's problem, so that it is not played.
    func problem(_ entry: ShelfEntry) -> String? { facts[entry]?.problem }

    /// Plays an entry now, and closes.
    package mutating func play(_ entry: ShelfEntry) -> [ShelfAction] { [.play(entry)] + close().filter { $0 != .closed } }

    /// Plays an entry and those that follow it, as they are shown.
    package mutating func playFrom(_ entry: ShelfEntry) -> [ShelfAction] {
        let all = found.contains(entry) ? found : entries
        let rest = all.drop { $0 != entry }.filter { problem($0) == nil }
        return [.playFrom(Array(rest.prefix(Self.longestList)))] + close().filter { $0 != .closed }
    }

    /// What a playlist may have.
    static let longestList = 10_000
    /// What a film may have.
    static let mostClips = 100

    /// Why an entry cannot be put into the film: it cannot be played, or there is no room; nil where it can, or nobody knows yet.
    package func objection(toAdding entry: ShelfEntry) -> String? {
        if let problem = problem(entry) { return "\(entry.source): \(problem)" }
        if entry.kind == .sound || film.clips.count < Self.mostClips { return nil }
        return "the film has \(Self.mostClips) clips, which is the most"
    }

    /// Puts an entry into the film, or under it where it is sound; unless there is an objection.
    package mutating func add(_ entry: ShelfEntry) {
        if objection(toAdding: entry) != nil { return }
        if entry.kind == .sound { film.music = entry } else { film.clips.append(entry) }
        forgetExport()
    }

    /// Takes an entry out of the film; the last one, where it is in it several times.
    package mutating func remove(_ entry: ShelfEntry) {
        if let last = film.clips.lastIndex(where: { $0.path == entry.path }) { film.clips.remove(at: last) }
        if film.music?.path == entry.path { film.music = nil }
        forgetExport()
    }

    /// Moves a clip of the film to another place, both from 0; beyond the end is the end. False where there is none such.
    @discardableResult
    package mutating func moveClip(at place: Int, to other: Int) -> Bool {
        guard film.clips.indices.contains(place) else { return false }
        let clip = film.clips.remove(at: place)
        film.clips.insert(clip, at: min(max(other, 0), film.clips.count))
        forgetExport()
        return true
    }

    /// Takes the clip at a place out of the film.
    mutating func removeClip(at place: Int) {
        guard film.clips.indices.contains(place) else { return }
        film.clips.remove(at: place)
        forgetExport()
    }

    /// Begins anew.
    package mutating func clearFilm() {
        film = ShelfFilm()
        forgetExport()
    }

    /// What became of a film is not told of another one.
    private mutating func forgetExport() { if export?.isRunning == false { export = nil } }

    /// Has the film be made.
    package mutating func makeFilm() -> [ShelfAction] {
        guard settings.makesFilms, !film.clips.isEmpty, export?.isRunning != true else { return [] }
        export = .running(0, left: nil)
        return [.export(film)]
    }
}

/// What is found by typing: the places of the entries whose title, file name or folder has every word that was typed. Case and accents make no
/// difference, as they cannot be typed on every keyboard (``folded(_:)``). A pure value.
struct ShelfIndex: Sendable {
    /// Of each entry, folded.
    private var texts: [[UInt8]]

    /// An index of `entries`.
    init(_ entries: [ShelfEntry] = []) { texts = entries.map { folded("\($0.title) \($0.name) \($0.folder)") } }

    /// A file calls itself so: it is found by that, too.
    mutating func add(_ title: String, at place: Int) {
        let words = folded(title)
        if texts.indices.contains(place), !Self.has(texts[place], words[...]) { texts[place] += [32] + words }
    }

    /// The places that `text` finds, in their order; all where it is empty.
    func places(_ text: String) -> [Int] {
        let words = folded(text).split(separator: 32).map { Array($0) }
        if words.isEmpty { return Array(texts.indices) }
        return texts.indices.filter { place in words.allSatisfy { Self.has(texts[place], $0[...]) } }
    }

    private static func has(_ text: [UInt8], _ word: ArraySlice<UInt8>) -> Bool {
        guard let first = word.first, text.count >= word.count else { return word.isEmpty }
        var start = 0
        let last = text.count - word.count
        while start <= last {
            if text[start] == first, text[start..<start + word.count] == word { return true }
            start += 1
        }
        return false
    }
}
