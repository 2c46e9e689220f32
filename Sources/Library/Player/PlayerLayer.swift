internal import KioskPlatform
internal import KioskPlayback
public import KioskVocabulary
internal import Synchronization

/// Another place for the pictures of a player, on its own display or on another one: AVPlayerLayer, of which several may share a player.
/// The player decodes each picture once.
///
/// A layer is a window over the picture of the first player of its output: without a player there, it is not seen. A thread of the layer
/// paints each picture in its size, so that costs processor time, and delays no frame of the player. The layer shows a picture within some
/// refresh periods of the player, and drops pictures if it cannot keep up. It has no overlays and no subtitles.
///
/// The layer lasts until ``remove()``, or until you let go of it. From any thread.
public final class PlayerLayer: Sendable {
    /// The player.
    public let player: Player
    /// The output that shows the layer.
    public let videoOutput: VideoOutput
    private let feed: LayerFeed
    private let connection: VideoOutput.Connection

    /// Creates a layer in a region of an output; nil is the player's own output.
    public init(player: Player, on output: VideoOutput? = nil, region: Region = .full) {
        let output = output ?? player.videoOutput
        (self.player, videoOutput) = (player, output)
        connection = output.connectWindow()
        feed = LayerFeed(connection.output, region)
        player.layers.add(feed)
        let feed = feed
        Thread("layer") { feed.run() }.detach()
        // Asks for the picture of a paused player once more. So far it comes to a layer on another display only when the player plays.
        if player.timeControlStatus == .paused { player.engine.repaint() }
    }

    deinit { remove() }

    /// The place of the picture on the output. A change shows at once, playing or paused.
    public var region: Region {
        get { feed.region }
        set { feed.region = newValue }
    }

    /// Removes the layer from its output, for good.
    public func remove() {
        player.layers.remove(feed)
        feed.stop()
        videoOutput.disconnect(connection)
    }
}

/// The output of a player, which also gives its pictures to layers. Without layers it passes everything on.
final class LayeredOutput: SceneOutput {
    private let output: any SceneOutput
    private let hasLayers = Atomic(false)
    private let layers = Mutex<[LayerFeed]>([])

    init(_ output: any SceneOutput) { self.output = output }

    func add(_ layer: LayerFeed) { change { $0.append(layer) } }
    func remove(_ layer: LayerFeed) { change { $0.removeAll { $0 === layer } } }

    private func change(_ body: (inout [LayerFeed]) -> Void) {
        layers.withLock { layers in
            body(&layers)
            hasLayers.store(!layers.isEmpty, ordering: .relaxed)
        }
    }

    private func forEach(_ body: (LayerFeed) -> Void) {
        if hasLayers.load(ordering: .relaxed) { for layer in layers.withLock({ $0 }) { body(layer) } }
    }

    func prepare(_ scene: borrowing Scene) -> Preparation {
        let preparation = output.prepare(scene)
        if hasLayers.load(ordering: .relaxed), case .prepared(let prepared) = preparation {
            for layer in layers.withLock({ $0 }) { layer.prepared(scene, as: prepared) }
        }
        return preparation
    }

    func commit(_ prepared: PreparedScene, id: UInt64) -> CommitResult {
        let result = output.commit(prepared, id: id)
        if case .queued = result { forEach { $0.committed(prepared) } }
        return result
    }

    func discard(_ prepared: PreparedScene) {
        output.discard(prepared)
        forEach { $0.discarded(prepared) }
    }

    func waitUntilOpen() { output.waitUntilOpen() }
    func wait(until deadline: HostTime?) -> SceneOutputEvent { output.wait(until: deadline) }
    func playerEnded() { output.playerEnded() }
    var mode: DisplayMode? { output.mode }
    var generation: UInt64 { output.generation }
    var reportsVblank: Bool { output.reportsVblank }
    var heartbeat: Heartbeat? { output.heartbeat }
    var rotation: Rotation { output.rotation }
    func setRotation(_ rotation: Rotation) { output.setRotation(rotation) }
    func setOverlay(_ overlay: Overlay) -> OverlayPlacement { output.setOverlay(overlay) }
    func commitOverlay(id: UInt64) -> CommitResult { output.commitOverlay(id: id) }
    func wake() { output.wake() }
    func close() { output.close() }
}

/// The pictures of a player on their way to a layer. The player's threads add a reference to each; the layer's thread paints the newest one
/// that the player has committed.
final class LayerFeed: Sendable {
    private final class Picture: Sendable {
        let scene: Scene
        init(_ scene: consuming Scene) { self.scene = scene }
    }

    private struct State {
        var region: Region
        /// The pictures that the player has prepared.
        var prepared: [PreparedScene: Picture] = [:]
        /// The newest picture that it has committed, and whether it is to be painted.
        var present: Picture?
        var isNew = false
        /// The pictures to free: that can take long, and the player's threads must not wait for it.
        var spent: [Picture] = []
        var isStopping = false

        /// Takes a picture that the player has prepared.
        mutating func take(_ scene: PreparedScene) -> Picture? { prepared.removeValue(forKey: scene) }
    }

    private let window: any SceneOutput
    private let state: Monitor<State>

    /// A player's output has fewer buffers. More were prepared for a display that is gone.
    private static let most = 8

    init(_ window: any SceneOutput, _ region: Region) { (self.window, state) = (window, Monitor(State(region: region))) }

    var region: Region {
        get { state.withLock { $0.region } }
        set {
            state.signal { state in
                state.isNew = state.isNew || newValue != state.region
                state.region = newValue
            }
        }
    }

    func stop() { state.signal { $0.isStopping = true } }

    // MARK: The player's threads

    func prepared(_ scene: borrowing Scene, as prepared: PreparedScene) {
        switch scene.shared() {
        case .none: return
        case .some(let copy):
            let picture = Picture(copy)
            state.withLock { state in
                if state.prepared.count >= Self.most {
                    state.spent += state.prepared.values
                    state.prepared.removeAll()
                }
                if let former = state.prepared.updateValue(picture, forKey: prepared) { state.spent.append(former) }
            }
        }
    }

    func committed(_ prepared: PreparedScene) {
        state.signal { state in
            guard let picture = state.take(prepared) else { return }
            if let former = state.present { state.spent.append(former) }
            (state.present, state.isNew) = (picture, true)
        }
    }

    func discarded(_ prepared: PreparedScene) {
        state.withLock { state in if let picture = state.take(prepared) { state.spent.append(picture) } }
    }

    // MARK: The layer's thread

    func run() {
        window.waitUntilOpen()
        var id = UInt64(0)
        while true {
            let work: (picture: Picture, region: Region)?? = state.wait { state in
                if state.isStopping { return .some(nil) }
                guard state.isNew, let picture = state.present else { return nil }
                state.isNew = false
                return (picture, state.region)
            }
            guard case .some(.some(let work)) = work else { break }
            id += 1
            show(work.picture, work.region, id)
            freeSpent()
        }
        window.playerEnded()
        state.withLock { state in
            state.spent += state.prepared.values + [state.present].compactMap { $0 }
            (state.prepared, state.present) = ([:], nil)
        }
        freeSpent()
    }

    private func freeSpent() {
        let spent = state.withLock { state in
            defer { state.spent = [] }
            return state.spent
        }
        withExtendedLifetime(spent) {}
    }

    /// Paints a picture and commits it. Waits for the flip before, so that it takes at most one picture a vblank.
    private func show(_ picture: Picture, _ region: Region, _ id: UInt64) {
        var overlay = Overlay()
        overlay.region = region
        _ = window.setOverlay(overlay)
        guard case .prepared(let prepared) = window.prepare(picture.scene) else { return }
        if case .queued = window.commit(prepared, id: id) {
            _ = window.wait(until: .now + Self.longestFlip)
        } else {
            window.discard(prepared)
        }
    }

    private static let longestFlip = MediaTime.milliseconds(100)
}
