import Media
import Platform

/// Decides which turn fades out, from when on, and into which. Used by the feeder's thread alone.
///
/// A turn that may fade out in the end is laid up to there only (``Lane/fadeBegin``), and is kept with the frame from which it is to fade in hand
/// (``Lane/fading``) until the next turn begins. That one decides: it fades in, for as long as both allow; or the turn is resumed and laid further, to
/// its end or to where a shorter fade begins.
struct FadePlanner {
    /// How long one item fades into the next at most; zero is a cut.
    let length: MediaTime
    /// The fade that goes on.
    private(set) var fade: CrossFade?
    /// The turn that ended in a frame from which it is to fade out, until the next one begins.
    private var outgoing: Lane?

    init(length: MediaTime) { self.length = length }

    /// A turn has been laid to its end, or to where it is to fade out.
    mutating func leave(_ lane: Lane) {
        if lane.fading != nil { outgoing = lane }
    }

    /// A turn begins: has the one before it fade out, and decides whether it fades out itself, where something follows.
    mutating func enter(_ lane: Lane, isFollowed: Bool) {
        fade = nil
        let outgoing = outgoing.take()
        guard length > .zero, !lane.isSoundOnly else { return }
        let longest = longest(of: lane)
        if let itemEnd = lane.turn.itemEnd, longest > .zero, isFollowed { lane.fadeBegin = itemEnd - longest.scaled(by: lane.rate) }
        guard let outgoing, let begin = outgoing.fading?.time, let itemEnd = outgoing.turn.itemEnd, begin < itemEnd else { return }
        let duration = min((itemEnd - begin).scaled(by: 1 / outgoing.rate), longest)
        if duration > .zero { fade = CrossFade(outgoing, at: lane.anchor, for: duration) }
    }

    /// Returns the turn that was to fade out where it has to be laid further: where nothing comes that it can fade into, to its end; where that is too short
    /// for the whole fade, up to where a fade begins that is short enough. nil when there is none, or the fade is right as it is.
    mutating func resume(before next: Lane? = nil) -> Lane? {
        guard let lane = outgoing, let begin = lane.fading?.time, let itemEnd = lane.turn.itemEnd else { return nil }
        let longest = next.map { self.longest(of: $0) } ?? .zero
        guard (itemEnd - begin).scaled(by: 1 / lane.rate) > longest + .milliseconds(1) else { return nil }
        outgoing = nil
        lane.fadeBegin = longest > .zero ? itemEnd - longest.scaled(by: lane.rate) : nil
        lane.picturesDone = false
        return lane
    }

    /// Sound and pictures have been laid up to these timeline instants: the fade is over where both are past it.
    mutating func pass(sound: MediaTime, pictures: MediaTime) {
        if let fade, sound >= fade.end, pictures >= fade.end { self.fade = nil }
    }

    /// Nothing fades out any more: the viewer has moved.
    mutating func reset() { (fade, outgoing) = (nil, nil) }

    /// How long, on the timeline, a turn may fade in or out.
    private func longest(of lane: Lane) -> MediaTime {
        if lane.isSoundOnly { return .zero }
        guard let itemEnd = lane.turn.itemEnd else { return length }
        return min(length, max(.zero, (itemEnd - lane.anchorItemTime).scaled(by: 0.5 / lane.rate)))
    }
}
