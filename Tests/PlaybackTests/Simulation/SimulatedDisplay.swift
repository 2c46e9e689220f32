import KioskMedia
import KioskPlatform
import KioskPlayback

/// A display: buffers of which one is on the screen and one may be on its way there, and vblanks, of which the next one brings it. Each
/// buffer keeps the number of its picture, and that is what is seen.
///
/// Vblank n is n periods after the beginning. A frame that is presented comes with the first vblank after that, unless that one is lost;
/// its flip is reported a jitter later, with that time, and nothing more can be presented before.
///
/// What lies over the picture is a number: on a plane, where it has one, with the next commit of a buffer or of the plane alone; else in
/// every buffer that is prepared. Where it is in part here and in part there, the plane shows it with the first buffer whose part is the one
/// that belongs to it. A display that goes or comes has forgotten it.
///
/// It keeps the book on its buffers: what the engine does with one that is not its to give is one of the ``violations``.
struct SimulatedDisplay {
    private let refreshRate: Double
    private let begin: HostTime
    /// Seconds.
    private let period: Double, jitter: Double
    /// How much later than whole periods from the beginning vblanks are, in seconds.
    private var shift = 0.0

    /// What lies in each buffer, and what shows through it.
    private var pictures: [(number: Int, underlay: (number: Int, share: Double)?)]
    private var free: Set<Int>
    private var onScreen: Int?
    private var pending: (buffer: Int?, id: UInt64, time: HostTime, vblank: Int, overlay: Int)?
    private let overlayWay: Scenario.OverlayWay
    /// What lies over the picture as it was given, and in each buffer.
    private var overlay = 0
    private var overlays: [Int]
    /// What the plane showed last, where buffers contain a part of it.
    private var onPlane = 0

    private var isConnected = true, hasChanged = false, isWoken = false
    private(set) var generation: UInt64 = 0
    /// Whether the driver counts vblanks; it may turn out that it does not.
    var reportsVblank = true
    /// Vblanks that the next commit will miss.
    var lost = 0
    /// Whether nobody tells of the next flip.
    var isUnreported = false
    /// Whether the next flip is reported twice, and which has been once.
    private var isRepeating = false
    private var repeated: Flip?

    /// What the engine did that it must not do; the first few.
    private(set) var violations: [String] = []

    init(_ scenario: Scenario, begin: HostTime) {
        (refreshRate, period, jitter) = (scenario.refreshRate, scenario.refreshPeriod, scenario.vblankJitter)
        self.begin = begin
        pictures = Array(repeating: (0, nil), count: scenario.buffers)
        overlays = Array(repeating: 0, count: scenario.buffers)
        overlayWay = scenario.overlayWay
        free = Set(0..<scenario.buffers)
    }

    // MARK: What the engine sees

    /// In the dark there is none. Its period is the nominal one.
    var mode: DisplayMode? {
        guard isConnected else { return nil }
        return DisplayMode(
            width: NumberedPicture.width, height: NumberedPicture.height, refreshPeriod: .seconds(1 / refreshRate), name: "simulated")
    }

    mutating func prepare(_ scene: borrowing Scene) -> Preparation {
        guard isConnected else { return .noDisplay }
        guard let buffer = free.min() else { return .noSpareBuffer }
        free.remove(buffer)
        pictures[buffer] = NumberedPicture.numbers(of: scene)
        overlays[buffer] = overlayWay == .plane ? 0 : overlay
        return .prepared(PreparedScene(buffer: buffer, generation: generation))
    }

    mutating func commit(
        _ prepared: PreparedScene, id: UInt64, at time: HostTime, using random: inout SeededRandom
    ) -> CommitResult {
        guard prepared.generation == generation else { return .stale }
        if free.contains(prepared.buffer) || onScreen == prepared.buffer { violation("\(prepared) was not prepared", at: time) }
        // A commit that is not taken changes nothing.
        if pending != nil { return .busy }
        let contained = overlays[prepared.buffer]
        let seen =
            switch overlayWay {
            case .plane: overlay
            case .blended: contained
            case .both: seenOver(Self.painting(contained), at: time)
            }
        return flip(to: prepared.buffer, id: id, overlay: seen, at: time, using: &random)
    }

    /// The part of an overlay that is in buffers.
    private static func painting(_ overlay: Int) -> UInt64 { overlay == 0 ? 0 : UInt64(overlay / 4 + 1) }

    /// What is seen of the plane over a buffer with this part in it.
    private mutating func seenOver(_ painting: UInt64, at time: HostTime) -> Int {
        if Self.painting(overlay) == painting { onPlane = overlay }
        if Self.painting(onPlane) != painting { violation("part \(painting) without its other part", at: time) }
        return onPlane
    }

    mutating func setOverlay(_ overlay: Overlay) -> OverlayPlacement {
        self.overlay = Self.number(of: overlay)
        if overlayWay == .both, self.overlay > 0 { return .both(painting: Self.painting(self.overlay)) }
        return overlayWay == .plane ? .plane : .blended
    }

    mutating func commitOverlay(id: UInt64, at time: HostTime, using random: inout SeededRandom) -> CommitResult {
        guard isConnected else { return .stale }
        if overlayWay == .blended { violation("an overlay alone, without a plane", at: time) }
        if pending == nil, overlayWay == .both {
            // It has been given another one meanwhile.
            guard let onScreen, Self.painting(overlays[onScreen]) == Self.painting(overlay) else { return .busy }
            onPlane = overlay
        }
        return flip(to: nil, id: id, overlay: overlay, at: time, using: &random)
    }

    private mutating func flip(
        to buffer: Int?, id: UInt64, overlay: Int, at time: HostTime, using random: inout SeededRandom
    ) -> CommitResult {
        if pending != nil { return .busy }
        let vblank = Int((((time - begin).seconds - shift) / period).rounded(.down)) + 1 + lost
        lost = 0
        pending = (buffer, id, begin + .seconds(seconds(ofVblank: vblank) + jitter * abs(random.unit())), vblank, overlay)
        return .queued
    }

    /// The number that an overlay bears, and an overlay that bears it.
    private static func number(of overlay: Overlay) -> Int { overlay.pictures.first?.x ?? 0 }
    static func overlay(_ number: Int) -> Overlay {
        number == 0 ? Overlay() : Overlay(pictures: [.init(surface: Surface(width: 1, height: 1, pixels: [0]), x: number, y: 0)])
    }

    mutating func discard(_ prepared: PreparedScene, at time: HostTime) {
        guard prepared.generation == generation else { return }
        let isOut = onScreen != prepared.buffer && pending?.buffer != prepared.buffer
        if !isOut || !free.insert(prepared.buffer).inserted { violation("discarded \(prepared), which was not prepared", at: time) }
    }

    mutating func wake() { isWoken = true }

    /// When the frame that was presented comes on the screen; nil when none is on its way.
    var due: HostTime? { pending?.time }

    /// What there is to tell of at `time`, and what came on the screen with it.
    mutating func event(at time: HostTime) -> Told? {
        if hasChanged {
            hasChanged = false
            return Told(event: .changed)
        }
        if let flip = repeated.take() { return Told(event: .flipped(flip)) }
        if let flip = pending, flip.time <= time {
            pending = nil
            let event = Flip(
                id: flip.id, time: flip.time, sequence: isUnreported ? nil : UInt64(flip.vblank), isAssumed: isUnreported)
            isUnreported = false
            if isRepeating { (isRepeating, repeated) = (false, event) }
            // A timestamp's jitter is not when it was seen.
            let seen = seconds(ofVblank: flip.vblank)
            var told = Told(event: .flipped(event), overlay: (seen, flip.overlay, flip.buffer == nil))
            if let buffer = flip.buffer {
                if let onScreen, onScreen != buffer { free.insert(onScreen) }
                onScreen = buffer
                let (number, underlay) = pictures[buffer]
                told.shown = .init(time: seen, vblank: flip.vblank, number: number, underlay: underlay)
            }
            return told
        }
        if isWoken {
            isWoken = false
            return Told(event: .woken)
        }
        return nil
    }

    /// What there is to tell, and what came on the screen with it.
    struct Told {
        var event: SceneOutputEvent
        var shown: Outcome.Shown?
        var overlay: (time: Double, value: Int, isAlone: Bool)?
    }

    private func seconds(ofVblank vblank: Int) -> Double { Double(vblank) * period + shift }

    // MARK: What happens to it

    /// It goes, or comes; either way nothing of what was composed means anything.
    mutating func set(isConnected: Bool) {
        (self.isConnected, hasChanged, pending, onScreen, overlay, onPlane) = (isConnected, true, nil, nil, 0, 0)
        generation += 1
        free = Set(pictures.indices)
    }

    /// A vblank half-way between two, from which on they go on; and the next flip is reported twice.
    mutating func doubleVblank() {
        shift -= 0.5 * period
        isRepeating = true
    }

    // MARK: What it finds

    /// Every buffer is free, on the screen, pending, or one of the `known` that the engine has.
    mutating func checkBuffers(known: Int, at time: HostTime) {
        let out = pictures.count - free.count - (onScreen == nil ? 0 : 1) - (pending?.buffer == nil ? 0 : 1)
        if out != known { violation("\(out) buffers are out, and \(known) are known of", at: time) }
    }

    private mutating func violation(_ text: String, at time: HostTime) {
        if violations.count < 5 { violations.append("\(text) at \((time - begin).seconds) s") }
    }
}
