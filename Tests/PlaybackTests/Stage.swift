import CTestSupport
import Glibc
import KioskAudioCore
import KioskPlatform
import KioskPlayback
import KioskReaders
import KioskVocabulary
import TestSupport
import Testing

/// A player on a display that records its pictures. It runs until the test is over.
final class Stage {
    let display: RecordingDisplay
    let player: PlaybackEngine
    private let log = Monitor<[PlaybackEvent]>([])
    private var isStopped = false

    /// The readers: processes, unless $KIOSK_ISOLATION is "off" or the build has sanitizers.
    static let readers: Readers = getenv("KIOSK_ISOLATION").map { String(cString: $0) } == "off" ? .inProcess : .shared

    /// Starts the player; if `isPaused`, it pauses before it begins.
    init(
        _ items: [PlaylistItem], display: RecordingDisplay = RecordingDisplay(), audio: any PCMOutput = SilentOutput(),
        readers: Readers = Stage.readers, isPaused: Bool = false, _ configure: (inout PlaybackEngine.Options) -> Void = { _ in }
    ) {
        var options = PlaybackEngine.Options()
        configure(&options)
        self.display = display
        player = PlaybackEngine(items: items, options: options, video: display, audio: audio, readers: readers)
        player.addObserver { [log] event in log.withLock { $0.append(event) } }
        if isPaused { player.pause() }
        player.start()
    }

    deinit {
        stop()
        #expect(display.violations == [])
    }

    /// Stops the player, once.
    func stop() {
        if !isStopped { player.stop() }
        isStopped = true
    }

    var events: [PlaybackEvent] { log.withLock { $0 } }
    var numbers: [Int] { display.flips.map(\.number) }
    /// The numbers from the first picture on. If the picture took long to open, the background (0) came before it.
    var pictures: [Int] { Array(numbers.drop { $0 == 0 }) }
    var statistics: PlayerStatistics { player.snapshot.statistics }
    /// The failures of items, as (index, message).
    var complaints: [(index: Int, message: String)] {
        events.compactMap { if case .itemFailed(let item, let message) = $0 { (item.number, message) } else { nil } }
    }

    /// Waits until `condition` holds. Returns false after `seconds`; only a far too busy machine needs that long.
    func wait(_ seconds: Double = 120, until condition: () -> Bool) -> Bool {
        let deadline = HostTime.now + .seconds(seconds)
        while HostTime.now < deadline {
            if condition() { return true }
            usleep(5000)
        }
        return condition()
    }

    /// Waits until `number` is on the screen, from the `since`-th flip on. If the player has dropped frames, any of the next ten numbers
    /// will do (a third of a second).
    func wait(for number: Int, since: Int = 0, _ seconds: Double = 120) -> Bool {
        wait(seconds) {
            let last = statistics.framesDropped == 0 || number == 0 ? number : number + 10
            return numbers.dropFirst(since).contains { (number...last).contains($0) }
        }
    }

    /// Waits until no flip has come for `time`, and for as many polls of 5 ms. If the machine has stopped all threads for a while, the
    /// first poll after that says nothing. Returns false after 120 s.
    func waitUntilStill(for time: MediaTime = .milliseconds(130)) -> Bool {
        var (count, looks, since) = (-1, 0, HostTime.now)
        return wait {
            let flips = display.flips.count
            if flips != count { (count, looks, since) = (flips, 0, .now) }
            looks += 1
            return HostTime.now - since > time && Double(looks) * 0.005 >= time.seconds
        }
    }

    /// Pauses, and waits until the picture stands. Returns its number, or nil if it does not stand.
    func pause() -> Int? {
        player.pause()
        guard wait(until: { player.timeControlStatus == .paused }), waitUntilStill() else { return nil }
        return numbers.last
    }

    /// Plays until `count` frames have been shown, and expects `cycle` again and again, from its beginning. A busy machine may make the
    /// player drop frames: no more may be missing than the player reports.
    func expectPlays(
        _ cycle: [Int], count: Int, _ sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(wait { self.numbers.count >= count }, "\(self.numbers)", sourceLocation: sourceLocation)
        #expect(plays(cycle), "\(self.numbers)", sourceLocation: sourceLocation)
    }

    /// Returns whether the pictures so far repeat `cycle` from its beginning, with no more missing than the player reports.
    func plays(_ cycle: [Int]) -> Bool {
        // The player counts a dropped frame before it shows the next one.
        guard let missing = Self.missing(from: pictures, cycle: cycle) else { return false }
        return missing <= statistics.framesDropped
    }

    /// Returns how many frames of the repeated `cycle` are missing in `numbers`; nil if they are in another order.
    static func missing(from numbers: [Int], cycle: [Int]) -> Int? {
        var (place, missing) = (0, 0)
        for number in numbers {
            var skipped = 0
            while cycle[place % cycle.count] != number {
                (place, skipped) = (place + 1, skipped + 1)
                if skipped >= cycle.count { return nil }
            }
            (place, missing) = (place + 1, missing + skipped)
        }
        return missing
    }
}

// Swift Testing reflects every value of a failed expectation, and the runtime traps on a class that holds a noncopyable value.
extension Stage: CustomReflectable {
    var customMirror: Mirror { Mirror(self, children: []) }
}
extension RecordingDisplay: CustomReflectable {
    var customMirror: Mirror { Mirror(self, children: []) }
}
extension RecordingOutput: CustomReflectable {
    var customMirror: Mirror { Mirror(self, children: []) }
}

/// The test clips. Every frame of every clip has a number of its own.
enum Reel {
    /// Frames 1…30 at 30 a second, with a tone.
    static func thirty() throws -> String { try Clips.named("thirty.mp4") }
    /// Frames 101…120 at 50 a second, another size, without sound.
    static func fifty() throws -> String {
        try Clips.numbered("fifty.mkv", frames: 20, from: 101, rate: 50, size: "400x200", sound: false)
    }
    /// One frame, 201.
    static func single() throws -> String { try Clips.numbered("single.mp4", frames: 1, from: 201) }
    /// Frames 301…303: a tenth of a second.
    static func three() throws -> String { try Clips.numbered("three.mp4", frames: 3, from: 301) }
    /// A still, 401.
    static func still() throws -> String { try Clips.named("still.jpg") }
    /// Frames 1001…1300 at 30 a second, a key frame every second.
    static func long() throws -> String {
        try Clips.numbered("long.mp4", frames: 300, from: 1001, extra: ["-g", "30", "-bf", "2"])
    }
    /// The number of the frame of ``long()`` that covers a time.
    static func number(at seconds: Double) -> Int { 1001 + min(299, max(0, Int((seconds * 30 + 1e-6).rounded(.down)))) }
    /// A tone, no picture.
    static func tone(seconds: Double = 0.6) throws -> String {
        try Clips.make("tone-\(seconds).wav", ["-f", "lavfi", "-i", "sine=f=440:r=48000:d=\(seconds)"])
    }
    /// A tone with a cover, 401.
    static func covered(seconds: Int = 1) throws -> String {
        try Clips.make(
            "covered-\(seconds).m4a",
            ["-f", "lavfi", "-i", "sine=f=440:r=48000:d=\(seconds)", "-i", still(), "-map", "0", "-map", "1", "-c:v", "copy"]
                + ["-disposition:v", "attached_pic"])
    }
    /// Numbered samples: sample n of the clip is ``sample(_:seconds:)``. The picture has frames from 1 on, 30 a second.
    static func numberedSamples(seconds: Int = 1) throws -> String {
        try Clips.make(
            "samples-\(seconds).mov",
            ["-i", Clips.numbered("silent-\(seconds).mp4", frames: 30 * seconds, sound: false), "-f", "lavfi", "-i"]
                + ["aevalsrc=(mod(n\\,30000)+1)/32768:s=48000:d=\(seconds)", "-c:v", "copy", "-c:a", "pcm_s16le"])
    }
    /// Returns sample n of the looped ``numberedSamples(seconds:)``.
    static func sample(_ n: Int, seconds: Int = 1) -> Float { Float(n % (seconds * 48_000) % 30_000 + 1) / 32_768 }
}
