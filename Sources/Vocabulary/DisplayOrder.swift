/// What somebody asks of the display: to be on or off, or to be as the schedule has it.
package enum DisplayOrder: String, Hashable, Sendable, CaseIterable {
    case on, off, auto
}
