/// What follows the last item of the playlist.
package enum LoopMode: String, Sendable, CaseIterable {
    /// The first item.
    case playlist
    /// The present item, again and again; commands for the next and the previous item still work.
    case item
    /// Nothing: the last frame stays on the screen.
    case off
}
