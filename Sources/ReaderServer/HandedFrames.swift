import KioskMedia
import KioskReaderProtocol
import Synchronization

/// Pictures between a reader and its player, by their number in the ring. In one process the player takes them out of here as they are. A
/// player in another process sees their memory, and they stay here until it returns the number.
package final class HandedFrames: Sendable {
    private let frames = Mutex(InlineArray<64, VideoFrame?> { _ in nil })

    package init() {}

    /// Stores a picture, and releases the previous one in the slot.
    func put(_ frame: consuming VideoFrame, _ slot: Int) {
        guard 0..<64 ~= slot else { return }
        var frame: VideoFrame? = consume frame
        // Frees the old one without the lock: a driver can take its time for that.
        var old: VideoFrame?
        frames.withLock { frames in
            old = frames[slot].take()
            frames[slot] = frame.take()
        }
        _ = consume old
    }

    /// Returns another reference to the picture of a slot; nil if there is none.
    func shared(_ slot: Int) -> VideoFrame? {
        guard 0..<64 ~= slot else { return nil }
        return frames.withLock { frames in frames[slot]?.shared() }
    }

    /// Takes a picture out; nil if there is none.
    package func take(_ slot: Int) -> VideoFrame? {
        guard 0..<64 ~= slot else { return nil }
        return frames.withLock { $0[slot].take() }
    }
}
