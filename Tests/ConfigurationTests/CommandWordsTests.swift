import KioskCommands
import KioskPlatform
import KioskVocabulary
import Testing

@testable import KioskConfiguration

@Suite struct CommandWordsTests {
    private let words = CommandWords(folder: "/srv/signs")

    private static let good: [(String, Command?)] = [
        ("toggle", .player(.togglePlayback)), ("none", nil), ("go-on", .player(.waitEnded)), ("restart", .player(.restartItem)),
        ("restart-playlist", .player(.restartPlaylist)),
        ("play", .player(.play)), ("item 3", .player(.selectItem(3))), ("item 10000", .player(.selectItem(10_000))),
        ("volume 0", .player(.setVolume(0))),
        ("volume 40", .player(.setVolume(40))), ("volume-up", .player(.changeVolume(by: 5))), ("rate 1.5", .player(.setRate(1.5))),
        ("rate 2", .player(.setRate(2))),
        ("rotate", .rotate(nil)), ("rotate 0", .rotate(Rotation.none)), ("rotate 270", .rotate(.clockwise270)),
        ("seek 1:30", .player(.seekTo(.seconds(90)))), ("seek 0", .player(.seekTo(.zero))),
        ("seek 12.5", .player(.seekTo(.milliseconds(12_500)))),
        ("seek +30", .player(.seekBy(.seconds(30)))), ("seek -1:00:00.5", .player(.seekBy(.milliseconds(-3_600_500)))),
        ("show-controls", .showControls), ("hide-controls", .hideControls), ("quit", .program(.quit)), ("  next  ", .player(.nextItem)),
        ("play special.mp4", .player(.playSource("/srv/signs/special.mp4", resumes: false))),
        ("play /media/special.mp4 then resume", .player(.playSource("/media/special.mp4", resumes: true))),
        ("play ../a then b.mp4 then next", .player(.playSource("/srv/a then b.mp4", resumes: false))),
        ("play   rtsp://camera/1   then resume ", .player(.playSource("rtsp://camera/1", resumes: true))),
        ("play then resume", .player(.playSource("/srv/signs/then resume", resumes: false))),
        ("play http://host/live.m3u8", .player(.playSource("http://host/live.m3u8", resumes: false))),
    ]

    @Test(arguments: good) func command(_ text: String, _ command: Command?) throws { #expect(try words.command(text) == command) }

    private static let faults: [(String, String)] = [
        ("tooggle", "no command \"tooggle\", did you mean “toggle”?"),
        ("itme 3", "no command \"itme\", did you mean “item”?"),
        ("toggle 3", "“toggle” takes no argument, found \"toggle 3\""), ("none 3", "“none” takes no argument, found \"none 3\""),
        ("item", "“item” needs the place of an item, 1 to 10000, as in \"item 3\""),
        ("item 0", "expected the place of an item, 1 to 10000, as in \"item 3\", found \"item 0\""),
        ("item +3", "expected the place of an item, 1 to 10000, as in \"item 3\", found \"item +3\""),
        ("volume 101", "expected a whole number from 0 to 100, as in \"volume 40\", found \"volume 101\""),
        ("volume 4 0", "expected a whole number from 0 to 100, as in \"volume 40\", found \"volume 4 0\""),
        ("rate nan", "expected a number from 0.5 to 2, as in \"rate 1.5\", found \"rate nan\""),
        ("rotate 45", "expected 0, 90, 180 or 270, as in \"rotate 90\", found \"rotate 45\""),
        ("seek 1:60", "expected a time, as in \"seek 1:30\", or \"seek +30\" and \"seek -30\", found \"seek 1:60\""),
        ("seek 9999999", "expected a time, as in \"seek 1:30\", or \"seek +30\" and \"seek -30\", found \"seek 9999999\""),
        ("seek --5", "expected a time, as in \"seek 1:30\", or \"seek +30\" and \"seek -30\", found \"seek --5\""),
        (
            "play folder/",
            "expected a file or a URL, as in \"play special.mp4\" or \"play special.mp4 then resume\", found \"play folder/\""
        ),
        (
            "play list.M3U then resume",
            "expected a file or a URL, as in \"play special.mp4\" or \"play special.mp4 then resume\", found \"play list.M3U then resume\""
        ),
    ]

    @Test(arguments: faults) func fault(_ text: String, _ message: String) {
        let fault = #expect(throws: CommandFault.self) { try words.command(text) }
        #expect(fault?.text == message)
    }

    @Test("A word that is near to none is answered with all there are") func unknown() {
        for text in ["", "xyzzyplugh", "x y"] {
            let fault = #expect(throws: CommandFault.self) { try words.command(text) }
            #expect(
                fault?.text.contains("; there are play, pause, toggle, ") == true
                    && fault?.text.contains(", none, seek, item, volume, rate") == true)
        }
    }

    @Test("On a tap play returns, and idle restarts the playlist") func context() throws {
        let tap = CommandWords(folder: "/srv", resumesByDefault: true)
        #expect(try tap.command("play a.mp4") == .player(.playSource("/srv/a.mp4", resumes: true)))
        #expect(try tap.command("play a.mp4 then next") == .player(.playSource("/srv/a.mp4", resumes: false)))
        #expect(try CommandWords(folder: "/srv", restart: .player(.restartPlaylist)).command("restart") == .player(.restartPlaylist))
    }

    @Test("Each default key and gesture asks for one thing, and is one") func defaults() {
        var keys: [String] = [], gestures: [GestureName] = []
        for case .plain(_, let ownKeys, let ownGestures) in CommandTable.ofViewers.flatMap(\.forms) {
            keys += ownKeys
            gestures += ownGestures
        }
        #expect(Set(keys.compactMap(KeyTrigger.name)).count == keys.count && Set(gestures).count == gestures.count)
        #expect(Set(KeyBinding.defaults.map(\.trigger)).count == KeyBinding.defaults.count)
        #expect(Configuration.Input.defaultGestures.count == gestures.count + 1, "and the drag for the volume")
    }

    private static let triggers: [(String, String?)] = [
        ("space", "KEY_SPACE"), ("KEY_Space", "KEY_SPACE"), ("btn_0", "BTN_0"), ("dial-up", "DIAL-UP"), ("Dial-Down", "DIAL-DOWN"),
        ("ctrl+alt+KEY_Q", "ctrl+alt+KEY_Q"), ("ALT+Control+q", "ctrl+alt+KEY_Q"), ("super+q", "meta+KEY_Q"), ("shift+1", "shift+KEY_1"),
        ("volumeup+volumedown", "KEY_VOLUMEDOWN+KEY_VOLUMEUP"), ("hold power", "hold KEY_POWER"),
        ("Hold  ctrl+dial-up", "hold ctrl+DIAL-UP"),
        ("repeat n", "repeat KEY_N"), ("once right", "once KEY_RIGHT"), ("hold", "KEY_HOLD"),
        ("", nil), ("ctrl", nil), ("ctrl+", nil), ("+q", nil), ("q+q", nil), ("hold ", "KEY_HOLD"), ("press q", nil), ("a b c", nil),
        ("q-q", nil),
        ("a+b+c+d+e", nil), (String(repeating: "a", count: 41), nil), ("é", nil),
    ]

    @Test("How a key is written, and how it prints", arguments: triggers) func trigger(_ text: String, _ shown: String?) {
        #expect(KeyTrigger(text)?.description == shown)
        if let shown { #expect(KeyTrigger(shown) == KeyTrigger(text)) }
    }
}
