import KioskPlayback

/// How the outputs of one card share the planes that more than one of them could have. A pure value, kept by the card.
///
/// Planes are dealt out: each goes to the output that has the fewest so far among those it can serve, those with the least choice first.
/// Every output reckons with the same deal, so no two take the same plane. What one holds while it shows something it keeps, though the deal
/// may change with outputs that come and go.
struct PlaneShares {
    /// A picture on planes as it was decoded.
    struct Video: Equatable {
        /// The overlay planes that it has, and the picture before it has still; none where that is the primary one.
        var planes: [PlaneID]
        /// Where they are among the planes, if they were put there.
        var zpos: UInt64?
        /// Grows with every change.
        var serial: UInt64
    }

    /// The outputs' CRTCs, each with its bit in `possible_crtcs` masks.
    private var outputs: [CRTCID: (bit: UInt32, number: UInt64)] = [:]
    private var held: [PlaneID: CRTCID] = [:]
    /// How pictures that are not converted are shown.
    private var video: [CRTCID: Video] = [:]
    private var lastNumber: UInt64 = 0

    /// A CRTC is driven now, in place of whoever drove it before. Returns what ends it again.
    mutating func join(_ crtc: CRTCID, bit: UInt32) -> UInt64 {
        lastNumber += 1
        outputs[crtc] = (bit, lastNumber)
        video[crtc] = nil
        hold([], for: crtc)
        return lastNumber
    }

    /// Ends what ``join(_:bit:)`` began, unless another one has taken the CRTC over.
    mutating func leave(_ crtc: CRTCID, _ number: UInt64) {
        guard outputs[crtc]?.number == number else { return }
        outputs[crtc] = nil
        video[crtc] = nil
        hold([], for: crtc)
    }

    /// Pictures are shown so from now on: on an overlay plane, which is then no other's, or on the primary one; nil: converted.
    /// Returns what ends it again.
    mutating func showVideo(_ video: (planes: [PlaneID], zpos: UInt64?)?, on crtc: CRTCID) -> UInt64 {
        lastNumber += 1
        self.video[crtc] = video.map { Video(planes: $0.planes, zpos: $0.zpos, serial: lastNumber) }
        return lastNumber
    }

    /// Ends what ``showVideo(_:on:)`` began, unless something else is shown.
    mutating func endVideo(on crtc: CRTCID, _ serial: UInt64) { if video[crtc]?.serial == serial { video[crtc] = nil } }

    /// How pictures are shown; nil: converted.
    func video(on crtc: CRTCID) -> Video? { video[crtc] }

    /// An output shows something on these planes, and on no others.
    mutating func hold(_ planes: [PlaneID], for crtc: CRTCID) {
        held = held.filter { $0.value != crtc }
        for plane in planes { held[plane] = crtc }
    }

    /// Those of `planes` that an output may use now, in their order.
    func share(of crtc: CRTCID, of planes: [PlaneRecord]) -> [PlaneRecord] {
        let sharers = outputs.sorted { $0.key.rawValue < $1.key.rawValue }
        func candidates(_ plane: PlaneRecord) -> [CRTCID] { sharers.filter { plane.possibleCRTCs & $0.value.bit != 0 }.map(\.key) }
        var owners: [PlaneID: CRTCID] = [:]
        for type in [PlaneRecord.Kind.overlay, .cursor] {
            var counts: [CRTCID: Int] = [:]
            let choices = planes.filter { $0.type == type }.map { (plane: $0, candidates: candidates($0)) }
                .sorted { ($0.candidates.count, $0.plane.id.rawValue) < ($1.candidates.count, $1.plane.id.rawValue) }
            for (plane, candidates) in choices {
                guard let poorest = candidates.min(by: { counts[$0, default: 0] < counts[$1, default: 0] }) else { continue }
                owners[plane.id] = poorest
                counts[poorest, default: 0] += 1
            }
        }
        var shown: [PlaneID: CRTCID] = [:]
        for (crtc, video) in video { for plane in video.planes { shown[plane] = crtc } }
        return planes.filter { (shown[$0.id] ?? held[$0.id] ?? owners[$0.id]) == crtc }
    }
}
