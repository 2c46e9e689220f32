import CKioskFFmpeg
import Synchronization

/// Returns pictures to a decoder that owns their buffers.
///
/// When the last reference goes, libavcodec hands the picture's buffer to the driver, by a system call that can hang. The thread that
/// releases the picture makes that call: mostly the compositor. So a separate thread frees pictures (``DriverCall``), in order, and no
/// other thread waits for it. If that thread hangs, the decoder soon has no buffers. kiosk then leaves it, as for any call that does not
/// return.
final class PictureReturns: Sendable {
    /// A picture, with the mark that keeps its decoder in use until the picture is returned.
    private struct Picture: @unchecked Sendable {
        // Sendable because only the thread that takes it out reaches the pointers.
        let frame: UnsafeMutablePointer<AVFrame>, origin: UnsafeMutablePointer<AVFrame>?
        let use: DecoderShelf.Use
    }

    private struct State {
        var waiting: [Picture] = []
        var isRunning = false
    }

    private let state = Mutex(State())

    /// Frees a picture soon, on another thread. The corresponding C function is `av_frame_free`.
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
