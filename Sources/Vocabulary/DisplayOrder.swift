/// A command for the display: on, off, or as scheduled.
package enum DisplayOrder: String, Hashable, Sendable, CaseIterable {
    case on, off, auto
}
