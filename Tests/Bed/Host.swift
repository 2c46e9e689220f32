/// What the guest could do just before a run in real time, measured in the same guest: the host decides that, and it can change from run to
/// run. The director measures (`able` and `reference` in guest/direct.c).
package struct Host: Sendable, Equatable {
    /// Mean time of a system call, of a change from one process to another, and of a page touched for the first time.
    package var call: Duration, change: Duration, fault: Duration
    /// From before exec until ffmpeg has decoded and converted the first frame of the first clip.
    package var firstFrame: Duration?
    /// The share of real time in which ffmpeg decodes and converts ``seconds`` of that clip: what any player has to do, without showing it.
    package var decoding: Double?

    /// How much of a clip is decoded for ``decoding``.
    static let seconds = 5

    /// The director's script for this.
    static func script(_ clip: NumberedClip?) -> [String] {
        guard let clip else { return ["able"] }
        let convert = "-map 0:v -pix_fmt bgr0 -f null -"
        let ffmpeg = "exec ffmpeg -v error -nostdin -stream_loop -1 -i '\(clip.path)'"
        return ["able", "reference \(ffmpeg) -frames:v 1 \(convert)", "reference \(ffmpeg) -t \(seconds) \(convert)"]
    }

    /// Why nothing can be concluded from what a player does on time there, at so many vblanks a second; nil where it can.
    ///
    /// For each frame a player needs some 60 system calls (flip, sound, threads that wait for each other) and 24 changes between threads:
    /// they may take a tenth of a vblank period. (On an Intel Xeon with nothing else to do it is 0.7 ms: 6 and 14 µs each.) And ffmpeg may
    /// take half of the time to decode and convert, since a player has more to do than that.
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
    /// What the director wrote down; nil where it was not asked to measure.
    init?(_ report: Report) {
        guard report.able.count == 3 else { return nil }
        (call, change, fault) = (.nanoseconds(report.able[0]), .nanoseconds(report.able[1]), .nanoseconds(report.able[2]))
        if report.references.count == 2 {
            firstFrame = .microseconds(report.references[0])
            decoding = Double(report.references[1]) / 1e6 / Double(Self.seconds)
        }
    }
}
