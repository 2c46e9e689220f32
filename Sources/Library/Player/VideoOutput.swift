package import KioskPlatform
package import KioskPlayback
public import KioskVocabulary
internal import Synchronization

/// A display, or memory in place of one. Each product that can show pictures makes such outputs; KioskDisplay by KMS, on a framebuffer
/// device or in memory.
///
/// One or more players show their pictures on it, with drawn pictures (``overlay``) over them. The first player has the display. While it
/// lasts, each other player has a window over its picture.
public final class VideoOutput: Sendable {
    /// A player's connection to the output.
    struct Connection: Sendable {
        var number: Int
        var output: any SceneOutput
        /// Tells a player that waits for the display to give up.
        var leave: @Sendable () -> Void = {}
    }

    private struct State {
        var lastNumber = 0
        /// The connection that has the display.
        var first: Int?
        var presenting: PlaybackEngine?
        /// The pictures of windows, in the order of their creation.
        var windows: [(number: Int, picture: Overlay.Picture?)] = []
        var overlay: [OverlayPicture] = []
        /// The drawing of the controls, over all others.
        var controls = Overlay(), controlsOwner: ObjectIdentifier?
        var isClosed = false
    }

    package let engine: any SharedSceneOutput
    private let state = Mutex(State())
    private let owner = DisplayOwner()

    /// Creates the output of an engine.
    package init(_ engine: any SharedSceneOutput) { self.engine = engine }

    deinit { close() }

    // MARK: The display

    /// Pixels across and down as a viewer sees them; nil while there is no display.
    public var size: PixelSize? {
        engine.mode.map { mode in
            engine.rotation.swapsAxes
                ? PixelSize(width: mode.height, height: mode.width) : PixelSize(width: mode.width, height: mode.height)
        }
    }

    /// Vblanks a second; nil while there is no display.
    public var refreshRate: Double? { engine.mode.map { 1 / $0.refreshPeriod.seconds } }

    /// The name of the display, with its mode: `HDMI-A-1 1920x1080@60.00`; nil while there is none.
    public var name: String? { engine.mode?.name }

    /// Waits until the search for a display has ended.
    public func waitUntilOpen() { engine.waitUntilOpen() }

    /// Returns the screen as a PNG file, with all its overlays. Takes some 50 ms at 1080p.
    ///
    /// - Throws: ``PlaybackError`` if there is no display, or it cannot be read.
    public func png() throws -> [UInt8] {
        do { return try engine.png() } catch { throw PlaybackError("\(error)") }
    }

    /// Releases the display. Stop or release all players before; nothing can be shown afterwards. Waits up to two seconds for the end of
    /// the last one. If that one hangs in a call of the display's driver, the display is released when the process ends.
    public func close() {
        if state.withLock({ state in
            let was = state.isClosed; state.isClosed = true; return was
        }) {
            return
        }
        if owner.waitUntilFree(until: .now + .seconds(2)) { engine.close() }
    }

    // MARK: Overlays

    /// The pictures drawn over those of all players, the rearmost first. A change shows within two refresh periods, and delays no frame.
    public var overlay: [OverlayPicture] {
        get { state.withLock { $0.overlay } }
        set { change { $0.overlay = newValue } }
    }

    /// Changes the overlays of the first player's pictures, and tells that player.
    private func change(by number: Int = 0, next: Range<HostTime>? = nil, _ body: (inout State) -> Void) {
        state.withLock { state in
            body(&state)
            // With the lock held, so the later of two changes wins.
            var overlay = Overlay(pictures: state.windows.compactMap(\.picture) + state.overlay.map(\.engine))
            overlay.isOfPlayers = state.windows.contains { $0.picture != nil }
            state.presenting?.setOverlay(overlay, by: .init(.signs, number))
            if let next { state.presenting?.expectOverlay(in: next, by: .init(.signs, number)) }
        }
    }

    /// Sets the drawing of the controls, over all others; `event` is the time of the input that it answers. The last controls to draw own
    /// it: others cannot remove it.
    package func setControls(_ drawing: Overlay, by owner: ObjectIdentifier, at event: HostTime? = nil) {
        state.withLock { state in
            if drawing.pictures.isEmpty, state.controlsOwner != owner { return }
            (state.controls, state.controlsOwner) = (drawing, owner)
            state.presenting?.setOverlay(drawing, at: event)
        }
    }

    // MARK: Pictures of other products

    /// Whether a player presents the display.
    package var hasPlayer: Bool { state.withLock { $0.first != nil } }

    /// The engine of the player that presents the display.
    package var presenting: PlaybackEngine? { state.withLock { $0.presenting } }

    /// Adds a place for a picture over those of players, beside the windows of players: a camera's. Returns its number.
    package func addPicture() -> Int {
        state.withLock { state in
            state.lastNumber += 1
            state.windows.append((state.lastNumber, nil))
            return state.lastNumber
        }
    }

    /// Shows a picture at such a place; nil for none.
    package func setPicture(_ picture: Overlay.Picture?, of number: Int) {
        change(by: number) { state in
            guard let index = state.windows.firstIndex(where: { $0.number == number }) else { return }
            state.windows[index].picture = picture
        }
    }

    /// Removes such a place.
    package func removePicture(_ number: Int) { change { state in state.windows.removeAll { $0.number == number } } }

    // MARK: Players

    /// Connects a player.
    func connect() -> Connection {
        state.withLock { state in
            if state.first != nil { return connectWindow(&state) }
            state.lastNumber += 1
            let number = state.lastNumber
            state.first = number
            let output = OwnedOutput(engine, number, owner)
            return Connection(number: number, output: output, leave: { output.leave() })
        }
    }

    /// Connects a window over the first player's picture.
    func connectWindow() -> Connection { state.withLock { connectWindow(&$0) } }

    private func connectWindow(_ state: inout State) -> Connection {
        state.lastNumber += 1
        let number = state.lastNumber
        let window = engine.makeWindow(
            background: nil,
            show: { [weak self] picture, next in
                self?.change(by: number, next: next) { state in
                    guard let index = state.windows.firstIndex(where: { $0.number == number }) else { return }
                    state.windows[index].picture = picture
                }
            }, measured: { _ in })
        state.windows.append((number, nil))
        return Connection(number: number, output: window)
    }

    /// Records the engine of a new player.
    func connected(_ connection: Connection, _ player: PlaybackEngine) {
        change { state in
            guard state.first == connection.number else { return }
            state.presenting = player
            if !state.controls.pictures.isEmpty { player.setOverlay(state.controls) }
        }
    }

    /// Disconnects a player. The next new player gets the display as soon as this one's threads have ended.
    func disconnect(_ connection: Connection) {
        connection.leave()
        change { state in
            if state.first == connection.number { (state.first, state.presenting) = (nil, nil) }
            state.windows.removeAll { $0.number == connection.number }
        }
    }
}
