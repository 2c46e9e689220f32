import KioskCommands
import KioskPlatform
import KioskVocabulary
import Testing

@testable import KioskConfiguration

func parsed(_ text: String) throws -> Configuration { try Configuration.parse(Array(text.utf8), path: "kiosk.conf", folder: "/srv/signs") }

@Suite struct ValueTests {
    @Test(
        "An empty file, and one of comments, is the defaults",
        arguments: ["", "\n\n", "# nothing", "\u{FEFF}", "[display]\n[audio]\n[input.keys]"])
    func empty(_ text: String) throws {
        var configuration = try parsed(text)
        #expect(configuration.path == "kiosk.conf")
        configuration.path = nil
        #expect(configuration == Configuration())
    }

    @Test func defaults() {
        let configuration = Configuration()
        #expect(configuration.display.connector == .automatic)
        #expect(configuration.display.mode == .preferred)
        #expect(configuration.display.gravity == .resizeAspect)
        #expect(configuration.display.rotation == .none)
        #expect(configuration.display.background == Color(red: 0, green: 0, blue: 0))
        #expect(configuration.audio.device == .automatic)
        #expect(configuration.audio.volume == 100 && !configuration.audio.isMuted)
        #expect(configuration.playback.loop == .playlist)
        #expect(configuration.playback.seekStep == .seconds(10) && configuration.playback.imageDuration == .seconds(10))
        #expect(configuration.playback.decoder == .automatic && configuration.playback.decoderDevice == nil)
        #expect(configuration.playback.isolation == .automatic)
        #expect(configuration.input.usesTouch && !configuration.input.allowsQuit && configuration.input.grabsDevices)
        #expect(configuration.log.level == .info)
        #expect(configuration.playlist.isEmpty)
        #expect(Set(KeyBinding.defaults.map(\.trigger)).count == KeyBinding.defaults.count)
        let commands = Dictionary(uniqueKeysWithValues: KeyBinding.defaults.map { ($0.trigger.description, $0.command) })
        #expect(commands["KEY_SPACE"] == .player(.togglePlayback) && commands["KEY_PLAYPAUSE"] == .player(.togglePlayback))
        #expect(commands["KEY_RIGHT"] == .player(.seekSteps(1)) && commands["KEY_LEFT"] == .player(.seekSteps(-1)))
        #expect(commands["KEY_UP"] == .player(.changeVolume(by: 5)) && commands["KEY_DOWN"] == .player(.changeVolume(by: -5)))
        #expect(
            commands["KEY_M"] == .player(.toggleMute) && commands["KEY_N"] == .player(.nextItem)
                && commands["KEY_PAGEUP"] == .player(.previousItem))
        #expect(
            commands["KEY_HOME"] == .player(.restartItem) && commands["KEY_ESC"] == .program(.quit) && commands["KEY_Q"] == .program(.quit))
        #expect(
            commands["KEY_1"] == .player(.selectItem(1)) && commands["KEY_KP9"] == .player(.selectItem(9))
                && commands["KEY_NUMERIC_5"] == .player(.selectItem(5)))
        #expect(commands["DIAL-UP"] == .player(.changeVolume(by: 5)) && commands["DIAL-DOWN"] == .player(.changeVolume(by: -5)))
        #expect(configuration.input.controls == .full && !configuration.input.scrubPlays && !configuration.input.usesAccelerometer)
        #expect(configuration.input.lock == InputLock() && configuration.input.map.isEmpty)
        #expect(configuration.theme == Theme() && configuration.theme.accent.description == "#339eff")
        #expect(configuration.theme.parts == Set(ControlsPart.allCases).subtracting([.rotate]))
        #expect(configuration.idle.after == nil && configuration.idle.command == .player(.restartPlaylist))
    }

    @Test func everyValue() throws {
        let configuration = try parsed(
            """
            display = { connector = "card1:HDMI-A-2", mode = "1280x720@59.94", gravity = "fill", rotation = 270, background = "#0a10FF", physical-size = "154.5x86", region = "60 50 35 30", picture-path = "copy" }
            audio.device = "hw:1,0"
            audio.volume = 40
            audio.muted = true
            log.level = "debug"
            [playback]
            loop = "off"
            seek-step = 2.5
            image-duration = "1:00:00.25"
            transition = "fade"
            transition-duration = 0.5
            deinterlace = "off"
            decoder = "hardware"
            decoder-device = "/dev/dri/renderD129"
            isolation = "off"
            [control]
            socket = "/run/kiosk/other.sock"
            [input]
            controls = "tap-only"
            touch = false
            scrub-plays = true
            allow-quit = true
            grab = false
            locked = true
            allow = ["tap", "edge-top", "slider", "key_home", "hold ctrl+KEY_POWER", "device ILITEK Multi"]
            map = { "ILITEK Multi" = "HDMI-A-1", eGalax = "card1:HDMI-A-2" }
            accelerometer = true
            [input.gestures]
            edge-top = "show-controls"
            tap = "none"
            two-finger-tap = "next"
            [input.keys]
            "hold ctrl+power" = "rotate"
            [theme]
            accent = "#ff0000"
            font = "Noto Sans, Noto Sans CJK JP"
            opacity = 0.5
            toast = false
            title = true
            preview = false
            [idle]
            after = "1:30"
            do = "item 2"
            [[playlist]]
            source = "a.mp4"
            title = "Ä first 日本"
            wait-for = "tap"
            on-tap = "play ../b c.mp4"
            gravity = "stretch"
            volume = 25
            muted = true
            deinterlace = "auto"
            repeat = 3
            start = "0:01"
            end = 2
            duration = 7
            image-duration = 8
            decoder = "software"
            """)
        #expect(configuration.display.connector == .named("HDMI-A-2", card: "card1"))
        #expect(configuration.display.mode == .size(width: 1280, height: 720, refresh: 59.94))
        #expect(configuration.display.gravity == .resizeAspectFill)
        #expect(configuration.display.rotation == .clockwise270)
        #expect(configuration.display.background == Color(red: 10, green: 16, blue: 255))
        #expect(configuration.audio.device == .pcm("hw:1,0"))
        #expect(configuration.audio.volume == 40 && configuration.audio.isMuted)
        #expect(configuration.log.level == .debug)
        #expect(configuration.playback.loop == .off)
        #expect(configuration.playback.seekStep == .milliseconds(2500))
        #expect(configuration.playback.imageDuration == .milliseconds(3_600_250))
        #expect(configuration.playback.transition == .fade && configuration.playback.transitionDuration == .milliseconds(500))
        #expect(configuration.playback.deinterlace == .off)
        #expect(configuration.control.socket == .path("/run/kiosk/other.sock"))
        #expect(!configuration.input.usesTouch && configuration.input.allowsQuit && !configuration.input.grabsDevices)
        let entry = try #require(configuration.playlist.first)
        #expect(
            entry.resolved(source: entry.source.location, in: configuration)
                == PlaylistItem(
                    source: "/srv/signs/a.mp4", gravity: .resize, volume: 0.25, isMuted: true, repeatCount: 3, start: .seconds(1),
                    end: .seconds(2), duration: .seconds(7), imageDuration: .seconds(8), waitsForTap: true,
                    onTap: .player(.playSource("/srv/b c.mp4", resumes: true)),
                    title: "Ä first 日本", deinterlace: .auto, decoder: .software))
        #expect(PlaylistEntry(source: entry.source).resolved(source: "b.mp4", in: configuration).deinterlace == .off)
        #expect(configuration.playback.decoder == .hardware && configuration.playback.decoderDevice == "/dev/dri/renderD129")
        #expect(configuration.playback.isolation == .off)
        #expect(configuration.display.physicalSize?.description == "154.5x86")
        #expect(configuration.display.region == Region(x: 0.6, y: 0.5, width: 0.35, height: 0.3))
        #expect(configuration.display.picturePath == .copy)
        let input = configuration.input
        #expect(input.controls == .tapOnly && input.scrubPlays && input.usesAccelerometer)
        #expect(
            input.map == [
                DeviceMapping(device: "ILITEK Multi", connector: .named("HDMI-A-1", card: nil)),
                DeviceMapping(device: "eGalax", connector: .named("HDMI-A-2", card: "card1")),
            ])
        // Only bindings that are allowed remain.
        #expect(input.gestures == [.edgeTop: .showControls])
        #expect(input.allowedBindings.map(\.trigger.description) == ["KEY_HOME", "hold ctrl+KEY_POWER"])
        #expect(input.allowedBindings.map(\.command) == [.player(.restartItem), .rotate(nil)])
        #expect(input.lock.allows(.slider) && !input.lock.allows(.mute) && !input.lock.allows(GestureName.twoFingerTap))
        #expect(
            input.lock.allows(.init(identity: "ILITEK Multi-Touch")) && input.lock.allows(.init(identity: "my ilitek multi"))
                && !input.lock.allows(.init(identity: "kbd")))
        #expect(configuration.theme.accent == Color(red: 255, green: 0, blue: 0) && configuration.theme.opacity == 0.5)
        #expect(configuration.theme.font == "Noto Sans, Noto Sans CJK JP")
        #expect(configuration.theme.parts == Set(ControlsPart.allCases).subtracting([.toast, .preview, .rotate]))
        #expect(configuration.idle.after == .seconds(90) && configuration.idle.command == .player(.selectItem(2)))
    }

    @Test("A device is told by where it is plugged in, and by its ids, whatever it calls itself") func devicesOfALock() throws {
        func allows(_ entry: String, _ place: String, _ vendor: UInt16, _ product: UInt16) throws -> Bool {
            try parsed("[input]\nlocked = true\nallow = [\"\(entry)\"]").input.lock.allows(
                .init(identity: "ILITEK usb-1-2 222a:0001", place: place, vendor: vendor, product: product))
        }
        #expect(try allows("place usb-1-2", "usb-1-2/input0", 0, 0) && allows("place usb-1-2/input1", "usb-1-2/input1", 0, 0))
        for place in ["usb-1-21/input0", "usb-1-2.1/input0", "usb-1", ""] { #expect(try !allows("place usb-1-2", place, 0, 0), "\(place)") }
        #expect(try allows("id 222A:0001", "", 0x222a, 1) && allows("id 222a", "", 0x222a, 7))
        #expect(try !allows("id 222a:0001", "", 0x222a, 2) && !allows("id 222a:0001", "", 0x222b, 1) && !allows("id 222a", "", 0, 0))
        for wrong in ["id ", "id 1:2:3", "id xyz", "id 12345", "place "] {
            #expect(throws: ConfigurationError.self) { try allows(wrong, "", 0, 0) }
        }
    }

    @Test("Locked with an empty list nothing acts; a list without locked does nothing") func locks() throws {
        let locked = try parsed("[input]\nlocked = true").input
        #expect(locked.gestures.isEmpty && locked.allowedBindings.isEmpty && ControlsPart.allCases.allSatisfy { !locked.lock.allows($0) })
        #expect(locked.lock.allows(.init(identity: "any")), "a device is left out where others are listed")
        let open = try parsed("[input]\nallow = [\"tap\"]").input
        #expect(open.gestures == Configuration.Input.defaultGestures && open.allowedBindings == KeyBinding.defaults)
        #expect(ControlsPart.allCases.allSatisfy { open.lock.allows($0) })
    }

    @Test("What commands play is known, each file once") func commandSources() throws {
        let configuration = try parsed(
            """
            [input.keys]
            f1 = "play b.mp4 then resume"
            f2 = "play a.mp4"
            [input.gestures]
            long-press = "play rtsp://camera/1"
            [idle]
            after = 5
            do = "play idle.mp4"
            [[playlist]]
            source = "x.mp4"
            on-tap = "play b.mp4"
            """)
        let folder = "/srv/signs/"
        #expect(configuration.commandSources == [folder + "b.mp4", folder + "a.mp4", "rtsp://camera/1", folder + "idle.mp4"])
        #expect(try parsed("[idle]\ndo = \"play idle.mp4\"").commandSources.isEmpty, "which is never")
        #expect(try parsed("[input]\nlocked = true\n[input.keys]\nf1 = \"play a.mp4\"").commandSources.isEmpty, "which nobody can ask for")
    }

    @Test("Where nothing is drawn the defaults are a tap and the swipes, and what the file binds") func gesturesWithoutControls() throws {
        let input = try parsed("[input]\ncontrols = \"none\"\n[input.gestures]\nlong-press = \"mute\"\nswipe-left = \"none\"").input
        #expect(input.gestures == [.tap: .player(.togglePlayback), .swipeRight: .player(.seekSteps(1)), .longPress: .player(.toggleMute)])
        let drags = try parsed("[input.gestures]\nvolume-drag = false").input
        #expect(drags.gestures[.volumeDrag] == nil && drags.gestures[.twoFingerTap] == .player(.toggleMute))
    }

    @Test func physicalSizes() {
        for text in ["154x86", "1872x1053", "10x10000", "154.25x86.5"] { #expect(PhysicalSize(text)?.description == text) }
        for text in ["", "154", "154x", "9x86", "154 x 86", "154mmx86mm", "20000x86", "-154x86", "1e2x86"] {
            #expect(PhysicalSize(text) == nil, "\(text)")
        }
    }

    @Test("Connectors are read, and print as they were written") func connectors() {
        let good: [(String, DisplayConnector)] = [
            ("auto", .automatic), ("offscreen", .offscreen), ("/dev/fb0", .framebuffer("/dev/fb0")), ("eDP-1", .named("eDP-1", card: nil)),
            ("DVI-I-2", .named("DVI-I-2", card: nil)), ("Virtual-1", .named("Virtual-1", card: nil)),
            ("card0:DSI-1", .named("DSI-1", card: "card0")),
        ]
        for (text, connector) in good {
            #expect(DisplayConnector(text) == connector)
            #expect(connector.description == text)
        }
        for text in [
            "", "Auto", "HDMI-A-1 ", "HDMI-A", "card:HDMI-A-1", "card1:auto", "/dev/fb", "/dev/dri/card0", "/dev/fb0/..", ":HDMI-A-1",
            "1-1",
        ] {
            #expect(DisplayConnector(text) == nil, "\(text)")
        }
    }

    @Test func modes() {
        for text in ["preferred", "1920x1080", "1920x1080@50", "1280x720@59.94", "16384x1@240"] {
            #expect(DisplayModeChoice(text)?.description == text)
        }
        for text in [
            "", "1080p", "1920x", "0x0", "1920x1080@", "1920x1080@0.5", "1920x1080@-1", "1920x1080i", "16385x1", "1920X1080",
            "99999x99999@1e3",
        ] {
            #expect(DisplayModeChoice(text) == nil, "\(text)")
        }
    }

    @Test func colours() {
        #expect(Color("#00ff7F")?.description == "#00ff7f")
        for text in ["", "#", "#fff", "000000", "#gg0000", "#0000000", "#+00000"] { #expect(Color(text) == nil, "\(text)") }
    }

    @Test func audioDevices() {
        for text in ["auto", "off", "default", "hdmi:CARD=vc4hdmi0,DEV=0"] { #expect(AudioDevice(text)?.description == text) }
        #expect(AudioDevice("") == nil && AudioDevice("hw:\n") == nil && AudioDevice(String(repeating: "x", count: 257)) == nil)
    }

    @Test func clockTimes() {
        #expect(MediaTime(clock: "0:00") == .zero)
        #expect(MediaTime(clock: "90:00") == .seconds(5400))
        #expect(MediaTime(clock: "01:02:03.004") == .milliseconds(3_723_004))
        #expect(MediaTime(clock: "0:00.000000001") == MediaTime(nanoseconds: 1))
        for text in [
            "", "5", "1:2", "1:60", "1:60:00", "-1:00", "1:00.", "1:00,5", " 1:00", "1:2:03", "1:00.0000000001", "9999999:00", "1:00:00:00",
        ] {
            #expect(MediaTime(clock: text) == nil, "\(text)")
        }
    }

    @Test("A binding in the file replaces the default of the same key, whatever way it is written") func bindings() throws {
        let configuration = try parsed(
            "[input.keys]\nkey_SPACE = \"next\"\n\"once esc\" = \"none\"\nBTN_LEFT = \"toggle\"\nf1 = \"volume-down\"\n")
        let bindings = configuration.input.bindings
        #expect(bindings.count == KeyBinding.defaults.count + 2)
        #expect(
            bindings.suffix(4) == [
                KeyBinding(trigger: KeyTrigger(["KEY_SPACE"]), command: .player(.nextItem), position: SourcePosition(line: 2, column: 1)),
                KeyBinding(trigger: KeyTrigger(["KEY_ESC"], press: .once), command: nil, position: SourcePosition(line: 3, column: 1)),
                KeyBinding(
                    trigger: KeyTrigger(["BTN_LEFT"]), command: .player(.togglePlayback), position: SourcePosition(line: 4, column: 1)),
                KeyBinding(
                    trigger: KeyTrigger(["KEY_F1"]), command: .player(.changeVolume(by: -5)), position: SourcePosition(line: 5, column: 1)),
            ])
        #expect(
            configuration.complaint(unknownKey: bindings.last!)?.description
                == "kiosk.conf:5:1: [input.keys] KEY_F1: there is no such key; evtest shows the names")
        #expect(configuration.complaint(unknownKey: KeyBinding.defaults[0]) == nil)
    }

    @Test("Command line beats file beats default") func overrides() throws {
        let text =
            "[display]\ngravity = \"fill\"\nrotation = 90\n[[playlist]]\nsource = \"a.mp4\"\n[[playlist]]\nsource = \"b.mp4\"\ngravity = \"stretch\"\n"
        var configuration = try parsed(text)
        #expect(configuration.playlist.map { $0.resolved(source: "/a.mp4", in: configuration).gravity } == [.resizeAspectFill, .resize])

        configuration.apply([.init(\.gravity, nil), .init(\.sources, nil), .init(\.display.connector, nil)])
        #expect(configuration == (try parsed(text)))

        configuration.apply([
            .init(\.gravity, .resizeAspect), .init(\.display.connector, .offscreen),
            .init(\.display.mode, .size(width: 640, height: 480, refresh: nil)),
            .init(\.display.background, Color(red: 1, green: 2, blue: 3)), .init(\.audio.device, .off), .init(\.audio.volume, 5),
            .init(\.audio.isMuted, true), .init(\.playback.loop, .item), .init(\.log.level, .trace),
        ])
        #expect(configuration.playlist.map { $0.resolved(source: "/a.mp4", in: configuration).gravity } == [.resizeAspect, .resizeAspect])
        #expect(configuration.display.connector == .offscreen)
        #expect(configuration.display.mode == .size(width: 640, height: 480, refresh: nil))
        #expect(configuration.display.rotation == .clockwise90)
        #expect(configuration.display.background == Color(red: 1, green: 2, blue: 3))
        #expect(
            configuration.audio
                == {
                    var a = Configuration.Audio(); a.device = .off; a.volume = 5; a.isMuted = true; return a
                }())
        #expect(configuration.playback.loop == .item && configuration.log.level == .trace)

        configuration.apply([.init(\.display.rotation, .clockwise180), .init(\.sources, ["x.mp4", "/y.mp4", "rtsp://camera/1"])])
        #expect(configuration.display.rotation == .clockwise180)
        #expect(configuration.playlist.map(\.source.location) == ["\(workingFolder)/x.mp4", "/y.mp4", "rtsp://camera/1"])
    }

    @Test("A file that cannot be read says what to do") func unreadable() throws {
        func message(_ path: String) -> String {
            do throws(ConfigurationError) {
                _ = try Configuration.load(path)
                return "read"
            } catch { return error.description }
        }
        #expect(
            message("/nowhere/kiosk.conf")
                == "/nowhere/kiosk.conf: cannot be read: there is no such file; give the path of another one, or create it")
        #expect(message("/usr") == "/usr: cannot be read: it is a folder; give the path of the file in it")
        #expect(message("/dev/zero") == "/dev/zero: cannot be read: it is longer than 1048576 bytes; this cannot be a kiosk.conf")
        #expect(message("/dev/null") == "read")
        #expect(ConfigurationError.exitStatus == 78)
    }
}
