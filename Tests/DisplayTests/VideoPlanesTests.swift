import CKioskDRM
import CKioskFFmpeg
import Glibc
import KioskMedia
import KioskPlatform
import KioskPlayback
import KioskVocabulary
import Testing

@testable import KioskDisplayCore

/// The paths of pictures to the screen, the visible result, and the fallback if the driver refuses one.
@Suite struct VideoPlanesTests {
    private func stage(
        _ video: MemoryVideo, planes: MemoryPlanes? = nil, _ change: (inout DisplaySettings) -> Void = { _ in }
    ) -> PlaneStage {
        var settings = DisplaySettings()
        change(&settings)
        return PlaneStage(PlaneScreen(planes: planes, video: video), settings)
    }

    /// Makes a clip's picture with a gradient in both directions.
    private func gradient(
        _ width: Int, _ height: Int, _ format: AVPixelFormat = AV_PIX_FMT_YUV420P, orientation: Orientation = .up
    ) -> VideoFrame {
        Pictures.make(format, width, height, orientation: orientation) { plane, x, y in
            plane == 0 ? 16 + 100 * x / width + 100 * y / height : plane == 1 ? 100 : 150
        }
    }

    @Test func eachPictureIsCopiedIntoMemoryThatNothingShows() throws {
        let video = MemoryVideo()
        let stage = stage(video)
        for luma in [40, 80, 120, 160, 200, 235] {
            try stage.show(Pictures.solid(luma, 128, 128, 64, 36))
            let show = try #require(stage.screen.shownVideo)
            #expect(show.arrangement.path == .copy && show.backgroundBuffer == nil && show.arrangement.plane == nil)
            let gray = UInt32((Double(luma - 16) * 255 / 219).rounded())
            #expect(near(stage.screen.seen(30, 20), gray << 16 | gray << 8 | gray))
        }
        // Two slots alternate. The driver is asked once, and shows(_:besides:) is called once.
        #expect(video.made.count == 2 && video.asked == 1 && video.shown.count == 1)
    }

    /// The line has codec, size, format, plane and the processor's work. Another codec has its own line. Describing shows nothing.
    @Test func saysTheWay() {
        let video = MemoryVideo(primary: ["NV12"])
        let planes = VideoPlanes(video, .automatic, isSilent: true)
        func line(_ codec: String, _ width: Int, _ height: Int, rotation: Rotation = .none) -> String? {
            var frame = Pictures.solid(126, 128, 128, width, height, AV_PIX_FMT_YUV420P)
            frame.codec = codec
            return planes.describe(frame, gravity: .resize, rotation: rotation)
        }
        #expect(line("h264", 64, 36) == "h264 64×36 YU12 → the primary plane as NV12, copied once")
        #expect(line("hevc", 64, 36) == "hevc 64×36 YU12 → the primary plane as NV12, copied once")
        #expect(video.asked == 1 && video.shown.isEmpty)
        let turned = "vp9 32×18 YU12 → the primary plane as NV12, scaled by the display, rotated by the display, copied once"
        #expect(line("vp9", 32, 18, rotation: .clockwise180) == turned)
        video.refuses = { $0.arrangement.path == .copy }
        let why = "copy: no plane for layer 0: plane 31 lacks its format"
        let scaled = "h264 30×16 YU12 → the primary plane as NV12, scaled in software (\(why))"
        #expect(line("h264", 30, 16) == scaled)
        let none = VideoPlanes(video, .convert, isSilent: true).describe(
            Pictures.solid(126, 128, 128, 64, 36), gravity: .resize, rotation: .none)
        #expect(none == "64×36 YU12 → converted in software (picture-path is convert)")
    }

    /// Preparing a picture leaves the shown and the committed one unchanged.
    @Test func whatIsShownStaysAsItIs() throws {
        let stage = stage(MemoryVideo())
        try stage.show(Pictures.solid(235, 128, 128, 64, 36))
        #expect(near(stage.screen.seen(1, 1), 0xff_ffff))
        let second = try stage.prepare(Pictures.solid(16, 128, 128, 64, 36))
        _ = stage.commit(second)
        let third = try stage.prepare(Pictures.solid(126, 128, 128, 64, 36))
        #expect(near(stage.screen.seen(1, 1), 0xff_ffff))
        if case .noSpareBuffer = stage.output.prepare(Scene(Pictures.solid(60, 128, 128, 64, 36))) {
        } else {
            Issue.record("a fourth buffer")
        }
        try stage.flip()
        #expect(near(stage.screen.seen(1, 1), 0))
        _ = stage.commit(third)
        try stage.flip()
        #expect(near(stage.screen.seen(1, 1), 0x80_8080))
    }

    /// Copied, software-scaled and converted pictures look the same, for every gravity, rotation and orientation.
    @Test(
        arguments: [VideoGravity.resizeAspect, .resizeAspectFill, .resize], Rotation.allCases)
    func allWaysLookTheSame(_ gravity: VideoGravity, _ rotation: Rotation) throws {
        for orientation in [Orientation.up, Orientation(rotation: .clockwise90), Orientation(rotation: .none, isMirrored: true)] {
            var seen: [[UInt32]] = []
            for path in [PicturePathChoice.copy, .scale, .convert] {
                let stage = stage(MemoryVideo(overlays: [["YU12"]])) { ($0.picturePath, $0.rotation) = (path, rotation) }
                try stage.show(gradient(48, 36, orientation: orientation), gravity)
                #expect(stage.screen.shownVideo?.arrangement.path.rawValue == (path == .convert ? nil : path.rawValue))
                seen.append(stage.screen.seen)
            }
            for other in seen.dropFirst() {
                let worst = zip(seen[0], other).map { pair in
                    [16, 8, 0].map { abs(Int(pair.0 >> $0 & 255) - Int(pair.1 >> $0 & 255)) }.max()!
                }.max()!
                #expect(worst <= 6, "\(gravity) \(rotation) \(orientation)")
            }
        }
    }

    struct Case: CustomTestStringConvertible {
        var testDescription: String
        var primary = ["YU12", "NV12"]
        var overlays: [[String]] = []
        var choice = PicturePathChoice.automatic
        var driver = "memory"
        var size = (64, 36)
        var format = AV_PIX_FMT_YUV420P
        /// The shows that the driver refuses.
        var refuses: @Sendable (VideoShow) -> Bool = { _ in false }
        /// The path and plane, `copy 31` or `scale 40`; nil for a converted picture.
        var expected: String?
    }

    static let cases = [
        Case(testDescription: "copied to the primary plane", expected: "copy primary"),
        Case(testDescription: "another plane where the primary one takes no YUV", primary: [], overlays: [["YU12"]], expected: "copy 40"),
        Case(testDescription: "bars need a plane of their own", overlays: [["NV12"]], size: (48, 36), expected: "copy 40"),
        Case(testDescription: "bars without another plane", size: (48, 36), expected: nil),
        Case(
            testDescription: "scaled in software where the driver refuses to scale", size: (32, 18),
            refuses: { $0.arrangement.candidate.source.width != $0.arrangement.candidate.layer.destination.width },
            expected: "scale primary"),
        Case(testDescription: "converted where the driver refuses all", refuses: { _ in true }, expected: nil),
        Case(testDescription: "NV12 planes show YUV420", primary: ["NV12"], expected: "copy primary"),
        Case(testDescription: "10 bits", primary: ["P010"], format: AV_PIX_FMT_YUV420P10LE, expected: "copy primary"),
        Case(testDescription: "10 bits on a plane with 8", format: AV_PIX_FMT_YUV420P10LE, expected: "scale primary"),
        Case(testDescription: "scaling alone is allowed", choice: .scale, expected: "scale primary"),
        Case(testDescription: "conversion alone is allowed", choice: .convert, expected: nil),
        Case(testDescription: "vkms has no planes of its own", driver: "vkms", expected: nil),
        Case(testDescription: "but is asked where that is wanted", choice: .copy, driver: "vkms", expected: "copy primary"),
        Case(testDescription: "RGB", format: AV_PIX_FMT_RGB24, expected: nil),
    ]

    @Test(arguments: cases) func theFirstWayThatTheDriverAgreesTo(_ test: Case) throws {
        let video = MemoryVideo(primary: test.primary, overlays: test.overlays)
        (video.driver, video.refuses) = (test.driver, test.refuses)
        let stage = stage(video) { $0.picturePath = test.choice }
        for _ in 0..<4 {
            try stage.show(
                Pictures.make(test.format, test.size.0, test.size.1, bytes: test.format == AV_PIX_FMT_YUV420P10LE ? 2 : 1) { _, _, _ in 100
                }, .resizeAspect)
        }
        let shown = stage.screen.shownVideo.map { show in
            "\(show.arrangement.path.rawValue) \(show.arrangement.plane.map { "\($0.id.rawValue)" } ?? "primary")"
        }
        #expect(shown == test.expected)
        if test.expected != nil { #expect((video.shown.last ?? nil) === stage.screen.shownVideo?.arrangement) }
        #expect(video.asked <= 6)
    }

    /// The picture is shown all the same, by the next path. Pictures of this shape keep that path from then on.
    @Test func aFlipThatIsRefused() throws {
        let video = MemoryVideo()
        let stage = stage(video)
        let first = try stage.prepare(Pictures.solid(235, 128, 128, 64, 36))
        stage.screen.refusesVideo = true
        guard case .stale = stage.commit(first), case .changed = stage.output.wait(until: .now) else { throw PlaneStage.Unexpected() }
        // Scaling to the same size is refused, too.
        let second = try stage.prepare(Pictures.solid(235, 128, 128, 64, 36))
        guard case .stale = stage.commit(second), case .changed = stage.output.wait(until: .now) else { throw PlaneStage.Unexpected() }
        try stage.show(Pictures.solid(235, 128, 128, 64, 36))
        #expect(stage.screen.shownVideo == nil && near(stage.screen.seen(1, 1), 0xff_ffff) && video.shown.last! == nil)
        // Pictures of other shapes are unaffected, and no buffer is lost.
        stage.screen.refusesVideo = false
        for _ in 0..<5 { try stage.show(Pictures.solid(126, 128, 128, 32, 18)) }
        #expect(stage.screen.shownVideo?.arrangement.path == .copy)
        for _ in 0..<5 { try stage.show(Pictures.solid(126, 128, 128, 64, 36)) }
        #expect(stage.screen.shownVideo == nil)
    }

    @Test func withoutMemoryItIsConverted() throws {
        let video = MemoryVideo()
        video.isOutOfMemory = true
        let stage = stage(video)
        try stage.show(Pictures.solid(235, 128, 128, 64, 36))
        #expect(stage.screen.shownVideo == nil && near(stage.screen.seen(1, 1), 0xff_ffff))
    }

    /// Two alternating sizes allocate only in the first round. A third size replaces the least recently used one.
    @Test func memoryOfTwoSizesIsKept() throws {
        let video = MemoryVideo()
        let stage = stage(video)
        for _ in 0..<4 {
            for _ in 0..<3 { try stage.show(Pictures.solid(126, 128, 128, 64, 36)) }
            for _ in 0..<3 { try stage.show(Pictures.solid(126, 128, 128, 32, 18)) }
        }
        #expect(video.made.count == 4 && video.asked == 2)
        for _ in 0..<3 { try stage.show(Pictures.solid(126, 128, 128, 16, 18)) }
        for _ in 0..<3 { try stage.show(Pictures.solid(126, 128, 128, 32, 18)) }
        #expect(video.made.count == 6)
        for _ in 0..<3 { try stage.show(Pictures.solid(126, 128, 128, 64, 36)) }
        #expect(video.made.count == 8 && video.asked == 3)
    }

    @Test func twoPicturesAtOnceAndTranslucentOnesAreConverted() throws {
        let stage = stage(MemoryVideo())
        try stage.show(Pictures.solid(126, 128, 128, 64, 36))
        #expect(stage.screen.shownVideo != nil)
        var fade = Scene()
        fade.add(Layer(Pictures.solid(16, 128, 128, 64, 36), gravity: .resize))
        fade.add(Layer(Pictures.solid(235, 128, 128, 64, 36), gravity: .resize, alpha: 0.5, order: 1))
        guard case .prepared(let scene) = stage.output.prepare(fade), case .queued = stage.commit(scene) else {
            throw PlaneStage.Unexpected()
        }
        try stage.flip()
        #expect(stage.screen.shownVideo == nil && near(stage.screen.seen(1, 1), 0x80_8080, 4))
        try stage.show(Pictures.solid(235, 128, 128, 64, 36))
        #expect(stage.screen.shownVideo != nil)
    }

    @Test func theColourOfTheBars() throws {
        let video = MemoryVideo(overlays: [["YU12"]])
        let stage = stage(video) { $0.background = Color(red: 0x10, green: 0x20, blue: 0x30) }
        for _ in 0..<4 { try stage.show(Pictures.solid(235, 128, 128, 48, 36), .resizeAspect) }
        #expect(video.backgrounds == [0x10_2030] && stage.screen.shownVideo?.backgroundBuffer?.id.rawValue == 201)
        #expect(stage.screen.seen(2, 20) == 0x10_2030 && near(stage.screen.seen(32, 20), 0xff_ffff))
    }

    // MARK: With overlays

    private let green = Overlay(pictures: [.init(surface: Surface(0xff00_ff00, 10, 6), x: 4, y: 4)])

    /// Overlays on planes above the picture; the picture stays on its plane.
    @Test func drawnPicturesOnPlanes() throws {
        let stage = stage(MemoryVideo(), planes: MemoryPlanes(64, 36, overlays: 2))
        try stage.show(Pictures.solid(126, 128, 128, 64, 36))
        #expect(stage.output.setOverlay(green) == .plane)
        try stage.show(Pictures.solid(235, 128, 128, 64, 36))
        #expect(stage.screen.shownVideo != nil && stage.screen.seen(5, 5) == 0x00_ff00 && near(stage.screen.seen(30, 5), 0xff_ffff))
        try stage.showOverlay()
        #expect(stage.screen.shownVideo != nil)
    }

    /// Blending requires RGB pictures.
    @Test func whileDrawnPicturesAreBlendedAllIsConverted() throws {
        let stage = stage(MemoryVideo())
        try stage.show(Pictures.solid(126, 128, 128, 64, 36))
        #expect(stage.screen.shownVideo != nil && stage.output.setOverlay(green) == .blended)
        try stage.show(Pictures.solid(235, 128, 128, 64, 36))
        #expect(stage.screen.shownVideo == nil && stage.screen.seen(5, 5) == 0x00_ff00 && near(stage.screen.seen(30, 5), 0xff_ffff))
        _ = stage.output.setOverlay(Overlay())
        try stage.show(Pictures.solid(235, 128, 128, 64, 36))
        #expect(stage.screen.shownVideo != nil && near(stage.screen.seen(5, 5), 0xff_ffff))
    }

    /// Video takes no plane that an overlay uses, and no plane above one.
    @Test func aPlaneThatIsTaken() throws {
        let video = MemoryVideo(overlays: [["YU12", "AR24"], ["YU12", "AR24"]])
        let stage = stage(video, planes: MemoryPlanes(64, 36, overlays: 1))
        #expect(stage.output.setOverlay(green) == .plane)
        try stage.show(Pictures.solid(126, 128, 128, 48, 36), .resizeAspect)
        #expect(stage.screen.shownVideo == nil && stage.screen.shows.map(\.plane.id.rawValue) == [40])
        // The overlay is gone: the picture gets the plane.
        _ = stage.output.setOverlay(Overlay())
        try stage.showOverlay()
        try stage.show(Pictures.solid(126, 128, 128, 48, 36), .resizeAspect)
        #expect(stage.screen.shownVideo?.arrangement.plane?.id.rawValue == 40)
    }

    /// The plane of a picture that is still on the screen is not free for overlays, whichever picture comes next.
    @Test func aPlaneIsFreeWhenNothingShowsItAnyMore() throws {
        let video = MemoryVideo(primary: [], overlays: [["YU12"]])
        let stage = stage(video)
        for _ in 0..<3 { try stage.show(Pictures.solid(126, 128, 128, 48, 36), .resizeAspect) }
        #expect(video.shown.last??.plane?.id.rawValue == 40 && video.former.isEmpty)
        let scene = try stage.prepare(Pictures.quarters(64, 36))
        #expect(video.shown.last! == nil && video.former == [40])
        _ = stage.commit(scene)
        try stage.flip()
        try stage.show(Pictures.quarters(64, 36))
        #expect(video.shown.last! == nil && video.former.isEmpty)
    }

    @Test func placesAmongPlanes() {
        let planes = [
            PlanePlannerTests.plane(31, .primary) { $0.stacking = .fixed(0) },
            PlanePlannerTests.plane(40, .overlay, [PlanePlannerTests.nv12]) { $0.stacking = .range(0...5) },
            PlanePlannerTests.plane(41, .overlay, [PlanePlannerTests.nv12]) { $0.stacking = .fixed(3) },
        ]
        let planner = PlanePlanner(planes, crtc: CRTCID(rawValue: 7), bit: 1, width: 64, height: 36)
        #expect(planner.above(3).planes.map(\.stacking) == [.fixed(0), .range(4...5)])
        #expect(planner.above(2).planes.map(\.stacking) == [.fixed(0), .range(3...5), .fixed(3)])
        #expect(planner.beneath([planes[2]]).planes.map(\.stacking) == [.fixed(0), .range(0...2)])
    }
}
