import Display
import Glibc
import Logging
import Platform
import Playback
import Synchronization

/// Tells people what the player does: log lines for events, a status line, and a PNG of every item on an offscreen display.
final class Reporter: Sendable {
    private let items: [PlaylistItem]
    private let player: Player
    private let display: DisplayOutput
    private let folder: String?
    private let pictured = Mutex(Set<Int>())
    private let log = Logger(label: "kiosk")

    init(items: [PlaylistItem], player: Player, display: DisplayOutput, snapshotFolder: String?) {
        self.items = items
        self.player = player
        self.display = display
        folder = display.isOffscreen ? snapshotFolder ?? Self.makeFolder() : nil
    }

    private static func makeFolder() -> String? {
        var template = Array(((getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp") + "/kiosk-XXXXXX").utf8CString)
        return mkdtemp(&template).map { String(cString: $0) }
    }

    /// Logs an event; called on the player's event thread.
    func report(_ event: PlayerEvent) {
        switch event {
        case .itemStarted(let index, let isSeam, let late):
            if late > 0, isSeam { log.debug("\(name(index)) began \(late) vblanks late") }
            log.debug("playing \(name(index))")
            takePicture(of: index)
        case .itemEnded: break
        case .itemFailed(_, let message): log.warning("\(message)")
        case .nothingPlayable(let delay): log.error("nothing on the playlist can be played; trying again in \(Int(delay.seconds)) s")
        case .playlistEnded: log.info("the playlist has ended")
        case .statusChanged(let status): log.debug("\(status.rawValue)")
        case .quitRequested: log.info("asked to quit")
        }
    }

    private func name(_ index: Int) -> String {
        items.indices.contains(index) ? String(items[index].source.split(separator: "/").last ?? "?") : "?"
    }

    /// Half a second into an item, when an animation or a fade has shown something.
    private func takePicture(of index: Int) {
        guard let folder, pictured.withLock({ $0.insert(index).inserted }) else { return }
        usleep(500_000)
        let path = "\(folder)/item-\(index + 1).png"
        do throws(SnapshotError) {
            try display.snapshot(to: path)
            log.info("\(name(index)) looks like \(path)")
        } catch {
            log.warning("\(error)")
        }
    }

    /// One line for the terminal: item, position and duration, state, frames shown and late, seams.
    var statusLine: String {
        let now = player.snapshot
        let item = now.itemIndex.map { "\($0 + 1)/\(items.count) \(name($0))" } ?? "nothing to show"
        let duration = now.duration.map { " / \($0)" } ?? ""
        let counts = now.statistics
        return "\(item)  \(now.time)\(duration)  \(now.status.rawValue)  \(counts.framesShown) shown, \(counts.framesLate) late, "
            + "\(counts.framesDropped) dropped  \(counts.seams) seams"
    }

    /// What it came to.
    var summary: String {
        let counts = player.snapshot.statistics
        return
            "\(counts.framesShown) frames shown, \(counts.framesLate) late, \(counts.framesDropped) dropped; \(counts.seams) seams, the worst "
            + "\(counts.worstSeamLateness) vblanks late; \(counts.flipsLost) flips lost"
    }
}
