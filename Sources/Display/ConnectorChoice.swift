import Configuration

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
    /// `auto` prefers a connected one with modes, then a connected one that has none yet, then one whose state the driver
    /// does not know but which has modes. Writeback connectors lead to no display and are never taken.
    func choose(from cards: [[Connector]], named names: [String]) -> Place? {
        guard takesCards else { return nil }
        var best: (rank: Int, place: Place)?
        for (card, connectors) in cards.enumerated() {
            for (index, connector) in connectors.enumerated() where !connector.isWriteback {
                if case .named(let name, let wantedCard) = self {
                    if connector.name != name || (wantedCard != nil && wantedCard != names[card]) { continue }
                }
                guard let rank = Self.rank(connector) else { continue }
                if rank < best?.rank ?? .max { best = (rank, Place(card: card, connector: index)) }
            }
        }
        return best?.place
    }

    private static func rank(_ connector: Connector) -> Int? {
        switch connector.status {
        case .connected: connector.modes.isEmpty ? 1 : 0
        case .unknown: connector.modes.isEmpty ? nil : 2
        case .disconnected: nil
        }
    }
}
