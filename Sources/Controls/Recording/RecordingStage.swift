import KioskPlatform
import KioskVocabulary

/// The stages of a viewer's recording. A pure value: orders and events in, actions out.
///
///     idle ──preview──▶ opening ──▶ framing ──start──▶ recording ⇄ paused ──stop──▶ finishing ──▶ (kept) idle
///                                      ▲                                                │ on-record = "review"
///                                      └───────────────── retake ──────────────── reviewing ──keep──▶ idle
///
/// A stage waits for the viewer no longer than ``patience``. Then the camera closes; a paused film ends as if stopped, and a film under
/// review is discarded.
struct RecordingStage: Hashable, Sendable {
    enum State: Hashable, Sendable {
        case idle
        /// The devices are opening; whether the recording then starts by itself.
        case opening(starts: Bool)
        /// The camera's picture is visible.
        case framing
        case recording
        case paused
        /// The file is being finished; the next stage.
        case finishing(Afterwards)
        /// The film plays.
        case reviewing
    }

    enum Afterwards: Hashable, Sendable { case done, retake, cancel }

    enum Action: Hashable, Sendable {
        case open, close
        case begin, pause, resume, end
        /// Moves the film into the folder.
        case keep
        case discard
        case play
        case stopPlaying
    }

    private(set) var state = State.idle
    private let reviews: Bool
    /// The time of the viewer's last action.
    private var touchedAt = HostTime(nanoseconds: 0)

    /// The longest wait for a viewer without an action.
    static let patience = MediaTime.seconds(60)

    init(_ onRecord: OnRecord) { reviews = onRecord == .review }

    /// Takes an order; ignores one that does not fit the state.
    mutating func order(_ order: RecordingOrder, at time: HostTime) -> [Action] {
        touchedAt = time
        switch (order, state) {
        case (.preview, .idle): return opens(starting: false)
        case (.start, .idle), (.toggle, .idle): return opens(starting: true)
        case (.start, .opening), (.toggle, .opening): state = .opening(starts: true)
        case (.start, .framing), (.toggle, .framing):
            state = .recording
            return [.begin]
        case (.pause, .recording):
            state = .paused
            return [.pause]
        case (.resume, .paused), (.start, .paused):
            state = .recording
            return [.resume]
        case (.stop, .recording), (.toggle, .recording), (.stop, .paused), (.toggle, .paused): return ends(.done)
        case (.retake, .recording), (.retake, .paused): return ends(.retake)
        case (.cancel, .recording), (.cancel, .paused): return ends(.cancel)
        case (.keep, .reviewing), (.stop, .reviewing):
            state = .idle
            return [.stopPlaying, .keep]
        case (.retake, .reviewing):
            state = .opening(starts: false)
            return [.stopPlaying, .discard, .open]
        case (.cancel, .reviewing):
            state = .idle
            return [.stopPlaying, .discard]
        case (.cancel, .opening), (.cancel, .framing), (.stop, .opening), (.stop, .framing):
            state = .idle
            return [.close]
        default: break
        }
        return []
    }

    private mutating func opens(starting: Bool) -> [Action] {
        state = .opening(starts: starting)
        return [.open]
    }

    private mutating func ends(_ afterwards: Afterwards) -> [Action] {
        state = .finishing(afterwards)
        return [.end]
    }

    /// Notes that the devices run.
    mutating func opened(at time: HostTime) -> [Action] {
        guard case .opening(let starts) = state else { return state == .idle ? [.close] : [] }
        touchedAt = time
        state = starts ? .recording : .framing
        return starts ? [.begin] : []
    }

    /// Notes that the devices did not open, or have gone outside a recording.
    mutating func failed() -> [Action] {
        state = .idle
        return [.close]
    }

    /// Notes the end of a film, by an order or by itself; `isThere`: whether there is a file.
    mutating func ended(isThere: Bool, at time: HostTime) -> [Action] {
        var afterwards = Afterwards.done
        switch state {
        case .recording, .paused: break
        case .finishing(let wanted): afterwards = wanted
        default: return []
        }
        touchedAt = time
        switch afterwards {
        case _ where !isThere, .cancel:
            state = .idle
            return isThere ? [.close, .discard] : [.close]
        case .retake:
            state = .framing
            return [.discard]
        case .done:
            state = reviews ? .reviewing : .idle
            return reviews ? [.close, .play] : [.close, .keep]
        }
    }

    /// The end of the wait for the viewer; nil if there is none.
    var deadline: HostTime? { state == .framing || state == .paused || state == .reviewing ? touchedAt + Self.patience : nil }

    /// Applies the deadline, if it is due.
    mutating func expire(at time: HostTime) -> [Action] {
        guard let deadline, time >= deadline else { return [] }
        switch state {
        case .paused: return ends(.done)
        case .reviewing:
            state = .idle
            return [.stopPlaying, .discard]
        default:
            state = .idle
            return [.close]
        }
    }
}

extension RecordingStage.State {
    /// The state's name for programs.
    var name: String {
        switch self {
        case .idle: "idle"
        case .opening: "opening"
        case .framing: "framing"
        case .recording: "recording"
        case .paused: "paused"
        case .finishing: "finishing"
        case .reviewing: "reviewing"
        }
    }
}
