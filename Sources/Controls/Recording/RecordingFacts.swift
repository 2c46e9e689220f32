import Glibc
import KioskCapture
import KioskPlatform
import KioskPlayback
import KioskVocabulary

extension RecordingScreen {
    /// How it is, for programs.
    package struct Facts: Hashable, Sendable {
        /// `idle`, `opening`, `framing`, `recording`, `paused`, `finishing` or `reviewing`.
        package var state = "idle"
        package var elapsed = MediaTime.zero
        package var remaining: MediaTime?
        package var droppedCount = 0
        package var level: Float = 0
        /// The film that was kept last, and what went wrong last.
        package var film: String?
        package var failure: String?
    }

    /// What its thread is asked for.
    struct Inbox {
        var orders: [(order: RecordingOrder, time: HostTime)] = []
        /// Whether the camera has been asked for, and nobody knows yet what has come of that.
        var isOpening = false
        /// Whether what is on the screen has changed.
        var isToBeShown = false
        var isClosed = false
    }

    /// What is shown.
    struct Shown {
        var isVisible = false
        var preview: Overlay.Picture?
        var drawn: [Overlay.Picture] = []
        var panel: RecordingPanel?
        var geometry: ScreenGeometry?
        /// Whether it takes what is touched; a message alone does not.
        var isInUse = false
        /// The button that keys are at; nil as long as nobody has used any.
        var focus: Int?
        /// Which session's pictures are shown; one that ends may have one on its way.
        var session: Int?
        /// Contacts that went down here.
        var contacts: Set<Int> = []
    }
}

extension RecordingStage.State {
    /// The word for programs.
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

extension RecordingPanel {
    /// What a viewer sees and can press in a state.
    init(_ state: RecordingStage.State, _ status: CaptureSession.Status, hasSound: Bool, message: String?) {
        let buttons: [Button] =
            switch state {
            case .idle, .opening, .finishing: []
            case .framing: [.start, .cancel]
            case .recording: [.stop, .pause, .cancel]
            case .paused: [.stop, .resume, .cancel]
            case .reviewing: [.keep, .retake, .cancel]
            }
        func clock(_ time: MediaTime) -> String {
            let seconds = Int(time.seconds)
            return "\(seconds / 60):\((seconds % 60).padded(to: 2))"
        }
        let isRecording = state == .recording || state == .paused
        let decibels = status.level > 0 ? 20 * log10f(status.level) : -100
        // What is left, as it may be less than the duration: the disk.
        let time = isRecording ? clock(status.elapsed) + (status.remaining.map { " −\(clock($0))" } ?? "") : nil
        self.init(
            time: time,
            level: hasSound && (isRecording || state == .framing) ? min(max(Int((decibels + 50) / 5), 0), 10) : nil,
            isPaused: state == .paused,
            buttons: buttons, message: message)
    }
}

extension ScreenGeometry {
    /// The largest size of that shape that fits, even, and its place in the middle.
    func fit(_ width: Int, _ height: Int) -> (x: Int, y: Int, width: Int, height: Int) {
        guard width > 0, height > 0 else { return (0, 0, 2, 2) }
        let scale = min(Double(self.width) / Double(width), Double(self.height) / Double(height))
        let (w, h) = (max(2, Int(Double(width) * scale) / 2 * 2), max(2, Int(Double(height) * scale) / 2 * 2))
        return ((self.width - w) / 2, (self.height - h) / 2, w, h)
    }
}
