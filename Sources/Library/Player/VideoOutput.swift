internal import KioskPlatform
package import KioskPlayback
public import KioskVocabulary
internal import Synchronization

/// A display, or memory that stands for one. Each product that can show pictures makes such outputs; KioskDisplay by KMS, on a framebuffer
/// device or in memory.
///
/// One or more players show their pictures on it, with drawn pictures (``overlay``) over them. The player that came first has the display; each
/// other one has a window over its picture, as long as the first one lasts.
public final class VideoOutput: Sendable {
    /// A player's way to the output.
    struct Connection: Sendable {
        var number: Int
        var output: any SceneOutput
        /// The player is not to have the display any more, where it waits for it.
        var leave: @Sendable () -> Void = {}
    }

    private struct State {
        var lastNumber = 0
        /// The connection that has the display.
        var first: Int?
        var presenting: PlaybackEngine?
        /// What windows show, in the order in which they came.
        var windows: [(number: Int, picture: Overlay.Picture?)] = []
        var overlay: [OverlayPicture] = []
        var isClosed = false
    }

    package let engine: any SharedSceneOutput
    private let state = Mutex(State())
    private let owner = DisplayOwner()

    /// The output of an engine's.
    package init(_ engine: any SharedSceneOutput) { self.engine = engine }

    deinit { close() }

    // MARK: The display

    /// Pixels across and down as a viewer sees it; nil while there is no display.
    public var size: PixelSize? {
        engine.mode.map { mode in
            engine.rotation.swapsAxes
                ? PixelSize(width: mode.height, height: mode.width) : PixelSize(width: mode.width, height: mode.height)
        }
    }

    /// Vblanks a second; nil while there is no display.
    public var refreshRate: Double? { engine.mode.map { 1 / $0.refreshPeriod.seconds } }

    /// What the display is called, with its mode: `HDMI-A-1 1920x1080@60.00`; nil while there is none.
    public var name: String? { engine.mode?.name }

    /// Waits until it is known whether there is a display.
    public func waitUntilOpen() { engine.waitUntilOpen() }

    /// What is on the screen, with all that lies over it, as a PNG file. Takes some 50 ms at 1080p.
    ///
    /// - Throws: ``PlaybackError`` where there is no display, or it cannot be read.
    public func png() throws -> [UInt8] {
        do { return try engine.png() } catch { throw PlaybackError("\(error)") }
    }

    /// Gives the display back. All players must have been stopped or let go of; nothing can be shown after it. Waits up to two seconds for the
    /// last one to have ended. Where that hangs in a call of the display's driver the display goes back with the end of the process.
    public func close() {
        if state.withLock({ state in
            let was = state.isClosed; state.isClosed = true; return was
        }) {
            return
        }
        if owner.waitUntilFree(until: .now + .seconds(2)) { engine.close() }
    }

    // MARK: What lies over the pictures

    /// What is drawn over the pictures of all players, the rearmost first. A change is seen within two refresh periods, and no frame comes
    /// later for it.
    public var overlay: [OverlayPicture] {
        get { state.withLock { $0.overlay } }
        set { change { $0.overlay = newValue } }
    }

    /// Changes what lies over the first player's pictures, and tells that player.
    private func change(by number: Int = 0, next: Range<HostTime>? = nil, _ body: (inout State) -> Void) {
        state.withLock { state in
            body(&state)
            // With the lock held, so that of two changes the later one is the last.
            var overlay = Overlay(pictures: state.windows.compactMap(\.picture) + state.overlay.map(\.engine))
            overlay.isOfPlayers = state.windows.contains { $0.picture != nil }
            state.presenting?.setOverlay(overlay, by: .init(.controls, number))
            if let next { state.presenting?.expectOverlay(in: next, by: .init(.controls, number)) }
        }
    }

    // MARK: Players

    /// A player comes.
    func connect() -> Connection {
        state.withLock { state in
            state.lastNumber += 1
            let number = state.lastNumber
            if state.first == nil {
                state.first = number
                let output = OwnedOutput(engine, number, owner)
                return Connection(number: number, output: output, leave: { output.leave() })
            }
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
    }

    /// Its engine is there.
    func connected(_ connection: Connection, _ player: PlaybackEngine) {
        change { state in if state.first == connection.number { state.presenting = player } }
    }

    /// A player ends: the next one that comes has the display as soon as this one's threads have ended.
    func disconnect(_ connection: Connection) {
        connection.leave()
        change { state in
            if state.first == connection.number { (state.first, state.presenting) = (nil, nil) }
            state.windows.removeAll { $0.number == connection.number }
        }
    }
}
