/// A command for a zone of the display.
package enum ZoneOrder: String, Hashable, Sendable, CaseIterable {
    case next, previous, play, pause, toggle
    /// Acts like a touch of the zone.
    case tap
}
