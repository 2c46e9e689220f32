import CKioskDRM
import KioskMedia
import KioskPlayback
import KioskVocabulary

// kiosk does not use libliftoff. Its search over planes and its test commits are one function, so a table of cases cannot test it without a
// device. It also works on layers that already have framebuffers. kiosk must choose earlier, because the choice decides whether it imports,
// uploads or converts a picture. With at most four layers the search is short.

/// Assigns planes to layers. A pure value: planes and layers in; the possible assignments out, the best first, or the reason for none.
///
/// The rearmost layer takes the primary plane and must cover the screen, as many drivers show nothing without that. The layers in front
/// take overlay planes in their order, or cursor planes, which only show pictures of one size, unscaled.
///
/// Only the driver knows its further limits (scaling, bandwidth, planes that exclude each other). ``PlaneArrangements`` asks it.
struct PlanePlanner {
    /// A layer as a plane would show it.
    struct Layer: Hashable {
        /// Fourcc code of its picture.
        var format: UInt32
        /// The format modifier; nil for the driver's own memory, without a modifier.
        var modifier: UInt64?
        /// The size of the visible part, in the picture's own pixels.
        var sourceWidth: Int, sourceHeight: Int
        /// The place in scan-out pixels.
        var destination: PixelRectangle
        var orientation = Orientation.up
        /// Whether the layer as a whole is translucent.
        var isFaded = false
        /// The colour description of a YUV format.
        var colour: ColourDescription?

        /// Whether the plane has to scale.
        var isScaled: Bool {
            let (width, height) = orientation.rotation.swapsAxes ? (sourceHeight, sourceWidth) : (sourceWidth, sourceHeight)
            return (width, height) != (destination.width, destination.height)
        }

        /// Returns the layer of a picture converted for the whole screen.
        static func converted(width: Int, height: Int) -> Layer {
            Layer(
                format: kDRM_FORMAT_XRGB8888, modifier: nil, sourceWidth: width, sourceHeight: height,
                destination: PixelRectangle(x: 0, y: 0, width: width, height: height))
        }
    }

    /// Pixels across and down.
    struct Size: Hashable {
        var width: Int, height: Int

        /// The maximum of a cursor's width and height.
        static let mostCursor = 4096
    }

    /// The plane of a layer.
    struct Assignment: Hashable {
        var plane: PlaneID
        /// The position among the planes; nil if the plane's position is not settable.
        var zpos: UInt64?
    }

    /// A property that a plane lacks for a layer.
    enum Misfit: String {
        case format, modifier, rotation, scaling, alpha, colours, size
    }

    /// The reason for no assignment.
    enum Refusal: Error, Hashable, CustomStringConvertible {
        case noLayers
        /// The rearmost layer does not cover the screen, or is translucent.
        case uncovered
        /// No plane of the right kind is free and can show the layer. `layer` counts from the back; `lacks` has each plane's misfit.
        case noPlane(layer: Int, lacks: [PlaneID: Misfit])
        /// Every layer has a plane, but these planes do not stack in that order.
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

    /// The planes that can be on the CRTC and are on no other, in the order of trial.
    let planes: [PlaneRecord]
    let width: Int, height: Int
    /// The picture size of cursor planes; nil to leave these planes alone.
    let cursor: Size?

    /// The maximum number of assignments to try.
    static let maximumTries = 8

    /// Creates a planner for a screen of `width` x `height` pixels on `crtc`, whose bit in `possible_crtcs` masks is `bit`. Planes that are
    /// on the CRTC already come first.
    init(_ planes: [PlaneRecord], crtc: CRTCID, bit: UInt32, width: Int, height: Int, cursor: Size? = nil) {
        let free = planes.filter { $0.isFree(for: crtc, bit: bit) && ($0.type != .cursor || cursor != nil) }
        self.planes = free.filter { $0.crtc == crtc } + free.filter { $0.crtc != crtc }
        self.width = width
        self.height = height
        self.cursor = cursor
    }

    /// Returns the same planner, limited to positions below those of `others`, at any zpos of these.
    func beneath(_ others: [PlaneRecord]) -> PlanePlanner {
        within(nil, others.compactMap { Self.position(of: $0, above: nil) }.min() ?? 0)
    }

    /// Returns the same planner, limited to positions above `position`.
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

    /// Returns the assignments for `layers`, the rearmost first: one plane for each layer.
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

    /// Returns the planes that the `index`-th layer from the back may have.
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

    /// Returns the lowest position of a plane above `below`; nil if it has none.
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

/// The driver's answers. kiosk tests an arrangement of layers once and remembers the answer; it never asks for every frame.
struct PlaneArrangements {
    /// The way to show an arrangement.
    enum Answer: Equatable {
        /// Each layer on its plane.
        case planes([PlanePlanner.Assignment])
        /// Converted into one picture for the primary plane, with the reason.
        case converted(String)
    }

    let planner: PlanePlanner
    private var answers: [[PlanePlanner.Layer]: Answer] = [:]
    /// A moving layer makes a new arrangement with every step.
    private static let mostAnswers = 64

    init(_ planner: PlanePlanner) { self.planner = planner }

    /// Returns how to show `layers`, the rearmost first. For an untested arrangement it calls `test`, which asks the driver
    /// (``AtomicRequest/test(_:_:)``), with one assignment after another until it does not throw.
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
