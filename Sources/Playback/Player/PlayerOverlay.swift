import KioskPlatform
import KioskVocabulary

/// The overlay of controls over the picture, and the region of the picture.
extension PlaybackEngine {
    /// Sets `overlay` over every scene, from the first commit that can have it: within two refresh periods, playing or not, and without
    /// delaying a frame. It replaces the overlay of the same order, and no other. From any thread; returns at once. `event` is the kernel's
    /// time of its input event, if there was one. The statistics then count how long it took until it was seen
    /// (``PlayerStatistics/inputLatency``).
    ///
    /// An output without a plane for it paints it into every scene; an empty one costs nothing anywhere.
    package func setOverlay(_ overlay: Overlay, by source: Overlay.Source = .init(.controls), at event: HostTime? = nil) {
        var overlay = overlay
        for index in overlay.pictures.indices { overlay.pictures[index].clamp() }
        pipeline.signal({ _ in .compositor }) { $0.setOverlay(&overlay, by: source, at: event) }
    }

    /// Prepares and commits the frame on the screen once more, before all others. From any thread.
    package func repaint() { pipeline.signal({ _ in .compositor }) { $0.screen.setRepaint(true) } }

    /// Keeps subtitles `inset` pixels above the bottom of the screen, where controls are. From any thread.
    package func setSubtitleInset(_ inset: Int) {
        let inset = max(inset, 0)
        if pipeline.withLock({ $0.subtitleInset != inset }) { pipeline.signal({ _ in .compositor }) { $0.setSubtitleInset(inset) } }
    }

    /// Returns the first vblank after `time`, computed from the last flip and the display's refresh period. An overlay that is set well
    /// before it is seen at it. nil without a display, and before the first flip.
    package func vblank(after time: HostTime) -> HostTime? {
        guard let last = pipeline.withLock({ $0.lastFlip }), let period = video.mode?.refreshPeriod, period > .zero else { return nil }
        let count = time < last ? 0 : (time - last).nanoseconds / period.nanoseconds + 1
        return last + period * count
    }

    /// Announces an overlay, for example while the answer to a finger is being drawn. The next frame is then committed as late as possible,
    /// so that it brings the overlay along. It costs nothing else; without it the overlay may come a vblank later. With a `vblank`, the
    /// overlay is expected after that and not before.
    package func expectOverlay(after vblank: HostTime? = nil, by source: Overlay.Source = .init(.controls)) {
        let start = vblank ?? now()
        expectOverlay(in: start..<start + max(video.mode?.refreshPeriod ?? .zero, .zero), by: source)
    }

    /// Announces overlays for a time of several vblanks.
    package func expectOverlay(in times: Range<HostTime>, by source: Overlay.Source) {
        let period = max(video.mode?.refreshPeriod ?? .zero, .zero)
        pipeline.withLock { $0.overlay.expect(in: times, by: source, period: period) }
    }

    // MARK: The region of the picture: all of the display, or a window

    // The output gets the region like an overlay (``OverlayState``). Scenes that were prepared for another region are prepared again: those
    // that are ready and the one on the screen. No frame comes later for it or is dropped, and nothing is opened or decoded. A move is a
    // new region for each vblank.

    /// A move that is under way, and whether there is a thread for it.
    struct RegionMoves: Sendable {
        var move: RegionMove?
        var isRunning = false
    }

    /// The region of the picture, or the target of a move that is under way.
    package var region: Region { regionMoves.withLock { $0.move?.to } ?? pipeline.withLock { $0.overlay.overlay.region } }

    /// Moves the picture to `region`: from the next commit that can have it, or within `duration` (60 s at most). A move that is under way
    /// ends where it is.
    package func setRegion(_ region: Region, within duration: MediaTime = .zero) {
        guard duration > .zero else {
            regionMoves.signal { $0.move = nil }
            return pipeline.signal({ _ in .compositor }) { $0.overlay.setRegion(region) }
        }
        let present = pipeline.withLock { $0.overlay.overlay.region }
        let move = RegionMove(from: present, to: region, begin: now(), duration: min(duration, .seconds(60)))
        let isFirst = regionMoves.signal { moves in
            moves.move = move
            defer { moves.isRunning = true }
            return !moves.isRunning
        }
        if isFirst { startMoving() }
    }

    /// Sets the region for each vblank, until the move has ended.
    private func startMoving() {
        let (moves, pipeline, video, now) = (regionMoves, pipeline, video, now)
        Thread("region") {
            while true {
                let step: (region: Region, isLast: Bool)? = moves.withLock { moves in
                    guard let move = moves.move else {
                        moves.isRunning = false
                        return nil
                    }
                    let time = now()
                    if move.hasEnded(at: time) { (moves.move, moves.isRunning) = (nil, false) }
                    return (move.region(at: time), move.hasEnded(at: time))
                }
                guard let step, !pipeline.withLock({ $0.isStopping }) else { return }
                pipeline.signal({ _ in .compositor }) { $0.overlay.setRegion(step.region) }
                if step.isLast { return }
                let period = video.mode?.refreshPeriod ?? .milliseconds(16)
                let next = HostTime.now + max(period, .milliseconds(4))
                _ = moves.wait(until: next) { $0.move == nil ? true : nil }
            }
        }.detach()
    }
}

extension Overlay.Picture {
    /// Clamps its numbers to the range that outputs can compute with.
    fileprivate mutating func clamp() {
        alpha = alpha.isFinite ? min(max(alpha, 0), 1) : 0
        (x, y) = (min(max(x, -1_000_000), 1_000_000), min(max(y, -1_000_000), 1_000_000))
    }
}

/// The move of a picture from one rectangle of the display to another, which begins and ends slowly. A pure value.
struct RegionMove: Hashable, Sendable {
    var from: Region
    var to: Region
    var begin: HostTime
    var duration: MediaTime

    func hasEnded(at time: HostTime) -> Bool { time >= begin + duration }

    /// Returns the region of the picture at `time`.
    func region(at time: HostTime) -> Region {
        guard !hasEnded(at: time), duration > .zero else { return to }
        let share = min(max((time - begin).seconds / duration.seconds, 0), 1)
        return from.moved(to: to, share: share * share * (3 - 2 * share))
    }
}
