import Commands
import Glibc
import KioskPlatform
import KioskPlayback
import KioskVocabulary
import Synchronization

/// The version of the program, as `kiosk --version` says it.
package let kioskVersion = "0.1.0"

// What the player tells of itself over the control socket.
extension RemoteControl {
    /// What is on the screen.
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
        var members = place(now)
        members["state"] = .string(now.status.word)
        members["ended"] = .bool(now.hasEnded)
        members["stateAge"] = Self.seconds(HostTime.now - stateSince.withLock { $0 })
        members["duration"] = now.duration.map(Self.seconds) ?? .null
        members.merge(facts(now)) { $1 }
        members["latency"] = counts.streamLatency.map(Self.seconds) ?? .null
        members["count"] = .number(Double(now.itemCount))
        members["volume"] = .number((now.volume * 100).rounded())
        members["muted"] = .bool(now.isMuted)
        members["interrupted"] = .bool(player.isInterrupted)
        members["rate"] = .number(player.rate)
        members["rotation"] = .number(Double(surroundings.rotation().rawValue))
        members["display"] = display
        members["audio"] = .string(surroundings.audio())
        members.merge(frames(counts.framesShown, counts.framesLate, counts.framesDropped, counts.seams)) { $1 }
        members["failure"] =
            failure.withLock { $0 }.map {
                .object(["message": .string($0.message.withoutCredentials), "age": Self.seconds(HostTime.now - $0.time)])
            } ?? .null
        members["uptime"] = Self.seconds(HostTime.now - started)
        members["version"] = .string(kioskVersion)
        members["pid"] = .number(Double(getpid()))
        return members
    }

    /// The members of the answer to `statistics`.
    var statistics: [String: JSONValue] {
        let now = player.snapshot
        let counts = now.statistics
        var members = frames(counts.framesShown, counts.framesLate, counts.framesDropped, counts.seams)
        members["worstSeamLateness"] = .number(Double(counts.worstSeamLateness))
        members["flipsLost"] = .number(Double(counts.flipsLost))
        members["stalls"] = .number(Double(counts.stalls))
        members["stalledTime"] = Self.seconds(counts.stalledTime)
        members["soundRatio"] = .number(counts.soundRatio)
        members["latency"] = counts.streamLatency.map(Self.seconds) ?? .null
        members["synchrony"] = Self.spans(counts.synchrony)
        members["inputLatency"] = Self.spans(counts.inputLatency)
        members["queuedFrames"] = .number(Double(now.buffered.frames))
        members["queuedSound"] = Self.seconds(now.buffered.sound)
        members["items"] = .array(
            counts.items.keys.sorted().prefix(1000).map { id in
                let item = counts.items[id]!
                let known = player.item(id)
                var members = frames(item.framesShown, item.framesLate, item.framesDropped, item.seams)
                members["item"] = Self.describe(
                    id, place: known?.place.map { $0 + 1 }, title: known?.entry.title ?? known?.entry.plainName ?? "",
                    known?.entry.source ?? "")
                members["worstSeamLateness"] = .number(Double(item.worstSeamLateness))
                return .object(members)
            })
        return members
    }

    /// The display and its mode.
    private var display: JSONValue {
        surroundings.display().map { mode in
            .object([
                "name": .string(mode.name), "width": .number(Double(mode.width)), "height": .number(Double(mode.height)),
                "refresh": .number((1000 / mode.refreshPeriod.seconds).rounded() / 1000),
            ])
        } ?? .null
    }

    private func frames(_ shown: Int, _ late: Int, _ dropped: Int, _ seams: Int) -> [String: JSONValue] {
        [
            "framesShown": .number(Double(shown)), "framesLate": .number(Double(late)), "framesDropped": .number(Double(dropped)),
            "seams": .number(Double(seams)),
        ]
    }

    /// Seconds, to the microsecond.
    static func seconds(_ time: MediaTime) -> JSONValue { .number((time.seconds * 1e6).rounded() / 1e6) }

    private static func spans(_ histogram: TimeHistogram) -> JSONValue {
        guard let half = histogram.span(within: 0.5), let most = histogram.span(within: 0.99) else { return .null }
        return .object(["half": seconds(half), "most": seconds(most)])
    }

    // MARK: Events

    /// Remembers what goes wrong and since when the state stands from now on, and has the observers of the socket, whichever there is by then, told what happens.
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
                socket.publish(.item, ["item": item, "seam": .bool(isSeam), "late": .number(Double(late))])
            case .statusChanged(let status): socket.publish(.status, ["state": .string(status.word), "ended": .bool(false)])
            case .playlistEnded: socket.publish(.status, ["state": .string("paused"), "ended": .bool(true)])
            case .itemFailed(let item, let message):
                let entry = player.item(item)
                socket.publish(
                    .failure,
                    [
                        "message": .string(message.withoutCredentials),
                        "item": Self.describe(
                            item, place: entry?.place.map { $0 + 1 }, title: entry?.entry.title ?? entry?.entry.plainName ?? "",
                            entry?.entry.source ?? ""),
                    ])
            case .nothingPlayable:
                socket.publish(.failure, ["message": .string("nothing on the playlist can be played")])
            case .itemEnded, .itemStatusChanged, .interruptionBegan, .interruptionEnded: break
            }
        }
        player.addPeriodicTimeObserver(forInterval: .seconds(1)) { [player] _ in
            guard let socket = socket() else { return }
            let now = player.snapshot
            socket.publish(.time, self.place(now).merging(["duration": now.duration.map(Self.seconds) ?? .null]) { $1 })
        }
    }

    /// The display and the sound device where they are others than the last time. They do not tell, and a paused player has no time that passes.
    package var deviceChanges: [(ControlTopic, [String: JSONValue])] {
        let (display, audio) = (self.display, surroundings.audio())
        let former = devices.withLock { devices in
            defer { devices = (display, audio) }
            return devices
        }
        guard let former else { return [] }
        var events: [(ControlTopic, [String: JSONValue])] = []
        if former.display != display { events.append((.display, ["display": display])) }
        if former.audio != audio { events.append((.audio, ["audio": .string(audio)])) }
        return events
    }

    private func failed(_ message: String) {
        failure.withLock { $0 = (message, .now) }
        failureCount.withLock { $0 += 1 }
    }
}
