import Cache
import Glibc
import KioskPlatform
import KioskPlayback
import KioskVocabulary
import Logging
import Synchronization

/// What a remote control needs of the program around the player. All closures return at once and come from any thread.
package struct RemoteSurroundings: Sendable {
    /// The display as it is now; nil where there is none.
    package var display: @Sendable () -> DisplayMode?
    /// The turn of what is on the screen, and what it will be after a turn.
    package var rotation: @Sendable () -> Rotation
    package var rotationAfter: @Sendable (Rotation?) -> Rotation
    /// The sound device, or why there is none.
    package var audio: @Sendable () -> String
    /// How often the sound device ran dry since the player was started.
    package var underruns: @Sendable () -> Int
    /// What is not the player's to carry out: turns, and what concerns the controls.
    package var perform: @Sendable (Command) -> Void
    /// Begins to take a picture of the screen; the reply's check says when it is encoded.
    package var screenshot: @Sendable () throws(ControlRefusal) -> ControlReply
    /// The items that sources (absolute paths and URLs) stand for, as kiosk.conf shows them. May block, for some seconds.
    package var items: @Sendable (_ sources: [String]) -> [PlaylistItem]
    /// What is kept of what comes over the network; nil where nothing is.
    package var cache: AssetCache?
    /// Carries out a command of the shelf; the members of the answer.
    package var shelf: @Sendable (ControlRequest) throws(ControlRefusal) -> [String: JSONValue] = { _ throws(ControlRefusal) in
        throw ControlRefusal(code: "no-shelf", message: "there is no shelf: name its folders in [shelf] folders of kiosk.conf")
    }
    /// Asks for something of the recording, if anything, and how that is then: `opening` until it is known what has come of it. nil where nothing can be
    /// recorded.
    package var record: @Sendable (RecordingOrder?) -> [String: JSONValue]? = { _ in nil }
    /// Has kiosk.conf read again.
    package var reload: @Sendable () -> Void

    /// All of them.
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

/// Carries out what programs ask for by the control socket (``ControlCommands``).
///
/// A command whose effect is seen is answered when it is, and refused as `not-yet` where that takes longer than ``longestEffect``: it may still
/// come then. What is about the playlist is in RemotePlaylist.swift, what the player tells in RemoteStatus.swift.
package final class RemoteControl: Sendable {
    let player: Player
    let surroundings: RemoteSurroundings
    let started = HostTime.now
    let failure = Mutex<(message: String, time: HostTime)?>(nil)
    let failureCount = Mutex(0)
    /// Since when the player has been in its state.
    let stateSince = Mutex(HostTime.now)
    /// What observers know of the devices.
    let devices = Mutex<(display: JSONValue, audio: String)?>(nil)
    /// How often the service had been started again when this player was, where systemd keeps a folder for it.
    let restarts = RestartCount.next()
    let hasOwnPlaylist = Mutex(false)
    /// What a program has set for all items; nil where each has its own.
    let ownGravity = Mutex<VideoGravity?>(nil)

    /// How long an effect is waited for.
    static let longestEffect = MediaTime.seconds(5)

    /// A remote control of `player`.
    package init(_ player: Player, _ surroundings: RemoteSurroundings) {
        (self.player, self.surroundings) = (player, surroundings)
    }

    /// Whether a program has set the playlist, so that what kiosk.conf's stands for now is not to replace it.
    package var ownsPlaylist: Bool { hasOwnPlaylist.withLock { $0 } }

    /// Items as they are to be played: by the gravity that a program has set, if one has.
    package func adapted(_ items: [PlaylistItem]) -> [PlaylistItem] {
        guard let gravity = ownGravity.withLock({ $0 }) else { return items }
        var items = items
        for index in items.indices { items[index].gravity = gravity }
        return items
    }

    /// Carries out a request; returns at once.
    ///
    /// - Throws: why it is not carried out.
    package func handle(_ request: ControlRequest) throws(ControlRefusal) -> ControlReply {
        let arguments = request.arguments
        switch request.command {
        case .play: return try play(arguments)
        case .pause: return perform(.pause)
        case .toggle: return perform(.togglePlayback)
        case .seek: return try seek(arguments.time("to").map(Command.seekTo) ?? .seekBy(arguments.time("by") ?? .zero))
        case .seekForward: return try seek(.seekSteps(1))
        case .seekBack: return try seek(.seekSteps(-1))
        case .next: return try move(.nextItem, or: "there is no next item: the playlist ends here")
        case .previous: return try move(.previousItem, or: "there is no item before")
        case .item:
            let item = try item(arguments)
            return try move(.selectItem(item.place + 1), or: "there is nothing to go to", expecting: item.id)
        case .restart: return try move(.restartItem, or: "there is nothing on the screen")
        case .restartPlaylist: return try move(.restartPlaylist, or: "the playlist is empty")
        case .goOn: return try move(.waitEnded, or: "what is on the screen waits for no tap")
        case .volume: return volume(arguments.integer("to").map(Command.setVolume) ?? .changeVolume(by: arguments.integer("by") ?? 0))
        case .volumeUp: return volume(.changeVolume(by: 5))
        case .volumeDown: return volume(.changeVolume(by: -5))
        case .mute:
            if let isMuted = arguments.flag("on") { player.isMuted = isMuted } else { player.perform(.toggleMute) }
            return .answer(ControlAnswer(["muted": .bool(player.isMuted)]))
        case .interruptionBegin:
            player.beginInterruption(arguments.text("by") ?? "", for: .seconds(arguments.number("for") ?? 3600))
            return .answer(ControlAnswer(["interrupted": .bool(player.isInterrupted)]))
        case .interruptionEnd:
            player.endInterruption(arguments.text("by") ?? "")
            return .answer(ControlAnswer(["interrupted": .bool(player.isInterrupted)]))
        case .rate:
            player.rate = arguments.number("to") ?? 1
            return .answer(ControlAnswer(["rate": .number(player.rate)]))
        case .rotate: return rotate(arguments.integer("to").flatMap(Rotation.init(rawValue:)))
        case .gravity: return gravity(arguments.text("to").flatMap(VideoGravity.init(rawValue:)) ?? .resizeAspect)
        case .region: return region(arguments)
        case .showControls: return surround(.showControls)
        case .hideControls: return surround(.hideControls)
        case .recordPreview, .recordStart, .recordStop, .recordPause, .recordResume, .recordToggle, .recordKeep, .recordRetake,
            .recordCancel,
            .recordStatus:
            return try record(request.command)
        case .status: return .answer(ControlAnswer(status))
        case .statistics: return .answer(ControlAnswer(statistics))
        case .playlist: return .answer(ControlAnswer(list))
        case .playlistSet, .playlistAppend, .playlistInsert, .playlistRemove, .playlistMove:
            return try change(request.command, arguments)
        case .tracks: return .answer(ControlAnswer(try tracks(arguments)))
        case .select: return try select(arguments)
        case .chapters: return .answer(ControlAnswer(try chapters(arguments)))
        case .chapter: return try seek(.selectChapter(arguments.integer("to") ?? 1), or: "it has no such chapter")
        case .nextChapter: return try seek(.skipChapters(1), or: "there is no chapter behind this one")
        case .previousChapter: return try seek(.skipChapters(-1), or: "it has no chapters")
        case .metadata: return .answer(ControlAnswer(try metadata(arguments)))
        case .cover: return try cover(arguments)
        case .cache: return .answer(ControlAnswer(try cached()))
        case .shelfOpen, .shelfClose, .shelfSearch, .shelfList, .shelfPlay, .shelfPlayFrom, .shelfAdd, .shelfRemove, .shelfMove,
            .shelfClear, .shelfFilm, .shelfExport, .shelfCancel:
            return .answer(ControlAnswer(try surroundings.shelf(request)))
        case .screenshot: return try surroundings.screenshot()
        case .observe: return .answer(ControlAnswer([:]))  // the socket's own
        case .reload:
            hasOwnPlaylist.withLock { $0 = false }
            ownGravity.withLock { $0 = nil }
            surroundings.reload()
            return .answer(ControlAnswer([:]))
        case .logLevel:
            if let level = arguments.text("to").flatMap(Logger.Level.init(rawValue:)) { StandardErrorLog.level = level }
            return .answer(ControlAnswer(["level": .string(StandardErrorLog.level.rawValue)]))
        case .quit:
            guard player.allowsQuit else {
                throw ControlRefusal(code: "not-allowed", message: "[input] allow-quit is not set in kiosk.conf")
            }
            player.perform(.quit)
            return .answer(ControlAnswer([:]))
        }
    }

    private func record(_ command: ControlCommand) throws(ControlRefusal) -> ControlReply {
        guard let facts = surroundings.record(RecordingOrder(rawValue: String(command.rawValue.dropFirst("record ".count)))) else {
            throw ControlRefusal(code: "not-configured", message: "[record] folder is not set in kiosk.conf")
        }
        return .answer(ControlAnswer(facts))
    }

    private func surround(_ command: Command) -> ControlReply {
        surroundings.perform(command)
        return .answer(ControlAnswer([:]))
    }

    private func volume(_ command: Command) -> ControlReply {
        player.perform(command)
        return .answer(ControlAnswer(["volume": .number((player.volume * 100).rounded())]))
    }

    private func play(_ arguments: ControlArguments) throws(ControlRefusal) -> ControlReply {
        if let source = arguments.text("source") {
            let command = Command.playSource(withoutFileScheme(source), resumes: arguments.text("then") != "next")
            return try move(command, or: "it cannot be played")
        }
        guard arguments.value("item") != nil else { return perform(.play) }
        let item = try item(arguments)
        let effect = player.carryOut(.selectItem(item.place + 1))
        guard effect != .none else { throw ControlRefusal(code: "no-such-item", message: "it has left the playlist") }
        player.play()
        return reply(effect, expecting: item.id)
    }

    private func seek(_ command: Command, or problem: String = "there is nothing to seek in") throws(ControlRefusal) -> ControlReply {
        let now = player.snapshot
        guard now.isSeekable else {
            let message =
                now.item == nil
                ? "there is nothing on the screen"
                : now.duration == nil
                    ? "a live stream cannot seek" : "this stream cannot seek: its server or its format does not offer it"
            throw ControlRefusal(code: "not-seekable", message: message)
        }
        return try move(command, or: problem)
    }

    /// Carries out what moves the playhead; refused as `no-effect` where it does not.
    private func move(_ command: Command, or problem: String, expecting item: PlayerItem.ID? = nil) throws(ControlRefusal) -> ControlReply {
        let effect = player.carryOut(command)
        guard case .move = effect else { throw ControlRefusal(code: "no-effect", message: problem) }
        return reply(effect, expecting: item)
    }

    private func perform(_ command: Command) -> ControlReply { reply(player.carryOut(command)) }

    /// The reply that comes when an effect is seen; with another item on the screen than was expected it is a refusal.
    private func reply(_ effect: PlayerEffect, expecting item: PlayerItem.ID? = nil) -> ControlReply {
        reply { [player] in
            switch player.state(of: effect) {
            case .awaited: return nil
            case .superseded: return .failure(ControlRefusal(code: "superseded", message: "another seek or skip came before it was seen"))
            case .seen:
                if let item, player.snapshot.item != item {
                    return .failure(
                        ControlRefusal(code: "item-failed", message: self.failure.withLock { $0?.message } ?? "it cannot be played"))
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
                ControlRefusal(code: "not-yet", message: "it was asked for, but could not be seen within \(seconds) s; it may still come"))
        }
    }

    private func rotate(_ rotation: Rotation?) -> ControlReply {
        let wanted = surroundings.rotationAfter(rotation)
        surroundings.perform(.rotate(rotation))
        return reply { [surroundings] in
            guard surroundings.rotation() == wanted else { return nil }
            return .success(ControlAnswer(["rotation": .number(Double(wanted.rawValue))]))
        }
    }

    private func region(_ arguments: ControlArguments) -> ControlReply {
        func share(_ name: String) -> Double { (arguments.number(name) ?? 0) / 100 }
        let region = Region(x: share("x"), y: share("y"), width: share("width"), height: share("height"))
        player.setRegion(region, within: .seconds(arguments.number("within") ?? 0))
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
        return .answer(ControlAnswer(["gravity": .string(gravity.rawValue)]))
    }
}
