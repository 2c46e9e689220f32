import KioskPlatform

/// Delays a card's sound by a fixed number of frames: first silence, then the frames that came in earlier.
///
/// The engine knows one delay, the least that any card needs (``AudioDelays/least``). A line adds the rest that its card needs. Its output
/// counts as heard for the engine, although it was rendered earlier. So positions need no correction, and the sound is late by the line.
///
/// Frames that the card did not play come in again (``takeBack(_:)``). The line then gives out the unheard frames again, so a pause loses
/// no sound.
struct DelayLine: ~Copyable {
    /// A ring of whole frames, interleaved.
    private let ring: UnsafeMutableBufferPointer<Float>
    private let delay: Int
    private let capacity: Int
    private let channelCount: Int
    /// The number of frames that have come in.
    private var count = 0

    /// Creates a line of `frames` frames that can take back up to `most` frames.
    init(frames: Int, takingBack most: Int, channelCount: Int) {
        (delay, self.channelCount) = (max(0, frames), channelCount)
        capacity = delay == 0 ? 0 : delay + most
        ring = .allocate(capacity: capacity * channelCount)
        ring.initialize(repeating: 0)
    }

    deinit { ring.deallocate() }

    /// Replaces whole frames by those that are due.
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

    /// Takes back the last `frames` frames of output, which were not heard; the same number comes in again.
    mutating func takeBack(_ frames: Int) { count -= min(max(0, frames), capacity - delay, count) }

    /// Empties the line.
    mutating func clear() { count = 0 }
}
