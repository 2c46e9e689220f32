/// Why a file could not be opened.
package enum FileFailure: Error, Hashable, Sendable {
    /// errno of the call that failed.
    case system(Int32)
    case isDirectory, notARegularFile, isEmpty, notReadable
    /// A link of its path leads out of the folder in which it has to be.
    case leadsOutside
    /// What it is does not get to libavformat.
    case refused(MediaError.Reason)
    /// No answer within the time allowed, or it was cancelled.
    case interrupted
}
