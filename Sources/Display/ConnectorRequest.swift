/// The connector that is asked for: `auto`, `HDMI-A-1` or, where two cards have one of that name, `card1:HDMI-A-1`.
public enum ConnectorRequest: Hashable, Sendable {
    /// The first one with a display on it.
    case automatic
    /// By name, on one card or on whichever has it.
    case named(String, card: String?)

    /// Reads the form of kiosk.conf; nil when `text` is not of it.
    public init?(_ text: String) {
        if text == "auto" {
            self = .automatic
            return
        }
        let parts = text.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
        switch parts.count {
        case 1 where !parts[0].isEmpty: self = .named(parts[0], card: nil)
        case 2 where !parts[0].isEmpty && !parts[1].isEmpty: self = .named(parts[1], card: parts[0])
        default: return nil
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

extension ConnectorRequest: CustomStringConvertible {
    /// The form of kiosk.conf.
    public var description: String {
        switch self {
        case .automatic: "auto"
        case .named(let name, let card): card.map { "\($0):\(name)" } ?? name
        }
    }
}
