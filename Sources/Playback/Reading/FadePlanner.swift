import KioskMedia
import KioskPlatform
import KioskVocabulary

/// Decides which playthrough fades out, when, and into which. Used by the feeder's thread alone.
///
/// A playthrough that may fade out in the end is read only up to that point (``PlaythroughReader/setFadeOut(from:)``). There it is kept,
/// with the first frame of the fade in hand, until the next one begins. The next one decides. It may fade in, for as long as both allow. Or
/// the one before is resumed and read further, to its end or to the beginning of a shorter fade.
struct FadePlanner {
    /// The longest fade between two items; zero is a cut.
    var length: MediaTime
    private(set) var fade: CrossFade?
    /// The playthrough that ended with a frame from which it is to fade out, until the next one begins.
    private var outgoing: PlaythroughReader?

    init(length: MediaTime) { self.length = length }

    /// Notes that a playthrough has been read to its end, or to the point where it is to fade out.
    mutating func leave(_ reader: PlaythroughReader) {
        if reader.fadeOutTime != nil { outgoing = reader }
    }

    /// Begins a playthrough: has the one before it fade out. If another one follows, decides whether it fades out itself.
    mutating func enter(_ reader: PlaythroughReader, isFollowed: Bool) {
        fade = nil
        let outgoing = outgoing.take()
        guard length > .zero, !reader.isSoundOnly else { return }
        let longest = longest(of: reader)
        if let itemEnd = reader.playthrough.itemEnd, longest > .zero, isFollowed {
            reader.setFadeOut(from: itemEnd - longest.scaled(by: reader.mapping.rate))
        }
        guard let outgoing, let begin = outgoing.fadeOutTime, let itemEnd = outgoing.playthrough.itemEnd, begin < itemEnd else { return }
        let duration = min((itemEnd - begin).scaled(by: 1 / outgoing.mapping.rate), longestFadeIn(of: reader))
        if duration > .zero { fade = CrossFade(outgoing, at: reader.mapping.instant, for: duration) }
    }

    /// Resumes the playthrough that was to fade out, if it has to be read further, and returns it. If nothing comes that it can fade into,
    /// it is read to its end. If the next one allows only a shorter fade, it is read to the beginning of that. Returns nil if there is
    /// none, or the fade is right as it is.
    mutating func resume(before next: PlaythroughReader? = nil) -> PlaythroughReader? {
        guard let reader = outgoing, let begin = reader.fadeOutTime, let itemEnd = reader.playthrough.itemEnd else { return nil }
        let longest = next.map { longestFadeIn(of: $0) } ?? .zero
        guard (itemEnd - begin).scaled(by: 1 / reader.mapping.rate) > longest + .milliseconds(1) else { return nil }
        outgoing = nil
        reader.resume(fadeOutFrom: longest > .zero ? itemEnd - longest.scaled(by: reader.mapping.rate) : nil)
        return reader
    }

    /// Notes that sound and pictures have been enqueued up to these timeline instants; ends the fade if both are past it.
    mutating func pass(sound: MediaTime, pictures: MediaTime) {
        if let fade, sound >= fade.end, pictures >= fade.end { self.fade = nil }
    }

    /// Drops the fade, because the viewer has moved.
    mutating func reset() { (fade, outgoing) = (nil, nil) }

    /// Returns how long, on the timeline, a playthrough may fade in.
    private func longestFadeIn(of reader: PlaythroughReader) -> MediaTime {
        min(longest(of: reader), max(.zero, reader.playthrough.item.transition ?? length))
    }

    /// Returns how long, on the timeline, a playthrough may fade in or out.
    private func longest(of reader: PlaythroughReader) -> MediaTime {
        if reader.isSoundOnly { return .zero }
        guard let itemEnd = reader.playthrough.itemEnd else { return length }
        return min(length, max(.zero, (itemEnd - reader.mapping.itemTime).scaled(by: 0.5 / reader.mapping.rate)))
    }
}
