import Cache
import KioskCommands
import KioskMedia
import KioskPlatform
import KioskPlayback
import KioskReaders
import KioskVocabulary

// Facts about an item, its tracks and its chapters, for the control socket.
extension RemoteControl {
    /// The members of the answer to `status` about the item on the screen.
    func facts(_ now: PlayerSnapshot) -> [String: JSONValue] {
        let facts = now.item.flatMap { player.facts(of: $0) }
        let status: JSONValue =
            switch facts?.status {
            case .unknown: .string("unknown")
            case .readyToPlay: .string("ready")
            case .failed: .string("failed")
            case nil: .null
            }
        return [
            "itemStatus": status, "live": .bool(facts?.duration == .indefinite),
            "presentationSize": facts?.presentationSize.map {
                .object(["width": .number(Double($0.width)), "height": .number(Double($0.height))])
            } ?? .null,
            "loaded": .array((facts?.loadedTimeRanges ?? []).map(Self.range)),
            "seekable": .array((facts?.seekableTimeRanges ?? []).map(Self.range)),
            "likelyToKeepUp": .bool(facts?.isPlaybackLikelyToKeepUp ?? false),
        ]
    }

    /// The members of the answer to `tracks`.
    func tracks(_ name: ItemName?) throws(ControlRefusal) -> [String: JSONValue] {
        let (item, facts) = try opened(name)
        let tracks = facts.tracks.map { track -> JSONValue in
            var members: [String: JSONValue] = [
                "kind": track.kind.rawValue.json, "number": track.number.json, "codec": track.codec.json,
                "language": track.language.map { .string($0.description) } ?? .null, "title": track.title.json,
                "default": track.isDefault.json, "selected": .bool(facts.selectedTracks[track.kind] == track.id),
            ]
            if track.kind == .subtitle {
                members["forced"] = track.isForced.json
                members["sdh"] = track.isForHardOfHearing.json
                members["beside"] = track.isBeside.json
            }
            for (name, value) in [
                ("sampleRate", track.sampleRate), ("channels", track.channelCount), ("width", track.width), ("height", track.height),
            ] {
                if let value { members[name] = value.json }
            }
            return .object(members)
        }
        return ["item": item, "tracks": .array(tracks)]
    }

    /// Plays another track of an item.
    func select(_ choice: TrackChoice, _ kind: TrackKind, _ name: ItemName?) throws(ControlRefusal) -> ControlReply {
        let id = try optionalItem(name)
        if let facts = player.facts(of: id), !facts.tracks.isEmpty, !facts.tracks.contains(where: { $0.kind == kind && $0.fits(choice) }) {
            let have = facts.tracks.filter { $0.kind == kind }.map(\.summary).joined(separator: "; ")
            throw ControlRefusal(
                code: "no-such-track",
                message: have.isEmpty ? "the item has no \(kind.rawValue) track" : "the item has no such track; there is \(have)"
            )
        }
        player.select(choice, of: kind, in: id)
        return .answer(ControlAnswer(["track": choice.description.json]))
    }

    /// The members of the answer to `chapters`.
    func chapters(_ name: ItemName?) throws(ControlRefusal) -> [String: JSONValue] {
        let (item, facts) = try opened(name)
        let now = player.snapshot
        let isOnScreen = try optionalItem(name) == now.item
        let current = isOnScreen ? facts.chapters.place(at: now.time) : nil
        let chapters = facts.chapters.enumerated().map { place, chapter in
            JSONValue.object([
                "number": .number(Double(place + 1)), "title": chapter.title.json, "start": Self.seconds(chapter.start),
                "end": Self.seconds(chapter.end), "current": .bool(place == current),
            ])
        }
        return ["item": item, "chapters": .array(chapters)]
    }

    /// The members of the answer to `metadata`.
    func metadata(_ name: ItemName?) throws(ControlRefusal) -> [String: JSONValue] {
        let (item, facts) = try opened(name)
        let metadata = facts.metadata
        return [
            "item": item, "title": metadata.title.json, "artist": metadata.artist.json, "album": metadata.album.json,
            "date": metadata.date.json, "cover": metadata.cover.json,
        ]
    }

    /// Reads the cover of an item on a thread of its own: its disk or its network may be slow.
    func cover(_ name: ItemName?) throws(ControlRefusal) -> ControlReply {
        let (_, facts) = try opened(name)
        guard facts.metadata.cover != nil, let entry = player.item(try optionalItem(name))?.entry else {
            throw ControlRefusal(code: "no-picture", message: "its file has no cover")
        }
        let cache = surroundings.cache
        let interruption = Interruption()
        let late = ControlRefusal(code: "not-yet", message: "its file takes too long to read")
        return .made(by: "cover", within: Self.longestEffect, orElse: late, giveUp: { interruption.cancel() }) {
            () throws(ControlRefusal) in
            Thread.giveWay()
            let cover: AssetCover?
            do throws(MediaError) {
                let kept = cache?.file(for: entry.source), source = kept ?? entry.source
                cover = try AssetCover.read(
                    of: source, isKept: kept != nil, settings: entry.stream, by: .shared, interruption: interruption)
            } catch { throw ControlRefusal(code: "no-picture", message: error.description) }
            if let cover { return ControlAnswer(["format": cover.codec.json], attachment: cover.bytes) }
            throw ControlRefusal(code: "no-picture", message: "its cover cannot be read, or is too large")
        }
    }

    /// The members of the answer to `cache`.
    var cached: [String: JSONValue] {
        guard let cache = surroundings.cache else { return [:] }
        let (items, bytes) = cache.contents
        return [
            "folder": cache.folder.json, "limit": cache.limit.bytes.json, "bytes": bytes.json,
            "items": .array(
                items.prefix(1000).map { item in
                    .object([
                        "source": item.source.withoutCredentials.json, "size": item.size.json, "bytes": item.bytes.json,
                        "complete": item.isComplete.json, "problem": item.problem.json,
                    ])
                }),
        ]
    }

    // MARK: Choosing the item

    /// Returns the named item, else the one on the screen.
    private func optionalItem(_ name: ItemName?) throws(ControlRefusal) -> QueueItem.ID {
        if let name { return try item(name).id }
        if let item = player.snapshot.item { return item }
        throw ControlRefusal(code: "no-such-item", message: "nothing is on the screen; name an item")
    }

    /// Returns the facts about an item; throws if it has not been opened.
    private func opened(_ name: ItemName?) throws(ControlRefusal) -> (item: JSONValue, facts: ItemFacts) {
        let id = try optionalItem(name)
        guard let facts = player.facts(of: id), let known = player.item(id) else {
            throw ControlRefusal(code: "no-such-item", message: "the item has left the playlist")
        }
        switch facts.status {
        case .readyToPlay: break
        case .unknown:
            throw ControlRefusal(code: "not-yet", message: "kiosk has not opened the item yet; it does so shortly before the item's turn")
        case .failed(let reason): throw ControlRefusal(code: "item-failed", message: reason)
        }
        return (Self.describe(id, of: player, title: known.entry.title ?? facts.metadata.title), facts)
    }

    private static func range(_ range: Range<MediaTime>) -> JSONValue {
        .object(["from": seconds(range.lowerBound), "to": seconds(range.upperBound)])
    }
}

extension AssetTrack {
    /// Returns whether the track matches a choice.
    fileprivate func fits(_ choice: TrackChoice) -> Bool {
        switch choice {
        case .automatic, .off: true
        case .number(let wanted): number == wanted
        case .language(let code): language.map(code.matches) ?? false
        }
    }
}
