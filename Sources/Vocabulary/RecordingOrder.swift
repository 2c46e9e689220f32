/// A command for the recorder: `record start` and so on.
package enum RecordingOrder: String, Hashable, Sendable, CaseIterable {
    /// Shows the camera picture, with a start button.
    case preview
    case start, stop, pause, resume
    /// Starts or stops.
    case toggle
    /// Keeps the film under review.
    case keep
    /// Discards the film under review or the recording, and shows the camera again.
    case retake
    /// Discards it, and returns to the playlist.
    case cancel
}

/// The next step after a recording: `[record] on-record`.
package enum OnRecord: String, Hashable, Sendable, CaseIterable {
    /// Keeps it at once.
    case keep
    /// Plays it; the visitor keeps it or records another one.
    case review
}
