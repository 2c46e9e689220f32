import Glibc
import KioskPlatform
import KioskPlayback
import KioskVocabulary
import Logging
import Synchronization

// What is committed together: the picture, what lies over it, and how both are rotated.
extension DisplayOutput {
    // MARK: Any thread

    /// The clockwise rotation of what is on the screen: the one asked for, and that of a panel which is built in rotated.
    package var rotation: Rotation { shared.withLock { $0.rotation.shown.rotation } }

    /// The rotation of pictures and overlays that are prepared from now on.
    package var nextRotation: Rotation { shared.withLock { $0.rotation.wanted.rotation } }

    /// What ``nextRotation`` would be after ``rotate(_:)``.
    package func rotation(after rotation: Rotation?) -> Rotation {
        shared.withLock { (rotation ?? $0.rotation.configured + .clockwise90) + $0.rotation.panel }
    }

    /// Rotates pictures by `rotation`, on top of how the panel is built in. The next picture that is prepared is the first rotated one, and the
    /// overlay rotates with it; where none is prepared soon, what is on the screen is asked for again.
    package func setRotation(_ rotation: Rotation) { if shared.withLock({ $0.rotation.ask(rotation, at: .now) }) { wake() } }

    /// Rotates pictures by `rotation`; nil: a quarter further, clockwise.
    package func rotate(_ rotation: Rotation?) {
        if shared.withLock({ $0.rotation.ask(rotation ?? $0.rotation.configured + .clockwise90, at: .now) }) { wake() }
    }

    /// Shows another colour beside the picture, and without one. As for a rotation, the next picture that is prepared is the first with it.
    package func setBackground(_ background: Color) {
        shared.withLock { shared in
            if background == shared.background { return }
            shared.background = background
            shared.rotation.askRepaint(at: .now)
        }
        wake()
    }

    /// Calls `observer` with the clockwise rotation of pictures on the panel, the configured one and that of a panel which is built in rotated:
    /// at once, and on the presenter thread with the flip of the first picture that is rotated otherwise. To be called once, before anything
    /// is presented.
    package func observeRotation(_ observer: @escaping @Sendable (Rotation) -> Void) {
        let rotation = shared.withLock { shared in
            shared.onRotation = observer
            return shared.rotation.shown.rotation
        }
        observer(rotation)
    }

    /// Copies what is on the screen now, with what lies over it on planes; a picture that planes show is converted for it. From any thread,
    /// but not during ``close()``. The buffer is kept from being composed into meanwhile, and reading scan-out memory can be slow: not for
    /// every frame.
    package func capture() throws(SnapshotError) -> Capture {
        guard let reading = beginReading() else { throw .noDisplay }
        let copy = reading.copy()
        endReading(reading)
        guard let copy else { throw .encoder("the memory of a hardware decoder cannot be read") }
        reading.overlay?.draw(over: copy.pixels)
        return Capture(copy, rotation: reading.rotation)
    }

    /// Keeps what is on the screen from being composed into, until ``endReading(_:)``; nil where there is nothing.
    func beginReading() -> Reading? {
        shared.withLock { shared in
            guard let index = shared.pool.beginReading() else { return nil }
            return Reading(
                buffer: shared.buffers[index], video: shared.contents[index].video, index: index, generation: shared.pool.generation,
                overlay: shared.pool.overlayOnScreen.drawn, rotation: shared.contents[index].version.rotation)
        }
    }

    /// With two buffers the compositor may wait for this one, and no flip comes before it has it.
    func endReading(_ reading: Reading) {
        guard shared.withLock({ $0.pool.endReading(reading.index, generation: reading.generation) }) else { return }
        hasFreedBuffer.store(true, ordering: .releasing)
        wake()
    }

    /// What ``capture()`` needs of what is on the screen.
    struct Reading {
        var buffer: ScanoutBuffer
        var video: VideoShow?
        var index: Int, generation: UInt64
        var overlay: PlacedOverlay?
        var rotation: Rotation

        /// The picture in ordinary memory; nil where that of a plane cannot be read.
        func copy() -> ScanoutBuffer? {
            let picture = buffer.pixels
            if let video { return video.drawn(like: picture) }
            let copy = MemoryBuffer(width: picture.width, height: picture.height, format: picture.format)
            copy.pixels.copyRows(of: picture)
            return copy
        }
    }

    /// Writes what is on the screen now, with what lies over it, as scanned out, to a PNG file at `path`. As ``capture()``.
    package func snapshot(to path: String) throws(SnapshotError) {
        let png = try capture().png(isUpright: false)
        guard let file = Descriptor(opening: path, O_WRONLY | O_CREAT | O_TRUNC, mode: 0o666), png.withUnsafeBytes({ file.write($0) })
        else { throw SnapshotError(writing: path) }
    }

    // MARK: The compositor

    /// Takes over what lies over every scene: onto planes where there are some that the driver would show it on, else into the pictures.
    package func setOverlay(_ overlay: Overlay) -> OverlayPlacement {
        let (target, gone) = shared.withLock { ($0.target, ($0.pool.takeGone(), $0.takeGone())) }
        return withExtendedLifetime(gone) { placer.set(overlay, for: target) }
    }

    // MARK: The presenter

    /// Asks for a prepared scene to be scanned out from the next vblank on.
    package func commit(_ prepared: PreparedScene, id: UInt64) -> CommitResult {
        let isOver = shared.withLock { shared in
            guard shared.pool.isCurrent(prepared), shared.rotation.isOver(shared.contents[prepared.buffer].version) else { return false }
            shared.pool.discard(prepared)
            return true
        }
        // Nobody else says that a buffer has come back.
        if isOver { tellOfChange() }
        guard let screen = activation.screen, shared.withLock({ $0.pool.isCurrent(prepared) }) else { return .stale }
        return present(prepared.buffer, id: id, on: screen)
    }

    /// Asks for the overlay alone to be shown from the next vblank on.
    package func commitOverlay(id: UInt64) -> CommitResult {
        guard let screen = activation.screen else { return .stale }
        let (buffer, isEarly) = shared.withLock { shared in
            guard let index = shared.pool.onScreen, shared.planes != nil else { return (nil as Int?, false) }
            let content = shared.contents[index]
            return (index, shared.pool.next.map { !$0.fits(over: content.version.rotation, content.painting) } ?? false)
        }
        guard let buffer else { return .stale }
        // It comes with the first picture that is rotated as it is, and contains what it lies over.
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
            // The compositor takes another way from now on, and what lies ready is prepared again.
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

    /// Switches overlay planes off, which others would not do who have the screen next. A flip that is under way is waited for.
    func hidePlanes() {
        let planes = shared.withLock { $0.pool.planes + [$0.videoPlane].compactMap { $0 } }
        if !planes.isEmpty { activation.screen?.hide(planes) }
    }
}

extension PlacedOverlay {
    /// A copy of a picture with it over that.
    func draw(over picture: PixelMemory) {
        for y in 0..<picture.height { draw(0, y, count: picture.width, over: picture.address(0, y), picture.format) }
    }
}
