internal import KioskMedia

/// What libraries of others log in their own words.
enum LibraryLog {
    private static let hasBegun: Void = FFmpegLog.capture()

    /// Has the lines of libav* logged by swift-log from now on, at `debug` with the label `ffmpeg`, instead of written to standard error.
    static func begin() { hasBegun }
}
