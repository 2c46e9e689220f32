import KioskPlatform
import KioskVocabulary

/// What lies over every scene, and how far the output has it. A pure value behind the pipeline's lock.
///
///     set ──▶ wanted ──(compositor: SceneOutput.setOverlay)──▶ given ──(presenter: a commit)──▶ on the screen
///
/// Each overlay that is set has a number. Where the output has a plane for it, the first commit after it was given shows it, of a frame or of
/// the overlay alone. Where it has none, scenes contain it: each prepared scene bears a ``OverlayMark`` of what it was prepared under, and one
/// that contains anything else than what has been given last is *stale*. ``OverlayPlan`` says what is prepared again. Where the front layers
/// are on planes and the others in scenes, a scene is stale only where those others have changed, and what is on planes comes with a scene
/// that is not.
///
/// Where the pictures of scenes are (``Overlay/region``) goes the same way. It is in the mark of every scene, as a plane for the overlay does not
/// help there.
///
/// With a display that goes, all that was given is gone: what lies over it counts as set anew.
struct OverlayState: Sendable {
    private(set) var overlay = Overlay()
    /// Grows with every overlay that is set.
    private(set) var number: UInt64 = 0
    /// The number of what the output has taken over, and where it has it.
    private(set) var given: UInt64 = 0
    private(set) var placement = OverlayPlacement.blended
    private var givenIsEmpty = true
    /// The number of what scenes are to contain, 0 for nothing; and the output's for that (``OverlayPlacement/both(painting:)``).
    private var content: UInt64 = 0, painting: UInt64 = 0
    /// The number with which what is drawn changed last; after it only the region has.
    private var drawn: UInt64 = 0
    private var givenRegion = Region.full
    /// Grows each time that pictures are to be fitted another way; in the mark of every scene, as the region is.
    private var fit: UInt64 = 0
    /// So many scenes are to be committed yet until none that is ready can be in another region, or fitted another way.
    private var unsettled = 0
    private static let scenesAhead = 4
    /// Whether one was given after the last frame was taken to be composed.
    private var wasJustGiven = false
    /// The number of what is on its plane with the newest commit, and whether anything lies there.
    private var committed: UInt64 = 0
    private var liesOnPlane = false
    /// When another one is awaited, and of whom; from a vblank on, with the time between vblanks.
    private var expected: [Overlay.Source: (times: Range<HostTime>, period: MediaTime)] = [:]
    /// Of several that are expected after one vblank none is given without the others until so much of a period has passed: all are to be seen with the next.
    static let patience = 0.45

    /// Whether anything lies over the picture, is to, or did until the last commit.
    var isInUse: Bool {
        !overlay.pictures.isEmpty || number != given || !givenIsEmpty || liesOnPlane || !expected.isEmpty || unsettled > 0
    }

    // MARK: Setting

    /// What is to lie over every scene from now on, as one of those who draw has it. False where that is the same.
    mutating func set(_ new: Overlay, by source: Overlay.Source) -> Bool {
        expected[source] = nil
        var new = new
        new.region = overlay.region
        if new == overlay { return false }
        overlay = new
        number += 1
        drawn = number
        return true
    }

    /// Where the pictures of scenes are to be from now on.
    mutating func setRegion(_ region: Region) {
        if region == overlay.region { return }
        overlay.region = region
        number += 1
    }

    /// Pictures are fitted another way from now on.
    mutating func refit() { (fit, unsettled) = (fit + 1, Self.scenesAhead) }

    /// Another one will be set by `source` at a time of `times`, if at all.
    mutating func expect(in times: Range<HostTime>, by source: Overlay.Source, period: MediaTime) {
        if !expected.isEmpty { expected = expected.filter { $0.value.times.upperBound > times.lowerBound } }
        expected[source] = (times, period)
    }

    /// Until when what has been set waits for what others are to set after the same vblank; nil where it does not.
    func patienceEnds(at now: HostTime) -> HostTime? {
        if number == given || expected.isEmpty { return nil }
        var end: HostTime?
        for (times, period) in expected.values where times.contains(now) && period > .zero {
            let vblank = times.lowerBound + period * ((now - times.lowerBound).nanoseconds / period.nanoseconds)
            let limit = vblank + period.scaled(by: Self.patience)
            if now < limit { end = min(end ?? limit, limit) }
        }
        return end
    }

    /// Whether the output has not taken over what is wanted, or is soon to be given another.
    func isComing(at now: HostTime) -> Bool { number != given || expected.contains { $0.value.times.contains(now) } }

    /// Whether another one is expected soon, now or after a vblank.
    func isMoving(at now: HostTime) -> Bool { expected.contains { now < $0.value.times.upperBound } }

    // MARK: Giving

    /// What the output is to take over; nil where it has. One for each frame where a `frameWaits` to be composed, and none lies ready: with
    /// one at every vblank no frame would be composed. Where playing `isHeld` nobody sees what is drawn: a change of the region alone is given.
    func toGive(frameWaits: Bool, isHeld: Bool = false) -> (overlay: Overlay, number: UInt64)? {
        if isHeld, overlay.region == givenRegion { return nil }
        return number == given || frameWaits && wasJustGiven ? nil : (overlay, number)
    }

    /// The output has taken over the overlay of this number.
    mutating func gave(_ number: UInt64, isEmpty: Bool, region: Region = .full, placement: OverlayPlacement) {
        if region != givenRegion { (givenRegion, unsettled) = (region, Self.scenesAhead) }
        (given, givenIsEmpty, self.placement, wasJustGiven) = (number, isEmpty, placement, true)
        switch placement {
        case .plane: content = 0
        case .blended: content = isEmpty ? 0 : number
        case .both(let painting):
            if content == 0 || painting != self.painting { content = number }
            self.painting = painting
        }
    }

    mutating func frameTaken() { wasJustGiven = false }

    /// The display has changed: it has nothing of what it was given.
    mutating func displayChanged() {
        // The output blends what it was given last into its next pictures, or puts it on planes again.
        let hasNothing = givenIsEmpty || number == given
        (committed, liesOnPlane, givenIsEmpty, content) = (number, false, true, 0)
        if overlay.pictures.isEmpty, overlay.region == givenRegion, hasNothing {
            given = number
        } else {
            number += 1
            drawn = number
        }
    }

    // MARK: Showing

    /// What a scene bears that is prepared now.
    var mark: OverlayMark { OverlayMark(number: given, content: content, region: givenRegion, fit: fit) }

    /// Whether a scene shows something else than it is to.
    func isStale(_ mark: OverlayMark) -> Bool {
        mark.content != content || mark.region != givenRegion || mark.fit != fit
    }

    /// Whether only a commit is missing: of what is on planes alone, over the scene on the screen, which has this mark.
    func awaitsCommit(over scene: OverlayMark) -> Bool {
        placement != .blended && scene.content == content && committed != given && (given < drawn || committed < drawn)
    }

    /// Whether something lies on a plane that is no longer to, and goes with the next scene.
    var hasToLeavePlane: Bool { placement == .blended && liesOnPlane }

    /// A commit is on its way to the screen, of a scene with this mark or of the overlay alone. Returns the number of what is seen with it.
    mutating func commit(_ mark: OverlayMark?) -> UInt64 {
        if unsettled > 0, mark?.region == givenRegion, mark?.fit == fit { unsettled -= 1 }
        // What is on planes stays as it is until a scene comes that it is to lie over.
        if case .both = placement, let mark, mark.content != content { return mark.number }
        committed = given
        liesOnPlane = placement != .blended && !givenIsEmpty
        return placement != .blended ? given : mark?.number ?? 0
    }

    /// The output was too busy for the overlay alone.
    mutating func wasBusy() { committed = 0 }
}

/// What lay over a scene when it was prepared.
struct OverlayMark: Hashable, Sendable {
    /// The overlay that the output had been given.
    var number: UInt64 = 0
    /// That with which what the scene contains changed last; 0 where it contains nothing.
    var content: UInt64 = 0
    var region = Region.full
    /// How often they had been fitted another way.
    var fit: UInt64 = 0
}
