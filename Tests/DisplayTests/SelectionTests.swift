import CDRM
import Testing

@testable import Display

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
        #expect(ModeRequest(request)?.choose(from: Self.tv) == ModeRequest.Choice(index: index, isAsRequested: isAsRequested))
    }

    @Test func oddModeLists() {
        #expect(ModeRequest.preferred.choose(from: []) == nil)
        #expect(ModeRequest.preferred.choose(from: [Self.mode(800, 600, 60), Self.mode(640, 480, 60)])?.index == 0)
        let interlaced = [Self.mode(1920, 1080, 50, preferred: true, progressive: false)]
        #expect(ModeRequest.preferred.choose(from: interlaced)?.index == 0)
        let mixed = interlaced + [Self.mode(1280, 720, 50)]
        #expect(ModeRequest.preferred.choose(from: mixed)?.index == 1)
    }

    @Test func refusedModesAreLeftOutUnlessAllAre() {
        var record = ConnectorRecord(
            id: 1, connector: Connector(name: "HDMI-A-1", status: .connected, modes: Self.tv, isWriteback: false),
            timings: (0..<Self.tv.count).map { index in
                var timing = drmModeModeInfo()
                timing.clock = UInt32(index)
                return timing
            }, encoders: [], encoder: 0, hasEDID: true, linkIsBad: false)
        record.leaveOut { $0.isPreferred }
        #expect(record.connector.modes.count == Self.tv.count - 1 && record.timings.map(\.clock).starts(with: [0, 2, 3]))
        record.leaveOut { _ in true }
        #expect(record.connector.modes.count == Self.tv.count - 1)
    }

    @Test(arguments: [
        "", "1920", "1920x", "x1080", "1920x1080@", "1920x1080@0", "1920x1080@1001", "0x0", "-1x5", "1920x1080x3", "99999x1", "1x1@nan",
    ])
    func refusesAMode(_ text: String) { #expect(ModeRequest(text) == nil) }

    @Test(arguments: ["preferred", "1920x1080", "1920x1080@50", "1280x720@59.94"])
    func modesKeepTheirForm(_ text: String) { #expect(ModeRequest(text).map { "\($0)" } == text) }

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
        let place = ConnectorRequest(request)?.choose(from: Self.cards, named: ["card0", "card1"])
        #expect(place == (card < 0 ? nil : ConnectorRequest.Place(card: card, connector: connector)))
    }

    @Test func autoTakesWhatIsThere() {
        let names = ["card0"]
        #expect(ConnectorRequest.automatic.choose(from: [], named: []) == nil)
        #expect(ConnectorRequest.automatic.choose(from: [[Self.connector("A", .disconnected)]], named: names) == nil)
        #expect(
            ConnectorRequest.automatic.choose(
                from: [[Self.connector("A", .unknown), Self.connector("B", .connected, modes: 0)]], named: names)?.connector == 1)
        #expect(ConnectorRequest.automatic.choose(from: [[Self.connector("A", .unknown)]], named: names)?.connector == 0)
    }

    @Test func connectorForms() {
        #expect(ConnectorRequest("card1:DP-1") == .named("DP-1", card: "card1"))
        for text in ["", ":DP-1", "card1:", "a:b:c"] { #expect(ConnectorRequest(text) == nil) }
        for text in ["auto", "DP-1", "card1:DP-1"] { #expect(ConnectorRequest(text).map { "\($0)" } == text) }
    }

    @Test func theSurveyGivesReasons() {
        var devices = DisplayDevices()
        #expect(devices.choose(DisplaySettings()).choice == nil)
        var preview = DisplaySettings()
        preview.offscreenWhenAbsent = true
        #expect(devices.choose(preview).choice == "offscreen")
        devices.framebuffers = [.init(path: "/dev/fb0", width: 800, height: 480, bitsPerPixel: 16, canPan: false)]
        #expect(devices.choose(preview) == ("/dev/fb0 800x480", "no DRM card with connectors can be used"))
        devices.cards = [.init(path: "/dev/dri/card1", driver: "vc4", isAtomic: true, connectors: Self.cards[1], planes: [], users: [])]
        #expect(devices.choose(preview) == ("card1:HDMI-A-1 800x600@60.00", "the first connector with a display; mode preferred"))
        var wanted = DisplaySettings()
        wanted.connector = .named("LVDS-1", card: nil)
        #expect(devices.choose(wanted) == (nil, "LVDS-1 has no display; kiosk waits for one"))
    }
}
