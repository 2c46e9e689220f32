import CKioskDRM
import KioskPlayback

/// The card's side of overlay planes: ``KMSPlanes``. Compositor thread, unless stated otherwise.
protocol OverlayHardware: AnyObject, Sendable {
    /// The picture under the planes.
    var picture: PlanePlanner.Layer { get }
    /// Returns the currently available planes: that of the picture, and those that no other output has.
    func planner() -> PlanePlanner
    /// Changes whenever the picture below is shown in another way, and so the available planes may change.
    var serial: UInt64 { get }
    /// The properties of a plane.
    func properties(of plane: PlaneID) -> PlaneProperties
    /// Allocates memory for drawn pictures up to this size; for a cursor, exactly the cursor size.
    func makeBuffer(width: Int, height: Int) throws(DeviceError) -> OverlayBuffer
    /// Asks the driver whether it would show a frame without a modeset.
    func test(_ frame: OverlayFrame) throws(DeviceError)
    /// Records the planes in use by this output; it uses no others of this card. Any thread.
    func hold(_ planes: [PlaneID])
}

/// Puts an overlay onto planes of its own: chooses the planes and a rectangle of the screen for each, and draws into buffers.
///
/// ``memoryLimit(width:height:)`` limits the total memory. Each plane has two buffers, so that none is drawn into during scan-out. If there
/// is room, it has a third, which shows an overlay that changes at every vblank a vblank sooner. An overlay that needs more memory is
/// blended. One that fills the screen (``Overlay/fillsScreen``) may have three buffers of its size. Other players' pictures
/// (``Overlay/isOfPlayers``) do not count.
///
/// Not thread-safe; belongs to the compositor thread.
final class OverlayPlanes: @unchecked Sendable {
    // Sendable: only the compositor thread calls it; the presenter drops it with its screen.

    enum Outcome {
        case frame(OverlayFrame)
        /// All buffers are on the screen, or will be. The next flip frees one.
        case noSpareBuffer
        /// No planes can show it, with the reason.
        case refused(String)
    }

    /// More planes are not worth it: controls are at the top, in the middle and at the bottom.
    static let mostPlanes = 3
    /// The number of arrangements refused by the driver before this stops trying.
    static let mostRefusals = 3

    let hardware: any OverlayHardware
    private var arrangements: PlaneArrangements?
    private var refusals = 0
    private var serial: UInt64 = 0
    private var buffers: [OverlayBuffer] = []
    private var boxes: [PixelRectangle] = []
    /// Room for a row of a buffer.
    private let line: UnsafeMutableRawPointer

    init(_ hardware: any OverlayHardware) {
        self.hardware = hardware
        // A cursor may be larger than a small screen.
        line = .allocate(byteCount: max(hardware.picture.destination.width, PlanePlanner.Size.mostCursor) * 4, alignment: 64)
    }

    deinit { line.deallocate() }

    /// Returns the bytes that an overlay and its surfaces may take: 12 MiB up to 1920 x 1080, and on larger screens in proportion to the
    /// pixels.
    static func memoryLimit(width: Int, height: Int) -> Int { max(12 << 20, width * height * (12 << 20) / (1920 * 1080)) }

    /// Draws `overlay` for planes. `shown` is their present and future content, the newest first (``BufferPool/overlays``).
    ///
    /// - Parameter takesCursor: whether it may use the cursor plane.
    func show(_ overlay: PlacedOverlay, over shown: [OverlayFrame], takesCursor: Bool = true) -> Outcome {
        if shown[0].shows.isEmpty || arrangements == nil || serial != hardware.serial { begin() }
        guard var arrangements, refusals < Self.mostRefusals else { return .refused("the driver has refused planes before") }
        defer { self.arrangements = arrangements }
        let planner = arrangements.planner
        let free =
            overlay.fillsScreen
            ? 3 * overlay.width * overlay.height * 4
            : Self.memoryLimit(width: overlay.width, height: overlay.height) - overlay.byteCount + overlay.playersByteCount
        var reason = "no plane takes drawn pictures"
        for choice in choices(planner, takesCursor: takesCursor) {
            guard let regions = regions(choice, overlay) else {
                reason = "it is larger than a cursor"
                continue
            }
            guard 2 * regions.reduce(0, { $0 + $1.place.area * 4 }) <= free else {
                reason = "planes for it would take too much memory"
                continue
            }
            let layers = [hardware.picture] + regions.map { PlanePlanner.Layer.drawn($0.place) }
            guard (try? planner.assignments(for: layers)) != nil else { continue }
            let chosen: [OverlayBuffer]
            do throws(DeviceError) {
                guard let found = try spare(for: regions, over: shown, free: free) else {
                    return .noSpareBuffer
                }
                chosen = found
            } catch { return .refused("\(error)") }
            func frame(_ assignments: [PlanePlanner.Assignment]) -> OverlayFrame {
                let shows = zip(zip(assignments.dropFirst(), chosen), regions).map { pair, region in
                    OverlayFrame.Show(
                        plane: hardware.properties(of: pair.0.plane), zpos: pair.0.zpos, buffer: pair.1, place: region.place)
                }
                return OverlayFrame(shows: shows, below: assignments[0].zpos, rotation: overlay.rotation, drawn: overlay)
            }
            var wasAsked = false
            let answer = arrangements.answer(for: layers) { assignments throws(DeviceError) in
                wasAsked = true
                try hardware.test(frame(assignments))
            }
            switch answer {
            case .planes(let assignments):
                for (buffer, region) in zip(chosen, regions) where !buffer.shows(region.part, in: region.place) {
                    buffer.draw(region.part, in: region.place, line: line)
                }
                boxes = regions.map(\.box)
                hardware.hold(assignments.dropFirst().map(\.plane) + shown.flatMap { $0.shows.map(\.plane.id) })
                return .frame(frame(assignments))
            case .converted(let why):
                reason = why
                if wasAsked { refusals += 1 }
            }
        }
        return .refused(reason)
    }

    /// Begins a new overlay: the available planes may have changed.
    private func begin() {
        boxes = []
        let planner = hardware.planner()
        if arrangements?.planner.planes != planner.planes || serial != hardware.serial { arrangements = PlaneArrangements(planner) }
        serial = hardware.serial
    }

    /// A combination of planes to try.
    private struct Choice {
        var count: Int
        /// The rectangles to keep.
        var former: [PixelRectangle]
        /// The cursor size, if one of the planes is a cursor.
        var cursor: PlanePlanner.Size?
    }

    /// Returns the combinations to try. Most planes come first, as they take the least memory; a cursor beside others comes last.
    private func choices(_ planner: PlanePlanner, takesCursor: Bool) -> [Choice] {
        let usable = planner.planes.filter { $0.formats.contains(kDRM_FORMAT_ARGB8888) }
        let count = min(usable.count { $0.type == .overlay }, Self.mostPlanes)
        var choices = (0..<count).reversed().map { Choice(count: $0 + 1, former: []) }
        if takesCursor, let cursor = planner.cursor, usable.contains(where: { $0.type == .cursor }) {
            choices.append(Choice(count: count + 1, former: [], cursor: cursor))
        }
        return choices.flatMap { choice in
            if boxes.isEmpty { return [choice] }
            return [Choice(count: choice.count, former: boxes, cursor: choice.cursor), choice]
        }
    }

    /// The content of one plane.
    private struct Region {
        /// The visible part, and its rectangle.
        var part: PlacedOverlay
        var box: PixelRectangle
        /// The plane's rectangle. A cursor's is larger than `box`, and may reach beneath others.
        var place: PixelRectangle
        var isCursor = false
    }

    /// Returns the rectangles as planes can have them. They consist of whole pairs of pixels, as some hardware fetches two at a time. For a
    /// cursor, the last one has the cursor's size; nil if no rectangle is small enough for that.
    private func regions(_ choice: Choice, _ overlay: PlacedOverlay) -> [Region]? {
        var boxes = OverlayBoxes.around(overlay.pictures.map(\.place), count: choice.count, keeping: choice.former)
        var last: Region?
        if let cursor = choice.cursor {
            let fitting = boxes.indices.filter { boxes[$0].width <= cursor.width && boxes[$0].height <= cursor.height }
            guard let index = fitting.min(by: { boxes[$0].area < boxes[$1].area }) else { return nil }
            let box = boxes.remove(at: index)
            let (x, y) = (min(box.x, max(overlay.width - cursor.width, 0)), min(box.y, max(overlay.height - cursor.height, 0)))
            let place = PixelRectangle(x: x, y: y, width: cursor.width, height: cursor.height)
            last = Region(part: overlay.part(in: box), box: box, place: place, isCursor: true)
        }
        let even = OverlayBoxes.merged(
            boxes.map { box in
                let (left, top) = (box.x & ~1, box.y & ~1)
                let (right, bottom) = (min((box.x + box.width + 1) & ~1, overlay.width), min((box.y + box.height + 1) & ~1, overlay.height))
                return PixelRectangle(x: left, y: top, width: right - left, height: bottom - top)
            })
        return even.map { Region(part: overlay.part(in: $0), box: $0, place: $0) } + (last.map { [$0] } ?? [])
    }

    /// Returns a buffer for each rectangle: the one that shows it already, else an unused one. nil if there is none.
    private func spare(
        for regions: [Region], over frames: [OverlayFrame], free limit: Int
    ) throws(DeviceError) -> [OverlayBuffer]? {
        // Take the unchanged ones first, so that the others cannot get them.
        var chosen = regions.map { region in
            frames[0].shows.first { $0.place == region.place && $0.buffer.shows(region.part, in: region.place) }?.buffer
        }
        func isFree(_ buffer: OverlayBuffer) -> Bool {
            !chosen.contains { $0 === buffer } && !frames.contains { $0.shows.contains { $0.buffer === buffer } }
        }
        for (place, region) in regions.enumerated() where chosen[place] == nil {
            let box = region.place
            let fitting = buffers.filter { buffer in
                let (width, height) = (buffer.pixels.width, buffer.pixels.height)
                let fits = region.isCursor ? (width, height) == (box.width, box.height) : width >= box.width && height >= box.height
                return fits && isFree(buffer)
            }
            chosen[place] = fitting.first { $0.box == box } ?? fitting.min { $0.byteCount < $1.byteCount }
            if chosen[place] != nil { continue }
            let bytes = box.area * 4
            // Free the buffers of other rectangles.
            for (index, buffer) in buffers.enumerated().reversed()
            where buffers.reduce(bytes, { $0 + $1.byteCount }) > limit && isFree(buffer) {
                buffers.remove(at: index)
            }
            guard buffers.reduce(bytes, { $0 + $1.byteCount }) <= max(limit, bytes) else { return nil }
            let fresh = try hardware.makeBuffer(width: box.width, height: box.height)
            buffers.append(fresh)
            chosen[place] = fresh
        }
        return chosen.compactMap { $0 }
    }
}

extension PlanePlanner.Layer {
    /// Returns the layer of drawn pictures, unscaled.
    static func drawn(_ box: PixelRectangle) -> PlanePlanner.Layer {
        PlanePlanner.Layer(
            format: kDRM_FORMAT_ARGB8888, modifier: nil, sourceWidth: box.width, sourceHeight: box.height, destination: box)
    }
}
