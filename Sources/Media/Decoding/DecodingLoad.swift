import CKioskFFmpeg
import Glibc
import KioskPlatform
import Synchronization

/// What it costs to play a source, measured while it is played: whether its next playthrough needs libavcodec's threads.
///
/// Threads that decode a frame each hand over packets, progress and frames: with two of them 20 system calls a frame (`ffmpeg -threads 2`,
/// 720p30), and with one none. A machine that plays a clip with less than half a core needs one. What is counted is the processor time of the
/// whole process for each second of the clip: that is more than decoding takes, and includes all that it has to share the machine with.
///
/// The first playthrough has all threads, as nothing is known of it; and so has what follows a seek (``VideoDecoder/flush()``), which decodes
/// from a key frame on as fast as it can.
///
/// Of what another process decodes the player measures both processes, and tells the next one what has come of it.
package struct DecodingLoad: Sendable {
    private let source: Path
    /// That of the process that decodes, where it is another one.
    private let other: clockid_t?
    private var begin: (cpu: MediaTime, time: MediaTime)?

    private static let known = Mutex<Set<Path>>([])
    /// So many sources are remembered.
    private static let mostSources = 1000
    /// Seconds of processor time a second of the clip, below which one thread will do, and above which it will no longer.
    static let light = 0.5, heavy = 0.75
    /// It is measured over pieces of a clip of this length.
    static let window = MediaTime.milliseconds(900)

    /// Of a source that is decoded by this process, and by that of the clock `other` where there is one.
    package init(_ source: String, and other: clockid_t? = nil) { (self.source, self.other) = (Path(source), other) }

    /// A picture is given out that begins at `time` of the clip. The corresponding C function is `clock_gettime`, once a ``window``.
    package mutating func gaveOut(_ time: MediaTime) {
        if let begin, time - begin.time < Self.window, time >= begin.time { return }
        let cpu = processorTime
        if let begin, time > begin.time, time - begin.time < Self.window * 4 {
            Self.note(source, (cpu - begin.cpu).seconds / (time - begin.time).seconds)
        }
        begin = (cpu, time)
    }

    /// Pictures go on elsewhere.
    package mutating func restart() { begin = nil }

    /// A second of `source` has taken so many seconds of processor time.
    package static func note(_ source: Path, _ share: Double) {
        known.withLock { known in
            if share > heavy { known.remove(source) }
            // A process that has ended takes its processor time along.
            guard 0..<light ~= share else { return }
            if known.count >= mostSources { known.removeAll() }
            known.insert(source)
        }
    }

    /// Whether one thread will do for `source`.
    package static func isLight(_ source: String) -> Bool { known.withLock { $0.contains(Path(source)) } }

    /// Forgets what has been measured.
    static func forget() { known.withLock { $0.removeAll() } }

    private var processorTime: MediaTime {
        MediaTime(nanoseconds: nanoseconds(of: CLOCK_PROCESS_CPUTIME_ID) + (other.map { nanoseconds(of: $0) } ?? 0))
    }
}
