import KioskMedia
import KioskPlatform
import KioskVocabulary
import Testing

@testable import KioskPlayback

@Suite struct RegionTests {
    private func at(_ milliseconds: Int64) -> HostTime { HostTime(nanoseconds: milliseconds * 1_000_000) }
    private let window = Region(x: 0.5, y: 0.5, width: 0.25, height: 0.25)

    @Test(arguments: ["60 60 35 35", "0 0 100 100", "12.5 0 50 1"])
    func textsComeBack(text: String) { #expect(Region(text)?.text == text) }

    @Test(arguments: ["", "1 2 3", "1 2 3 4 5", "a 0 1 1", "60 60 50 35", "-1 0 10 10", "0 0 0 10", "nan 0 1 1", "0 0 inf 1"])
    func otherTextsAreNone(text: String) { #expect(Region(text) == nil) }

    @Test func numbersAreBroughtOntoTheDisplay() {
        #expect(Region(x: .nan, y: 0, width: 1, height: 1) == .full)
        #expect(Region(x: 0.5, y: -3, width: 7, height: 7) == Region(x: 0.5, y: 0, width: 0.5, height: 1))
        #expect(Region(x: 2, y: 0, width: 1, height: -1).width >= 0.009)
    }

    @Test func aMoveBeginsAndEndsSlowly() {
        let move = RegionMove(from: .full, to: window, begin: at(0), duration: .seconds(1))
        #expect(move.region(at: at(-5)) == .full && move.region(at: at(1000)) == window && move.hasEnded(at: at(1000)))
        #expect(abs(move.region(at: at(500)).x - 0.25) < 1e-9)
        #expect(move.region(at: at(100)).x < 0.05 && !move.hasEnded(at: at(999)))
        #expect(RegionMove(from: .full, to: window, begin: at(0), duration: .zero).region(at: at(-1)) == window)
    }

    @Test func pixelsAreEvenAndReachTheEdges() {
        #expect(Region.full.pixels(width: 1366, height: 767) == PixelRectangle(x: 0, y: 0, width: 1366, height: 767))
        #expect(window.pixels(width: 1280, height: 720) == PixelRectangle(x: 640, y: 360, width: 320, height: 180))
        #expect(Region(x: 0.66, y: 0.5, width: 0.34, height: 0.5).pixels(width: 1366, height: 767).x % 2 == 0)
        #expect(Region(x: 0.66, y: 0.5, width: 0.34, height: 0.5).pixels(width: 1366, height: 767).width == 1366 - 902)
        #expect(Region(x: 0.99, y: 0.99, width: 0.01, height: 0.01).pixels(width: 3, height: 1).height == 1)
    }

    @Test(arguments: VideoGravity.allCases, Rotation.allCases)
    func pictureStandsInItsRegion(gravity: VideoGravity, rotation: Rotation) {
        let geometry = PictureGeometry(
            storedWidth: 640, storedHeight: 480, gravity: gravity, region: window, screenWidth: 1280, screenHeight: 720, rotation: rotation)
        let canvas = rotation.swapsAxes ? (720, 1280) : (1280, 720)
        let place = window.pixels(width: canvas.0, height: canvas.1)
        #expect(geometry.canvas.x >= place.x && geometry.canvas.y >= place.y)
        #expect(geometry.canvas.x + geometry.canvas.width <= place.x + place.width)
        #expect(geometry.canvas.y + geometry.canvas.height <= place.y + place.height)
        if gravity != .resizeAspect { #expect(geometry.canvas == place) }
        #expect(geometry.scanout == PictureGeometry.rotate(geometry.canvas, on: canvas, by: rotation))
    }

    // MARK: Stale scenes

    private func give(_ state: inout OverlayState, _ placement: OverlayPlacement) {
        guard let (overlay, number) = state.toGive(frameWaits: false) else { return }
        state.gave(number, isEmpty: overlay.pictures.isEmpty, region: overlay.region, placement: placement)
    }

    @Test func scenesOfAnotherRegionAreStaleWhereverTheOverlayIs() {
        for placement in [OverlayPlacement.plane, .blended] {
            var state = OverlayState()
            let full = state.mark
            state.setRegion(window)
            #expect(state.isInUse && state.toGive(frameWaits: false)?.overlay.region == window && !state.isStale(full))
            give(&state, placement)
            #expect(state.isStale(full) && !state.isStale(state.mark) && state.isInUse)
            #expect(!state.awaitsCommit(over: OverlayMark()), "there is nothing to be committed but scenes")
            for _ in 0..<4 { _ = state.commit(state.mark) }
            #expect(!state.isInUse, "nothing that is ready is of another region")
            state.setRegion(.full)
            give(&state, placement)
            #expect(!state.isStale(full))
        }
    }

    @Test func whatIsDrawnLeavesTheRegionAlone() {
        var state = OverlayState()
        state.setRegion(window)
        let drawn = Overlay(pictures: [.init(surface: Surface(width: 1, height: 1, pixels: [0]), x: 0, y: 0)])
        let isNew = state.set(drawn, by: .init(.controls))
        #expect(isNew)
        #expect(state.toGive(frameWaits: false)?.overlay.region == window)
        give(&state, .plane)
        #expect(state.awaitsCommit(over: OverlayMark()))
        _ = state.commit(nil)
        #expect(!state.awaitsCommit(over: OverlayMark()))
        state.setRegion(.full)
        give(&state, .plane)
        #expect(!state.awaitsCommit(over: OverlayMark()))
    }

    @Test func aNewDisplayIsToldOfIt() {
        var state = OverlayState()
        state.setRegion(window)
        state.displayChanged()
        #expect(state.toGive(frameWaits: false)?.overlay.region == window)
    }

    // MARK: Boundaries

    @Test func boundariesArePassedByPlayingOnly() {
        var times = BoundaryTimes([.seconds(5), .seconds(2)])
        func passes(_ time: MediaTime, rate: Double = 1, at now: Int64) -> Bool { times.look(time, rate: rate, at: at(now)) }
        #expect(!passes(.seconds(1), at: 0))
        #expect(!passes(.milliseconds(1900), at: 900))
        #expect(times.nextLook(rate: 1, at: at(900)) == at(1000))
        #expect(passes(.milliseconds(2010), at: 1010))
        #expect(!passes(.milliseconds(2020), at: 1020))
        #expect(times.nextLook(rate: 1, at: at(1020)) == at(1020) + BoundaryTimes.longestWait)
        #expect(!passes(.seconds(6), at: 1030), "a seek")
        #expect(!passes(.zero, at: 1040), "another turn")
        #expect(!passes(.milliseconds(1990), rate: 2, at: 2040))
        #expect(passes(.seconds(2), rate: 2, at: 2046), "at its own time")
        #expect(!passes(.seconds(2), rate: 2, at: 2050))
    }
}
