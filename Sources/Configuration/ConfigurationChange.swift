/// What differs between two configurations, by the names of tables and keys: what a player that runs takes over, and what holds from its
/// next start on.
package struct ConfigurationChange: Hashable, Sendable {
    /// What is taken over at once, or with the next item.
    package private(set) var applied: [String] = []
    /// What needs a restart.
    package private(set) var postponed: [String] = []
    /// Whether what viewers do, or what answers them, differs.
    package private(set) var concernsViewers = false

    /// From `old` to `new`.
    package init(from old: Configuration, to new: Configuration) {
        for (name, needs) in Configuration.keys.flatMap({ $0.differences(old, new) }) {
            if needs == .viewers { concernsViewers = true }
            if needs == .restart { postponed.append(name) } else if applied.last != name { applied.append(name) }
        }
    }

    /// Whether nothing differs.
    package var isEmpty: Bool { applied.isEmpty && postponed.isEmpty }
}
