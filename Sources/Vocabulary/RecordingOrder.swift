/// What is asked of the recording: `record start` and so on.
package enum RecordingOrder: String, Hashable, Sendable, CaseIterable {
    /// Shows what the camera sees, with a button that starts.
    case preview
    case start, stop, pause, resume
    /// Starts, or stops.
    case toggle
    /// Keeps what is reviewed.
    case keep
    /// Throws away what is reviewed or recorded, and shows the camera again.
    case retake
    /// Throws it away, and goes back to the playlist.
    case cancel
}

/// What becomes of a recording that has ended: `[record] on-record`.
package enum OnRecord: String, Hashable, Sendable, CaseIterable {
    /// It is kept at once.
    case keep
    /// It is played, and whoever made it keeps it or makes another one.
    case review
}
