import DequeModule
import KioskPlatform

/// Places the pictures that come out of a deinterlacing filter: a pure value.
///
/// The filter holds frames back, drops none, and gives out one picture or two of each. So that times are exact, and FFmpeg's versions need
/// not agree on what they do to timestamps, frames are numbered on their way in: frame n has the timestamp n, and its pictures come out with
/// 2n and 2n + 1. The real times stay here.
///
/// The first field lasts half the frame, the second the rest of it. A frame lasts until the next begins, where that is known and no more
/// than twice what the container tells: in a transport stream that may be the duration of one field.
struct FieldTimes: Hashable, Sendable {
    /// A frame, or a picture of it.
    struct Place: Hashable, Sendable {
        var time: MediaTime
        var duration: MediaTime
        var orientation = Orientation.up
    }

    private struct Frame: Hashable {
        var place: Place
        var isInterlaced: Bool
    }

    /// What has been put in and may still come out, in order.
    private var frames: Deque<Frame> = []
    /// The number of the first of them.
    private var number: Int64 = 0
    /// Whether a field of that one has come out.
    private var hasGivenField = false

    /// A frame is put in; returns the timestamp that it is to have.
    mutating func send(_ place: Place, isInterlaced: Bool) -> Int64 {
        frames.append(Frame(place: place, isInterlaced: isInterlaced))
        return number + Int64(frames.count) - 1
    }

    /// The place of the picture that has come out with this timestamp; nil where it is of no frame, or of one that has been given out.
    ///
    /// - Parameters:
    ///   - isWhole: whether it shows its frame as it was put in.
    ///   - ofFields: whether each field becomes a picture; else each frame becomes one.
    mutating func receive(_ timestamp: Int64, isWhole: Bool, ofFields: Bool) -> Place? {
        while let frame = frames.first, number < timestamp >> 1 || number == timestamp >> 1 && hasGivenField && !frame.isInterlaced {
            removeFirst()
        }
        guard let frame = frames.first, number == timestamp >> 1 else { return nil }
        var place = frame.place
        place.duration = span(of: frame)
        guard ofFields, frame.isInterlaced, !isWhole else {
            removeFirst()
            return place
        }
        let half = MediaTime(nanoseconds: place.duration.nanoseconds / 2)
        // Of a file of one frame both have the same timestamp.
        if timestamp & 1 == 1 || hasGivenField {
            place.time = place.time + half
            place.duration = place.duration - half
            removeFirst()
        } else {
            place.duration = half
            hasGivenField = true
        }
        return place
    }

    private mutating func removeFirst() {
        frames.removeFirst()
        number += 1
        hasGivenField = false
    }

    /// How long a frame lasts in fact, for the first in the queue.
    private func span(of frame: Frame) -> MediaTime {
        let told = frame.place.duration
        guard frames.count > 1 else { return told }
        let gap = frames[1].place.time - frame.place.time
        return gap > .zero && gap <= told + told ? gap : told
    }
}
