import KioskPlatform

/// Has a card play everything later by a fixed number of frames. It gives silence first, then what came in that many frames before.
///
/// The engine knows one delay, the least that any card needs (``AudioDelays/least``). A line holds what a card needs beyond that. What comes out
/// counts for the engine as heard, although it was rendered earlier. So positions need no correction, and the sound is late by the line.
struct DelayLine: ~Copyable {
    /// Interleaved.
    private let held: UnsafeMutableBufferPointer<Float>
    private var place = 0

    init(frames: Int, channelCount: Int) {
        held = .allocate(capacity: max(0, frames) * channelCount)
        held.initialize(repeating: 0)
    }

    deinit { held.deallocate() }

    /// Puts `samples` in, and has what is due instead.
    mutating func exchange(_ samples: UnsafeMutableBufferPointer<Float>) {
        if held.isEmpty { return }
        for index in samples.indices {
            swap(&samples[index], &held[place])
            place += 1
            if place == held.count { place = 0 }
        }
    }

    /// Forgets what it holds.
    mutating func clear() {
        held.update(repeating: 0)
        place = 0
    }
}
