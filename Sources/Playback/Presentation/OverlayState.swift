import KioskPlatform
import KioskVocabulary

/// The overlay over every scene, and the progress of its hand-over to the output. A pure value behind the pipeline's lock.
///
///     set ──▶ wanted ──(compositor: SceneOutput.setOverlay)──▶ given ──(presenter: a commit)──▶ on the screen
///
/// Each overlay that is set has a number. If the output has a plane for it, the first commit after the hand-over shows it, of a frame or of
/// the overlay alone. If the output has none, scenes contain it. Each prepared scene carries an ``OverlayMark`` of the overlay that it was
/// prepared with; a scene with other content than the overlay given last is *stale*. ``OverlayPlan`` decides which scenes to prepare again.
/// If the front layers are on planes and the others in scenes, a scene is stale only if those others have changed. The planes' layers then
/// appear with a scene that is not stale.
///
/// The place of the scenes' pictures (``Overlay/region``) goes the same way. It is in the mark of every scene, because a plane for the
/// overlay does not help there.
///
/// When the display goes, everything given to it is gone: its overlay counts as newly set.
struct OverlayState: Sendable {
    private(set) var overlay = Overlay()
    /// A number that grows with every overlay that is set.
    private(set) var number: UInt64 = 0
    /// The number of the overlay that the output has taken over, and its placement.
    private(set) var given: UInt64 = 0
    private(set) var placement = OverlayPlacement.blended
    private var givenIsEmpty = true
    /// The number of the overlay that scenes have to contain, 0 for none; and the output's own number for it
    /// (``OverlayPlacement/both(painting:)``).
    private var content: UInt64 = 0, painting: UInt64 = 0
    /// The number at which the drawn layers last changed; later numbers changed only the region.
    private var drawn: UInt64 = 0
    private var givenRegion = Region.full
    /// A number that grows each time the gravity of pictures changes; in the mark of every scene, as the region is.
    private var fit: UInt64 = 0
    /// The number of scenes still to commit until no ready scene can have another region or gravity.
    private var unsettled = 0
    private static let scenesAhead = 4
    /// Whether an overlay was given after the last frame was taken to be composed.
    private var wasJustGiven = false
    /// The number of the overlay on its plane as of the newest commit, and whether that plane shows anything.
    private var committed: UInt64 = 0
    private var liesOnPlane = false
    /// The times at which overlays are expected, from a vblank on, by their source; and the time between vblanks.
    private var expected: [Overlay.Source: (times: Range<HostTime>, period: MediaTime)] = [:]
    /// The share of a period for which expected overlays wait for each other after a vblank, so that the next vblank shows all of them.
    static let patience = 0.45

    /// Whether an overlay lies over the picture, is about to, or did until the last commit.
    var isInUse: Bool {
        !overlay.pictures.isEmpty || number != given || !givenIsEmpty || liesOnPlane || !expected.isEmpty || unsettled > 0
    }

    // MARK: Setting

    /// Sets the overlay over every scene from now on, as drawn by one source. Returns false if it is unchanged.
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

    /// Sets the place of the scenes' pictures on the screen.
    mutating func setRegion(_ region: Region) {
        if region == overlay.region { return }
        overlay.region = region
        number += 1
    }

    /// Marks scenes as stale because the gravity of pictures has changed.
    mutating func refit() { (fit, unsettled) = (fit + 1, Self.scenesAhead) }

    /// Announces that `source` may set another overlay at a time in `times`.
    mutating func expect(in times: Range<HostTime>, by source: Overlay.Source, period: MediaTime) {
        if !expected.isEmpty { expected = expected.filter { $0.value.times.upperBound > times.lowerBound } }
        expected[source] = (times, period)
    }

    /// Returns the time until which a new overlay waits for overlays that other sources set after the same vblank; nil without such a wait.
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

    /// Returns whether the output has not yet taken over the wanted overlay, or is about to be given another.
    func isComing(at now: HostTime) -> Bool { number != given || expected.contains { $0.value.times.contains(now) } }

    /// Returns whether another overlay is expected soon, now or after a vblank.
    func isMoving(at now: HostTime) -> Bool { expected.contains { now < $0.value.times.upperBound } }

    // MARK: Giving

    /// Returns the overlay to give to the output; nil if it already has it. While a frame waits to be composed and none is ready
    /// (`frameWaits`), only one overlay is given per frame: with one at every vblank no frame would be composed. While playback `isHeld`,
    /// drawn layers are invisible, and only a change of the region is given.
    func toGive(frameWaits: Bool, isHeld: Bool = false) -> (overlay: Overlay, number: UInt64)? {
        if isHeld, overlay.region == givenRegion { return nil }
        return number == given || frameWaits && wasJustGiven ? nil : (overlay, number)
    }

    /// Records that the output has taken over the overlay of this number.
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

    /// Records that the display has changed and has lost every overlay.
    mutating func displayChanged() {
        // The output blends the overlay given last into its next pictures, or puts it on planes again.
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

    /// The mark for a scene that is prepared now.
    var mark: OverlayMark { OverlayMark(number: given, content: content, region: givenRegion, fit: fit) }

    /// Returns whether a scene shows anything but the present overlay, region and gravity.
    func isStale(_ mark: OverlayMark) -> Bool {
        mark.content != content || mark.region != givenRegion || mark.fit != fit
    }

    /// Returns whether only a commit is missing, of the planes alone, over the scene on the screen, which has this mark.
    func awaitsCommit(over scene: OverlayMark) -> Bool {
        placement != .blended && scene.content == content && committed != given && (given < drawn || committed < drawn)
    }

    /// Whether a plane still shows an overlay that has to go with the next scene.
    var hasToLeavePlane: Bool { placement == .blended && liesOnPlane }

    /// Records a commit on its way to the screen, of a scene with this mark or of the overlay alone (nil). Returns the number of the
    /// overlay that is visible with it.
    mutating func commit(_ mark: OverlayMark?) -> UInt64 {
        if unsettled > 0, mark?.region == givenRegion, mark?.fit == fit { unsettled -= 1 }
        // The planes stay unchanged until the scene that belongs beneath them comes.
        if case .both = placement, let mark, mark.content != content { return mark.number }
        committed = given
        liesOnPlane = placement != .blended && !givenIsEmpty
        return placement != .blended ? given : mark?.number ?? 0
    }

    /// Records that the output was too busy for the overlay alone.
    mutating func wasBusy() { committed = 0 }
}

/// The overlay state that a scene was prepared with.
struct OverlayMark: Hashable, Sendable {
    /// The number of the overlay that the output had.
    var number: UInt64 = 0
    /// The number at which the scene's own overlay content last changed; 0 without any.
    var content: UInt64 = 0
    var region = Region.full
    /// The value of the gravity counter.
    var fit: UInt64 = 0
}
