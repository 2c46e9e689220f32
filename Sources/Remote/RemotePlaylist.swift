import KioskCommands
import KioskPlatform
import KioskPlayback
import KioskVocabulary
import Synchronization

// The playlist on the control socket. After a program's change, the playlist is the program's until reload.
extension RemoteControl {
    /// Returns the item that a request names, and its place from 0.
    ///
    /// - Throws: a refusal if there is none.
    func item(_ name: ItemName) throws(ControlRefusal) -> (id: QueueItem.ID, place: Int) {
        let items = player.items
        let place: Int?
        switch name {
        case .place(let number): place = items.indices.contains(number - 1) ? number - 1 : nil
        case .text(let text):
            let id = text.hasPrefix("id:") ? Int(text.dropFirst(3)) : nil
            place = items.firstIndex {
                id == $0.id.number || $0.entry.title == text || $0.entry.path == Path(text) || $0.entry.name == text
            }
        }
        guard let place else {
            throw ControlRefusal(code: "no-such-item", message: "no such item; the playlist has \(items.count)")
        }
        return (items[place].id, place)
    }

    /// The members of the answer to `playlist`.
    var list: [String: JSONValue] {
        let items = player.items
        return [
            "count": items.count.json,
            "items": .array(
                items.enumerated().map { Self.describe($1.id, place: $0 + 1, title: $1.entry.title ?? $1.entry.plainName, $1.entry.source) }
            ),
        ]
    }

    /// Returns the description of an item for clients.
    static func describe(_ id: QueueItem.ID, place: Int?, title: String, _ source: String) -> JSONValue {
        .object([
            "id": id.number.json, "place": place.json, "title": title.json, "source": source.withoutCredentials.json,
        ])
    }

    /// Returns the description of an item that is or was on the list.
    static func describe(_ id: QueueItem.ID, of player: PlaybackEngine, title: String? = nil) -> JSONValue {
        let known = player.item(id)
        let name = title ?? known?.entry.title ?? known?.entry.plainName ?? ""
        return describe(id, place: known?.place.map { $0 + 1 }, title: name, known?.entry.source ?? "")
    }

    /// Changes or lists the playlist. Expands sources on a thread of their own: a disk may not answer.
    func change(_ request: PlaylistRequest) throws(ControlRefusal) -> ControlReply {
        switch request {
        case .list: return .answer(ControlAnswer(list))
        case .remove(let name, let atOnce):
            let item = try item(name)
            hasOwnPlaylist.withLock { $0 = true }
            player.remove([item.id], at: atOnce ? .now : .atNextBoundary)
            return .answer(counted())
        case .move(let name, let place):
            let item = try item(name)
            hasOwnPlaylist.withLock { $0 = true }
            player.move(item.id, to: place - 1)
            return .answer(counted())
        case .append(let sources): return try look(up: sources) { [player] in player.append($0) }
        case .insert(let sources, let place): return try look(up: sources) { [player] in player.insert($0, at: place - 1) }
        case .set(let sources, let atOnce):
            return try look(up: sources) { [player] in player.setItems($0, at: atOnce ? .now : .atNextBoundary) }
        }
    }

    private func look(up sources: [String], _ apply: @escaping @Sendable ([PlaylistItem]) -> Void) throws(ControlRefusal) -> ControlReply {
        if let source = sources.first(where: { !withoutFileScheme($0).hasPrefix("/") && !isURL($0) }) {
            throw ControlRefusal(
                code: "invalid-parameter", message: "sources: expected an absolute path or a URL, found \(source.prefix(200))")
        }
        return .made(by: "sources") { [self] () throws(ControlRefusal) in
            let items = adapted(surroundings.items(sources))
            if items.isEmpty {
                throw ControlRefusal(code: "no-such-item", message: "the sources have nothing to play")
            }
            hasOwnPlaylist.withLock { $0 = true }
            apply(items)
            return counted()
        }
    }

    /// Plays these sources (absolute paths) from the first one on, like `playlist set`. Any thread; returns at once.
    package func play(_ sources: [String]) {
        Thread("sources") { [surroundings, player] in
            let items = self.adapted(surroundings.items(sources))
            if items.isEmpty { return }
            self.hasOwnPlaylist.withLock { $0 = true }
            player.setItems(items, at: .now)
            player.perform(.restartPlaylist)
        }.detach()
    }

    /// Returns the playlist to kiosk.conf; the caller must then give it to the player.
    package func giveBackPlaylist() { hasOwnPlaylist.withLock { $0 = false } }

    private func counted() -> ControlAnswer { ControlAnswer(["count": player.items.count.json]) }
}
