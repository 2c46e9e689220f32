import Cache
import KioskCommands
import KioskPlatform
import KioskPlayback
import KioskVocabulary
import Logging
import Synchronization

/// The functions that a remote control needs of the program around the player. All closures return at once and can be called on any thread.
package struct RemoteSurroundings: Sendable {
    /// Returns the current display mode; nil without a display.
    package var display: @Sendable () -> DisplayMode?
    /// Returns the rotation on the screen, and the rotation after a command.
    package var rotation: @Sendable () -> Rotation
    package var rotationAfter: @Sendable (Rotation?) -> Rotation
    /// Returns the sound device, or why there is none.
    package var audio: @Sendable () -> String
    /// Returns the sound device's underruns since the player started.
    package var underruns: @Sendable () -> Int
    /// Carries out a command of another part than the player, as if a viewer had sent it.
    package var perform: @Sendable (Command) -> Void
    /// Starts a screenshot; the reply's check tells when it is encoded.
    package var screenshot: @Sendable () throws(ControlRefusal) -> ControlReply
    /// Returns the items of sources (absolute paths and URLs), with the settings of kiosk.conf. May block for some seconds.
    package var items: @Sendable (_ sources: [String]) -> [PlaylistItem]
    /// The cache of network files; nil without one.
    package var cache: AssetCache?
    /// Carries out a command of the shelf; returns the members of the answer.
    package var shelf: @Sendable (ShelfRequest) throws(ControlRefusal) -> [String: JSONValue] = { _ throws(ControlRefusal) in
        throw ControlRefusal(code: "no-shelf", message: "there is no shelf: name its folders in [shelf] folders of kiosk.conf")
    }
    /// Carries out a recording command, if any, and returns the state after it: `opening` until its result is known. nil if recording is
    /// not configured.
    package var record: @Sendable (RecordingOrder?) -> [String: JSONValue]? = { _ in nil }
    /// Sets the text of an overlay, if one is named; returns the members of the answer.
    package var overlay: @Sendable (String?, String?, MediaTime?) throws(ControlRefusal) -> [String: JSONValue] = { _, _, _ in [:] }
    /// Sends a command to a zone, if any; returns the members of the answer.
    package var zone: @Sendable (String?, ZoneOrder?) throws(ControlRefusal) -> [String: JSONValue] = { _, _ in [:] }
    /// Sends a command to the display, if any; returns the last command, and whether the display is off.
    package var power: @Sendable (DisplayOrder?) -> (order: DisplayOrder, isDark: Bool) = { _ in (.auto, false) }
    /// Returns whether programs may end this one.
    package var mayQuit: @Sendable () -> Bool = { false }
    /// Reads kiosk.conf again.
    package var reload: @Sendable () -> Void

    package init(
        display: @escaping @Sendable () -> DisplayMode?, rotation: @escaping @Sendable () -> Rotation,
        rotationAfter: @escaping @Sendable (Rotation?) -> Rotation, audio: @escaping @Sendable () -> String,
        underruns: @escaping @Sendable () -> Int,
        perform: @escaping @Sendable (Command) -> Void, screenshot: @escaping @Sendable () throws(ControlRefusal) -> ControlReply,
        items: @escaping @Sendable ([String]) -> [PlaylistItem], cache: AssetCache? = nil,
        reload: @escaping @Sendable () -> Void
    ) {
        self.display = display
        (self.rotation, self.rotationAfter, self.audio, self.underruns) = (rotation, rotationAfter, audio, underruns)
        (self.perform, self.screenshot, self.items, self.reload) = (perform, screenshot, items, reload)
        self.cache = cache
    }
}

/// Carries out the requests of programs on the control socket (``CommandTable``).
///
/// The answer to a command with a visible effect comes when it is seen. After ``longestEffect`` the command is refused as `not-yet`, but it
/// may still take effect. RemotePlaylist.swift has the playlist's requests, RemoteStatus.swift the player's state.
package final class RemoteControl: Sendable {
    let player: PlaybackEngine
    let surroundings: RemoteSurroundings
    let started = HostTime.now
    let failure = Mutex<(message: String, time: HostTime)?>(nil)
    let failureCount = Mutex(0)
    /// Since when the player has been in its current state.
    let stateSince = Mutex(HostTime.now)
    /// The last state of the devices that observers have received.
    let devices = Mutex<(display: JSONValue, audio: String)?>(nil)
    /// How often systemd had restarted the service when this player started; nil without systemd's folder for it.
    let restarts = RestartCount.next()
    let hasOwnPlaylist = Mutex(false)
    /// The gravity that a program has set for all items; nil if each has its own.
    let ownGravity = Mutex<VideoGravity?>(nil)

    /// How long to wait for an effect.
    static let longestEffect = MediaTime.seconds(5)

    package init(_ player: PlaybackEngine, _ surroundings: RemoteSurroundings) {
        (self.player, self.surroundings) = (player, surroundings)
    }

    /// Whether a program has set the playlist, which kiosk.conf's must then not replace.
    package var ownsPlaylist: Bool { hasOwnPlaylist.withLock { $0 } }

    /// Returns items with the gravity that a program has set, if any.
    package func adapted(_ items: [PlaylistItem]) -> [PlaylistItem] {
        guard let gravity = ownGravity.withLock({ $0 }) else { return items }
        var items = items
        for index in items.indices { items[index].gravity = gravity }
        return items
    }

    /// Carries out a request; returns at once.
    ///
    /// - Throws: the refusal.
    package func handle(_ request: ControlRequest) throws(ControlRefusal) -> ControlReply {
        if let refusal = request.entry.need.flatMap(refusal) { throw refusal }
        switch request.request {
        case .command(.player(let command)): return try carryOut(command, request.entry)
        case .command(.rotate(let rotation)): return rotate(rotation)
        case .command(.program(.record(let order))): return .answer(ControlAnswer(surroundings.record(order) ?? [:]))
        case .command(let command):
            surroundings.perform(command)
            return .answer(ControlAnswer([:]))
        case .item(let name, let plays): return try go(to: name, plays: plays)
        case .gravity(let gravity): return self.gravity(gravity)
        case .region(let region, let time): return self.region(region, within: time)
        case .recording: return .answer(ControlAnswer(surroundings.record(nil) ?? [:]))
        case .status: return .answer(ControlAnswer(status))
        case .statistics: return .answer(ControlAnswer(statistics))
        case .metrics: return .answer(ControlAnswer(["text": metrics.json]))
        case .playlist(let request): return try change(request)
        case .tracks(let name): return .answer(ControlAnswer(try tracks(name)))
        case .select(let choice, let kind, let name): return try select(choice, kind, name)
        case .chapters(let name): return .answer(ControlAnswer(try chapters(name)))
        case .metadata(let name): return .answer(ControlAnswer(try metadata(name)))
        case .cover(let name): return try cover(name)
        case .cache: return .answer(ControlAnswer(cached))
        case .shelf(let request): return .answer(ControlAnswer(try surroundings.shelf(request)))
        case .overlay(let name, let text, let time): return .answer(ControlAnswer(try surroundings.overlay(name, text, time)))
        case .display(let order):
            let power = surroundings.power(order)
            return .answer(ControlAnswer(["dark": .bool(power.isDark), "order": power.order.rawValue.json]))
        case .zone(let name, let order): return .answer(ControlAnswer(try surroundings.zone(name, order)))
        case .screenshot: return try surroundings.screenshot()
        case .observe: return .answer(ControlAnswer([:]))  // handled by the socket
        case .reload:
            hasOwnPlaylist.withLock { $0 = false }
            ownGravity.withLock { $0 = nil }
            surroundings.reload()
            return .answer(ControlAnswer([:]))
        case .logLevel(let level):
            if let level { StandardErrorLog.level = level }
            return .answer(ControlAnswer(["level": StandardErrorLog.level.rawValue.json]))
        }
    }

    /// Returns the refusal if a precondition does not hold; nil if it does.
    private func refusal(without need: CommandNeed) -> ControlRefusal? {
        switch need {
        case .seekableItem:
            let now = player.snapshot
            if now.isSeekable { return nil }
            let message =
                now.item == nil
                ? "there is nothing on the screen"
                : now.duration == nil
                    ? "a live stream cannot seek" : "this stream cannot seek: its server or its format does not offer it"
            return ControlRefusal(code: "not-seekable", message: message)
        case .recorder:
            return surroundings.record(nil) == nil
                ? ControlRefusal(code: "not-configured", message: "[record] folder is not set in kiosk.conf") : nil
        case .cache:
            return surroundings.cache == nil
                ? ControlRefusal(code: "no-effect", message: "[playback] cache is not set in kiosk.conf") : nil
        case .permissionToQuit:
            return surroundings.mayQuit()
                ? nil : ControlRefusal(code: "not-allowed", message: "[input] allow-quit is not set in kiosk.conf")
        }
    }

    /// Lets the player carry a command out. The answer is as the table says: the place once it is seen, or members of the status.
    private func carryOut(_ command: PlayerCommand, _ entry: CommandEntry) throws(ControlRefusal) -> ControlReply {
        let effect = player.carryOut(command)
        if let problem = entry.problem {
            guard case .move = effect else { throw ControlRefusal(code: "no-effect", message: problem) }
        }
        switch entry.answer {
        case .place: return reply(effect)
        case .members(let members):
            let status = status
            return .answer(ControlAnswer(status.filter { member in members.contains { $0.name == member.key } }))
        }
    }

    private func go(to name: ItemName, plays: Bool) throws(ControlRefusal) -> ControlReply {
        let item = try item(name)
        let effect = player.carryOut(.selectItem(item.place + 1))
        if plays, effect == .none { throw ControlRefusal(code: "no-such-item", message: "the item has left the playlist") }
        if plays { player.play() }
        guard case .move = effect else { throw ControlRefusal(code: "no-effect", message: "there is nothing to go to") }
        return reply(effect, expecting: item.id)
    }

    /// Returns a reply that waits for an effect; it is a refusal if another item than expected is then on the screen.
    private func reply(_ effect: PlayerEffect, expecting item: QueueItem.ID? = nil) -> ControlReply {
        reply { [player] in
            switch player.state(of: effect) {
            case .awaited: return nil
            case .superseded: return .failure(ControlRefusal(code: "superseded", message: "another seek or skip replaced this one"))
            case .seen:
                if let item, player.snapshot.item != item {
                    return .failure(
                        ControlRefusal(code: "item-failed", message: self.failure.withLock { $0?.message } ?? "the item cannot be played"))
                }
                var members = self.place(player.snapshot)
                members["shown"] = .bool(self.surroundings.display() != nil)
                return .success(ControlAnswer(members))
            }
        }
    }

    private func reply(_ check: @escaping @Sendable () -> Result<ControlAnswer, ControlRefusal>?) -> ControlReply {
        let deadline = HostTime.now + Self.longestEffect
        return .later {
            if let result = check() { return result }
            if HostTime.now < deadline { return nil }
            let seconds = Int(Self.longestEffect.seconds)
            return .failure(
                ControlRefusal(code: "not-yet", message: "not on the screen within \(seconds) s; it may still come"))
        }
    }

    private func rotate(_ rotation: Rotation?) -> ControlReply {
        let wanted = surroundings.rotationAfter(rotation)
        surroundings.perform(.rotate(rotation))
        return reply { [surroundings] in
            guard surroundings.rotation() == wanted else { return nil }
            return .success(ControlAnswer(["rotation": wanted.rawValue.json]))
        }
    }

    private func region(_ region: Region, within time: MediaTime) -> ControlReply {
        player.setRegion(region, within: time)
        func hundredths(_ share: Double) -> JSONValue { .number((share * 1e4).rounded() / 100) }
        return .answer(
            ControlAnswer([
                "region": .object([
                    "x": hundredths(region.x), "y": hundredths(region.y), "width": hundredths(region.width),
                    "height": hundredths(region.height),
                ])
            ]))
    }

    private func gravity(_ gravity: VideoGravity) -> ControlReply {
        ownGravity.withLock { $0 = gravity }
        var items = player.items
        for index in items.indices { items[index].entry.gravity = gravity }
        player.arrange(items)
        return .answer(ControlAnswer(["gravity": gravity.word.json]))
    }
}
