/// What somebody asks of a zone of the display.
package enum ZoneOrder: String, Hashable, Sendable, CaseIterable {
    case next, previous, play, pause, toggle
    /// What a touch of it does.
    case tap
}
