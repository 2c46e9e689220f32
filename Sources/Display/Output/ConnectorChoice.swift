import KioskVocabulary

extension DisplayConnector {
    /// Whether a connector of a DRM card can satisfy the request.
    var takesCards: Bool {
        switch self {
        case .automatic, .named: true
        case .framebuffer, .offscreen: false
        }
    }

    /// The requested framebuffer device, or the one to use if there is no DRM card.
    var framebufferPath: String? {
        switch self {
        case .automatic: "/dev/fb0"
        case .framebuffer(let path): path
        case .named, .offscreen: nil
        }
    }

    /// The position of a connector in a list of cards.
    struct Place: Hashable {
        var card: Int
        var connector: Int
    }

    /// Returns the connector to use among all cards, in the order of their numbers; nil if none fits the request.
    ///
    /// `auto` prefers a connected one with modes, then a connected one without modes. Then comes one that has modes, but whose state the
    /// driver does not know. It takes a headset (`non-desktop`) only by its name. It never takes a writeback connector, which leads to no
    /// display. It takes a connector in `resting` only if nothing else is left, and one in `taken` never.
    func choose(from cards: [[Connector]], named names: [String], resting: Set<Place> = [], taken: Set<Place> = []) -> Place? {
        guard takesCards else { return nil }
        var best: (rank: Int, place: Place)?
        for (card, connectors) in cards.enumerated() {
            for (index, connector) in connectors.enumerated() where !connector.isWriteback {
                if case .named(let name, let wantedCard) = self {
                    if connector.name != name || (wantedCard != nil && wantedCard != names[card]) { continue }
                } else if connector.isNonDesktop {
                    continue
                }
                let place = Place(card: card, connector: index)
                if taken.contains(place) { continue }
                guard let rank = Self.rank(connector).map({ resting.contains(place) ? $0 + 10 : $0 }) else { continue }
                if rank < best?.rank ?? .max { best = (rank, place) }
            }
        }
        return best?.place
    }

    /// Returns the connector to drive instead of the one at `active`; nil to stay.
    ///
    /// A connected display keeps the picture. A VGA or composite socket may not know whether a display is there. Such a connector yields to
    /// one that is connected and has modes.
    func replacement(
        for active: Place?, from cards: [[Connector]], named names: [String], resting: Set<Place> = [], taken: Set<Place> = []
    ) -> Place? {
        if let active, cards[active.card][active.connector].status != .unknown { return nil }
        guard let place = choose(from: cards, named: names, resting: resting, taken: taken), place != active, !resting.contains(place),
            Self.rank(cards[place.card][place.connector]) == 0
        else { return nil }
        return place
    }

    private static func rank(_ connector: Connector) -> Int? {
        switch connector.status {
        case .connected: connector.modes.isEmpty ? 1 : 0
        case .unknown: connector.modes.isEmpty ? nil : 2
        case .disconnected: nil
        }
    }
}
