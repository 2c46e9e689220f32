import KioskPlatform

/// Whether pictures come more slowly than they are shown: a pure value.
///
/// What is counted is the time from when a picture is asked for until it is there, without reading. That is less than it takes where
/// libavcodec's threads decode ahead meanwhile; but while pictures come too slowly the next one is asked for at once, and then it is all
/// there is. A single slow second is a busy machine: it has to last.
struct DecodingPace: Hashable, Sendable {
    /// Pictures are counted for this long.
    static let window = MediaTime.milliseconds(500)
    /// So many windows in a row must be slow.
    static let windows = 2

    private var spent = MediaTime.zero, shown = MediaTime.zero
    private var slowWindows = 0
    /// Whether it is too slow; it stays so.
    private(set) var isTooSlow = false

    /// Counts a picture that took `time` to come and is shown for `duration`.
    mutating func add(_ time: MediaTime, for duration: MediaTime) {
        spent += time
        shown += duration
        guard shown >= Self.window else { return }
        slowWindows = spent > shown ? slowWindows + 1 : 0
        if slowWindows >= Self.windows { isTooSlow = true }
        (spent, shown) = (.zero, .zero)
    }
}
