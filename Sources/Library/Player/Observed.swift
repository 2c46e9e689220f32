internal import KioskPlatform
internal import KioskPlayback
package import KioskVocabulary
public import Observation
internal import Synchronization

// Properties that Swift's Observation follows (`withObservationTracking`, `Observations`). A property is announced when the event that also goes
// into the sequences (`events`, `statusUpdates`) comes, so both have one source. The value has changed already then, and an observer that reads it
// again sees the new one. Announcements come on the event thread of the player, or on the thread that sets the property.

extension Player: Observable {
    func reading<Value, Other>(_ property: KeyPath<Player, Value>, _ body: () -> Other) -> Other {
        observation.access(self, keyPath: property)
        return body()
    }

    func changing<Value>(_ property: KeyPath<Player, Value>, _ body: () -> Void) {
        observation.withMutation(of: self, keyPath: property) { body() }
    }

    /// Announces the properties that a command of a viewer has changed. An order to play or to pause calls a start at a host time off.
    package func noteCommand(_ command: PlayerCommand) {
        switch command {
        case .play, .pause, .togglePlayback: orders.add(1, ordering: .relaxed)
        case .setVolume, .changeVolume: changing(\.volume) {}
        case .toggleMute, .setMuted: changing(\.isMuted) {}
        default: break
        }
    }

    /// Announces the properties that change with an event. Called on the event thread.
    func noteChange(_ event: PlaybackEvent) {
        switch event {
        case .itemStarted, .itemFailed: changing(\.currentItem) {}
        case .statusChanged:
            changing(\.timeControlStatus) {}
            changing(\.rate) {}
        case .nothingPlayable, .itemEnded, .itemStatusChanged, .playlistEnded, .interruptionBegan, .interruptionEnded, .subtitle,
            .measured:
            break
        }
    }
}

extension PlayerItem: Observable {
    func reading<Value, Other>(_ property: KeyPath<PlayerItem, Value>, _ body: () -> Other) -> Other {
        observation.access(self, keyPath: property)
        return body()
    }

    /// The same for what changes without an event, as bytes of a stream arrive. From the first read on it is announced twice a second.
    func readingOften<Value>(_ property: KeyPath<PlayerItem, Value>, _ body: () -> Value) -> Value {
        announceLoading()
        return reading(property, body)
    }

    func changing<Value>(_ property: KeyPath<PlayerItem, Value>, _ body: () -> Void) {
        observation.withMutation(of: self, keyPath: property) { body() }
    }

    /// Announces all that a player knows of it.
    func noteChange() {
        changing(\.status) {}
        changing(\.error) {}
        changing(\.duration) {}
        changing(\.presentationSize) {}
        changing(\.tracks) {}
        changing(\.chapters) {}
        changing(\.metadata) {}
        changing(\.seekableTimeRanges) {}
        noteLoading()
    }

    func noteLoading() {
        changing(\.loadedTimeRanges) {}
        changing(\.isPlaybackLikelyToKeepUp) {}
    }
}
