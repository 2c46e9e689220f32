import KioskMedia
import KioskReaderProtocol
import Synchronization

/// Pictures that lie between a reader and its player, by their number in the ring. Where both are of one process the player takes them out of here as
/// they are; from another process it sees their memory, and they stay here until it gives the number back.
package final class HandedFrames: Sendable {
    private let frames = Mutex(InlineArray<64, VideoFrame?> { _ in nil })

    package init() {}

    /// Puts one there; what was there before goes.
    func put(_ frame: consuming VideoFrame, _ slot: Int) {
        guard 0..<64 ~= slot else { return }
        var frame: VideoFrame? = consume frame
        // What goes is freed without the lock: that can take a driver its time.
        var old: VideoFrame?
        frames.withLock { frames in
            old = frames[slot].take()
            frames[slot] = frame.take()
        }
        _ = consume old
    }

    /// Another reference to the picture of a slot; nil where there is none.
    func shared(_ slot: Int) -> VideoFrame? {
        guard 0..<64 ~= slot else { return nil }
        return frames.withLock { frames in frames[slot]?.shared() }
    }

    /// Takes one out; nil where there is none.
    package func take(_ slot: Int) -> VideoFrame? {
        guard 0..<64 ~= slot else { return nil }
        return frames.withLock { $0[slot].take() }
    }
}
