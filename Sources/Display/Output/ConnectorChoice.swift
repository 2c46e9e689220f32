import KioskVocabulary

extension DisplayConnector {
    /// Whether a connector of a DRM card can be what is asked for.
    var takesCards: Bool {
        switch self {
        case .automatic, .named: true
        case .framebuffer, .offscreen: false
        }
    }

    /// The framebuffer device that is asked for, or that will do where there is no DRM card.
    var framebufferPath: String? {
        switch self {
        case .automatic: "/dev/fb0"
        case .framebuffer(let path): path
        case .named, .offscreen: nil
        }
    }

    /// Where a connector is in a list of cards.
    struct Place: Hashable {
        var card: Int
        var connector: Int
    }

    /// Which connector to use, out of all cards in the order of their numbers; nil when none answers the request.
    ///
    /// `auto` prefers a connected one with modes, then a connected one that has none yet, then one whose state the driver does not know but
    /// which has modes. A headset (`non-desktop`) is taken only by its name, a writeback connector, which leads to no display, never. What
    /// is in `resting` is taken only where there is nothing else, what is in `taken` never.
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

    /// Which connector is to be driven instead of the one at `active`, which is driven now; nil to stay.
    ///
    /// A display that is connected keeps the picture. One of which the driver does not know whether it is there, such as a VGA or composite
    /// socket that cannot tell, gives it up to one that is connected and has modes.
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
