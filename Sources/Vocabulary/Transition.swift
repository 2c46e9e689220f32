/// The transition from one item to the next.
package enum Transition: String, Sendable, CaseIterable {
    /// The first frame of the next item follows the last frame of the current one.
    case cut
    /// The next item fades in over the end of the current one, picture and sound, for the configured duration but at most half of either.
    /// It is a cut if the duration of the current one is unknown, or if one of the two is only sound.
    case fade
}
