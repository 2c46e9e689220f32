/// Where media are read.
package enum Isolation: String, Hashable, Sendable, CaseIterable {
    /// What needs no hardware and no network in processes of their own, the rest in the player.
    case automatic = "auto"
    /// All of it in the player.
    case off
}
