import Glibc
import KioskCommands
import KioskPlatform
import KioskPlayback
import KioskVocabulary
import RemoteClient
import Synchronization

// The player's state on the control socket.
extension RemoteControl {
    /// Returns the item on the screen, and the position.
    func place(_ snapshot: PlayerSnapshot) -> [String: JSONValue] {
        let item = snapshot.item.map {
            Self.describe($0, place: snapshot.itemNumber, title: snapshot.title ?? "", snapshot.source ?? "")
        }
        return ["item": item ?? .null, "time": Self.seconds(snapshot.time)]
    }

    /// The members of the answer to `status`.
    var status: [String: JSONValue] {
        let now = player.snapshot
        let counts = now.statistics
        let last = failure.withLock { $0 }.map { last -> JSONValue in
            ["message": last.message.withoutCredentials.json, "age": Self.seconds(HostTime.now - last.time)].json
        }
        let own: [String: JSONValue] = [
            "state": now.status.word.json, "ended": now.hasEnded.json, "stateAge": Self.seconds(HostTime.now - stateSince.withLock { $0 }),
            "duration": now.duration.map(Self.seconds).json, "latency": counts.streamLatency.map(Self.seconds).json,
            "count": now.itemCount.json, "volume": .number((now.volume * 100).rounded()), "muted": now.isMuted.json,
            "interrupted": player.isInterrupted.json, "rate": .number(player.rate), "rotation": surroundings.rotation().rawValue.json,
            "display": display, "audio": surroundings.audio().json, "failure": last.json, "uptime": Self.seconds(HostTime.now - started),
            "version": kioskVersion.json, "pid": Int(getpid()).json,
        ]
        let counted = frames(counts.framesShown, counts.framesLate, counts.framesDropped, counts.seams)
        return [place(now), facts(now), counted, own].reduce(into: [:]) { $0.merge($1) { $1 } }
    }

    /// The members of the answer to `statistics`.
    var statistics: [String: JSONValue] {
        let now = player.snapshot
        let counts = now.statistics
        let own: [String: JSONValue] = [
            "worstSeamLateness": counts.worstSeamLateness.json, "flipsLost": counts.flipsLost.json, "stalls": counts.stalls.json,
            "stalledTime": Self.seconds(counts.stalledTime), "soundRatio": .number(counts.soundRatio),
            "latency": counts.streamLatency.map(Self.seconds).json, "synchrony": Self.spans(counts.synchrony),
            "inputLatency": Self.spans(counts.inputLatency), "queuedFrames": now.buffered.frames.json,
            "queuedSound": Self.seconds(now.buffered.sound),
        ]
        var members = frames(counts.framesShown, counts.framesLate, counts.framesDropped, counts.seams).merging(own) { $1 }
        members["items"] = .array(
            counts.items.keys.sorted().prefix(1000).map { id in
                let item = counts.items[id]!
                var members = frames(item.framesShown, item.framesLate, item.framesDropped, item.seams)
                members["item"] = Self.describe(id, of: player)
                members["worstSeamLateness"] = item.worstSeamLateness.json
                return .object(members)
            })
        return members
    }

    /// The display and its mode.
    private var display: JSONValue {
        let mode = surroundings.display()
        return mode.map { mode -> [String: JSONValue] in
            let refresh = (1000 / mode.refreshPeriod.seconds).rounded() / 1000
            return ["name": mode.name.json, "width": mode.width.json, "height": mode.height.json, "refresh": refresh.json]
        }.json
    }

    private func frames(_ shown: Int, _ late: Int, _ dropped: Int, _ seams: Int) -> [String: JSONValue] {
        ["framesShown": shown.json, "framesLate": late.json, "framesDropped": dropped.json, "seams": seams.json]
    }

    /// Returns seconds, rounded to the microsecond.
    static func seconds(_ time: MediaTime) -> JSONValue { .number((time.seconds * 1e6).rounded() / 1e6) }

    private static func spans(_ histogram: TimeHistogram) -> JSONValue {
        guard let half = histogram.span(within: 0.5), let most = histogram.span(within: 0.99) else { return .null }
        return .object(["half": seconds(half), "most": seconds(most)])
    }

    // MARK: Events

    /// Starts to remember failures and the time of the last change of state, and to publish events on the current socket.
    package func publish(on socket: @escaping @Sendable () -> ControlSocket?) {
        player.addObserver { event in
            switch event {
            case .itemFailed(_, let message): self.failed(message)
            case .nothingPlayable: self.failed("nothing on the playlist can be played")
            case .statusChanged, .playlistEnded: self.stateSince.withLock { $0 = .now }
            default: break
            }
        }
        player.addObserver { [player] event in
            guard let socket = socket() else { return }
            switch event {
            case .itemStarted(_, let isSeam, let late):
                let item = self.place(player.snapshot)["item"] ?? .null
                socket.publish(.item, ["item": item, "seam": isSeam.json, "late": late.json])
            case .statusChanged(let status): socket.publish(.status, ["state": status.word.json, "ended": .bool(false)])
            case .playlistEnded: socket.publish(.status, ["state": .string("paused"), "ended": .bool(true)])
            case .itemFailed(let item, let message):
                socket.publish(.failure, ["message": message.withoutCredentials.json, "item": Self.describe(item, of: player)])
            case .nothingPlayable: socket.publish(.failure, ["message": .string("nothing on the playlist can be played")])
            case .subtitle(let item, let text, let start, let end):
                socket.publish(
                    .subtitle,
                    [
                        "text": text.json, "start": Self.seconds(start), "end": Self.seconds(end),
                        "item": Self.describe(item, of: player),
                    ])
            case .itemEnded, .itemStatusChanged, .interruptionBegan, .interruptionEnded, .measured: break
            }
        }
        player.addPeriodicTimeObserver(forInterval: .seconds(1)) { [player] _ in
            guard let socket = socket() else { return }
            let now = player.snapshot
            socket.publish(.time, self.place(now).merging(["duration": now.duration.map(Self.seconds) ?? .null]) { $1 })
        }
    }

    /// The events for a changed display or sound device since the last call. They send no events, and a paused player has no periodic one.
    package var deviceChanges: [(ControlTopic, [String: JSONValue])] {
        let (display, audio) = (self.display, surroundings.audio())
        let former = devices.withLock { devices in
            defer { devices = (display, audio) }
            return devices
        }
        guard let former else { return [] }
        var events: [(ControlTopic, [String: JSONValue])] = []
        if former.display != display { events.append((.display, ["display": display])) }
        if former.audio != audio { events.append((.audio, ["audio": audio.json])) }
        return events
    }

    private func failed(_ message: String) {
        failure.withLock { $0 = (message, .now) }
        failureCount.withLock { $0 += 1 }
    }
}
