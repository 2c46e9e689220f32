import KioskMedia
import KioskPlatform
import KioskVocabulary

/// Which subtitles are seen with which picture: what the feeder has of them, until the picture has gone by. A pure value behind the pipeline's lock.
///
/// Subtitles are a layer of the overlay, and change with a picture. When the presenter chooses a picture whose subtitles are others than those on the screen, it
/// sets them, and has the picture wait for them as it does for a drawn answer to a touch (``OverlayState``): until a quarter of a period before its vblank. So
/// both come with one commit. They are drawn ahead, and where they are not, they come a vblank later and the picture does not.
struct SubtitleTimeline: Sendable {
    /// What is seen from an item time of a playthrough on.
    private struct Change: Sendable {
        var serial: UInt64
        var time: MediaTime
        var overlay: Overlay
    }

    private var changes: [Change] = []
    /// Those that are on the screen.
    private var shown: (serial: UInt64, time: MediaTime)?
    /// What is no longer of use, until somebody takes it who may free it.
    private var retired: [Overlay] = []
    private static let most = 256, mostBytes = 96 << 20

    /// Whether there is anything to look for.
    var isInUse: Bool { !changes.isEmpty || shown != nil }

    /// Subtitles are seen from a picture on; gives back what is to be freed without the lock.
    mutating func add(_ overlay: Overlay, from time: MediaTime, of serial: UInt64) -> [Overlay] {
        // Others are wanted now than those that were drawn for pictures to come.
        while let last = changes.last, last.serial == serial, last.time >= time { retired.append(changes.removeLast().overlay) }
        // Those that are on the screen are drawn anew.
        if let shown, shown == (serial, time) { self.shown = (serial, MediaTime(nanoseconds: .min)) }
        changes.append(Change(serial: serial, time: time, overlay: overlay))
        while changes.count > 1, changes.count > Self.most || changes.reduce(0, { $0 + $1.overlay.byteCount }) > Self.mostBytes {
            retired.append(changes.removeFirst().overlay)
        }
        defer { retired.removeAll() }
        return retired
    }

    /// What is to lie over a picture; nil where that is what does.
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

    /// What is no longer seen is to be freed without the lock.
    mutating func retire(_ overlay: Overlay) { retired.append(overlay) }
}

extension Overlay {
    /// Bytes of what is drawn.
    fileprivate var byteCount: Int { pictures.reduce(0) { $0 + $1.surface.width * $1.surface.height * 4 } }
}
