import CKioskFFmpeg
import Synchronization

/// Gives pictures back to a decoder whose own buffers they are.
///
/// With the last reference to such a picture libavcodec hands its buffer to the driver, with a system call that can hang like any other: and whoever lets
/// go of the picture is the one that it is called by. That is mostly the compositor. So pictures are freed on a thread of their own (``DriverCall``), in
/// order, and nobody waits for it. Where that thread hangs the decoder has no buffers before long, and is left then as for any call that does not return.
final class PictureReturns: Sendable {
    /// A picture, and what counts its decoder as in use until it has been given back.
    private struct Picture: @unchecked Sendable {
        // Sendable because the pointers are reached only by who has taken it out.
        let frame: UnsafeMutablePointer<AVFrame>, origin: UnsafeMutablePointer<AVFrame>?
        let use: DecoderShelf.Use
    }

    private struct State {
        var waiting: [Picture] = []
        var isRunning = false
    }

    private let state = Mutex(State())

    /// Frees a picture soon. The corresponding C function is `av_frame_free`.
    func give(_ frame: UnsafeMutablePointer<AVFrame>, _ origin: UnsafeMutablePointer<AVFrame>?, _ use: consuming DecoderShelf.Use) {
        let picture = Picture(frame: frame, origin: origin, use: use)
        let begins = state.withLock { state in
            state.waiting.append(picture)
            defer { state.isRunning = true }
            return !state.isRunning
        }
        guard begins else { return }
        DriverCall.begin {
            while let next = self.next() {
                next.frame.free()
                next.origin?.free()
            }
        }
    }

    private func next() -> Picture? {
        state.withLock { state in
            guard !state.waiting.isEmpty else {
                state.isRunning = false
                return nil
            }
            return state.waiting.removeFirst()
        }
    }
}
