/// The guest's abilities just before a run in real time, measured in the same guest. They depend on the host and can change from run to
/// run. The director measures them (`able` and `reference` in guest/direct.c).
package struct Host: Sendable, Equatable {
    /// The mean time of a system call, of a switch to another process, and of the first touch of a page.
    package var call: Duration, change: Duration, fault: Duration
    /// The time from before exec until ffmpeg has decoded and converted the first frame of the first clip.
    package var firstFrame: Duration?
    /// The share of real time in which ffmpeg decodes and converts ``seconds`` of that clip: the work of any player, without display.
    package var decoding: Double?

    /// The length of the clip's part that ``decoding`` decodes.
    static let seconds = 5

    /// Returns the director's script for these measurements.
    static func script(_ clip: NumberedClip?) -> [String] {
        guard let clip else { return ["able"] }
        let convert = "-map 0:v -pix_fmt bgr0 -f null -"
        let ffmpeg = "exec ffmpeg -v error -nostdin -stream_loop -1 -i '\(clip.path)'"
        return ["able", "reference \(ffmpeg) -frames:v 1 \(convert)", "reference \(ffmpeg) -t \(seconds) \(convert)"]
    }

    /// Returns the reason why this guest is too slow to judge a player's timing at `refresh` Hz; nil if it is fast enough.
    ///
    /// For each frame a player needs some 60 system calls (flip, sound, threads that wait for each other) and 24 thread switches. They may
    /// take a tenth of a vblank period. (On an idle Intel Xeon it is 0.7 ms: 6 and 14 µs each.) ffmpeg may take half of the time to decode
    /// and convert, because a player has more to do.
    func shortfall(refresh: Int) -> String? {
        let overhead = call * 60 + change * 24
        if overhead > .seconds(1) / (10 * refresh) {
            let costs = "a system call takes \(call.microseconds) µs, a change of threads \(change.microseconds) µs"
            return "\(costs): too much for \(refresh) Hz"
        }
        if let decoding, decoding > 0.5 { return "decoding alone takes \(Int(decoding * 100)) % of the time" }
        return nil
    }
}

extension Host {
    /// Reads the director's measurements; nil if it did not measure.
    init?(_ report: Report) {
        guard report.able.count == 3 else { return nil }
        (call, change, fault) = (.nanoseconds(report.able[0]), .nanoseconds(report.able[1]), .nanoseconds(report.able[2]))
        if report.references.count == 2 {
            firstFrame = .microseconds(report.references[0])
            decoding = Double(report.references[1]) / 1e6 / Double(Self.seconds)
        }
    }
}
