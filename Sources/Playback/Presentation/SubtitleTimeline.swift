import KioskMedia
import KioskPlatform
import KioskVocabulary

/// The subtitles that belong to each picture: the feeder's drawings, until their picture has passed. A pure value behind the pipeline's
/// lock.
///
/// Subtitles are a layer of the overlay, and change with a picture. If the presenter chooses a picture with other subtitles than those on
/// the screen, it sets the new ones. The picture then waits for them, as for a drawn answer to a touch (``OverlayState``): until a quarter
/// of a period before its vblank. So both come with one commit. Subtitles are drawn ahead; late ones come a vblank later and do not delay
/// the picture.
struct SubtitleTimeline: Sendable {
    /// Subtitles that are visible from an item time of a playthrough on.
    private struct Change: Sendable {
        var serial: UInt64
        var time: MediaTime
        var overlay: Overlay
    }

    private var changes: [Change] = []
    /// The subtitles on the screen.
    private var shown: (serial: UInt64, time: MediaTime)?
    /// Overlays no longer in use, kept until a caller takes them that may free them.
    private var retired: [Overlay] = []
    private static let most = 256, mostBytes = 96 << 20

    /// Whether there are subtitles to look up.
    var isInUse: Bool { !changes.isEmpty || shown != nil }

    /// Adds the subtitles from an item time on. Returns overlays for the caller to free without the lock.
    mutating func add(_ overlay: Overlay, from time: MediaTime, of serial: UInt64) -> [Overlay] {
        // These replace subtitles drawn earlier for later pictures.
        while let last = changes.last, last.serial == serial, last.time >= time { retired.append(changes.removeLast().overlay) }
        // The subtitles on the screen are drawn anew.
        if let shown, shown == (serial, time) { self.shown = (serial, MediaTime(nanoseconds: .min)) }
        changes.append(Change(serial: serial, time: time, overlay: overlay))
        while changes.count > 1, changes.count > Self.most || changes.reduce(0, { $0 + $1.overlay.byteCount }) > Self.mostBytes {
            retired.append(changes.removeFirst().overlay)
        }
        defer { retired.removeAll() }
        return retired
    }

    /// Returns the overlay for a picture; nil if it is already on the screen.
    mutating func overlay(for serial: UInt64?, at time: MediaTime) -> Overlay? {
        // Playthroughs are numbered in their order, and item times grow within one.
        func isOver(_ change: Change) -> Bool { serial.map { change.serial < $0 } ?? true }
        while let first = changes.first, isOver(first) || changes.dropFirst().first.map({ $0.serial == serial && $0.time <= time }) ?? false
        {
            retired.append(first.overlay)
            changes.removeFirst()
        }
        guard let change = changes.first, change.serial == serial, change.time <= time else {
            if shown == nil { return nil }
            shown = nil
            return Overlay()
        }
        if let shown, shown == (change.serial, change.time) { return nil }
        shown = (change.serial, change.time)
        return change.overlay
    }

    /// Keeps an overlay that is no longer visible, to be freed without the lock.
    mutating func retire(_ overlay: Overlay) { retired.append(overlay) }
}

extension Overlay {
    /// The number of bytes of the drawn pictures.
    fileprivate var byteCount: Int { pictures.reduce(0) { $0 + $1.surface.width * $1.surface.height * 4 } }
}
