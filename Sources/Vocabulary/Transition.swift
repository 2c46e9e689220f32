/// What happens where one item gives way to the next.
package enum Transition: String, Sendable, CaseIterable {
    /// The first frame of the next item follows the last frame of the present one.
    case cut
    /// The next item fades in over the end of the present one, picture and sound, for the configured duration but at most half of either.
    /// It is a cut where the length of what ends is not known, or one of the two is only sound.
    case fade
}
