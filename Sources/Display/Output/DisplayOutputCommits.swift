import Glibc
import KioskPlatform
import KioskPlayback
import KioskVocabulary
import Logging
import Synchronization

// Commits: the picture, the overlay on it, and the rotation of both.
extension DisplayOutput {
    // MARK: Any thread

    /// The clockwise rotation of the picture on the screen: the requested one plus that of a panel that is built in rotated.
    package var rotation: Rotation { shared.withLock { $0.rotation.shown.rotation } }

    /// The rotation of pictures and overlays prepared from now on.
    package var nextRotation: Rotation { shared.withLock { $0.rotation.wanted.rotation } }

    /// Returns the ``nextRotation`` after ``rotate(_:)``.
    package func rotation(after rotation: Rotation?) -> Rotation {
        shared.withLock { (rotation ?? $0.rotation.configured + .clockwise90) + $0.rotation.panel }
    }

    /// Rotates pictures by `rotation`, on top of the panel's own rotation. The next prepared picture is the first rotated one, and the
    /// overlay rotates with it. If no picture is prepared soon, the output requests the current one again.
    package func setRotation(_ rotation: Rotation) { if shared.withLock({ $0.rotation.ask(rotation, at: .now) }) { wake() } }

    /// Rotates pictures by `rotation`; nil means another quarter turn clockwise.
    package func rotate(_ rotation: Rotation?) {
        if shared.withLock({ $0.rotation.ask(rotation ?? $0.rotation.configured + .clockwise90, at: .now) }) { wake() }
    }

    /// Sets the colour beside the picture, and without one. The next prepared picture is the first to have it, as for a rotation.
    package func setBackground(_ background: Color) {
        shared.withLock { shared in
            if background == shared.background { return }
            shared.background = background
            shared.rotation.askRepaint(at: .now)
        }
        wake()
    }

    /// Calls `observer` with the clockwise rotation of pictures on the panel: the configured one plus that of a panel that is built in
    /// rotated. Calls it at once, and then on the presenter thread, with the flip of the first picture in another rotation. Call this once,
    /// before presenting anything.
    package func observeRotation(_ observer: @escaping @Sendable (Rotation) -> Void) {
        let rotation = shared.withLock { shared in
            shared.onRotation = observer
            return shared.rotation.shown.rotation
        }
        observer(rotation)
    }

    /// Copies the current picture on the screen, with the overlay on planes. Converts a picture that planes show. From any thread, but not
    /// during ``close()``. Nobody paints into the buffer meanwhile, and reading scan-out memory can be slow: do not call this for every
    /// frame.
    package func capture() throws(SnapshotError) -> Capture {
        guard let reading = beginReading() else { throw .noDisplay }
        let copy = reading.copy()
        endReading(reading)
        guard let copy else { throw .encoder("the memory of a hardware decoder cannot be read") }
        reading.overlay?.draw(over: copy.pixels)
        return Capture(copy, rotation: reading.rotation)
    }

    /// Keeps the compositor out of the buffer on the screen until ``endReading(_:)``; nil if there is no screen.
    func beginReading() -> Reading? {
        shared.withLock { shared in
            guard let index = shared.pool.beginReading() else { return nil }
            return Reading(
                buffer: shared.buffers[index], video: shared.contents[index].video, index: index, generation: shared.pool.generation,
                overlay: shared.pool.overlayOnScreen.drawn, rotation: shared.contents[index].version.rotation)
        }
    }

    /// With two buffers, the compositor may be waiting for this one, and no flip comes before it gets it.
    func endReading(_ reading: Reading) {
        guard shared.withLock({ $0.pool.endReading(reading.index, generation: reading.generation) }) else { return }
        hasFreedBuffer.store(true, ordering: .releasing)
        wake()
    }

    /// The buffer and the overlay that ``capture()`` copies.
    struct Reading {
        var buffer: ScanoutBuffer
        var video: VideoShow?
        var index: Int, generation: UInt64
        var overlay: PlacedOverlay?
        var rotation: Rotation

        /// Returns the picture in ordinary memory; nil if kiosk cannot read the picture of a plane.
        func copy() -> ScanoutBuffer? {
            let picture = buffer.pixels
            if let video { return video.drawn(like: picture) }
            let copy = MemoryBuffer(width: picture.width, height: picture.height, format: picture.format)
            copy.pixels.copyRows(of: picture)
            return copy
        }
    }

    /// Writes the current screen with its overlay, as scanned out, to a PNG file at `path`. Same rules as ``capture()``.
    package func snapshot(to path: String) throws(SnapshotError) {
        let png = try capture().png(isUpright: false)
        guard let file = Descriptor(opening: path, O_WRONLY | O_CREAT | O_TRUNC, mode: 0o666), png.withUnsafeBytes({ file.write($0) })
        else { throw SnapshotError(writing: path) }
    }

    // MARK: The compositor

    /// Sets the overlay of every scene: on planes if the driver shows it there, else blended into the pictures.
    package func setOverlay(_ overlay: Overlay) -> OverlayPlacement {
        let (target, gone) = shared.withLock { ($0.target, ($0.pool.takeGone(), $0.takeGone())) }
        return withExtendedLifetime(gone) { placer.set(overlay, for: target) }
    }

    // MARK: The presenter

    /// Asks the driver to scan out a prepared scene from the next vblank on.
    package func commit(_ prepared: PreparedScene, id: UInt64) -> CommitResult {
        let isOver = shared.withLock { shared in
            guard shared.pool.isCurrent(prepared), shared.rotation.isOver(shared.contents[prepared.buffer].version) else { return false }
            shared.pool.discard(prepared)
            return true
        }
        // No other event reports that the buffer is spare again.
        if isOver { tellOfChange() }
        guard let screen = activation.screen, shared.withLock({ $0.pool.isCurrent(prepared) }) else { return .stale }
        return present(prepared.buffer, id: id, on: screen)
    }

    /// Asks the driver to show the overlay alone from the next vblank on.
    package func commitOverlay(id: UInt64) -> CommitResult {
        guard let screen = activation.screen else { return .stale }
        let (buffer, isEarly) = shared.withLock { shared in
            guard let index = shared.pool.onScreen, shared.planes != nil else { return (nil as Int?, false) }
            let content = shared.contents[index]
            return (index, shared.pool.next.map { !$0.fits(over: content.version.rotation, content.painting) } ?? false)
        }
        guard let buffer else { return .stale }
        // It comes with the first picture in its rotation that contains the painting under it.
        if isEarly { return .busy }
        return present(buffer, id: id, on: screen)
    }

    private func present(_ buffer: Int, id: UInt64, on screen: any Screen) -> CommitResult {
        let plan = shared.withLock { shared -> (isBusy: Bool, video: VideoShow?, overlay: OverlayChange?) in
            guard !shared.pool.hasPending else { return (true, nil, nil) }
            let content = shared.contents[buffer]
            return (
                false, content.video,
                shared.pool.begin(buffer, under: content.version.rotation, painting: content.painting)
            )
        }
        if plan.isBusy { return .busy }
        switch screen.present(buffer, video: plan.video, overlay: plan.overlay, id: id, at: .now) {
        case .queued: queued(buffer)
        case .queuedWithoutOverlay(let error):
            log.warning("kiosk blends drawn pictures into the picture from now on: the driver refuses to show them (\(error))")
            queued(buffer)
            let planes = shared.withLock { shared in
                shared.planes = nil
                return shared.pool.dropOverlays()
            }
            if !planes.isEmpty { screen.hide(planes) }
            tellOfChange()
        case .refusedVideo(let error):
            // The compositor uses another path from now on, and prepares the ready pictures again.
            shared.withLock { shared in
                shared.pool.refused()
                if let arrangement = plan.video?.arrangement { shared.refused.append((arrangement, error)) }
                shared.pool.discard(PreparedScene(buffer: buffer, generation: shared.pool.generation))
            }
            tellOfChange()
            return .stale
        case .busy:
            shared.withLock { $0.pool.refused() }
            return .busy
        case .lost(let error):
            shared.withLock { $0.pool.refused() }
            activation.refused(error)
            return .stale
        }
        return .queued
    }

    private func queued(_ buffer: Int) {
        shared.withLock { shared in
            shared.pool.queued()
            shared.rotation.commit(shared.contents[buffer].version)
        }
    }

    /// Switches overlay planes off: the next program to have the screen might not. Waits for a flip in progress.
    func hidePlanes() {
        let planes = shared.withLock { $0.pool.planes + [$0.videoPlane].compactMap { $0 } }
        if !planes.isEmpty { activation.screen?.hide(planes) }
    }
}

extension PlacedOverlay {
    /// Draws the overlay over `picture`, which is a copy.
    func draw(over picture: PixelMemory) {
        for y in 0..<picture.height { draw(0, y, count: picture.width, over: picture.address(0, y), picture.format) }
    }
}
