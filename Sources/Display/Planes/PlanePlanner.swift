import CKioskDRM
import KioskMedia
import KioskPlayback
import KioskVocabulary

// libliftoff is not used: its search over planes and its test commits are one function, so it can be tried on a device only and not by a
// table of cases, and it works on layers that all have framebuffers already. Here the choice must come first, as it decides whether a
// picture is imported, uploaded or converted; and with at most four layers the search is short.

/// Which plane shows which layer. A pure value: planes and layers in; the assignments that can be tried, the best first, or why there is
/// none.
///
/// The rearmost layer takes the primary plane and must cover the screen, as many drivers show nothing without that. The layers in front of
/// it take overlays in their order, or cursor planes, which show pictures of one size only, at that size.
///
/// What a driver can do beyond that (scaling, bandwidth, which planes go together) nobody but the driver knows: ``PlaneArrangements`` asks
/// it.
struct PlanePlanner {
    /// A layer as a plane would show it.
    struct Layer: Hashable {
        /// Fourcc code of its picture.
        var format: UInt32
        /// How that lies in memory; nil where it is the driver's own memory, of which nothing is told.
        var modifier: UInt64?
        /// What is seen of the picture, in its own pixels.
        var sourceWidth: Int, sourceHeight: Int
        /// Where, in scan-out pixels.
        var destination: PixelRectangle
        var orientation = Orientation.up
        /// Whether it is to be translucent as a whole.
        var isFaded = false
        /// What its colours are, of a YUV format.
        var colour: ColourDescription?

        /// Whether the plane has to scale.
        var isScaled: Bool {
            let (width, height) = orientation.rotation.swapsAxes ? (sourceHeight, sourceWidth) : (sourceWidth, sourceHeight)
            return (width, height) != (destination.width, destination.height)
        }

        /// A picture that has been converted for the whole screen.
        static func converted(width: Int, height: Int) -> Layer {
            Layer(
                format: kDRM_FORMAT_XRGB8888, modifier: nil, sourceWidth: width, sourceHeight: height,
                destination: PixelRectangle(x: 0, y: 0, width: width, height: height))
        }
    }

    /// Pixels across and down.
    struct Size: Hashable {
        var width: Int, height: Int

        /// No cursor is larger, in either direction.
        static let mostCursor = 4096
    }

    /// The plane of a layer.
    struct Assignment: Hashable {
        var plane: PlaneID
        /// Where to put it among the planes; nil where it cannot be put.
        var zpos: UInt64?
    }

    /// What a plane lacks for a layer.
    enum Misfit: String {
        case format, modifier, rotation, scaling, alpha, colours, size
    }

    /// Why there is no assignment.
    enum Refusal: Error, Hashable, CustomStringConvertible {
        case noLayers
        /// The rearmost layer does not cover the screen, or something behind it would be seen.
        case uncovered
        /// No plane of the kind that is needed is free, or can show a layer; the layer's number from the back, and what each plane lacks.
        case noPlane(layer: Int, lacks: [PlaneID: Misfit])
        /// There is a plane for every layer, but they do not lie over each other in that order.
        case order

        var description: String {
            switch self {
            case .noLayers: "there is nothing to show"
            case .uncovered: "the rearmost layer does not cover the screen"
            case .noPlane(let layer, let lacks):
                "no plane for layer \(layer)"
                    + (lacks.isEmpty ? "" : ": ")
                    + lacks.sorted { $0.key.rawValue < $1.key.rawValue }.map { "plane \($0.key.rawValue) lacks its \($0.value.rawValue)" }
                    .joined(separator: ", ")
            case .order: "no free planes lie over each other in the order of the layers"
            }
        }
    }

    /// Those that can be on the CRTC and are on no other, in the order in which they are tried.
    let planes: [PlaneRecord]
    let width: Int, height: Int
    /// What cursor planes show; nil where they are left alone.
    let cursor: Size?

    /// The most assignments that are worth a try.
    static let maximumTries = 8

    /// For a screen of `width` x `height` pixels on `crtc`, whose bit in `possible_crtcs` masks is `bit`. What is on the CRTC already is
    /// tried first.
    init(_ planes: [PlaneRecord], crtc: CRTCID, bit: UInt32, width: Int, height: Int, cursor: Size? = nil) {
        let free = planes.filter { $0.isFree(for: crtc, bit: bit) && ($0.type != .cursor || cursor != nil) }
        self.planes = free.filter { $0.crtc == crtc } + free.filter { $0.crtc != crtc }
        self.width = width
        self.height = height
        self.cursor = cursor
    }

    /// The same, with only places among the planes that are beneath those of `others`, wherever these are put.
    func beneath(_ others: [PlaneRecord]) -> PlanePlanner {
        within(nil, others.compactMap { Self.position(of: $0, above: nil) }.min() ?? 0)
    }

    /// The same, with only places among the planes that are above `position`.
    func above(_ position: UInt64) -> PlanePlanner { within(position, .max) }

    private func within(_ below: UInt64?, _ limit: UInt64) -> PlanePlanner {
        PlanePlanner(
            planes.compactMap { plane in
                guard plane.type != .primary else { return plane }
                guard let least = Self.position(of: plane, above: below), least < limit else { return nil }
                guard case .range(let range) = plane.stacking else { return plane }
                var plane = plane
                plane.stacking = .range(least...min(range.upperBound, limit - 1))
                return plane
            }, self)
    }

    private init(_ planes: [PlaneRecord], _ other: PlanePlanner) {
        (self.planes, width, height, cursor) = (planes, other.width, other.height, other.cursor)
    }

    /// The assignments for `layers`, the rearmost first: one plane for each layer.
    func assignments(for layers: [Layer]) throws(Refusal) -> [[Assignment]] {
        guard let rearmost = layers.first else { throw .noLayers }
        guard rearmost.destination == PixelRectangle(x: 0, y: 0, width: width, height: height), !rearmost.isFaded else { throw .uncovered }
        for (index, layer) in layers.enumerated() {
            let candidates = planes(at: index)
            let lacks = candidates.map { ($0.id, misfit(of: layer, on: $0)) }
            if lacks.allSatisfy({ $0.1 != nil }) {
                throw .noPlane(layer: index, lacks: Dictionary(uniqueKeysWithValues: lacks.map { ($0, $1!) }))
            }
        }
        var found: [[Assignment]] = []
        search(layers, [], below: nil, &found)
        if found.isEmpty { throw .order }
        return found
    }

    /// The planes that the `index`-th layer from the back may have.
    private func planes(at index: Int) -> [PlaneRecord] { planes.filter { ($0.type == .primary) == (index == 0) } }

    private func search(_ layers: [Layer], _ chosen: [Assignment], below: UInt64?, _ found: inout [[Assignment]]) {
        guard chosen.count < layers.count else {
            found.append(chosen)
            return
        }
        for plane in planes(at: chosen.count) where found.count < Self.maximumTries {
            guard !chosen.contains(where: { $0.plane == plane.id }), misfit(of: layers[chosen.count], on: plane) == nil,
                let position = Self.position(of: plane, above: below)
            else { continue }
            var zpos: UInt64?
            if case .range = plane.stacking { zpos = position }
            search(layers, chosen + [Assignment(plane: plane.id, zpos: zpos)], below: position, &found)
        }
    }

    /// The lowest place that a plane can have in front of another; nil for none.
    static func position(of plane: PlaneRecord, above below: UInt64?) -> UInt64? {
        let least = below.map { $0 + 1 } ?? 0
        switch plane.stacking {
        case .fixed(let position): return position >= least ? position : nil
        case .range(let range): return max(range.lowerBound, least) <= range.upperBound ? max(range.lowerBound, least) : nil
        case .unknown:
            let position = plane.type == .primary ? 0 : UInt64(plane.id.rawValue)
            return position >= least ? position : nil
        }
    }

    private func misfit(of layer: Layer, on plane: PlaneRecord) -> Misfit? {
        if !plane.formats.contains(layer.format) { return .format }
        if !plane.takes(layer.format, layer.modifier) { return .modifier }
        if !plane.orientations.contains(layer.orientation) { return .rotation }
        if layer.isScaled, !plane.canScale { return .scaling }
        if layer.isFaded, !plane.hasAlpha { return .alpha }
        if let colour = layer.colour, !plane.colours.contains(colour) { return .colours }
        if plane.type == .cursor, cursor != Size(width: layer.sourceWidth, height: layer.sourceHeight) { return .size }
        return nil
    }
}

/// What a driver has answered: an arrangement of layers is tested once, and the answer remembered. Never is a driver asked for every frame.
struct PlaneArrangements {
    /// How an arrangement is shown.
    enum Answer: Equatable {
        /// Each layer on its plane.
        case planes([PlanePlanner.Assignment])
        /// Put together by conversion, for the primary plane; and why.
        case converted(String)
    }

    let planner: PlanePlanner
    private var answers: [[PlanePlanner.Layer]: Answer] = [:]
    /// A layer that moves is a new arrangement for every step.
    private static let mostAnswers = 64

    init(_ planner: PlanePlanner) { self.planner = planner }

    /// How `layers`, the rearmost first, are shown. `test` asks the driver (``AtomicRequest/test(_:_:)``); it is called for an arrangement
    /// that has not been tested, with one assignment after the other until it does not throw.
    mutating func answer(
        for layers: [PlanePlanner.Layer], test: ([PlanePlanner.Assignment]) throws(DeviceError) -> Void
    ) -> Answer {
        if let answer = answers[layers] { return answer }
        if answers.count >= Self.mostAnswers { answers.removeAll(keepingCapacity: true) }
        let answer = tested(layers, test)
        answers[layers] = answer
        return answer
    }

    private func tested(
        _ layers: [PlanePlanner.Layer], _ test: ([PlanePlanner.Assignment]) throws(DeviceError) -> Void
    ) -> Answer {
        let assignments: [[PlanePlanner.Assignment]]
        do throws(PlanePlanner.Refusal) {
            assignments = try planner.assignments(for: layers)
        } catch {
            return .converted("\(error)")
        }
        var reason = ""
        for assignment in assignments {
            do throws(DeviceError) {
                try test(assignment)
                return .planes(assignment)
            } catch {
                if reason.isEmpty { reason = "\(error)" }
            }
        }
        return .converted(reason)
    }
}
