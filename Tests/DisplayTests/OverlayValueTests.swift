import CKioskDRM
import KioskMedia
import KioskPlatform
import KioskPlayback
import KioskVocabulary
import Testing

@testable import KioskDisplayCore

/// The values that determine the planes, place and time of an overlay.
@Suite struct OverlayValueTests {
    private static func place(_ x: Int, _ y: Int, _ width: Int, _ height: Int) -> PixelRectangle {
        PixelRectangle(x: x, y: y, width: width, height: height)
    }

    static let (top, bottom) = (place(0, 0, 1920, 94), place(0, 929, 1920, 151))
    static let discs = [place(650, 510, 60, 60), place(915, 495, 90, 90), place(1210, 510, 60, 60)]

    @Test(
        arguments: [
            ("one plane takes all", 1, [], [top, bottom], [place(0, 0, 1920, 1080)]),
            ("each has its own", 3, [], [bottom, top], [top, bottom]),
            ("what grows least is put together", 3, [], [top] + discs + [bottom], [top, place(650, 495, 620, 90), bottom]),
            ("no two planes overlap", 3, [], [top, place(800, 60, 200, 100)], [place(0, 0, 1920, 160)]),
            (
                "rectangles that were there stay", 3, [place(0, 700, 1920, 380)], [bottom, place(300, 750, 200, 100)],
                [place(0, 700, 1920, 380)]
            ),
            ("but for those with nothing in them", 3, [top, bottom], [bottom], [bottom]),
            ("what sticks out makes them grow", 3, [bottom], [place(10, 920, 20, 20), bottom], [place(0, 920, 1920, 160)]),
            ("nothing", 3, [top], [], []),
        ] as [(String, Int, [PixelRectangle], [PixelRectangle], [PixelRectangle])])
    func boxes(_ name: String, count: Int, former: [PixelRectangle], places: [PixelRectangle], expected: [PixelRectangle]) {
        #expect(OverlayBoxes.around(places, count: count, keeping: former) == expected, "\(name)")
    }

    // MARK: The queue

    private func frame(_ plane: UInt32, rotation: Rotation = .none) -> OverlayFrame {
        let memory = MemoryBuffer(width: 8, height: 8, format: .xrgb8888)
        let buffer = OverlayBuffer(pixels: memory.pixels, framebuffer: FramebufferID(rawValue: plane), owner: memory)
        let properties = PlaneProperties(PropertyTable([:]), of: PlaneID(rawValue: plane))
        return OverlayFrame(
            shows: [.init(plane: properties, zpos: nil, buffer: buffer, place: Self.place(0, 0, 8, 8))], rotation: rotation)
    }

    /// A queue for a screen with one buffer.
    private var queue: BufferPool {
        var pool = BufferPool()
        pool.renew(count: 1)
        return pool
    }

    @Test func aFrameGoesFromCommitToFlip() {
        var queue = queue
        let (a, b) = (frame(40), frame(41))
        #expect(queue.change() == "nothing")
        queue.refused()
        queue.offer(a)
        #expect(queue.change() == "+40" && queue.next == nil)
        #expect(queue.isBusy(a.shows[0].buffer))
        queue.refused()
        #expect(queue.change() == "+40")
        queue.queued()
        queue.flipped()
        queue.offer(b)
        #expect(queue.change() == "-40 +41")
        queue.queued()
        #expect(queue.isBusy(a.shows[0].buffer) && queue.isBusy(b.shows[0].buffer))
        queue.flipped()
        #expect(!queue.isBusy(a.shows[0].buffer) && queue.isBusy(b.shows[0].buffer))
        queue.offer(.nothing)
        #expect(queue.change(under: .clockwise90) == "-41")
    }

    /// The picture below changes; the overlay stays.
    @Test func aFrameStaysUnderAnotherPicture() {
        var queue = queue
        let a = frame(40)
        queue.offer(a)
        _ = queue.change()
        queue.queued()
        queue.flipped()
        for isAssumed in [false, true, false] {
            #expect(queue.change() == "nothing" && !queue.awaitsOverlay)
            queue.queued()
            queue.flipped(isAssumed: isAssumed)
            #expect(queue.isBusy(a.shows[0].buffer) && queue.planes.count == 1)
        }
        let gone = queue.takeGone()
        #expect(gone.flatMap(\.shows).allSatisfy { $0.buffer === a.shows[0].buffer })
    }

    @Test func aFlipNobodyToldOfKeepsItsPredecessor() {
        var queue = queue
        let (a, b) = (frame(40), frame(40))
        for (frame, isAssumed) in [(a, false), (b, true)] {
            queue.offer(frame)
            _ = queue.change()
            queue.queued()
            queue.flipped(isAssumed: isAssumed)
        }
        #expect(queue.isBusy(a.shows[0].buffer))
        _ = queue.change()
        #expect(queue.isBusy(a.shows[0].buffer))
        queue.queued()
        #expect(!queue.isBusy(a.shows[0].buffer))
    }

    @Test func whatIsRotatedWaitsForARotatedPicture() {
        var queue = queue
        queue.offer(frame(40, rotation: .clockwise90))
        #expect(queue.change() == "nothing")
        queue.refused()
        #expect(queue.change(under: .clockwise90) == "+40")
    }

    @Test func aPictureWithTheOverlayInItSwitchesPlanesOff() {
        var queue = queue
        #expect(queue.change(painting: 1) == "nothing")
        queue.refused()
        var bare = frame(40)
        bare.painting = 0
        queue.offer(bare)
        _ = queue.change()
        queue.flipped()
        #expect(queue.change(painting: 1) == "-40")
        queue.refused()
        #expect(queue.change(painting: 1) == "-40")
        queue.flipped()
        #expect(queue.overlayOnScreen.shows.isEmpty && queue.change(painting: 1) == "nothing")
    }

    /// An overlay over a picture with a part of the overlay in it waits for that picture. The old overlay stays over its own picture.
    @Test func whatLiesOverAPaintingComesWithIt() {
        var queue = queue
        var (a, b) = (frame(40), frame(40))
        (a.painting, b.painting) = (0, 7)
        queue.offer(a)
        #expect(queue.change() == "+40")
        queue.flipped()
        queue.offer(b)
        #expect(queue.change() == "nothing" && queue.next != nil)
        queue.flipped()
        #expect(queue.change(painting: 6) == "-40" && queue.next != nil)
        queue.refused()
        #expect(queue.change(painting: 7) == "+40" && queue.next == nil)
        queue.flipped()
        #expect(queue.change(painting: 7) == "nothing")
        queue.flipped()
        queue.offer(OverlayFrame(painting: 7))
        #expect(queue.change(painting: 7) == "-40")
    }

    @Test func aNewerFrameIsNotReplacedByOneThatWasRefused() {
        var queue = queue
        queue.offer(frame(40))
        _ = queue.change()
        queue.offer(frame(41))
        queue.refused()
        #expect(queue.change() == "+41")
    }

    /// The driver takes the picture without the new overlay. The planes of the old one have to be switched off.
    @Test func aDriverThatTakesNoOverlay() {
        var queue = queue
        queue.offer(frame(40))
        _ = queue.change()
        queue.queued()
        queue.flipped()
        queue.offer(frame(41))
        _ = queue.change()
        queue.queued()
        #expect(queue.dropOverlays().map(\.id.rawValue) == [40])
        #expect(queue.hasPending && queue.planes.isEmpty && queue.taken.isEmpty)
        queue.flipped()
        #expect(!queue.hasPending && queue.overlays.allSatisfy(\.shows.isEmpty))
    }

    // MARK: Rotating

    @Test func aRotationComesWithAPicture() {
        var state = RotationState(.none)
        let before = state.wanted
        let now = HostTime(nanoseconds: 0)
        let asked = state.ask(.clockwise90, at: now)
        #expect(asked && state.shown.rotation == .none && state.wanted.rotation == .clockwise90)
        state.commit(before)
        #expect(!state.isOver(before) && state.flipped(to: before) == nil)
        state.prepared(state.wanted)
        #expect(state.repaintTime == nil)
        state.commit(state.wanted)
        #expect(state.isOver(before) && !state.isOver(state.wanted))
        #expect(state.flipped(to: state.wanted) == .clockwise90 && state.flipped(to: state.wanted) == nil)
        let again = state.ask(.clockwise90, at: now)
        #expect(!again)
    }

    @Test func whatStandsIsAskedForOnce() {
        var state = RotationState(.none)
        _ = state.ask(.clockwise180, at: HostTime(nanoseconds: 0))
        let due = HostTime(nanoseconds: 0) + RotationState.preparationTimeout
        let results = [state.takeRepaint(at: due - .milliseconds(1)), state.takeRepaint(at: due), state.takeRepaint(at: due)]
        #expect(results == [false, true, false])
    }

    @Test func aPanelThatIsBuiltInRotated() {
        var state = RotationState(.clockwise90)
        let renewed = [state.renew(panel: .clockwise90), state.renew(panel: .clockwise90), state.renew(panel: .none)]
        #expect(renewed == [.clockwise180, nil, .clockwise90])
        _ = state.ask(.none, at: .now)
        #expect(state.renew(panel: .clockwise270) == .clockwise270 && state.repaintTime == nil)
    }

    // MARK: Sharing planes

    @Test(
        arguments: [
            ("each has its own", [overlayOf(40, 1), overlayOf(41, 2)], [40], [41]),
            ("those that both could have are dealt out", [overlayOf(40, 3), overlayOf(41, 3), overlayOf(42, 3)], [40, 42], [41]),
            ("whoever has its own gets fewer of the others", [overlayOf(40, 3), overlayOf(41, 1)], [41], [40]),
            ("cursors are dealt apart", [overlayOf(40, 3), overlayOf(50, 3, .cursor), overlayOf(51, 3, .cursor)], [40, 50], [51]),
            ("none", [], [], []),
        ] as [(String, [PlaneRecord], [UInt32], [UInt32])])
    func shares(_ name: String, planes: [PlaneRecord], first: [UInt32], second: [UInt32]) {
        let (a, b) = (CRTCID(rawValue: 7), CRTCID(rawValue: 8))
        var shares = PlaneShares()
        _ = shares.join(a, bit: 1)
        // A single output may use every plane that fits its CRTC.
        #expect(shares.share(of: a, of: planes).map(\.id.rawValue) == planes.filter { $0.possibleCRTCs & 1 != 0 }.map(\.id.rawValue))
        _ = shares.join(b, bit: 2)
        #expect(shares.share(of: a, of: planes).map(\.id.rawValue) == first, "\(name)")
        #expect(shares.share(of: b, of: planes).map(\.id.rawValue) == second, "\(name)")
    }

    private static func overlayOf(_ id: UInt32, _ crtcs: UInt32, _ type: PlaneRecord.Kind = .overlay) -> PlaneRecord {
        PlanePlannerTests.plane(id, type, [kDRM_FORMAT_ARGB8888], crtcs: crtcs)
    }

    @Test func whatIsShownIsKept() {
        let (a, b) = (CRTCID(rawValue: 7), CRTCID(rawValue: 8))
        let planes = [Self.overlayOf(40, 3), Self.overlayOf(41, 3)]
        var shares = PlaneShares()
        let first = shares.join(a, bit: 1)
        shares.hold([planes[0].id, planes[1].id], for: a)
        _ = shares.join(b, bit: 2)
        #expect(shares.share(of: b, of: planes).isEmpty && shares.share(of: a, of: planes).count == 2)
        shares.hold([], for: a)
        #expect(shares.share(of: b, of: planes).map(\.id.rawValue) == [41])
        // A mode change: the new screen joins before the old one leaves.
        let second = shares.join(a, bit: 1)
        shares.leave(a, first)
        #expect(shares.share(of: a, of: planes).map(\.id.rawValue) == [40])
        shares.leave(a, second)
        #expect(shares.share(of: b, of: planes).count == 2)
    }

    // MARK: Millimetres

    @Test(
        arguments: [
            ("a monitor of 24 inches", 531, 299, 1920, 1080, true), ("a panel of 7 inches", 154, 86, 1024, 600, true),
            ("a wall", 4999, 2812, 3840, 2160, true), ("portrait", 299, 531, 1080, 1920, true),
            ("nothing", 0, 0, 1920, 1080, false), ("half of it", 531, 0, 1920, 1080, false),
            ("a shape", 160, 90, 1920, 1080, false), ("a shape", 16, 9, 1920, 1080, false), ("a shape", 160, 100, 1280, 800, false),
            ("more than 5 m", 5001, 2813, 3840, 2160, false), ("pixels too small", 50, 28, 1920, 1080, false),
            ("pixels too large", 4500, 2531, 1280, 720, false), ("pixels that are not square", 531, 420, 1920, 1080, false),
        ] as [(String, Int, Int, Int, Int, Bool)])
    func measures(_ name: String, width: Int, height: Int, across: Int, down: Int, isBelieved: Bool) {
        let said = PhysicalMeasures(width: Double(width), height: Double(height))
        #expect((PhysicalMeasures.believable([said], pixels: (across, down)) != nil) == isBelieved, "\(name)")
    }

    @Test func theFirstTimingOfAnEDIDIsMoreExact() {
        var edid = [UInt8](repeating: 0, count: 128)
        edid.replaceSubrange(0..<8, with: [0, 255, 255, 255, 255, 255, 255, 0])
        #expect(PhysicalMeasures(edid: edid) == nil)
        (edid[54], edid[66], edid[67], edid[68]) = (1, 0x13, 0x2b, 0x21)
        #expect(PhysicalMeasures(edid: edid) == PhysicalMeasures(width: 531, height: 299))
        #expect(PhysicalMeasures(edid: Array(edid.prefix(100))) == nil)
        let coarse = PhysicalMeasures(width: 530, height: 300)
        let best = PhysicalMeasures.believable([PhysicalMeasures(edid: edid)!, coarse], pixels: (1920, 1080))
        #expect(best == PhysicalMeasures(width: 531, height: 299))
        #expect(PhysicalMeasures.believable([.init(width: 160, height: 90), coarse], pixels: (1920, 1080)) == coarse)
    }
}

extension BufferPool {
    /// Returns the plane changes of a commit of the first buffer, which is on the screen: "-" hides a plane, "+" shows one.
    fileprivate mutating func change(under rotation: Rotation = .none, painting: UInt64 = 0) -> String {
        guard let change = begin(0, under: rotation, painting: painting) else { return "nothing" }
        return (change.hidden.map { "-\($0.id.rawValue)" } + change.shows.map { "+\($0.plane.id.rawValue)" }).joined(separator: " ")
    }

    fileprivate func isBusy(_ buffer: OverlayBuffer) -> Bool { overlays.contains { $0.shows.contains { $0.buffer === buffer } } }
}
