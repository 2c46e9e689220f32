import CKioskFFmpeg
import Glibc
import KioskPlatform
import Synchronization

/// The measured processor load of playing a source. It decides whether the next playthrough needs libavcodec's threads.
///
/// Threads that decode a frame each hand over packets, progress and frames. Two of them make 20 system calls a frame (`ffmpeg -threads 2`,
/// 720p30), one makes none. A machine that plays a clip with less than half a core needs one. The measure is the processor time of the
/// whole process for each second of the clip. That is more than decoding takes, and includes everything that shares the machine with it.
///
/// The first playthrough uses all threads, as its load is unknown. So does decoding after a seek (``VideoDecoder/flush()``), which runs
/// from a key frame on at full speed.
///
/// If another process decodes, the player measures both processes, and tells the next one the result.
package struct DecodingLoad: Sendable {
    private let source: Path
    /// The processor clock of the decoding process, if it is another one.
    private let other: clockid_t?
    private var begin: (cpu: MediaTime, time: MediaTime)?

    private static let known = Mutex<Set<Path>>([])
    /// The number of remembered sources.
    private static let mostSources = 1000
    /// Seconds of processor time per second of the clip: one thread is enough below `light`, and not above `heavy`.
    static let light = 0.5, heavy = 0.75
    /// The length of clip for each measurement.
    static let window = MediaTime.milliseconds(900)

    /// Measures a source that this process decodes, together with the process of the clock `other` if given.
    package init(_ source: String, and other: clockid_t? = nil) { (self.source, self.other) = (Path(source), other) }

    /// Notes that a picture was given out which begins at `time` of the clip. Calls the C function `clock_gettime` once a ``window``.
    package mutating func gaveOut(_ time: MediaTime) {
        if let begin, time - begin.time < Self.window, time >= begin.time { return }
        let cpu = processorTime
        if let begin, time > begin.time, time - begin.time < Self.window * 4 {
            Self.note(source, (cpu - begin.cpu).seconds / (time - begin.time).seconds)
        }
        begin = (cpu, time)
    }

    /// Restarts the measurement: pictures continue elsewhere.
    package mutating func restart() { begin = nil }

    /// Stores a result: the seconds of processor time for a second of `source`.
    package static func note(_ source: Path, _ share: Double) {
        known.withLock { known in
            if share > heavy { known.remove(source) }
            // A process that ended takes its processor time along.
            guard 0..<light ~= share else { return }
            if known.count >= mostSources { known.removeAll() }
            known.insert(source)
        }
    }

    /// Whether one thread is enough for `source`.
    package static func isLight(_ source: String) -> Bool { known.withLock { $0.contains(Path(source)) } }

    /// Discards all measurements.
    static func forget() { known.withLock { $0.removeAll() } }

    private var processorTime: MediaTime {
        MediaTime(nanoseconds: nanoseconds(of: CLOCK_PROCESS_CPUTIME_ID) + (other.map { nanoseconds(of: $0) } ?? 0))
    }
}
