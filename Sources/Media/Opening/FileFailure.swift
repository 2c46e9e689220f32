/// The reason why a file could not be opened.
package enum FileFailure: Error, Hashable, Sendable {
    /// The errno of the call that failed.
    case system(Int32)
    case isDirectory, notARegularFile, isEmpty, notReadable
    /// A link in its path leads out of the required folder.
    case leadsOutside
    /// Its contents must not reach libavformat.
    case refused(MediaError.Reason)
    /// No answer within the time limit, or cancelled.
    case interrupted
}
