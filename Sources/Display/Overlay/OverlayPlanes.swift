import CKioskDRM
import KioskPlayback

/// What overlay planes need of a card: ``KMSPlanes``. Compositor thread, but where it says otherwise.
protocol OverlayHardware: AnyObject, Sendable {
    /// The picture that the planes lie over.
    var picture: PlanePlanner.Layer { get }
    /// Which planes there are now: that of the picture, and those that are not another output's.
    func planner() -> PlanePlanner
    /// Another one whenever what the planes lie over is shown otherwise, and those that there are may be others.
    var serial: UInt64 { get }
    /// The properties of a plane.
    func properties(of plane: PlaneID) -> PlaneProperties
    /// Memory for drawn pictures of at most this size; a cursor's has just that of cursors.
    func makeBuffer(width: Int, height: Int) throws(DeviceError) -> OverlayBuffer
    /// Asks the driver whether it would show a frame without a modeset.
    func test(_ frame: OverlayFrame) throws(DeviceError)
    /// These planes are in use, and no others of this card by this output. Any thread.
    func hold(_ planes: [PlaneID])
}

/// Puts an overlay onto planes of its own: which planes, which rectangles of the screen each takes, what is drawn into which buffer.
///
/// The memory of it all has a limit, ``memoryLimit(width:height:)``: two buffers for each plane, so that none is drawn into while it is
/// scanned out, and a third where there is room, with which an overlay that changes at every vblank is shown a vblank sooner. An overlay
/// that would need more is blended. One that fills the screen (``Overlay/fillsScreen``) may have three buffers of its size. Other
/// players' pictures (``Overlay/isOfPlayers``) do not count.
///
/// Not thread-safe; belongs to the compositor thread.
final class OverlayPlanes: @unchecked Sendable {
    // Sendable because the compositor thread alone calls it; the presenter's drops it with its screen.

    enum Outcome {
        case frame(OverlayFrame)
        /// All buffers are on the screen, or will be: after the next flip one is not.
        case noSpareBuffer
        /// No planes can show it; why.
        case refused(String)
    }

    /// More planes are not worth it: controls lie at the top, in the middle and at the bottom.
    static let mostPlanes = 3
    /// After so many arrangements that the driver refused no other is tried.
    static let mostRefusals = 3

    let hardware: any OverlayHardware
    private var arrangements: PlaneArrangements?
    private var refusals = 0
    private var serial: UInt64 = 0
    private var buffers: [OverlayBuffer] = []
    private var boxes: [PixelRectangle] = []
    /// A row of a buffer.
    private let line: UnsafeMutableRawPointer

    init(_ hardware: any OverlayHardware) {
        self.hardware = hardware
        // A cursor may be larger than a small screen.
        line = .allocate(byteCount: max(hardware.picture.destination.width, PlanePlanner.Size.mostCursor) * 4, alignment: 64)
    }

    deinit { line.deallocate() }

    /// Bytes that an overlay may take on a screen, its surfaces among them: 12 MiB at 1920 x 1080 and below, and on larger ones as much for
    /// each pixel.
    static func memoryLimit(width: Int, height: Int) -> Int { max(12 << 20, width * height * (12 << 20) / (1920 * 1080)) }

    /// Draws `overlay` for planes. `shown` is what they show and will show, the newest first (``BufferPool/overlays``).
    ///
    /// - Parameter takesCursor: whether the cursor's plane may be one of them.
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

    /// What is shown has ended, or not begun: the planes that there are may be others than before.
    private func begin() {
        boxes = []
        let planner = hardware.planner()
        if arrangements?.planner.planes != planner.planes || serial != hardware.serial { arrangements = PlaneArrangements(planner) }
        serial = hardware.serial
    }

    /// A way to show something.
    private struct Choice {
        var count: Int
        /// The rectangles to keep.
        var former: [PixelRectangle]
        /// One of the planes is a cursor, of this size.
        var cursor: PlanePlanner.Size?
    }

    /// What to try: the most planes first, as they take the least memory; a cursor beside others only where those are not enough.
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

    /// What one plane is to show.
    private struct Region {
        /// What there is to be seen, and the rectangle that it is in.
        var part: PlacedOverlay
        var box: PixelRectangle
        /// The plane's: larger than that where it is a cursor's, and may then reach beneath others.
        var place: PixelRectangle
        var isCursor = false
    }

    /// The rectangles as planes can have them: of whole pairs of pixels, as some hardware fetches two at a time; the last one, where that is
    /// to be a cursor's, as large as a cursor. nil where none is small enough for that.
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

    /// A buffer for each rectangle: the one that shows it already, else one that nothing shows. nil where there is none.
    private func spare(
        for regions: [Region], over frames: [OverlayFrame], free limit: Int
    ) throws(DeviceError) -> [OverlayBuffer]? {
        // Those that stay, first: they are not to be had for the others.
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
            // What was made for other rectangles.
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
    /// Drawn pictures at their own size.
    static func drawn(_ box: PixelRectangle) -> PlanePlanner.Layer {
        PlanePlanner.Layer(
            format: kDRM_FORMAT_ARGB8888, modifier: nil, sourceWidth: box.width, sourceHeight: box.height, destination: box)
    }
}
