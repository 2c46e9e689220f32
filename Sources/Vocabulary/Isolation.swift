/// The place where media are read.
package enum Isolation: String, Hashable, Sendable, CaseIterable {
    /// Each file and stream in a process of its own.
    case automatic = "auto"
    /// All of them on threads of the player.
    case off
}
