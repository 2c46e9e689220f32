import Glibc
import KioskCommands
import KioskPlatform
import KioskPlayback
import KioskVocabulary
import Synchronization

/// A log with a line of JSON for each showing of an item: the item, start, end, duration, frames shown, and whether it was complete.
///
/// The player's event thread makes the lines and never waits: a thread of its own appends them to the file. Lines are lost if its queue of
/// ``mostLines`` is full, or if they cannot be written; the next line's `lost` counts both. Dates are the system clock's, which may be set
/// at any time. So durations come from the monotonic clock, and `clockSet` says by how much the system clock has been set since the line
/// before.
package final class ProofOfPlay: Sendable {
    /// A line, and the number of lines lost before it.
    private typealias Line = (members: [String: JSONValue], lost: Int)

    private let file: RotatedFile
    private let player: PlaybackEngine
    private let complain: @Sendable (String) -> Void
    private let showing = Mutex<Showing?>(nil)
    private let clock = Mutex(ClockSteps())
    private let queue = Monitor((lines: [Line](), lost: 0, isStopping: false))
    private let thread = Mutex<Thread?>(nil)
    private let observer = Mutex<PlayerObserver?>(nil)

    private static let mostLines = 1000

    private struct Showing {
        var item: QueueItem.ID
        var date: Int64
        var since: HostTime
        /// The number of the item's playthrough.
        var playthrough: Int
    }

    /// Starts to write to the file at `path`. Calls `complain` with a line when writing fails, and when it works again.
    package init(_ path: String, _ player: PlaybackEngine, complain: @escaping @Sendable (String) -> Void) {
        (file, self.player, self.complain) = (RotatedFile(path), player, complain)
        let observer = player.addObserver { [self] in note($0) }
        self.observer.withLock { $0 = observer }
        thread.withLock { $0 = Thread("proof-of-play") { [self] in run() } }
    }

    /// Writes the current showing as incomplete, and all queued lines; takes at most two seconds.
    package func stop() {
        if let observer = observer.withLock({ $0.take() }) { player.removeObserver(observer) }
        end(isComplete: false)
        queue.signal { $0.isStopping = true }
        thread.withLock { if let thread = $0.take(), !thread.join(until: .now + .seconds(2)) { thread.detach() } }
    }

    private func note(_ event: PlaybackEvent) {
        switch event {
        case .itemStarted(let item, _, _):
            end(isComplete: false)
            let playthrough = player.snapshot.statistics.items[item]?.playthroughs ?? 0
            showing.withLock { $0 = Showing(item: item, date: ClockSteps.date, since: .now, playthrough: playthrough) }
        case .itemEnded(let item): if showing.withLock({ $0?.item == item }) { end(isComplete: true) }
        default: break
        }
    }

    private func end(isComplete: Bool) {
        guard let showing = showing.withLock({ $0.take() }) else { return }
        let counts = player.snapshot.statistics.items[showing.item]
        // An item that follows itself has already begun its next playthrough.
        let frames = (counts?.playthroughs == showing.playthrough ? counts?.framesInPlaythrough : counts?.framesInLastPlaythrough) ?? 0
        let (date, now) = (ClockSteps.date, HostTime.now)
        var line: [String: JSONValue] = [
            "item": RemoteControl.describe(showing.item, of: player),
            "start": .string(Self.date(Int(showing.date / 1_000_000_000))), "end": .string(Self.date(Int(date / 1_000_000_000))),
            "seconds": .number(((now - showing.since).seconds * 1000).rounded() / 1000), "framesShown": frames.json,
            "complete": isComplete.json,
        ]
        if let step = clock.withLock({ $0.step(to: date, at: now) }) { line["clockSet"] = .number((step.seconds * 10).rounded() / 10) }
        queue.signal { queue in
            guard queue.lines.count < Self.mostLines else { return queue.lost += 1 }
            queue.lines.append((line, queue.lost))
            queue.lost = 0
        }
    }

    private func run() {
        Thread.giveWay()
        var hasFailed = false
        // The number of lines that could not be written.
        var unwritten = 0
        while var lines = queue.wait({ queue -> [Line]? in
            if queue.lines.isEmpty, !queue.isStopping { return nil }
            defer { queue.lines.removeAll() }
            return queue.lines
        }), !lines.isEmpty {
            lines[0].lost += unwritten
            let problem = file.append(lines.map(Self.text).joined())
            unwritten = problem == nil ? 0 : lines.reduce(lines.count) { $0 + $1.lost }
            if let problem, !hasFailed { complain("cannot write the proof of play: \(file.path): \(problem)") }
            if problem == nil, hasFailed { complain("proof of play: writing again: \(file.path)") }
            hasFailed = problem != nil
        }
    }

    private static func text(_ line: Line) -> String {
        let lost: [String: JSONValue] = line.lost == 0 ? [:] : ["lost": line.lost.json]
        return JSONValue.object(line.members.merging(lost) { $1 }).line + "\n"
    }

    /// `2026-11-23T22:27:54Z`.
    static func date(_ seconds: Int) -> String { KioskPlatform.date("%Y-%m-%dT%H:%M:%SZ", seconds, isUTC: true) }
}

/// Detects changes of the system clock, against the monotonic clock: a pure value.
struct ClockSteps {
    /// The last difference between the two clocks, in nanoseconds.
    private var offset: Int64

    /// The least change; smaller ones are the time between the two readings.
    static let least = MediaTime.milliseconds(500)

    init(date: Int64 = Self.date, at now: HostTime = .now) { offset = date &- now.nanoseconds }

    /// Returns by how far the clock has been set since the last reading, positive if forwards; nil if it was not.
    mutating func step(to date: Int64, at now: HostTime) -> MediaTime? {
        let before = offset
        offset = date &- now.nanoseconds
        let step = MediaTime(nanoseconds: offset) - MediaTime(nanoseconds: before)
        return step >= Self.least || step <= -Self.least ? step : nil
    }

    /// Nanoseconds since 1970. The corresponding C function is `clock_gettime`.
    static var date: Int64 { nanoseconds(of: CLOCK_REALTIME) }
}

/// A file of lines, which is renamed to `FILE.1` before it exceeds ``longest`` bytes; the former `FILE.1` is lost. If it cannot be renamed,
/// no more is written, so that it cannot fill the disk. For one thread.
struct RotatedFile {
    let path: String
    var longest = 16 << 20

    init(_ path: String) { self.path = path }

    /// Appends all of `text` with write(2), blocking, or nothing; returns the error, or nil.
    func append(_ text: String) -> String? {
        let bytes = Array(text.utf8)
        if let status = stat(at: path), status.isFile, status.st_size > 0, Int(status.st_size) + bytes.count > longest,
            rename(path, path + ".1") != 0
        {
            let reason = SystemError()
            return "it has \(longest >> 20) MB and cannot be renamed to \(path).1: \(reason); let the player's user write to its folder"
        }
        guard let file = Descriptor(opening: path, O_WRONLY | O_APPEND | O_CREAT, mode: 0o644), let status = file.status else {
            return "\(SystemError())"
        }
        if bytes.withUnsafeBytes({ file.write($0) }) { return nil }
        let error = SystemError()
        // A partial line would corrupt the next one.
        ftruncate(file.raw, status.st_size)
        return "\(error)"
    }
}
