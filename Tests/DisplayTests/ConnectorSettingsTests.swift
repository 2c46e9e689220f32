import CKioskDRM
import CKioskDisplay
import KioskMedia
import KioskVocabulary
import Testing

@testable import KioskDisplayCore

struct ConnectorSettingsTests {
    static let broadcast: [String: UInt64] = ["Automatic": 0, "Full": 1, "Limited 16:235": 2]
    static let scaling: [String: UInt64] = ["None": 0, "Full": 1, "Center": 2, "Full aspect": 3]

    /// The property as the driver offers it, and the value that kiosk sets; nil for none.
    static let cases: [(name: String, property: Property, set: UInt64?)] = [
        ("Broadcast RGB", Property(id: 7, value: 2, choices: broadcast), 0),
        ("Broadcast RGB", Property(id: 7, value: 0, choices: broadcast), nil),
        ("underscan", Property(id: 7, value: 1, choices: ["off": 0, "on": 1, "auto": 2]), 0),
        ("underscan hborder", Property(id: 7, value: 40, range: 0...128), 0),
        ("left margin", Property(id: 7, value: 30, range: 0...100), 0),
        ("bottom margin", Property(id: 7, value: 0, range: 0...100), 16),
        ("top margin", Property(id: 7, value: 16, range: 0...100), nil),
        ("scaling mode", Property(id: 7, value: 2, choices: scaling), 3),
        ("scaling mode", Property(id: 7, value: 1, choices: scaling), 3),
        ("scaling mode", Property(id: 7, value: 0, choices: scaling), nil),
        ("scaling mode", Property(id: 7, value: 2, choices: ["Full": 1, "Center": 2]), nil),
        ("max bpc", Property(id: 7, value: 6, range: 6...16), 8),
        ("max bpc", Property(id: 7, value: 6, range: 6...6), nil),
        ("max bpc", Property(id: 7, value: 12, range: 8...16), nil),
        ("content type", Property(id: 7, value: 4, choices: ["No Data": 0, "Game": 4]), 0),
        ("audio", Property(id: 7, value: 0, choices: ["off": 0, "auto": 1, "on": 2]), 1),
        ("audio", Property(id: 7, value: 0, choices: ["off": 0, "auto": 1], isImmutable: true), nil),
        ("audio", Property(id: 0, value: 0, choices: ["off": 0, "auto": 1]), nil),
        ("Colorspace", Property(id: 7, value: 3, choices: ["Default": 0]), nil),
    ]

    @Test(arguments: cases.indices) func neutralSettings(_ index: Int) {
        let (name, property, value) = Self.cases[index]
        let commandLine = "quiet video=HDMI-A-2:720x576 video=HDMI-A-1:1920x1080M@60,margin_top=16,margin_bottom=16,rotate=90\n"
        let found = ConnectorSettings.neutral(PropertyTable([name: property]), connector: "HDMI-A-1", commandLine: commandLine)
        #expect(
            found
                == (value.map {
                    [ConnectorSettings.Assignment(property: PropertyID(rawValue: 7, name: name), value: $0, former: property.value)]
                } ?? []), "\(name)")
    }

    @Test func whatIsKeptIsTheFirstValue() {
        var saved = SavedPipe()
        let (depth, audio) = (PropertyID<ConnectorID>(rawValue: 7, name: "max bpc"), PropertyID<ConnectorID>(rawValue: 8, name: "audio"))
        let connector = ConnectorID(rawValue: 31)
        saved.add([.init(property: depth, value: 0, former: 2)], of: connector)
        saved.add([.init(property: depth, value: 0, former: 1), .init(property: audio, value: 0, former: 5)], of: connector)
        #expect(saved.properties.map(\.value) == [2, 5] && saved.properties.allSatisfy { $0.object == 31 })
    }

    @Test func linearTables() {
        #expect(GammaRamp.isLinear((0..<256).map { UInt16($0 << 8) }) && GammaRamp.isLinear(GammaRamp.linear(1024)))
        #expect(!GammaRamp.isLinear(Array(repeating: 0, count: 256)))
        #expect(!GammaRamp.isLinear(GammaRamp.linear(256).map { $0 / 10 * 9 }))
        #expect(GammaRamp.linear(2) == [0, 0xffff] && GammaRamp.isLinear([]))
    }

    @Test(arguments: [
        ("Normal", Rotation.none), ("Upside Down", .clockwise180), ("Left Side Up", .clockwise270), ("Right Side Up", .clockwise90),
    ])
    func panels(_ name: String, _ turn: Rotation) { #expect(Rotation(panelOrientation: name) == turn) }

    @Test func anUnknownPanelIsUpright() { #expect(Rotation(panelOrientation: "Sideways") == nil) }
}

/// Unchecked numbers of displays and drivers.
struct HostileTimingTests {
    @Test(arguments: [
        (1 as UInt32, 65535 as UInt16, 65535 as UInt16, 65535 as UInt16, 0 as UInt32, 1.0), (.max, 1, 1, 0, .max, 1000), (0, 0, 0, 0, 0, 1),
        (148_500, 2200, 1125, 0, 60, 60), (0, 2200, 1125, 0, 50, 50),
    ])
    func modes(clock: UInt32, htotal: UInt16, vtotal: UInt16, vscan: UInt16, told: UInt32, refresh: Double) {
        var info = drmModeModeInfo()
        (info.clock, info.htotal, info.vtotal, info.vscan, info.vrefresh) = (clock, htotal, vtotal, vscan, told)
        #expect(ConnectorMode(info).refresh == refresh)
    }

    @Test func framebuffers() {
        var screen = fb_var_screeninfo()
        (screen.pixclock, screen.xres, screen.left_margin, screen.right_margin) = (1, .max, .max, .max)
        #expect(FramebufferDevice.refresh(screen) == 60)
    }
}

struct FramebufferFormatTests {
    static func screen(_ bits: UInt32, _ fields: [(UInt32, UInt32)]) -> fb_var_screeninfo {
        var screen = fb_var_screeninfo()
        screen.bits_per_pixel = bits
        screen.red = fb_bitfield(offset: fields[0].0, length: fields[0].1, msb_right: 0)
        screen.green = fb_bitfield(offset: fields[1].0, length: fields[1].1, msb_right: 0)
        screen.blue = fb_bitfield(offset: fields[2].0, length: fields[2].1, msb_right: 0)
        return screen
    }

    @Test func formatsByTheirFields() {
        #expect(ScanoutFormat(Self.screen(32, [(16, 8), (8, 8), (0, 8)])) == .xrgb8888)
        #expect(ScanoutFormat(Self.screen(32, [(0, 8), (8, 8), (16, 8)])) == .xbgr8888)
        #expect(ScanoutFormat(Self.screen(16, [(11, 5), (5, 6), (0, 5)])) == .rgb565)
        let others = [
            Self.screen(32, [(20, 10), (10, 10), (0, 10)]), Self.screen(24, [(16, 8), (8, 8), (0, 8)]),
            Self.screen(16, [(10, 5), (5, 5), (0, 5)]), Self.screen(16, [(0, 5), (5, 6), (11, 5)]),
        ]
        for other in others { #expect(ScanoutFormat(other) == nil) }
        let reason = ScanoutFormat.reason(others[0])
        #expect(reason.contains("32 bits (red 10 at 20, green 10 at 10, blue 10 at 0)") && reason.contains("set another layout"))
        #expect(ScanoutFormat.reason(others[1]).contains("set 32 or 16 bits"))
    }
}
