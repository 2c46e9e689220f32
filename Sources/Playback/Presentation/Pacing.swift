import KioskPlatform

/// Which vblank shows which instant of the timeline, as the scheduler has it now: what is planned by beside its own decisions.
struct Pacing: Hashable, Sendable {
    /// A vblank, and the instant of the timeline that it shows, in nanoseconds.
    var anchor: HostTime
    var position: Double
    /// How far the timeline goes from vblank to vblank, and how long that takes, in nanoseconds.
    var step: Double, period: Double
    /// Whether a frame has been shown by it. Before that the clock's next readings may move it, so every frame counts as due a vblank earlier.
    var isSettled = true

    /// The vblank for which a frame is due that begins at `start`.
    func vblank(of start: MediaTime) -> HostTime {
        vblank(min(max(((Double(start.nanoseconds) - position) / step).rounded(.up), -1e9), 1e9))
    }

    /// The first vblank after a time.
    func vblank(after time: HostTime) -> HostTime { vblank((Double((time - anchor).nanoseconds) / period).rounded(.down) + 1) }

    /// Whether a flip at one vblank is over before the other one.
    func isBefore(_ flip: HostTime, _ due: HostTime) -> Bool { flip + MediaTime(nanoseconds: Int64(saturating: 0.5 * period)) < due }

    private func vblank(_ count: Double) -> HostTime { anchor + MediaTime(nanoseconds: Int64(saturating: count * period)) }
}
