import KioskMedia
import KioskPlatform
import KioskPlayback

/// A simulated display. One of its buffers is on the screen, and one may be pending until the next vblank. Each buffer keeps the number of
/// its picture; that number is seen.
///
/// Vblank n is n periods after the beginning. A committed frame comes with the first vblank after the commit, unless that vblank is lost.
/// The display reports the flip a random jitter later, with that time, and takes no other commit before.
///
/// The overlay is a number. A plane shows it from the next commit on, of a buffer or of the plane alone. Without a plane, every prepared
/// buffer contains it. With a part in both, the plane shows its part with the first buffer that has the matching part. The display forgets
/// the overlay when it disconnects or reconnects.
///
/// The display keeps account of its buffers. If the engine commits or discards a buffer that it does not hold, that is one of the
/// ``violations``.
struct SimulatedDisplay {
    private let refreshRate: Double
    private let begin: HostTime
    /// Seconds.
    private let period: Double, jitter: Double
    /// The delay of vblanks behind whole periods from the beginning, in seconds.
    private var shift = 0.0

    /// The picture in each buffer, and the picture that shows through it.
    private var pictures: [(number: Int, underlay: (number: Int, share: Double)?)]
    private var free: Set<Int>
    private var onScreen: Int?
    private var pending: (buffer: Int?, id: UInt64, time: HostTime, vblank: Int, overlay: Int)?
    private let overlayWay: Scenario.OverlayWay
    /// The overlay that was set last, and the overlay in each buffer.
    private var overlay = 0
    private var overlays: [Int]
    /// The overlay that the plane showed last, if buffers contain a part of it.
    private var onPlane = 0

    private var isConnected = true, hasChanged = false, isWoken = false
    private(set) var generation: UInt64 = 0
    /// Whether the driver counts vblanks; it may turn out that it does not.
    var reportsVblank = true
    /// The number of vblanks that the next commit misses.
    var lost = 0
    /// Whether the driver does not report the next flip.
    var isUnreported = false
    /// Whether the next flip is reported twice, and the flip that has been reported once.
    private var isRepeating = false
    private var repeated: Flip?

    /// The first five faults of the engine.
    private(set) var violations: [String] = []

    init(_ scenario: Scenario, begin: HostTime) {
        (refreshRate, period, jitter) = (scenario.refreshRate, scenario.refreshPeriod, scenario.vblankJitter)
        self.begin = begin
        pictures = Array(repeating: (0, nil), count: scenario.buffers)
        overlays = Array(repeating: 0, count: scenario.buffers)
        overlayWay = scenario.overlayWay
        free = Set(0..<scenario.buffers)
    }

    // MARK: For the engine

    /// The mode, with the nominal refresh period; nil while the display is disconnected.
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
        // A refused commit changes nothing.
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

    /// Returns the part of an overlay that buffers contain.
    private static func painting(_ overlay: Int) -> UInt64 { overlay == 0 ? 0 : UInt64(overlay / 4 + 1) }

    /// Returns the overlay that the plane shows over a buffer with this part in it.
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
            // A newer overlay has replaced it, with another part in the buffers.
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

    /// The number in an overlay, and an overlay with a number.
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

    /// The time of the pending flip; nil if none is pending.
    var due: HostTime? { pending?.time }

    /// Returns the next event at `time` and the picture that came on the screen with it; nil if there is no event.
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
            // Only the timestamp has the jitter; the picture is seen at the vblank.
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

    /// An event, and the picture and the overlay that came on the screen with it.
    struct Told {
        var event: SceneOutputEvent
        var shown: Outcome.Shown?
        var overlay: (time: Double, value: Int, isAlone: Bool)?
    }

    private func seconds(ofVblank vblank: Int) -> Double { Double(vblank) * period + shift }

    // MARK: Events

    /// Disconnects or reconnects the display; either makes every composed buffer stale.
    mutating func set(isConnected: Bool) {
        (self.isConnected, hasChanged, pending, onScreen, overlay, onPlane) = (isConnected, true, nil, nil, 0, 0)
        generation += 1
        free = Set(pictures.indices)
    }

    /// Moves the vblanks to half-way between the old ones, and reports the next flip twice.
    mutating func doubleVblank() {
        shift -= 0.5 * period
        isRepeating = true
    }

    // MARK: Checks

    /// Checks that every buffer is free, on the screen, pending, or one of the `known` ones that the engine holds.
    mutating func checkBuffers(known: Int, at time: HostTime) {
        let out = pictures.count - free.count - (onScreen == nil ? 0 : 1) - (pending?.buffer == nil ? 0 : 1)
        if out != known { violation("\(out) buffers are out, and \(known) are known of", at: time) }
    }

    private mutating func violation(_ text: String, at time: HostTime) {
        if violations.count < 5 { violations.append("\(text) at \((time - begin).seconds) s") }
    }
}
