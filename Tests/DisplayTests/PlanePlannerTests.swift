import CKioskDRM
import KioskMedia
import KioskPlayback
import KioskVocabulary
import Testing

@testable import KioskDisplayCore

@Suite struct PlanePlannerTests {
    static let (xrgb, argb, nv12): (UInt32, UInt32, UInt32) = (kDRM_FORMAT_XRGB8888, fourcc("AR24"), fourcc("NV12"))
    static let tiled: UInt64 = 0x100_0000_0000_0001

    static func fourcc(_ text: String) -> UInt32 { text.utf8.reversed().reduce(0) { $0 << 8 | UInt32($1) } }

    static func plane(
        _ id: UInt32, _ type: PlaneRecord.Kind, _ formats: [UInt32] = [xrgb], crtcs: UInt32 = 1, on crtc: UInt32 = 0,
        _ change: (inout PlaneRecord) -> Void = { _ in }
    ) -> PlaneRecord {
        var plane = PlaneRecord(
            id: PlaneID(rawValue: id), type: type, possibleCRTCs: crtcs, crtc: CRTCID(rawValue: crtc), formats: formats)
        change(&plane)
        return plane
    }

    static func layer(
        _ format: UInt32, at place: PixelRectangle = screen, source: (Int, Int)? = nil, orientation: Orientation = .up,
        isFaded: Bool = false,
        modifier: UInt64? = 0
    ) -> PlanePlanner.Layer {
        PlanePlanner.Layer(
            format: format, modifier: modifier, sourceWidth: source?.0 ?? place.width, sourceHeight: source?.1 ?? place.height,
            destination: place, orientation: orientation, isFaded: isFaded)
    }

    static let screen = PixelRectangle(x: 0, y: 0, width: 1920, height: 1080)
    static let corner = PixelRectangle(x: 1600, y: 900, width: 300, height: 150)
    static let converted = PlanePlanner.Layer.converted(width: 1920, height: 1080)
    static let quarter = Orientation(rotation: .clockwise90)

    struct Case: CustomTestStringConvertible {
        var name: String
        var planes: [PlaneRecord]
        var layers: [PlanePlanner.Layer]
        var cursor: PlanePlanner.Size?
        /// The layers' planes in every assignment, as `31 33@2`; or the reason why there is none.
        var expected: [String]
        var testDescription: String { name }
    }

    static let overlay = plane(33, .overlay, [argb, nv12])

    static let cases: [Case] = [
        Case(name: "a converted picture has the primary plane", planes: [plane(31, .primary)], layers: [converted], expected: ["31"]),
        Case(
            name: "the plane that is on the CRTC comes first", planes: [plane(31, .primary), plane(32, .primary, on: 7)],
            layers: [converted], expected: ["32", "31"]),
        Case(
            name: "planes of other CRTCs and of other programs are left alone",
            planes: [plane(31, .primary, crtcs: 2), plane(32, .primary, on: 8)], layers: [converted], expected: ["no plane for layer 0"]),
        Case(
            name: "a primary plane without the format", planes: [plane(31, .primary, [nv12])], layers: [converted],
            expected: ["no plane for layer 0: plane 31 lacks its format"]),
        Case(
            name: "an overlay is no primary plane", planes: [plane(33, .overlay)], layers: [converted], expected: ["no plane for layer 0"]),
        Case(
            name: "controls over video", planes: [plane(31, .primary, [nv12]), overlay], layers: [layer(nv12), layer(argb, at: corner)],
            expected: ["31 33"]),
        Case(
            name: "a cursor plane is no overlay", planes: [plane(31, .primary), plane(35, .cursor, [argb])],
            layers: [converted, layer(argb, at: corner)], expected: ["no plane for layer 1"]),
        Case(
            name: "a cursor plane shows pictures of its own size",
            planes: [plane(31, .primary), plane(35, .cursor, [argb]), plane(36, .overlay, [nv12])],
            layers: [converted, layer(argb, at: PixelRectangle(x: 9, y: 9, width: 64, height: 64))], cursor: .init(width: 64, height: 64),
            expected: ["31 35"]),
        Case(
            name: "and no others", planes: [plane(31, .primary), plane(35, .cursor, [argb])], layers: [converted, layer(argb, at: corner)],
            cursor: .init(width: 64, height: 64), expected: ["no plane for layer 1: plane 35 lacks its size"]),
        Case(
            name: "more layers than planes", planes: [plane(31, .primary), overlay],
            layers: [converted, layer(argb, at: corner), layer(argb, at: corner)],
            expected: ["no free planes lie over each other in the order of the layers"]),
        Case(
            name: "each layer has the plane that takes it",
            planes: [plane(31, .primary), plane(32, .overlay, [nv12]), plane(33, .overlay, [argb])],
            layers: [converted, layer(nv12, at: corner), layer(argb, at: corner)], expected: ["31 32 33"]),
        Case(
            name: "planes that cannot be moved, in the wrong order",
            planes: [
                plane(31, .primary) { $0.stacking = .fixed(0) }, plane(32, .overlay, [nv12]) { $0.stacking = .fixed(2) },
                plane(33, .overlay, [argb]) { $0.stacking = .fixed(1) },
            ],
            layers: [converted, layer(nv12, at: corner), layer(argb, at: corner)],
            expected: ["no free planes lie over each other in the order of the layers"]),
        Case(
            name: "planes that can be moved, in the wrong order",
            planes: [
                plane(31, .primary) { $0.stacking = .fixed(0) }, plane(32, .overlay, [nv12]) { $0.stacking = .range(1...2) },
                plane(33, .overlay, [argb]) { $0.stacking = .range(1...2) },
            ],
            layers: [converted, layer(argb, at: corner), layer(nv12, at: corner)], expected: ["31 33@1 32@2"]),
        Case(
            name: "an overlay behind the primary plane is none",
            planes: [
                plane(31, .primary) { $0.stacking = .fixed(3) }, plane(32, .overlay, [argb]) { $0.stacking = .fixed(1) },
                plane(33, .overlay, [argb]) { $0.stacking = .range(0...5) },
            ], layers: [converted, layer(argb, at: corner)], expected: ["31 33@4"]),
        Case(
            name: "memory in tiles", planes: [plane(31, .primary, [nv12]) { $0.modifiers = [nv12: [0, tiled]] }],
            layers: [layer(nv12, modifier: tiled)], expected: ["31"]),
        Case(
            name: "memory in tiles for a plane that tells of no layouts", planes: [plane(31, .primary, [nv12])],
            layers: [layer(nv12, modifier: tiled)], expected: ["no plane for layer 0: plane 31 lacks its modifier"]),
        Case(
            name: "the driver's own memory goes with any layouts",
            planes: [plane(31, .primary) { $0.modifiers = [xrgb: [tiled]] }], layers: [converted], expected: ["31"]),
        Case(
            name: "scaling where it is not known to fail", planes: [plane(31, .primary, [nv12])],
            layers: [layer(nv12, source: (1280, 720))], expected: ["31"]),
        Case(
            name: "scaling where it is known to fail",
            planes: [plane(31, .primary, [nv12]) { $0.canScale = false }, plane(32, .primary, [nv12])],
            layers: [layer(nv12, source: (1280, 720))], expected: ["32"]),
        Case(
            name: "a turned picture of the screen's size is not scaled",
            planes: [
                plane(31, .primary, [nv12]) {
                    $0.canScale = false
                    $0.orientations = [.up, quarter]
                }
            ], layers: [layer(nv12, source: (1080, 1920), orientation: quarter)], expected: ["31"]),
        Case(
            name: "a plane that cannot turn", planes: [plane(31, .primary, [nv12])],
            layers: [layer(nv12, source: (1080, 1920), orientation: quarter)],
            expected: ["no plane for layer 0: plane 31 lacks its rotation"]),
        Case(
            name: "a translucent overlay",
            planes: [plane(31, .primary), plane(32, .overlay, [argb]), plane(33, .overlay, [argb]) { $0.hasAlpha = true }],
            layers: [converted, layer(argb, at: corner, isFaded: true)], expected: ["31 33"]),
        Case(
            name: "no plane can be translucent", planes: [plane(31, .primary), overlay],
            layers: [converted, layer(argb, at: corner, isFaded: true)], expected: ["no plane for layer 1: plane 33 lacks its alpha"]),
        Case(
            name: "a picture with bars needs something behind it", planes: [plane(31, .primary, [nv12])],
            layers: [layer(nv12, at: corner)], expected: ["the rearmost layer does not cover the screen"]),
        Case(
            name: "a translucent picture needs something behind it", planes: [plane(31, .primary, [nv12]) { $0.hasAlpha = true }],
            layers: [layer(nv12, isFaded: true)], expected: ["the rearmost layer does not cover the screen"]),
        Case(name: "nothing", planes: [plane(31, .primary)], layers: [], expected: ["there is nothing to show"]),
        Case(
            name: "no more tries than are worth it", planes: [plane(31, .primary)] + (40..<60).map { plane($0, .overlay, [argb]) },
            layers: [converted, layer(argb, at: corner)], expected: (40..<48).map { "31 \($0)" }),
    ]

    static func planner(_ planes: [PlaneRecord], cursor: PlanePlanner.Size? = nil) -> PlanePlanner {
        PlanePlanner(planes, crtc: CRTCID(rawValue: 7), bit: 1, width: 1920, height: 1080, cursor: cursor)
    }

    static func text(_ assignments: [PlanePlanner.Assignment]) -> String {
        assignments.map { "\($0.plane.rawValue)\($0.zpos.map { "@\($0)" } ?? "")" }.joined(separator: " ")
    }

    @Test(arguments: cases) func plans(_ test: Case) {
        do throws(PlanePlanner.Refusal) {
            #expect(try Self.planner(test.planes, cursor: test.cursor).assignments(for: test.layers).map(Self.text) == test.expected)
        } catch {
            #expect(["\(error)"] == test.expected)
        }
    }

    @Test func aDriverIsAskedOnce() {
        let planes = [Self.plane(31, .primary), Self.plane(32, .primary)]
        var arrangements = PlaneArrangements(Self.planner(planes))
        var asked: [String] = []
        func answer(_ layers: [PlanePlanner.Layer], taking plane: UInt32?) -> PlaneArrangements.Answer {
            arrangements.answer(for: layers) { assignments throws(DeviceError) in
                asked.append(Self.text(assignments))
                if assignments[0].plane.rawValue != plane { throw DeviceError("test", code: 22) }
            }
        }
        for _ in 0..<3 { #expect(answer([Self.converted], taking: 32) == .planes([.init(plane: PlaneID(rawValue: 32))])) }
        #expect(asked == ["31", "32"])
        // A refused arrangement is not retried for every frame either.
        let other = [Self.layer(Self.xrgb)]
        for _ in 0..<3 { #expect(answer(other, taking: nil) == .converted("test: Invalid argument")) }
        #expect(asked == ["31", "32", "31", "32"])
        for _ in 0..<3 { #expect(answer([], taking: 31) == .converted("there is nothing to show")) }
        #expect(asked.count == 4)
    }

    @Test func formatsAndLayouts() {
        // Two formats; linear memory for both, tiled for the second one.
        var blob = [UInt8](repeating: 0, count: 32 + 2 * 24)
        func store(_ value: some FixedWidthInteger, at offset: Int) {
            withUnsafeBytes(of: value.littleEndian) { blob.replaceSubrange(offset..<offset + $0.count, with: $0) }
        }
        for (index, word) in ([1, 0, 2, 24, 2, 32] as [UInt32]).enumerated() { store(word, at: 4 * index) }
        store(Self.xrgb, at: 24)
        store(Self.nv12, at: 28)
        store(3 as UInt64, at: 32)
        store(0 as UInt64, at: 48)
        store(2 as UInt64, at: 56)
        store(Self.tiled, at: 72)
        #expect(PlaneRecord.modifiers(inFormats: blob) == [Self.xrgb: [0], Self.nv12: [0, Self.tiled]])
        #expect(PlaneRecord.modifiers(inFormats: Array(blob.dropLast())).isEmpty)
        #expect(PlaneRecord.modifiers(inFormats: []).isEmpty)
    }

    @Test func turnsThatAPropertyOffers() {
        let all = ["rotate-0": 0, "rotate-90": 1, "rotate-180": 2, "rotate-270": 3] as [String: UInt64]
        #expect(PlaneRecord.orientations(.init(id: 5, value: 1, choices: all)) == Set(Rotation.allCases.map { Orientation(rotation: $0) }))
        // The kernel rotates counter-clockwise.
        let mirrored = PlaneRecord.orientations(.init(id: 5, value: 1, choices: ["rotate-0": 0, "rotate-90": 1, "reflect-x": 4]))
        let expected = [Rotation.none, .clockwise270].flatMap { [Orientation(rotation: $0), Orientation(rotation: $0, isMirrored: true)] }
        #expect(mirrored == Set(expected))
        #expect(PlaneRecord.orientations(nil) == [.up])
    }
}
