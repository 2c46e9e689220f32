import KioskMedia
import KioskPlatform
import KioskVocabulary

/// Decides which playthrough fades out, from when on, and into which. Used by the feeder's thread alone.
///
/// A playthrough that may fade out in the end is read up to there only (``PlaythroughReader/setFadeOut(from:)``), and is kept with the
/// frame from which it is to fade in hand until the next one begins. That one decides: it fades in, for as long as both allow; or the one
/// before is resumed and read further, to its end or to where a shorter fade begins.
struct FadePlanner {
    /// How long one item fades into the next at most; zero is a cut.
    var length: MediaTime
    private(set) var fade: CrossFade?
    /// The playthrough that ended in a frame from which it is to fade out, until the next one begins.
    private var outgoing: PlaythroughReader?

    init(length: MediaTime) { self.length = length }

    /// A playthrough has been read to its end, or to where it is to fade out.
    mutating func leave(_ reader: PlaythroughReader) {
        if reader.fadeOutTime != nil { outgoing = reader }
    }

    /// A playthrough begins: has the one before it fade out, and decides whether it fades out itself, where something follows.
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

    /// Returns the playthrough that was to fade out where it has to be read further: where nothing comes that it can fade into, to its end;
    /// where that is too short for the whole fade, up to where a fade begins that is short enough. nil when there is none, or the fade is
    /// right as it is.
    mutating func resume(before next: PlaythroughReader? = nil) -> PlaythroughReader? {
        guard let reader = outgoing, let begin = reader.fadeOutTime, let itemEnd = reader.playthrough.itemEnd else { return nil }
        let longest = next.map { longestFadeIn(of: $0) } ?? .zero
        guard (itemEnd - begin).scaled(by: 1 / reader.mapping.rate) > longest + .milliseconds(1) else { return nil }
        outgoing = nil
        reader.resume(fadeOutFrom: longest > .zero ? itemEnd - longest.scaled(by: reader.mapping.rate) : nil)
        return reader
    }

    /// Sound and pictures have been enqueued up to these timeline instants: the fade is over where both are past it.
    mutating func pass(sound: MediaTime, pictures: MediaTime) {
        if let fade, sound >= fade.end, pictures >= fade.end { self.fade = nil }
    }

    /// Nothing fades out any more: the viewer has moved.
    mutating func reset() { (fade, outgoing) = (nil, nil) }

    /// How long, on the timeline, a playthrough may fade in.
    private func longestFadeIn(of reader: PlaythroughReader) -> MediaTime {
        min(longest(of: reader), max(.zero, reader.playthrough.item.transition ?? length))
    }

    /// How long, on the timeline, a playthrough may fade in or out.
    private func longest(of reader: PlaythroughReader) -> MediaTime {
        if reader.isSoundOnly { return .zero }
        guard let itemEnd = reader.playthrough.itemEnd else { return length }
        return min(length, max(.zero, (itemEnd - reader.mapping.itemTime).scaled(by: 0.5 / reader.mapping.rate)))
    }
}
