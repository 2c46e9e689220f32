/// The item after the last one of the playlist.
package enum LoopMode: String, Sendable, CaseIterable {
    /// The first item.
    case playlist
    /// The current item, again and again; commands for the next and the previous item still work.
    case item
    /// None: the last frame stays on the screen.
    case off
}
