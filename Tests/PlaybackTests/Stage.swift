import CTestSupport
import Glibc
import KioskAudioCore
import KioskPlatform
import KioskPlayback
import KioskReaders
import KioskVocabulary
import TestSupport
import Testing

/// A player on a display that keeps what it was shown, which runs until the test is over.
final class Stage {
    let display: RecordingDisplay
    let player: PlaybackEngine
    private let log = Monitor<[PlaybackEvent]>([])
    private var isStopped = false

    /// What reads: processes, but where $KIOSK_ISOLATION is "off", or there can be none.
    static let readers: Readers = getenv("KIOSK_ISOLATION").map { String(cString: $0) } == "off" ? .inProcess : .shared

    /// Starts it; `isPaused` when it is to be paused before it has begun.
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
    /// The same from the first picture on: where opening it took long, the background came before it.
    var pictures: [Int] { Array(numbers.drop { $0 == 0 }) }
    var statistics: PlayerStatistics { player.snapshot.statistics }
    /// The complaints about items, as (index, message).
    var complaints: [(index: Int, message: String)] {
        events.compactMap { if case .itemFailed(let item, let message) = $0 { (item.number, message) } else { nil } }
    }

    /// Waits until `condition` holds; false after `seconds`, which only a machine much too busy needs.
    func wait(_ seconds: Double = 120, until condition: () -> Bool) -> Bool {
        let deadline = HostTime.now + .seconds(seconds)
        while HostTime.now < deadline {
            if condition() { return true }
            usleep(5000)
        }
        return condition()
    }

    /// Waits until `number` is on the screen, counting flips from the `since`-th on; where the player has left out frames, one of the
    /// third of a second after it will do.
    func wait(for number: Int, since: Int = 0, _ seconds: Double = 120) -> Bool {
        wait(seconds) {
            let last = statistics.framesDropped == 0 || number == 0 ? number : number + 10
            return numbers.dropFirst(since).contains { (number...last).contains($0) }
        }
    }

    /// Waits until nothing has been flipped for `time`, and for as many looks as that has: where the machine has stopped all threads for a
    /// while, the first look after it says nothing. False after some seconds.
    func waitUntilStill(for time: MediaTime = .milliseconds(130)) -> Bool {
        var (count, looks, since) = (-1, 0, HostTime.now)
        return wait {
            let flips = display.flips.count
            if flips != count { (count, looks, since) = (flips, 0, .now) }
            looks += 1
            return HostTime.now - since > time && Double(looks) * 0.005 >= time.seconds
        }
    }

    /// Pauses, and waits until the picture stands; the number it stands on.
    func pause() -> Int? {
        player.pause()
        guard wait(until: { player.timeControlStatus == .paused }), waitUntilStill() else { return nil }
        return numbers.last
    }

    /// Plays until `count` frames have been shown and expects them to be `cycle` again and again, from its beginning. On a machine too
    /// busy to show a frame in time the player leaves it out and says so: no more may be missing than it says.
    func expectPlays(
        _ cycle: [Int], count: Int, _ sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(wait { self.numbers.count >= count }, "\(self.numbers)", sourceLocation: sourceLocation)
        #expect(plays(cycle), "\(self.numbers)", sourceLocation: sourceLocation)
    }

    /// Whether the pictures so far are `cycle` again and again, from its beginning, with no more left out than the player says.
    func plays(_ cycle: [Int]) -> Bool {
        // What has been dropped is counted before what comes after it is shown.
        guard let missing = Self.missing(from: pictures, cycle: cycle) else { return false }
        return missing <= statistics.framesDropped
    }

    /// How many frames of `cycle`, again and again, are left out in `numbers`; nil when they are in another order.
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

// Swift Testing takes apart whatever a failed expectation was about, and the runtime traps on a class that holds a noncopyable value.
extension Stage: CustomReflectable {
    var customMirror: Mirror { Mirror(self, children: []) }
}
extension RecordingDisplay: CustomReflectable {
    var customMirror: Mirror { Mirror(self, children: []) }
}
extension RecordingOutput: CustomReflectable {
    var customMirror: Mirror { Mirror(self, children: []) }
}

/// The clips the player is shown; every frame of all of them has another number.
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
    /// Numbered samples: sample n of the clip is ``sample(_:seconds:)``; with 30 frames a second from 1 on.
    static func numberedSamples(seconds: Int = 1) throws -> String {
        try Clips.make(
            "samples-\(seconds).mov",
            ["-i", Clips.numbered("silent-\(seconds).mp4", frames: 30 * seconds, sound: false), "-f", "lavfi", "-i"]
                + ["aevalsrc=(mod(n\\,30000)+1)/32768:s=48000:d=\(seconds)", "-c:v", "copy", "-c:a", "pcm_s16le"])
    }
    /// Sample n of ``numberedSamples(seconds:)``, again and again.
    static func sample(_ n: Int, seconds: Int = 1) -> Float { Float(n % (seconds * 48_000) % 30_000 + 1) / 32_768 }
}
