import KioskPlatform

/// What lies over the picture: controls.
extension PlaybackEngine {
    /// Has `overlay` lie over every scene from the first commit on that can have it: within two refresh periods, playing or not, and without
    /// a frame that comes later for it. It takes the place of what was set with the same `order`, and of nothing else. From any thread; returns
    /// at once. `event` is the kernel's time of the input event that asked for it, where one did: the statistics then count how long it took
    /// until it was seen (``PlayerStatistics/inputLatency``).
    ///
    /// An output without a plane for it paints it into every scene; an empty one costs nothing anywhere.
    package func setOverlay(_ overlay: Overlay, order: Overlay.Order = .controls, at event: HostTime? = nil) {
        var overlay = overlay
        for index in overlay.pictures.indices { overlay.pictures[index].clamp() }
        pipeline.signal { $0.setOverlay(&overlay, order: order, at: event) }
    }

    /// The first vblank after `time`, reckoned from the last flip by the display's refresh period: what is set well before one is seen at it. nil
    /// without a display, and before the first flip.
    package func vblank(after time: HostTime) -> HostTime? {
        guard let last = pipeline.withLock({ $0.lastFlip }), let period = video.mode?.refreshPeriod, period > .zero else { return nil }
        let count = max(0, (time - last).nanoseconds / period.nanoseconds + 1)
        return last + period * count
    }

    /// Says that an overlay is about to be set, as when a finger has come down and its answer is being drawn: the next frame is committed as
    /// late as it may be, so that it brings the overlay along. Costs nothing but that; without it the overlay may come a vblank later.
    package func expectOverlay() {
        let until = now() + (video.mode?.refreshPeriod ?? .zero)
        pipeline.withLock { $0.expectOverlay(until: until) }
    }
}

extension Overlay.Picture {
    /// Keeps its numbers within what outputs can reckon with.
    fileprivate mutating func clamp() {
        alpha = alpha.isFinite ? min(max(alpha, 0), 1) : 0
        (x, y) = (min(max(x, -1_000_000), 1_000_000), min(max(y, -1_000_000), 1_000_000))
    }
}
