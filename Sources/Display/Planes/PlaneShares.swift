import KioskPlayback

/// Shares a card's planes among its outputs. A pure value, kept by the card.
///
/// It deals the planes that several outputs could use, those with the fewest candidates first. Each plane goes to the candidate that has
/// the fewest so far. All outputs compute the same deal, so no two take the same plane. An output keeps a plane that shows something, even
/// if the deal changes with outputs that come and go.
struct PlaneShares {
    private struct Holder: Hashable {
        var crtc: CRTCID
        /// Whether the planes show decoded pictures; else they show drawn ones.
        var isOfPictures: Bool
    }

    /// The outputs' CRTCs, each with its bit in `possible_crtcs` masks.
    private var outputs: [CRTCID: (bit: UInt32, number: UInt64)] = [:]
    private var held: [Holder: [PlaneID]] = [:]
    private var lastNumber: UInt64 = 0

    /// Adds a CRTC, and replaces its former owner. Returns the number for ``leave(_:_:)``.
    mutating func join(_ crtc: CRTCID, bit: UInt32) -> UInt64 {
        lastNumber += 1
        outputs[crtc] = (bit, lastNumber)
        held = held.filter { $0.key.crtc != crtc }
        return lastNumber
    }

    /// Ends the membership that ``join(_:bit:)`` began, unless another one has replaced it.
    mutating func leave(_ crtc: CRTCID, _ number: UInt64) {
        guard outputs[crtc]?.number == number else { return }
        outputs[crtc] = nil
        held = held.filter { $0.key.crtc != crtc }
    }

    /// Records the planes on which an output now shows decoded pictures, or drawn ones.
    mutating func hold(_ planes: [PlaneID], for crtc: CRTCID, asPictures isOfPictures: Bool = false) {
        held[Holder(crtc: crtc, isOfPictures: isOfPictures)] = planes
    }

    /// Returns those of `planes` that an output may use now, in their order.
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
