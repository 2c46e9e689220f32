import KioskMedia
import KioskPlatform
import KioskPlayback

/// The ownership of the renderer. It belongs to the audio thread. While that hangs in a call into ALSA, it belongs to a stand-in thread.
///
/// The audio thread uses the renderer through this value, and gets silence while a stand-in has it. ``take()`` gives back the frames
/// rendered but not heard by then. When its call returns, the audio thread takes the renderer back (``comeBack(_:)``), and the card starts
/// again. The lock is held while the renderer is called, and never during a call into ALSA.
final class RendererLoan: AudioRenderer {
    private enum Holder {
        case audio
        /// `hasBegun`: a thread runs that will give it back.
        case standIn(hasBegun: Bool, isWantedBack: Bool)
    }

    private struct State {
        var holder = Holder.audio
        /// The frames that the audio thread has rendered and the card has not played.
        var frames: UnheardFrames
    }

    private let state: Monitor<State>
    private let renderer: any AudioRenderer
    private let format: AudioFormat

    init(_ renderer: any AudioRenderer, _ format: AudioFormat) {
        (self.renderer, self.format) = (renderer, format)
        state = Monitor(State(frames: UnheardFrames(sampleRate: format.sampleRate)))
    }

    // MARK: The audio thread

    func render(into samples: UnsafeMutableBufferPointer<Float>) {
        state.withLock { state in
            guard case .audio = state.holder else { return samples.initialize(repeating: 0) }
            renderer.render(into: samples)
            state.frames.add(samples.count / format.channelCount)
        }
    }

    func isReady(frames: Int) -> Bool {
        state.withLock { state in if case .audio = state.holder { renderer.isReady(frames: frames) } else { true } }
    }

    func takeBack(frames: Int) {
        state.withLock { state in
            guard case .audio = state.holder else { return }
            renderer.takeBack(frames: frames)
            state.frames.restart()
        }
    }

    func report(unheard: Int, at time: HostTime) {
        state.withLock { state in
            guard case .audio = state.holder else { return }
            renderer.report(unheard: unheard, at: time)
            _ = state.frames.observe(delay: unheard, pending: 0, at: time)
        }
    }

    /// Takes the renderer back from the stand-in; false if there is none. Waits until the stand-in has given it back, some milliseconds.
    /// `wake` ends the stand-in's wait.
    func comeBack(_ wake: () -> Void) -> Bool {
        let isElsewhere = state.withLock { state in
            switch state.holder {
            case .audio: return false
            case .standIn(hasBegun: false, _): state.holder = .audio
            case .standIn(hasBegun: true, _): state.holder = .standIn(hasBegun: true, isWantedBack: true)
            }
            return true
        }
        if !isElsewhere { return false }
        wake()
        _ = state.wait { state in if case .audio = state.holder { true } else { nil } }
        // The engine has to learn its position anew.
        takeBack(frames: 0)
        return true
    }

    // MARK: The stand-in

    /// Takes the renderer from the audio thread; false if a stand-in already has it.
    func take() -> Bool {
        state.withLock { state in
            guard case .audio = state.holder else { return false }
            state.holder = .standIn(hasBegun: false, isWantedBack: false)
            renderer.takeBack(frames: state.frames.count(at: .now))
            state.frames.restart()
            return true
        }
    }

    /// Renders in real time by the monotonic clock until the audio thread wants the renderer back. `next` returns the pending request, nil
    /// at the end of the output; `wait` waits until the next piece is due.
    func standIn(next: () -> Bool?, wait: (HostTime) -> Void) {
        // The call may have returned before this thread began.
        let isWanted = state.withLock { state in
            guard case .standIn(hasBegun: false, _) = state.holder else { return false }
            state.holder = .standIn(hasBegun: true, isWantedBack: false)
            return true
        }
        if !isWanted { return }
        var sink = SilentSink(format: format, start: .now)
        while true {
            let interrupts = next()
            let due: HostTime? = state.signal { state in
                guard case .standIn(_, isWantedBack: false) = state.holder, let interrupts else {
                    sink.interrupt(renderer)
                    state.holder = .audio
                    return nil
                }
                if interrupts { sink.interrupt(renderer) }
                return sink.render(renderer)
            }
            guard let due else { return }
            wait(due)
        }
    }
}
