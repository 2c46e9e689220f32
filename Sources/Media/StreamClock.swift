import Platform

/// Makes one run of times of a stream whose timestamps jump, as those of a transport stream do where its encoder was started anew or where files were put
/// one behind the other: what comes after a jump follows what came before it.
///
/// Picture and sound jump one after the other, and by the same time, so that they stay together.
struct StreamClock: Hashable, Sendable {
    private var offset = MediaTime.zero
    /// Where the last packet ended, offset included.
    private var end: MediaTime?

    /// Decoding times never go back; what does by this much is a jump, and what goes on by that much while the other stream did not.
    private static let longestStepBack = MediaTime.seconds(1), longestGap = MediaTime.seconds(10)

    /// What is to be added to the timestamps of the next packet, which is decoded at `time`; `other` is the clock of the other stream.
    mutating func offset(at time: MediaTime, lasting duration: MediaTime, beside other: StreamClock) -> MediaTime {
        if let end, isJump(time + offset, from: end, beside: other) {
            offset = isJump(time + other.offset, from: end, beside: other) ? end - time : other.offset
        }
        end = time + offset + duration
        return offset
    }

    private func isJump(_ time: MediaTime, from end: MediaTime, beside other: StreamClock) -> Bool {
        if time < end - Self.longestStepBack { return true }
        return time > end + Self.longestGap && other.end ?? end < end + Self.longestGap - Self.longestStepBack
    }
}
