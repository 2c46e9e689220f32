import Glibc
import KioskDisplayCore
import KioskPlatform
import KioskPlayback
import KioskVocabulary
import Logging
import Synchronization

/// Reports the player's activity to people: log lines for events, a status line, and a PNG of every item on an offscreen display.
final class Reporter: Sendable {
    private let player: PlaybackEngine
    private let display: DisplayOutput
    private let folder: String?
    private let log: Logger

    private struct State {
        /// The item on the screen, and since when.
        var present: (item: QueueItem.ID, since: HostTime)?
        /// The items whose picture has been taken or has failed.
        var pictured: Set<QueueItem.ID> = []
        /// The files of the last report that said only that files have changed, and its time.
        var changed: (files: Set<Path>, at: HostTime)?
    }
    private let state = Mutex(State())
    private static let quietTime = MediaTime.seconds(60)

    /// Observes `player`, which log lines call `name`. With a `snapshotFolder`, writes pictures of an offscreen display there.
    init(player: PlaybackEngine, display: DisplayOutput, snapshotFolder: String?, name: String = "kiosk") {
        self.player = player
        log = Logger(label: name)
        self.display = display
        folder = display.isOffscreen ? snapshotFolder : nil
        player.addObserver { [weak self] in self?.report($0) }
        if folder != nil { player.addPeriodicTimeObserver(forInterval: .milliseconds(50)) { [weak self] _ in self?.takePicture() } }
    }

    /// Logs an event; called on the player's event thread.
    private func report(_ event: PlaybackEvent) {
        switch event {
        case .itemStarted(let item, let isSeam, let late):
            if late > 0, isSeam { log.debug("\(name(item)) began \(late) vblank\(late == 1 ? "" : "s") late") }
            log.debug("playing \(name(item))")
            state.withLock { $0.present = (item, .now) }
        case .itemEnded: break
        case .itemFailed(_, let message): log.warning("\(message)")
        case .nothingPlayable: log.error("nothing on the playlist can be played; trying again until something can")
        case .playlistEnded: log.info("the playlist has ended")
        case .statusChanged(let status): log.debug("\(status.word)")
        case .itemStatusChanged: break  // reported when it begins or fails
        case .interruptionBegan: log.info("another program interrupts the sound")
        case .interruptionEnded: log.info("the sound is back")
        case .subtitle, .measured: break
        }
    }

    /// Logs that the playlist is about to change.
    func listChanges(to items: [PlaylistItem]) {
        let (old, new) = (Set(player.items.map(\.entry)), Set(items))
        if items.isEmpty {
            log.warning("there is nothing to play: kiosk shows the background until there is")
        } else if !old.isEmpty {
            let (come, gone) = (new.subtracting(old), old.subtracting(new))
            // Items with the same file but different content or settings, and files that are named but missing.
            let (before, after) = (Self.versions(gone), Self.versions(come))
            let changed = Set(after.keys).intersection(before.keys)
            let missing = changed.filter { before[$0]! && !after[$0]! }, back = changed.filter { !before[$0]! && after[$0]! }
            let changes = [
                come.filter { !changed.contains($0.path) || back.contains($0.path) },
                come.filter { changed.contains($0.path) && !missing.contains($0.path) && !back.contains($0.path) },
                come.filter { missing.contains($0.path) }, gone.filter { !changed.contains($0.path) },
            ].map { $0.map(\.name).sorted() }
            let texts = zip(["new", "changed", "missing", "gone"], changes).filter { !$1.isEmpty }.map { "\($0): \(Self.list($1))" }
            // A picture that is rewritten every second is reported once a minute.
            let isAgain = state.withLock { state in
                guard come.count == gone.count, changed.count == come.count, missing.isEmpty, back.isEmpty else { return false }
                if let last = state.changed, last.files == changed, HostTime.now - last.at < Self.quietTime { return true }
                state.changed = (changed, .now)
                return false
            }
            let level = isAgain ? Logger.Level.debug : .info
            log.log(
                level: level,
                "the playlist has changed: \(items.count) item\(items.count == 1 ? "" : "s")\(texts.map { "; " + $0 }.joined())")
        }
    }

    /// Returns whether each file exists, by path.
    private static func versions(_ items: Set<PlaylistItem>) -> [Path: Bool] {
        Dictionary(items.map { ($0.path, $0.version != nil) }) { $0 || $1 }
    }

    /// Returns some names, and the number of the others.
    private static func list(_ names: [String]) -> String {
        names.prefix(5).joined(separator: ", ") + (names.count > 5 ? " and \(names.count - 5) more" : "")
    }

    private func name(_ item: QueueItem.ID) -> String { player.item(item)?.entry.name ?? "?" }

    /// Takes a picture of the item on the screen, once. It does so half a second into the item, when a fade or an animation shows
    /// something, or halfway through a shorter item. Called regularly on the player's event thread.
    private func takePicture() {
        guard let folder, let present = state.withLock({ state in state.present.flatMap { state.pictured.contains($0.item) ? nil : $0 } })
        else { return }
        let now = player.snapshot
        let length = now.duration.map { $0 - (player.item(present.item)?.entry.start ?? .zero) } ?? .seconds(1)
        guard now.item == present.item, HostTime.now - present.since >= min(.milliseconds(500), length.scaled(by: 0.5)) else {
            return
        }
        let path = "\(folder)/item-\(present.item.number + 1).png"
        do throws(SnapshotError) {
            try display.snapshot(to: path)
            // On a busy machine the item may have ended meanwhile; a later call retries.
            guard player.snapshot.item == present.item else { return }
            log.info("\(name(present.item)) looks like \(path)")
        } catch {
            log.warning("\(error)")
        }
        state.withLock { _ = $0.pictured.insert(present.item) }
    }

    /// One line for the terminal: item, position and duration, state, frames shown and late, seams.
    var statusLine: String {
        let now = player.snapshot
        let item =
            now.item.map { item in
                "\(player.item(item)?.place.map { "\($0 + 1)" } ?? "–")/\(player.items.count) \(name(item))"
            } ?? "nothing to show"
        let duration = now.duration.map { " / \($0)" } ?? ""
        let counts = now.statistics
        return "\(item)  \(now.time)\(duration)  \(now.status.word)  \(counts.framesShown) shown, \(counts.framesLate) late, "
            + "\(counts.framesDropped) dropped  \(counts.seams) seams, the worst \(counts.worstSeamLateness) late\(synchrony(counts).map { "  " + $0 } ?? "")  "
            + "\(stalls(counts).map { $0 + "  " } ?? "")\(text(now.buffered)) ahead"
    }

    /// The final summary.
    var summary: String {
        let counts = player.snapshot.statistics
        return
            "\(counts.framesShown) frames shown, \(counts.framesLate) late, \(counts.framesDropped) dropped; \(counts.seams) seams, the worst "
            + "\(counts.worstSeamLateness) vblanks late; \(counts.flipsLost) flips lost\(synchrony(counts).map { "; " + $0 } ?? "")"
            + (stalls(counts).map { "; " + $0 } ?? "") + (input(counts).map { "; " + $0 } ?? "")
            + (counts.leastBuffered.map { "; never less than \(text($0)) ahead" } ?? "")
    }

    private func stalls(_ counts: PlayerStatistics) -> String? {
        guard counts.stalls > 0 else { return nil }
        let times = counts.stalls == 1 ? "once" : "\(counts.stalls) times"
        return "stood still \(times), \(Int(saturating: counts.stalledTime.seconds * 1000)) ms in all"
    }

    private func text(_ level: BufferLevel) -> String {
        "\(level.frames) frame\(level.frames == 1 ? "" : "s") and \(Int(saturating: level.sound.seconds * 1000)) ms"
    }

    /// Returns the difference between picture and sound for half of the frames and for 99 % of them, and the sound's speed if it is
    /// corrected.
    private func synchrony(_ counts: PlayerStatistics) -> String? {
        guard let spans = spans(counts.synchrony) else { return nil }
        let change = Int(saturating: (counts.soundRatio - 1) * 1e6)
        let speed = change == 0 ? "" : ", sound \(change > 0 ? "+" : "−")\(abs(change)) ppm"
        return "A/V \(spans)\(speed)"
    }

    /// Returns the time from an input event to the screen for half of the commands, and for 99 % of them.
    private func input(_ counts: PlayerStatistics) -> String? { spans(counts.inputLatency).map { "input \($0)" } }

    private func spans(_ times: TimeHistogram) -> String? {
        guard let half = times.span(within: 0.5), let most = times.span(within: 0.99) else { return nil }
        return "\(Int(saturating: half.seconds * 1000))/\(Int(saturating: most.seconds * 1000)) ms"
    }

    /// The final summary of each item, a line each; empty for a single item.
    var itemSummaries: [String] {
        let counts = player.snapshot.statistics.items
        if counts.count < 2 { return [] }
        return counts.keys.sorted().map { id in
            let item = counts[id]!
            return "\(name(id)): \(item.framesShown) frames shown, \(item.framesLate) late, \(item.framesDropped) dropped; "
                + "\(item.seams) seams, the worst \(item.worstSeamLateness) vblanks late"
        }
    }
}
