import KioskPlatform

/// Has a card play everything later by a fixed number of frames. It gives silence first, then what came in that many frames before.
///
/// The engine knows one delay, the least that any card needs (``AudioDelays/least``). A line holds what a card needs beyond that. What comes out
/// counts for the engine as heard, although it was rendered earlier. So positions need no correction, and the sound is late by the line.
///
/// What the card did not play comes in again (``takeBack(_:)``). The line then gives out again what was not heard, so a pause loses no sound.
struct DelayLine: ~Copyable {
    /// A ring of whole frames, interleaved.
    private let ring: UnsafeMutableBufferPointer<Float>
    private let delay: Int
    private let capacity: Int
    private let channelCount: Int
    /// Frames that have come in.
    private var count = 0

    /// A line of `frames`, from which up to `most` frames can be taken back.
    init(frames: Int, takingBack most: Int, channelCount: Int) {
        (delay, self.channelCount) = (max(0, frames), channelCount)
        capacity = delay == 0 ? 0 : delay + most
        ring = .allocate(capacity: capacity * channelCount)
        ring.initialize(repeating: 0)
    }

    deinit { ring.deallocate() }

    /// Puts whole frames in, and has those that are due instead.
    mutating func exchange(_ samples: UnsafeMutableBufferPointer<Float>) {
        if delay == 0 { return }
        for frame in 0..<samples.count / channelCount {
            let (into, from) = (count % capacity * channelCount, (count - delay) % capacity * channelCount)
            for channel in 0..<channelCount {
                let index = frame * channelCount + channel
                ring[into + channel] = samples[index]
                samples[index] = count < delay ? 0 : ring[from + channel]
            }
            count += 1
        }
    }

    /// The last `frames` that came out were not heard; the same number comes in again.
    mutating func takeBack(_ frames: Int) { count -= min(max(0, frames), capacity - delay, count) }

    /// Forgets what it holds.
    mutating func clear() { count = 0 }
}
