import KioskPlayback

/// How the outputs of one card share the planes that more than one of them could have. A pure value, kept by the card.
///
/// Planes are dealt out: each goes to the output that has the fewest so far among those it can serve, those with the least choice first.
/// Every output reckons with the same deal, so no two take the same plane. What one holds while it shows something it keeps, though the deal
/// may change with outputs that come and go.
struct PlaneShares {
    private struct Holder: Hashable {
        var crtc: CRTCID
        /// Of pictures as they were decoded; else of what is drawn.
        var isOfPictures: Bool
    }

    /// The outputs' CRTCs, each with its bit in `possible_crtcs` masks.
    private var outputs: [CRTCID: (bit: UInt32, number: UInt64)] = [:]
    private var held: [Holder: [PlaneID]] = [:]
    private var lastNumber: UInt64 = 0

    /// A CRTC is driven now, in place of whoever drove it before. Returns what ends it again.
    mutating func join(_ crtc: CRTCID, bit: UInt32) -> UInt64 {
        lastNumber += 1
        outputs[crtc] = (bit, lastNumber)
        held = held.filter { $0.key.crtc != crtc }
        return lastNumber
    }

    /// Ends what ``join(_:bit:)`` began, unless another one has taken the CRTC over.
    mutating func leave(_ crtc: CRTCID, _ number: UInt64) {
        guard outputs[crtc]?.number == number else { return }
        outputs[crtc] = nil
        held = held.filter { $0.key.crtc != crtc }
    }

    /// An output shows pictures as they were decoded, or else what is drawn, on these planes, and on no others.
    mutating func hold(_ planes: [PlaneID], for crtc: CRTCID, asPictures isOfPictures: Bool = false) {
        held[Holder(crtc: crtc, isOfPictures: isOfPictures)] = planes
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
        for (holder, planes) in held { for plane in planes { owners[plane] = holder.crtc } }
        return planes.filter { owners[$0.id] == crtc }
    }
}
