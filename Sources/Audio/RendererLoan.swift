import KioskMedia
import KioskPlatform
import KioskPlayback

/// Whose the renderer is: the audio thread's, or that of who stands in for it while it hangs in a call into ALSA.
///
/// The audio thread has the renderer through this, and finds it silent while somebody stands in. What it had rendered and nobody has heard by then
/// is given back. When its call returns it asks for it back (``comeBack(_:)``), and has the card begin again. The lock is held while the renderer is called, and never during a call into ALSA.
final class RendererLoan: AudioRenderer {
    private enum Holder {
        case audio
        /// `hasBegun`: there is a thread that will give it back.
        case standIn(hasBegun: Bool, isWantedBack: Bool)
    }

    private struct State {
        var holder = Holder.audio
        /// What the audio thread has rendered and the card has not played.
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

    /// Takes the renderer back from who stands in; false where nobody does. Waits until it has been given back, some milliseconds. `wake` ends
    /// the wait of who has it.
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
        // Where it is has to be learned anew.
        takeBack(frames: 0)
        return true
    }

    // MARK: Who stands in

    /// Takes the renderer from the audio thread; false where somebody has already.
    func take() -> Bool {
        state.withLock { state in
            guard case .audio = state.holder else { return false }
            state.holder = .standIn(hasBegun: false, isWantedBack: false)
            renderer.takeBack(frames: state.frames.count(at: .now))
            state.frames.restart()
            return true
        }
    }

    /// Renders in time by the monotonic clock until the renderer is wanted back. `next` is what is asked for meanwhile, nil at the end of the
    /// output; `wait` waits until the next piece is due.
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
