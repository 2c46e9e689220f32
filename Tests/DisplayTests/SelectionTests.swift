import CKioskDRM
import Glibc
import KioskPlatform
import KioskVocabulary
import Testing

@testable import KioskDisplayCore

struct SelectionTests {
    static func mode(_ width: Int, _ height: Int, _ refresh: Double, preferred: Bool = false, progressive: Bool = true) -> ConnectorMode {
        ConnectorMode(width: width, height: height, refresh: refresh, isPreferred: preferred, isProgressive: progressive)
    }

    static let tv = [
        mode(3840, 2160, 30), mode(1920, 1080, 60, preferred: true), mode(1920, 1080, 60, progressive: false), mode(1920, 1080, 59.94),
        mode(1920, 1080, 50), mode(1920, 1080, 144), mode(1280, 720, 144), mode(1280, 720, 60), mode(1280, 720, 50),
    ]

    @Test(arguments: [
        ("preferred", 1, true), ("3840x2160", 0, true), ("1920x1080", 1, true), ("1920x1080@60", 1, true), ("1920x1080@59.94", 3, true),
        ("1920x1080@50", 4, true), ("1280x720", 7, true), ("1280x720@144", 6, true), ("1280x720@144.3", 6, true),
        ("1920x1080@100", 1, false),
        ("640x480", 1, false),
    ])
    func choosesAMode(_ request: String, _ index: Int, _ isAsRequested: Bool) {
        #expect(DisplayModeChoice(request)?.choose(from: Self.tv) == DisplayModeChoice.Choice(index: index, isAsRequested: isAsRequested))
    }

    @Test func oddModeLists() {
        #expect(DisplayModeChoice.preferred.choose(from: []) == nil)
        #expect(DisplayModeChoice.preferred.choose(from: [Self.mode(800, 600, 60), Self.mode(640, 480, 60)])?.index == 0)
        let interlaced = [Self.mode(1920, 1080, 50, preferred: true, progressive: false)]
        #expect(DisplayModeChoice.preferred.choose(from: interlaced)?.index == 0)
        let mixed = interlaced + [Self.mode(1280, 720, 50)]
        #expect(DisplayModeChoice.preferred.choose(from: mixed)?.index == 1)
    }

    @Test func refusedModesAreLeftOutUnlessAllAre() {
        var record = ConnectorRecord(
            id: ConnectorID(rawValue: 1), connector: Connector(name: "HDMI-A-1", status: .connected, modes: Self.tv, isWriteback: false),
            timings: (0..<Self.tv.count).map { index in
                var timing = drmModeModeInfo()
                timing.clock = UInt32(index)
                return timing
            }, encoders: [], encoder: .none, hasEDID: true, linkIsBad: false)
        record.leaveOut { $0.isPreferred }
        #expect(record.connector.modes.count == Self.tv.count - 1 && record.timings.map(\.clock).starts(with: [0, 2, 3]))
        record.leaveOut { _ in true }
        #expect(record.connector.modes.count == Self.tv.count - 1)
    }

    /// An inactive display whose preferred mode is refused again and again gets another mode, until it is unplugged.
    @Test func refusalsEndWithTheDisplay() throws {
        let finder = DisplayFinder(DisplaySettings())
        let card = DRMCard(
            path: "/dev/dri/card0", descriptor: try Descriptor.open("/dev/null"), isAtomic: true, hasMonotonicTimestamps: true)
        func sees(_ status: Connector.Status) -> ConnectorMode? {
            let connector = Connector(name: "HDMI-A-1", status: status, modes: status == .connected ? Self.tv : [], isWriteback: false)
            let record = ConnectorRecord(
                id: ConnectorID(rawValue: 1), connector: connector, timings: connector.modes.map { _ in drmModeModeInfo() }, encoders: [],
                encoder: .none,
                hasEDID: true, linkIsBad: false)
            guard case .ready(let target, _) = finder.choose(among: [card], [[record]]) else { return nil }
            return target.mode
        }
        let preferred = Self.tv[1]
        for _ in 0..<Refusals.maximum {
            #expect(sees(.connected) == preferred)
            finder.refuseModeset()
        }
        #expect(sees(.connected) != preferred)
        #expect(sees(.disconnected) == nil)
        #expect(sees(.connected) == preferred)
    }

    static func connector(_ name: String, _ status: Connector.Status, modes: Int = 1, writeback: Bool = false) -> Connector {
        Connector(name: name, status: status, modes: Array(repeating: mode(800, 600, 60), count: modes), isWriteback: writeback)
    }

    static let cards = [
        [connector("HDMI-A-1", .disconnected, modes: 0), connector("Writeback-1", .connected, writeback: true)],
        [
            connector("VGA-1", .unknown), connector("DP-1", .connected, modes: 0), connector("HDMI-A-1", .connected),
            connector("DP-2", .connected),
        ],
    ]

    @Test(arguments: [
        ("auto", 1, 2), ("HDMI-A-1", 1, 2), ("card1:HDMI-A-1", 1, 2), ("DP-2", 1, 3), ("DP-1", 1, 1), ("VGA-1", 1, 0),
        ("card0:HDMI-A-1", -1, 0),
        ("Writeback-1", -1, 0), ("LVDS-1", -1, 0),
    ])
    func choosesAConnector(_ request: String, _ card: Int, _ connector: Int) {
        let place = DisplayConnector(request)?.choose(from: Self.cards, named: ["card0", "card1"])
        #expect(place == (card < 0 ? nil : DisplayConnector.Place(card: card, connector: connector)))
    }

    @Test func autoTakesWhatIsThere() {
        let names = ["card0"]
        #expect(DisplayConnector.automatic.choose(from: [], named: []) == nil)
        #expect(DisplayConnector.automatic.choose(from: [[Self.connector("A", .disconnected)]], named: names) == nil)
        #expect(
            DisplayConnector.automatic.choose(
                from: [[Self.connector("A", .unknown), Self.connector("B", .connected, modes: 0)]], named: names)?.connector == 1)
        #expect(DisplayConnector.automatic.choose(from: [[Self.connector("A", .unknown)]], named: names)?.connector == 0)
    }

    /// The active connector's status, the other connector's status and modes, the setting, and the replacement; nil for none.
    @Test(
        arguments: [
            (.unknown, .connected, 1, "auto", "HDMI-A-1"), (.unknown, .connected, 0, "auto", nil), (.unknown, .unknown, 1, "auto", nil),
            (.unknown, .disconnected, 0, "auto", nil), (.connected, .connected, 1, "auto", nil), (.unknown, .connected, 1, "VGA-1", nil),
        ] as [(Connector.Status, Connector.Status, Int, String, String?)])
    func whatMayNotBeThereGivesWay(_ active: Connector.Status, _ other: Connector.Status, _ modes: Int, _ request: String, _ taken: String?)
    {
        let cards = [[Self.connector("VGA-1", active), Self.connector("HDMI-A-1", other, modes: modes)]]
        let place = DisplayConnector(request)?.replacement(for: .init(card: 0, connector: 0), from: cards, named: ["card0"])
        #expect(place.map { cards[$0.card][$0.connector].name } == taken)
    }

    /// The same with the finder, on two cards.
    @Test func aConnectedDisplayOnAnotherCardIsFound() throws {
        let finder = DisplayFinder(DisplaySettings())
        let cards = try (0..<2).map {
            DRMCard(
                path: "/dev/dri/card\($0)", descriptor: try Descriptor.open("/dev/null"), isAtomic: true, hasMonotonicTimestamps: true)
        }
        let (vga, hdmi) = (Self.record(Self.connector("VGA-1", .unknown)), Self.record(Self.connector("HDMI-A-1", .connected)))
        let absent = Self.record(Self.connector("HDMI-A-1", .disconnected, modes: 0))
        #expect(finder.choose(among: cards, [[vga], [absent]]) == .ready(Self.target("/dev/dri/card0 VGA-1"), linkIsBad: false))
        #expect(finder.replace(vga, on: cards[0], among: cards, [[vga], [absent]]) == nil)
        let sighting = finder.replace(vga, on: cards[0], among: cards, [[vga], [hdmi]])
        #expect(sighting == .ready(Self.target("/dev/dri/card1 HDMI-A-1"), linkIsBad: false))
    }

    static func record(_ connector: Connector) -> ConnectorRecord {
        ConnectorRecord(
            id: ConnectorID(rawValue: 1), connector: connector, timings: connector.modes.map { _ in drmModeModeInfo() }, encoders: [],
            encoder: .none, hasEDID: true,
            linkIsBad: false)
    }

    static func target(_ display: String) -> DisplayState.Target { DisplayState.Target(display: display, mode: mode(800, 600, 60)) }

    @Test func aHeadsetIsTakenByItsNameOnly() {
        var headset = Self.connector("DP-1", .connected)
        headset.isNonDesktop = true
        let cards = [[headset, Self.connector("VGA-1", .unknown)]]
        #expect(DisplayConnector.automatic.choose(from: cards, named: ["card0"])?.connector == 1)
        #expect(DisplayConnector.automatic.choose(from: [[headset]], named: ["card0"]) == nil)
        #expect(DisplayConnector("DP-1")?.choose(from: cards, named: ["card0"])?.connector == 0)
    }

    /// A driver takes every mode and refuses every flip: the finder gives the display up for another one, or rests if there is none.
    @Test func aDisplayThatShowsNothingGivesWay() throws {
        let finder = DisplayFinder(DisplaySettings())
        let card = DRMCard(
            path: "/dev/dri/card0", descriptor: try Descriptor.open("/dev/null"), isAtomic: true, hasMonotonicTimestamps: true)
        let (dead, other) = (Self.record(Self.connector("A", .connected)), Self.record(Self.connector("B", .connected)))
        for _ in 0..<2 * FlipMethod.allCases.count {
            #expect(finder.choose(among: [card], [[dead]]) == .ready(Self.target("/dev/dri/card0 A"), linkIsBad: false))
            finder.refuseFlip(DeviceError("flip", code: EINVAL), isFirst: true)
        }
        #expect(finder.choose(among: [card], [[dead]]) == .resting)
        #expect(finder.choose(among: [card], [[dead, other]]) == .ready(Self.target("/dev/dri/card0 B"), linkIsBad: false))
        #expect(finder.choose(among: [card], [[Self.record(Self.connector("A", .disconnected, modes: 0))]]) == .nothing)
        #expect(finder.choose(among: [card], [[dead]]) == .ready(Self.target("/dev/dri/card0 A"), linkIsBad: false))
    }

    @Test func nothingButWhatIsAskedForIsTaken() {
        for connector in [DisplayConnector.framebuffer("/dev/fb1"), .offscreen] {
            #expect(connector.choose(from: Self.cards, named: ["card0", "card1"]) == nil && !connector.takesCards)
        }
        #expect(DisplayConnector.automatic.framebufferPath == "/dev/fb0")
        #expect(DisplayConnector.framebuffer("/dev/fb1").framebufferPath == "/dev/fb1")
        #expect(DisplayConnector.named("DP-1", card: nil).framebufferPath == nil && DisplayConnector.offscreen.framebufferPath == nil)
    }

    @Test func theSurveyGivesReasons() {
        var devices = DisplayDevices()
        var wanted = DisplaySettings()
        #expect(devices.choose(wanted) == (nil, "no graphics device; kiosk waits for one"))
        devices.framebuffers = [.init(path: "/dev/fb0", width: 800, height: 480, bitsPerPixel: 16, canPan: false)]
        #expect(devices.choose(wanted) == ("/dev/fb0 800x480", "no DRM card with connectors can be used"))
        devices.cards = [.init(path: "/dev/dri/card1", driver: "vc4", isAtomic: true, connectors: Self.cards[1], planes: [], users: [])]
        #expect(devices.choose(wanted) == ("card1:HDMI-A-1 800x600@60.00", "the first connector with a display; mode preferred"))
        wanted.connector = .named("LVDS-1", card: nil)
        #expect(devices.choose(wanted) == (nil, "LVDS-1 has no display; kiosk waits for one"))
        wanted.connector = .framebuffer("/dev/fb0")
        #expect(devices.choose(wanted) == ("/dev/fb0 800x480", "the device that you set"))
        wanted.connector = .framebuffer("/dev/fb1")
        #expect(devices.choose(wanted) == (nil, "/dev/fb1 is not there or cannot be used; kiosk waits for it"))
        wanted.connector = .offscreen
        #expect(devices.choose(wanted) == ("offscreen", "as you set: kiosk shows nothing"))
    }
}
