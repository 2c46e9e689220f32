import Glibc
import KioskPlatform
import KioskPlayback
import KioskVocabulary
import Synchronization

/// A line of JSON for each showing of an item: what, from when to when, how many frames reached the screen, and whether it was shown to its end.
///
/// The player's event thread makes the lines and never waits: a thread of its own appends them to the file, and what finds its queue of
/// ``mostLines`` full is lost and counted in the next line's `lost`.
package final class ProofOfPlay: Sendable {
    private let file: RotatedFile
    private let player: Player
    private let complain: @Sendable (String) -> Void
    private let showing = Mutex<Showing?>(nil)
    private let queue = Monitor((lines: [String](), lost: 0, isStopping: false))
    private let thread = Mutex<Thread?>(nil)
    private let observer = Mutex<PlayerObserver?>(nil)

    private static let mostLines = 1000

    private struct Showing {
        var item: PlayerItem.ID
        var since: Int
        var framesBefore: Int
    }

    /// Begins to write to the file at `path`; `complain` is told once, in a line, when that cannot be done, and when it can be again.
    package init(_ path: String, _ player: Player, complain: @escaping @Sendable (String) -> Void) {
        (file, self.player, self.complain) = (RotatedFile(path), player, complain)
        let observer = player.addObserver { [self] in note($0) }
        self.observer.withLock { $0 = observer }
        thread.withLock { $0 = Thread("proof-of-play") { [self] in run() } }
    }

    /// Writes the showing that is under way as not complete, and all that waits; two seconds at most.
    package func stop() {
        if let observer = observer.withLock({ $0.take() }) { player.removeObserver(observer) }
        end(isComplete: false)
        queue.signal { $0.isStopping = true }
        thread.withLock { if let thread = $0.take(), !thread.join(until: .now + .seconds(2)) { thread.detach() } }
    }

    private func note(_ event: PlayerEvent) {
        switch event {
        case .itemStarted(let item, _, _):
            end(isComplete: false)
            let frames = player.snapshot.statistics.items[item]?.framesShown ?? 0
            // The first frame is counted already.
            showing.withLock { $0 = Showing(item: item, since: time(nil), framesBefore: max(0, frames - 1)) }
        case .itemEnded(let item): if showing.withLock({ $0?.item == item }) { end(isComplete: true) }
        default: break
        }
    }

    private func end(isComplete: Bool) {
        guard let showing = showing.withLock({ $0.take() }) else { return }
        let known = player.item(showing.item)
        let frames = (player.snapshot.statistics.items[showing.item]?.framesShown ?? 0) - showing.framesBefore
        let line: [String: JSONValue] = [
            "item": RemoteControl.describe(
                showing.item, place: known?.place.map { $0 + 1 }, title: known?.entry.title ?? known?.entry.plainName ?? "",
                known?.entry.source ?? ""),
            "start": .string(Self.date(showing.since)), "end": .string(Self.date(time(nil))),
            "framesShown": .number(Double(max(0, frames))),
            "complete": .bool(isComplete),
        ]
        queue.signal { queue in
            guard queue.lines.count < Self.mostLines else { return queue.lost += 1 }
            let lost: [String: JSONValue] = queue.lost == 0 ? [:] : ["lost": .number(Double(queue.lost))]
            queue.lost = 0
            queue.lines.append(JSONValue.object(line.merging(lost) { $1 }).line + "\n")
        }
    }

    private func run() {
        Thread.giveWay()
        var hasFailed = false
        while let lines = queue.wait({ queue -> [String]? in
            if queue.lines.isEmpty, !queue.isStopping { return nil }
            defer { queue.lines.removeAll() }
            return queue.lines
        }), !lines.isEmpty {
            let problem = file.append(lines.joined())
            if let problem, !hasFailed { complain("proof of play is not written: \(file.path): \(problem)") }
            if problem == nil, hasFailed { complain("proof of play is written again: \(file.path)") }
            hasFailed = problem != nil
        }
    }

    /// `2026-11-23T22:27:54Z`.
    static func date(_ seconds: Int) -> String {
        var (seconds, parts) = (seconds, tm())
        gmtime_r(&seconds, &parts)
        func two(_ value: Int32) -> String { value < 10 ? "0\(value)" : "\(value)" }
        return
            "\(parts.tm_year + 1900)-\(two(parts.tm_mon + 1))-\(two(parts.tm_mday))T\(two(parts.tm_hour)):\(two(parts.tm_min)):\(two(parts.tm_sec))Z"
    }
}

/// A file of lines that becomes `FILE.1` before it is longer than ``longest`` bytes; what was `FILE.1` is gone then. For one thread.
struct RotatedFile {
    let path: String
    var longest = 16 << 20

    init(_ path: String) { self.path = path }

    /// Appends `text` with write(2), blocking, all of it or nothing of it; why it cannot be done, else nil.
    func append(_ text: String) -> String? {
        var bytes = Array(text.utf8)
        var status = stat()
        if stat(path, &status) == 0, status.st_size > 0, Int(status.st_size) + bytes.count > longest { rename(path, path + ".1") }
        let descriptor = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { return String(cString: strerror(errno)) }
        defer { close(descriptor) }
        guard fstat(descriptor, &status) == 0 else { return String(cString: strerror(errno)) }
        let count = write(descriptor, &bytes, bytes.count)
        if count == bytes.count { return nil }
        let code = count < 0 ? errno : ENOSPC
        // Half a line would spoil the next one.
        ftruncate(descriptor, status.st_size)
        return String(cString: strerror(code))
    }
}
