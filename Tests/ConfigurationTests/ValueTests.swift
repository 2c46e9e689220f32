import Platform
import Testing
import Vocabulary

@testable import Configuration

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
        #expect(configuration.input.usesTouch && !configuration.input.allowsQuit && configuration.input.grabsDevices)
        #expect(configuration.log.level == .info)
        #expect(configuration.playlist.isEmpty)
        #expect(Set(KeyBinding.defaults.map(\.name)).count == KeyBinding.defaults.count)
        let commands = Dictionary(uniqueKeysWithValues: KeyBinding.defaults.map { ($0.name, $0.command) })
        #expect(commands["KEY_SPACE"] == .togglePlayback && commands["KEY_PLAYPAUSE"] == .togglePlayback)
        #expect(commands["KEY_RIGHT"] == .seekSteps(1) && commands["KEY_LEFT"] == .seekSteps(-1))
        #expect(commands["KEY_UP"] == .changeVolume(by: 5) && commands["KEY_DOWN"] == .changeVolume(by: -5))
        #expect(commands["KEY_M"] == .toggleMute && commands["KEY_N"] == .nextItem && commands["KEY_PAGEUP"] == .previousItem)
        #expect(commands["KEY_HOME"] == .restartItem && commands["KEY_ESC"] == .quit && commands["KEY_Q"] == .quit)
    }

    @Test func everyValue() throws {
        let configuration = try parsed(
            """
            display = { connector = "card1:HDMI-A-2", mode = "1280x720@59.94", gravity = "fill", rotation = 270, background = "#0a10FF" }
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
            [input]
            touch = false
            allow-quit = true
            grab = false
            [[playlist]]
            source = "a.mp4"
            gravity = "stretch"
            volume = 25
            muted = true
            repeat = 3
            start = "0:01"
            end = 2
            duration = 7
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
        #expect(!configuration.input.usesTouch && configuration.input.allowsQuit && !configuration.input.grabsDevices)
        let entry = try #require(configuration.playlist.first)
        #expect(
            entry.resolved(source: entry.source.location, in: configuration)
                == PlaylistItem(
                    source: "/srv/signs/a.mp4", gravity: .resize, volume: 0.25, isMuted: true, repeatCount: 3, start: .seconds(1),
                    end: .seconds(2),
                    duration: .seconds(7)))
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
        let configuration = try parsed("[input.keys]\nkey_SPACE = \"next\"\nesc = \"none\"\nBTN_LEFT = \"toggle\"\n1 = \"volume-down\"\n")
        let bindings = configuration.input.bindings
        #expect(bindings.count == KeyBinding.defaults.count + 2)
        #expect(
            bindings.suffix(4) == [
                KeyBinding(name: "KEY_SPACE", command: .nextItem, position: SourcePosition(line: 2, column: 1)),
                KeyBinding(name: "KEY_ESC", command: nil, position: SourcePosition(line: 3, column: 1)),
                KeyBinding(name: "BTN_LEFT", command: .togglePlayback, position: SourcePosition(line: 4, column: 1)),
                KeyBinding(name: "KEY_1", command: .changeVolume(by: -5), position: SourcePosition(line: 5, column: 1)),
            ])
        #expect(
            configuration.complaint(unknownKey: bindings.last!)?.description
                == "kiosk.conf:5:1: [input.keys] KEY_1: there is no such key; evtest shows the names")
        #expect(configuration.complaint(unknownKey: KeyBinding.defaults[0]) == nil)
    }

    @Test("Command line beats file beats default") func overrides() throws {
        let text =
            "[display]\ngravity = \"fill\"\nrotation = 90\n[[playlist]]\nsource = \"a.mp4\"\n[[playlist]]\nsource = \"b.mp4\"\ngravity = \"stretch\"\n"
        var configuration = try parsed(text)
        #expect(configuration.expandPlaylist().items.map(\.gravity) == [.resizeAspectFill, .resize])

        configuration.apply(ConfigurationOverrides())
        #expect(configuration == (try parsed(text)))

        var overrides = ConfigurationOverrides()
        overrides.gravity = .resizeAspect
        overrides.connector = .offscreen
        overrides.mode = .size(width: 640, height: 480, refresh: nil)
        overrides.background = Color(red: 1, green: 2, blue: 3)
        overrides.audioDevice = .off
        overrides.volume = 5
        overrides.isMuted = true
        overrides.loop = .item
        overrides.logLevel = .trace
        configuration.apply(overrides)
        #expect(configuration.expandPlaylist().items.map(\.gravity) == [.resizeAspect, .resizeAspect])
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

        overrides.rotation = .clockwise180
        overrides.sources = ["x.mp4", "/y.mp4", "rtsp://camera/1"]
        configuration.apply(overrides)
        #expect(configuration.display.rotation == .clockwise180)
        #expect(configuration.playlist.map(\.source.location) == ["\(Files.workingFolder)/x.mp4", "/y.mp4", "rtsp://camera/1"])
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
