import KioskVocabulary
import TestSupport
import Testing

@testable import KioskConfiguration

/// A configuration text, and the exact complaints about it.
struct Row: CustomTestStringConvertible {
    var text: String
    var complaints: [String]
    init(_ text: String, _ complaints: String...) {
        self.text = text
        self.complaints = complaints
    }
    var testDescription: String { String(text.prefix(60)).debugDescription }
}

/// Returns the complaints about `text` in a file that the user called `kiosk.conf`.
func complaints(_ text: [UInt8]) -> [String] {
    do throws(ConfigurationError) {
        _ = try Configuration.parse(text, path: "kiosk.conf", folder: "/srv")
        return []
    } catch {
        return error.complaints.map(\.description)
    }
}

let inQuotes = "expected a command in quotes, such as \"toggle\" or \"volume 40\""
let aKey = "not a key; keys are such as KEY_SPACE, space, \"ctrl+KEY_Q\" or \"hold KEY_POWER\""
let entryOfAllow = """
    a key such as "KEY_SPACE", a gesture such as "tap", a part of the controls such as "slider", or "device NAME", "place PLACE" or "id VENDOR:PRODUCT"
    """
let connectors = """
    "auto", a connector such as "HDMI-A-1" or "card1:HDMI-A-1", "/dev/fb0" or "offscreen"
    """
let positive = """
    seconds (more than 0) or "mm:ss", at most 1000 hours
    """

let values: [Row] = [
    Row(
        "[network]\nheaders = { \"a b\" = \"x\" }",
        "kiosk.conf:2:11: [network] headers: expected names and texts, such as { Authorization = \"Bearer 0123\" }, found a table"),
    Row(
        "[network]\nheaders = { A = \"x\\r\\nB: y\" }",
        "kiosk.conf:2:11: [network] headers: expected names and texts, such as { Authorization = \"Bearer 0123\" }, found a table"),
    Row(
        "[network]\ntimeout = 0.2",
        "kiosk.conf:2:11: [network] timeout: expected 1 s or more: shorter is no sign of a fault"),
    Row("[network]\nlatency = 90", "kiosk.conf:2:11: [network] latency: expected 60 s or less"),
    Row("[display]\nrotation = 45\n", "kiosk.conf:2:12: [display] rotation: expected 0, 90, 180 or 270, found 45"),
    Row("[display]\nrotation = \"90\"\n", "kiosk.conf:2:12: [display] rotation: expected 0, 90, 180 or 270, found \"90\""),
    Row("[display]\nrotation = 90.0", "kiosk.conf:2:12: [display] rotation: expected 0, 90, 180 or 270, found 90.0"),
    Row("[display]\nrotation = -90", "kiosk.conf:2:12: [display] rotation: expected 0, 90, 180 or 270, found -90"),
    Row("[display]\nconnector = \"HDMI\"", "kiosk.conf:2:13: [display] connector: expected \(connectors), found \"HDMI\""),
    Row("[display]\nconnector = \"\"", "kiosk.conf:2:13: [display] connector: expected \(connectors), found \"\""),
    Row("[display]\nconnector = [\"HDMI-A-1\"]", "kiosk.conf:2:13: [display] connector: expected \(connectors), found an array"),
    Row(
        "display = { mode = \"1080p\" }",
        "kiosk.conf:1:20: [display] mode: expected \"preferred\", \"1920x1080\" or \"1920x1080@50\", found \"1080p\""),
    Row(
        "display.mode = \"1920x1080@0\"",
        "kiosk.conf:1:16: [display] mode: expected \"preferred\", \"1920x1080\" or \"1920x1080@50\", found \"1920x1080@0\""),
    Row("[display]\ngravity = \"cover\"", "kiosk.conf:2:11: [display] gravity: expected \"fit\", \"fill\" or \"stretch\", found \"cover\""),
    Row("[display]\ngravity = true", "kiosk.conf:2:11: [display] gravity: expected \"fit\", \"fill\" or \"stretch\", found true"),
    Row("[display]\nbackground = \"red\"", "kiosk.conf:2:14: [display] background: expected a colour such as \"#000000\", found \"red\""),
    Row("[display]\nbackground = 0", "kiosk.conf:2:14: [display] background: expected a colour such as \"#000000\", found 0"),
    Row(
        "[audio]\ndevice = \"\"",
        "kiosk.conf:2:10: [audio] device: expected \"auto\", an ALSA device such as \"hw:0,0\" or \"off\", found \"\""),
    Row(
        "[audio]\ndevice = false",
        "kiosk.conf:2:10: [audio] device: expected \"auto\", an ALSA device such as \"hw:0,0\" or \"off\", found false"),
    Row(
        "[audio]\nchannels = \"quad\"",
        "kiosk.conf:2:12: [audio] channels: expected \"auto\", \"stereo\", \"5.1\" or \"7.1\", found \"quad\""),
    Row("[audio]\nchannels = 5.1", "kiosk.conf:2:12: [audio] channels: expected \"auto\", \"stereo\", \"5.1\" or \"7.1\", found 5.1"),
    Row("[audio]\nvolume = 101", "kiosk.conf:2:10: [audio] volume: expected a whole number from 0 to 100, found 101"),
    Row("[audio]\nvolume = -1", "kiosk.conf:2:10: [audio] volume: expected a whole number from 0 to 100, found -1"),
    Row("[audio]\nvolume = 50.5", "kiosk.conf:2:10: [audio] volume: expected a whole number from 0 to 100, found 50.5"),
    Row("[audio]\nvolume = \"loud\"", "kiosk.conf:2:10: [audio] volume: expected a whole number from 0 to 100, found \"loud\""),
    Row("[audio]\nmuted = 1", "kiosk.conf:2:9: [audio] muted: expected true or false, found 1"),
    Row("[audio]\nmuted = {}", "kiosk.conf:2:9: [audio] muted: expected true or false, found a table"),
    Row("[playback]\nloop = \"all\"", "kiosk.conf:2:8: [playback] loop: expected \"playlist\", \"item\" or \"off\", found \"all\""),
    Row("[playback]\nloop = true", "kiosk.conf:2:8: [playback] loop: expected \"playlist\", \"item\" or \"off\", found true"),
    Row("[playback]\ntransition = \"wipe\"", "kiosk.conf:2:14: [playback] transition: expected \"cut\" or \"fade\", found \"wipe\""),
    Row(
        "[control]\nsocket = \"control.sock\"",
        "kiosk.conf:2:10: [control] socket: expected \"auto\", \"off\" or an absolute path of at most 107 bytes, found \"control.sock\""),
    Row("[playback]\ndeinterlace = true", "kiosk.conf:2:15: [playback] deinterlace: expected \"auto\" or \"off\", found true"),
    Row("[playback]\ntransition-duration = 0", "kiosk.conf:2:23: [playback] transition-duration: expected \(positive), found 0"),
    Row("[playback]\nseek-step = 0", "kiosk.conf:2:13: [playback] seek-step: expected \(positive), found 0"),
    Row("[playback]\nseek-step = 0.0000000001", "kiosk.conf:2:13: [playback] seek-step: expected \(positive), found 1e-10"),
    Row("[playback]\nseek-step = inf", "kiosk.conf:2:13: [playback] seek-step: expected \(positive), found inf"),
    Row("[playback]\nseek-step = nan", "kiosk.conf:2:13: [playback] seek-step: expected \(positive), found nan"),
    Row(
        "[playback]\ndecoder = \"gpu\"",
        "kiosk.conf:2:11: [playback] decoder: expected \"auto\", \"software\" or \"hardware\", found \"gpu\""),
    Row(
        "[playback]\ndecoder-device = \"renderD128\"",
        "kiosk.conf:2:18: [playback] decoder-device: expected a device such as \"/dev/dri/renderD128\", found \"renderD128\""),
    Row("[playback]\nimage-duration = -2.5", "kiosk.conf:2:18: [playback] image-duration: expected \(positive), found -2.5"),
    Row("[playback]\nimage-duration = 1e300", "kiosk.conf:2:18: [playback] image-duration: expected \(positive), found 1e+300"),
    Row(
        "[playback]\nimage-duration = 00:10:00",
        "kiosk.conf:2:18: [playback] image-duration: expected \(positive), found a date or time without quotes"),
    Row(
        "[playback]\nimage-duration = 9223372036854775807",
        "kiosk.conf:2:18: [playback] image-duration: expected \(positive), found 9223372036854775807"),
    Row("[playback]\nimage-duration = \"1:60\"", "kiosk.conf:2:18: [playback] image-duration: expected \(positive), found \"1:60\""),
    Row("[input]\ntouch = \"yes\"", "kiosk.conf:2:9: [input] touch: expected true or false, found \"yes\""),
    Row("[input]\nallow-quit = 0", "kiosk.conf:2:14: [input] allow-quit: expected true or false, found 0"),
    Row("[input]\ngrab = 2001-01-01", "kiosk.conf:2:8: [input] grab: expected true or false, found a date or time without quotes"),
    Row("[input.keys]\nspace = 3", "kiosk.conf:2:9: [input.keys] space: \(inQuotes), found 3"),
    Row("[input.keys]\nspace = \"nxt\"", "kiosk.conf:2:9: [input.keys] space: no command \"nxt\", did you mean “next”?"),
    Row("[input.keys]\n\"a b\" = \"next\"", "kiosk.conf:2:1: [input.keys] \"a b\": \(aKey)"),
    Row("[input.keys]\nKEY_ = \"next\"", "kiosk.conf:2:1: [input.keys] KEY_: \(aKey)"),
    Row("[input.keys]\n\"hold\" = \"next\"\n\"hold hold KEY_A\" = \"next\"", "kiosk.conf:3:1: [input.keys] \"hold hold KEY_A\": \(aKey)"),
    Row("[input.keys]\n\"ctrl+alt\" = \"next\"", "kiosk.conf:2:1: [input.keys] \"ctrl+alt\": \(aKey)"),
    Row(
        "[input.keys]\n\"a+a\" = \"next\"\n\"a+\" = \"next\"", "kiosk.conf:2:1: [input.keys] \"a+a\": \(aKey)",
        "kiosk.conf:3:1: [input.keys] \"a+\": \(aKey)"),
    Row(
        "[input.keys]\n\"alt+ctrl+q\" = \"next\"\n\"repeat ctrl+alt+KEY_Q\" = \"none\"",
        "kiosk.conf:3:1: [input.keys] \"repeat ctrl+alt+KEY_Q\": the same key as “alt+ctrl+q” in line 2"),
    Row("[input]\ncontrols = true", "kiosk.conf:2:12: [input] controls: expected \"full\", \"tap-only\" or \"none\", found true"),
    Row("[input]\ncontrols = \"tap\"", "kiosk.conf:2:12: [input] controls: expected \"full\", \"tap-only\" or \"none\", found \"tap\""),
    Row("[input]\nscrub-plays = 1", "kiosk.conf:2:15: [input] scrub-plays: expected true or false, found 1"),
    Row("[input]\naccelerometer = \"on\"", "kiosk.conf:2:17: [input] accelerometer: expected true or false, found \"on\""),
    Row(
        "[record]\nfolder = \"/var/lib/kiosk/usb/films\"",
        "kiosk.conf:2:10: [record] folder: kiosk itself empties /var/lib/kiosk/usb; name another folder, such as \"/var/lib/kiosk/films\""
    ),
    Row("[input]\nlocked = \"tap\"", "kiosk.conf:2:10: [input] locked: expected true or false, found \"tap\""),
    Row("[input]\nallow = \"tap\"", "kiosk.conf:2:9: [input] allow: expected a list such as [\"tap\", \"KEY_SPACE\"], found \"tap\""),
    Row(
        "[input]\nallow = [\"slide\", \"tap\",\n  \"mouse\", 3, \"device \", \"space\"]",
        "kiosk.conf:2:10: [input] allow: expected \(entryOfAllow), found \"slide\", did you mean “slider”?",
        "kiosk.conf:3:3: [input] allow: expected \(entryOfAllow), found \"mouse\"",
        "kiosk.conf:3:12: [input] allow: expected \(entryOfAllow), found 3",
        "kiosk.conf:3:15: [input] allow: expected \(entryOfAllow), found \"device \"",
        "kiosk.conf:3:26: [input] allow: expected \(entryOfAllow), found \"space\""),
    Row(
        "[input]\nallow = [\"KEY_F9\", \"hold KEY_SPACE\", \"ctrl+KEY_F9\", \"KEY_SPACE\"]\n[input.keys]\n\"ctrl+F9\" = \"next\"",
        "kiosk.conf:2:10: [input] allow: KEY_F9 is not bound to anything in [input.keys]",
        "kiosk.conf:2:20: [input] allow: hold KEY_SPACE is not bound to anything in [input.keys]"),
    Row("[audio]\ndelays = 80", "kiosk.conf:2:10: [audio.delays]: expected a table, found 80"),
    Row(
        "[audio]\ndelays = { \"USB\" = 501, \"HDMI\" = \"80\", \"\" = 1 }",
        "kiosk.conf:2:20: [audio.delays] USB: expected a whole number from -500 to 500, found 501",
        "kiosk.conf:2:34: [audio.delays] HDMI: expected a whole number from -500 to 500, found \"80\"",
        "kiosk.conf:2:40: [audio.delays] \"\": expected a part of the name of a sound card; kiosk devices lists them"),
    Row("[input]\nmap = \"HDMI-A-1\"", "kiosk.conf:2:7: [input.map]: expected a table, found \"HDMI-A-1\""),
    Row(
        "[input]\nmap = { ILITEK = \"HDMI\", \"\" = \"HDMI-A-1\" }",
        "kiosk.conf:2:18: [input.map] ILITEK: expected a connector such as \"HDMI-A-1\" or \"card1:HDMI-A-1\", or \"/dev/fb0\", found \"HDMI\"",
        "kiosk.conf:2:26: [input.map] \"\": expected a part of the name of a touch screen; kiosk devices lists them"),
    Row("[input.gestures]\ntap = true", "kiosk.conf:2:7: [input.gestures] tap: \(inQuotes), found true"),
    Row(
        "[input.gestures]\nvolume-drag = \"volume\"",
        "kiosk.conf:2:15: [input.gestures] volume-drag: expected true or false, found \"volume\""),
    Row("[input.gestures]\nlong-pres = \"next\"", "kiosk.conf:2:1: [input.gestures] long-pres: unknown key, did you mean “long-press”?"),
    Row(
        "[display]\nregion = \"60 60 50 35\"",
        "kiosk.conf:2:10: [display] region: expected left, top, width and height in hundredths of the display, such as \"60 60 35 35\", found \"60 60 50 35\""
    ),
    Row(
        "[display]\nphysical-size = \"154\"",
        "kiosk.conf:2:17: [display] physical-size: expected width and height in millimetres, such as \"154x86\", found \"154\""),
    Row("[theme]\naccent = \"blue\"", "kiosk.conf:2:10: [theme] accent: expected a colour such as \"#339eff\", found \"blue\""),
    Row("[theme]\nfont = \"\"", "kiosk.conf:2:8: [theme] font: expected the name of a font family, at most 200 characters, found \"\""),
    Row("[theme]\nopacity = 50", "kiosk.conf:2:11: [theme] opacity: expected a number from 0 to 1, found 50"),
    Row("[theme]\nopacity = nan", "kiosk.conf:2:11: [theme] opacity: expected a number from 0 to 1, found nan"),
    Row("[theme]\nslider = \"no\"", "kiosk.conf:2:10: [theme] slider: expected true or false, found \"no\""),
    Row(
        "[idle]\nafter = -1\ndo = \"none\"",
        "kiosk.conf:2:9: [idle] after: expected seconds (0 or more) or \"mm:ss\", at most 1000 hours, found -1",
        "kiosk.conf:3:6: [idle] do: expected a command; leave after out to do nothing"),
    Row(
        "idle = { after = 60, do = \"item 0\" }",
        "kiosk.conf:1:27: [idle] do: expected the place of an item, 1 to 10000, as in \"item 3\", found \"item 0\""),
    Row(
        "[[playlist]]\nsource = \"a\"\nwait-for = \"touch\"",
        "kiosk.conf:3:12: [[playlist]] wait-for: expected \"end\" or \"tap\", found \"touch\""),
    Row(
        "[[playlist]]\nsource = \"a\"\non-tap = \"none\"",
        "kiosk.conf:3:10: [[playlist]] on-tap: expected a command; leave on-tap out for the usual tap"),
    Row(
        "[[playlist]]\nsource = \"a\"\non-tap = \"ply b\"", "kiosk.conf:3:10: [[playlist]] on-tap: no command \"ply\", did you mean “play”?"
    ),
    Row(
        "[[playlist]]\nsource = \"a\"\ntitle = \"a\\nb\"",
        "kiosk.conf:3:9: [[playlist]] title: expected a line of text, at most 500 characters, found \"a\\u{A}b\""),
    Row(
        "[input.keys]\nkey_space = \"next\"\nspace = \"none\"",
        "kiosk.conf:3:1: [input.keys] space: the same key as “key_space” in line 2"),
    Row(
        "[[playlist]]\nsource = \"a\"\nrepeat = 0",
        "kiosk.conf:3:10: [[playlist]] repeat: expected a whole number from 1 to 1000000, found 0"),
    Row(
        "[[playlist]]\nsource = \"a\"\nvolume = 1000",
        "kiosk.conf:3:10: [[playlist]] volume: expected a whole number from 0 to 100, found 1000"),
    Row("[[playlist]]\nsource = \"\"", "kiosk.conf:2:10: [[playlist]] source: expected a path or a URL, found \"\""),
    Row("[[playlist]]\nsource = \"a\\u0000b\"", "kiosk.conf:2:10: [[playlist]] source: expected a path or a URL, found \"a\\u{0}b\""),
    Row("[[playlist]]\nmuted = true", "kiosk.conf:1:1: [[playlist]] source: missing; give a path or a URL"),
    Row("[[playlist]]\nsource = \"a\"\nstart = 10\nend = 10", "kiosk.conf:4:7: [[playlist]] end: expected a time after start, found 10"),
    Row(
        "[[playlist]]\nsource = \"a\"\nstart = \"1:00\"\nend = \"0:59.9\"",
        "kiosk.conf:4:7: [[playlist]] end: expected a time after start, found \"0:59.9\""),
    Row(
        "[[playlist]]\nsource = \"a\"\nstart = -1",
        "kiosk.conf:3:9: [[playlist]] start: expected seconds (0 or more) or \"mm:ss\", at most 1000 hours, found -1"),
    Row(
        "[log]\nlevel = \"loud\"",
        "kiosk.conf:2:9: [log] level: expected \"trace\", \"debug\", \"info\", \"notice\", \"warning\", \"error\" or \"critical\", found \"loud\""
    ),
]

let keys: [Row] = [
    Row("[display]\nrotatoin = 90", "kiosk.conf:2:1: [display] rotatoin: unknown key, did you mean “rotation”?"),
    Row("[display]\nrotate = 90", "kiosk.conf:2:1: [display] rotate: unknown key, did you mean “rotation”?"),
    Row("[display]\nRotation = 90", "kiosk.conf:2:1: [display] Rotation: unknown key, did you mean “rotation”?"),
    Row("[playback]\nseek_step = 5", "kiosk.conf:2:1: [playback] seek_step: unknown key, did you mean “seek-step”?"),
    Row(
        "[display]\nbrightness = 90",
        "kiosk.conf:2:1: [display] brightness: unknown key; there are connector, mode, gravity, "
            + "rotation, background, region, physical-size, picture-path, safe-area, dpms, cec, wake, wake-time"),
    Row("[audio]\nrotation = 90", "kiosk.conf:2:1: [audio] rotation: unknown key; it belongs in [display] or [record]"),
    Row(
        "[[overlay]]\nname = \"a\"\n[[overlay]]\nname = \"b\"\n[[overlay]]\nname = \"a\"",
        "kiosk.conf:6:8: [[overlay]] name: there is another [[overlay]] of this name"),
    Row(
        "[[zone]]\nname = \"a\"\nregion = \"0 0 50 50\"",
        "kiosk.conf:1:1: [[zone]] playlist: missing; give it a playlist: [[zone.playlist]]"),
    Row(
        "[[zone]]\nregion = \"50 0 60 50\"\n[[zone.playlist]]\nsource = \"a.mp4\"\nvolume = 101",
        "kiosk.conf:1:1: [[zone]] name: missing; give it a name",
        "kiosk.conf:2:10: [[zone]] region: expected left, top, width and height in hundredths of the display, such as \"60 60 35 35\", found \"50 0 60 50\"",
        "kiosk.conf:5:10: [[zone.playlist]] volume: expected a whole number from 0 to 100, found 101"),
    Row(
        "[[overlay]]\nname = \"a\"\nfeed = \"file:///etc/passwd\"",
        "kiosk.conf:3:8: [[overlay]] feed: expected an address of http or https"),
    Row(
        "[display]\nvolume = 90", "kiosk.conf:2:1: [display] volume: unknown key; it belongs in [audio], [theme], [[playlist]] or [[zone]]"),
    Row(
        "[display]\n\"a.b\\n\\\"c\" = 1",
        "kiosk.conf:2:1: [display] \"a.b\\u{A}\"c\": unknown key; there are connector, mode, gravity, "
            + "rotation, background, region, physical-size, picture-path, safe-area, dpms, cec, wake, wake-time"),
    Row("[dispaly]\nrotation = 90", "kiosk.conf:1:2: [dispaly]: unknown table, did you mean “display”?"),
    Row(
        "[wallpaper]\nx = 1",
        "kiosk.conf:1:2: [wallpaper]: unknown table; there are [display], [audio], [playback], [network], [input], [theme], [shelf], [idle], [[playlist]], [[program]], [[at]], [[overlay]], [[zone]], [control], [web], [record], [log], [place]"
    ),
    Row(
        "volume = 3", "kiosk.conf:1:1: volume: unknown key outside of every table; it belongs in [audio], [theme], [[playlist]] or [[zone]]"
    ),
    Row("[[playlists]]\nsource = \"a\"", "kiosk.conf:1:3: playlists: unknown key outside of every table, did you mean “playlist”?"),
    Row(
        "x = 1",
        "kiosk.conf:1:1: x: unknown key outside of every table; there are [display], [audio], [playback], [network], [input], [theme], [shelf], [idle], [[playlist]], [[program]], [[at]], [[overlay]], [[zone]], [control], [web], [record], [log], [place]"
    ),
    Row("[[playlist]]\nsource = \"a\"\nsorce = \"b\"", "kiosk.conf:3:1: [[playlist]] sorce: unknown key, did you mean “source”?"),
]

let shapes: [Row] = [
    Row(
        "[audio]\n\"\" = 1",
        "kiosk.conf:2:1: [audio] \"\": unknown key; there are device, channels, volume, muted, delay, delays, mix, follow, interruption, duck-volume"
    ),
    Row("display = 3", "kiosk.conf:1:11: [display]: expected a table, found 3"),
    Row(
        "[[display]]\nrotation = 90",
        "kiosk.conf:1:1: [display]: expected a table, found an array; write [display], in single brackets, once"),
    Row("playlist = 3", "kiosk.conf:1:12: [[playlist]]: expected a list of tables, found 3"),
    Row("playlist = [\"a\", {source = \"b\"}]", "kiosk.conf:1:13: [[playlist]]: expected a table, found \"a\""),
    Row(
        "[playlist]\nsource = \"a\"",
        "kiosk.conf:1:1: [[playlist]]: expected a list of tables, found a table; write [[playlist]], in double brackets, for every entry"),
    Row(
        "[playlist]\nsource = \"a\"\n[playlist]\nsource = \"b\"",
        "kiosk.conf:3:1: [[playlist]]: a second table of that name; write [[playlist]], in double brackets, for every entry"),
    Row("[input]\nkeys = \"all\"", "kiosk.conf:2:8: [input.keys]: expected a table, found \"all\""),
]

let syntax: [Row] = [
    Row("[display]\ngravity = fit\n", "kiosk.conf:2:12: not a value; text must stand in quotes"),
    Row("[[playlist]]\nsource = /media/x.mp4\n", "kiosk.conf:2:10: not a value; text must stand in quotes"),
    Row("[display]\nmode = 1920x1080 # as it is\n", "kiosk.conf:2:12: not a value; text must stand in quotes: \"1920x1080\""),
    Row("[display]\nmode = 1920x1080@50\n", "kiosk.conf:2:12: not a value; text must stand in quotes: \"1920x1080@50\""),
    Row("[display]\nbackground = #00ff80\n", "kiosk.conf:2:14: not a value; text must stand in quotes: \"#00ff80\""),
    Row("[[playlist]]\nsource = \"a\"\nstart = 1:30\n", "kiosk.conf:3:10: not a value; text must stand in quotes: \"1:30\""),
    Row("[display]\nrotation 90\n", "kiosk.conf:2:10: key-value pair: expected '=', saw '9'"),
    Row("[display\nrotation = 90\n", "kiosk.conf:1:9: table header: expected ']', saw '\\n'"),
    Row("[display]\nrotation =\n", "kiosk.conf:2:11: key-value pair: expected value, saw '\\n'"),
    Row(
        "[display]\ngravity = \"fit\n",
        "kiosk.conf:2:15: string: unescaped control characters other than TAB (U+0009) are explicitly prohibited"),
    Row("x = [[[[[[[[[[[[[[[[[[[[1]", "kiosk.conf:1:21: value: exceeded maximum nested value depth of 16 (TOML_MAX_NESTED_VALUES)"),
    Row("a\(String(repeating: ".a", count: 5000)) = 1", "kiosk.conf:1:1: more than 200 dots in one line"),
    Row("[audio]\nvolume = 08\n", "kiosk.conf:2:12: decimal integer: leading zeroes are prohibited"),
    Row(
        "[audio]\nvolume = 99999999999999999999\n",
        "kiosk.conf:2:30: decimal integer: '99999999999999999999' is not representable in 64 bits"),
    Row("[audio]\n  volume = 1\n  volume = 2\n", "kiosk.conf:3:3: volume: the key is already set further up"),
    Row(
        "[audio]\nvolume = 1\n[display]\n[audio]\nmuted = true\n",
        "kiosk.conf:4:1: [audio]: a second table of that name; put all its keys under one heading"),
    Row("[audio]\nvolume = 1\0\n", "kiosk.conf:2:11: decimal integer: expected digit, saw '\\u0000'"),
    Row("é = 1", "kiosk.conf:1:1: U+00E9 (é) may stand only in comments and between plain quotes, \"…\""),
    Row(
        "# “\n[[playlist]]\nsource = “a.mp4”\nloop = 1\n",
        "kiosk.conf:3:10: U+201C (“) may stand only in comments and between plain quotes, \"…\"",
        "kiosk.conf:4:1: [[playlist]] loop: unknown key; it belongs in [playback]"),
    // Unreadable lines do not hide mistakes elsewhere.
    Row(
        "[display]\ngravity = fit\nrotation = 45\n[audio]\nvolume = 1\nvolume = 2\nmuted = 1\n",
        "kiosk.conf:2:12: not a value; text must stand in quotes",
        "kiosk.conf:3:12: [display] rotation: expected 0, 90, 180 or 270, found 45",
        "kiosk.conf:6:1: volume: the key is already set further up",
        "kiosk.conf:7:9: [audio] muted: expected true or false, found 1"),
    // A line inside a broken array is not parsed by itself: the parser cannot trust the rest.
    Row("playlist = [\n{source = a},\nfoo = 1\n", "kiosk.conf:2:11: not a value; text must stand in quotes"),
]

@Suite struct ComplaintTests {
    @Test(arguments: values) func value(_ row: Row) { #expect(complaints(Array(row.text.utf8)) == row.complaints) }
    @Test(arguments: keys) func key(_ row: Row) { #expect(complaints(Array(row.text.utf8)) == row.complaints) }
    @Test(arguments: shapes) func shape(_ row: Row) { #expect(complaints(Array(row.text.utf8)) == row.complaints) }
    @Test(arguments: syntax) func syntaxError(_ row: Row) { #expect(complaints(Array(row.text.utf8)) == row.complaints) }

    @Test("A file with CRLF has the same places") func crlf() {
        let text = "[display]\r\nrotation = 45\r\nfoo = 1\r\n"
        #expect(
            complaints(Array(text.utf8)) == [
                "kiosk.conf:2:12: [display] rotation: expected 0, 90, 180 or 270, found 45",
                "kiosk.conf:3:1: [display] foo: unknown key; there are connector, mode, gravity, rotation, background, region, physical-size, picture-path, safe-area, dpms, cec, wake, wake-time",
            ])
    }

    @Test("A byte order mark takes no column, other characters one each") func columns() {
        let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
        #expect(complaints(mark + Array("x = 1".utf8)).first?.hasPrefix("kiosk.conf:1:1: x:") == true)
        let text = "display = { background = \"#äöü😀\", rotation = 45 }"
        #expect(complaints(Array(text.utf8)).last == "kiosk.conf:1:46: [display] rotation: expected 0, 90, 180 or 270, found 45")
    }

    @Test(
        "Letters beyond ASCII may stand in every kind of string, and in comments",
        arguments: [
            #"a = "é""#, "a = 'é'", #"a = '\' # é"#, #"a = "\"é\\" # é"#, #"a = "" # é"#, "a = '''''' # é", #"a = """"é""""" # é"#,
            "a = '''é\n' '' é'''''\nb = \"é\"", "a = \"\"\"\\\"\"\"é\"\"\\\n é\"\"\" # é", #""é".'é' = { "é" = 1 }"#,
            "# \" é\na = [ 'é', # ' é\n \"é\" ]", "# é\r\na = 1", "\u{FEFF}# é",
        ]) func letters(_ text: String) throws
    {
        _ = try TOMLDocument.parse(Array(text.utf8))
    }

    @Test(
        "Elsewhere the first is reported with its place",
        arguments: [
            ("a = 1 é", 1, 7), ("\u{FEFF}é", 1, 1), ("a = \"é\"\nb = 'é' é", 2, 9), ("a = '''é\né''''' é", 2, 8),
            ("a = \"\"\"é\"\"\"\n\u{A0}b = 1", 2, 1), ("# é\r\nя = 1", 2, 1), ("[é]", 1, 2), ("a = [ \"é\",\n 😀 ]", 2, 2),
            (#"a = "\\"é"#, 1, 9), (#"a = '\'é"#, 1, 8),
        ]) func strayLetters(_ text: String, line: Int, column: Int)
    {
        do throws(TOMLFault) {
            _ = try TOMLDocument.parse(Array(text.utf8))
            Issue.record("accepted")
        } catch {
            #expect(error.position == SourcePosition(line: line, column: column))
            #expect(error.text.contains(" may stand only in comments and between plain quotes"))
        }
    }

    @Test("Text in another encoding is reported where it begins") func encoding() {
        let latin = Array("# \u{FC}ber\n[display] # Gr".utf8) + [0xFC, 0xDF, 0x65] + Array("\nrotation = 45".utf8)
        #expect(complaints(latin) == ["kiosk.conf:2:15: not UTF-8 text; save the file in the encoding UTF-8"])
        #expect(complaints([0xFF, 0xFE, 0x5B, 0x00]) == ["kiosk.conf:1:1: not UTF-8 text; save the file in the encoding UTF-8"])
    }

    @Test("All complaints come in the order of the file") func order() {
        let text = """
            [[playlist]]
            source = 1
            [input]
            grab = 1
            [audio]
            muted = 2
            zzzzzzzzz = 3
            volume = 4000
            """
        #expect(
            complaints(Array(text.utf8)) == [
                "kiosk.conf:2:10: [[playlist]] source: expected a path or a URL, found 1",
                "kiosk.conf:4:8: [input] grab: expected true or false, found 1",
                "kiosk.conf:6:9: [audio] muted: expected true or false, found 2",
                "kiosk.conf:7:1: [audio] zzzzzzzzz: unknown key; there are device, channels, volume, muted, delay, delays, mix, follow, interruption, duck-volume",
                "kiosk.conf:8:10: [audio] volume: expected a whole number from 0 to 100, found 4000",
            ])
    }

    @Test("A long value or key is cut, so that a complaint stays one line") func long() {
        let all = complaints(
            Array("[display]\ngravity = \"\(String(repeating: "x\\n", count: 4000))\"\n\(String(repeating: "k", count: 9000)) = 1".utf8))
        #expect(all.count == 2)
        #expect(all.allSatisfy { $0.count < 400 && !$0.contains("\n") })
    }

    @Test("The deepest tables that are let through do no harm") func deepest() {
        let dots = String(repeating: "a.", count: 199)
        let nest = String(repeating: "{\(dots)a = [\n", count: 7) + "1" + String(repeating: "]}", count: 7)
        #expect(
            complaints(Array("[\(dots)a]\n\(dots)b = [\n\(nest)]".utf8)).map {
                $0.hasPrefix("kiosk.conf:1:2: [a]: unknown table, did you mean “at”?")
            } == [
                true
            ])
    }

    @Test("Many unreadable lines in a long file take no time to speak of") func manyFaults() {
        let keys = (0..<60_000).map { "key\($0) = 1\n" }.joined()
        let faults = (0..<30).map { "fault\($0) = x\n" }.joined()
        let all = complaints(Array((keys + faults).utf8))
        #expect(all.count == 3)
        #expect(all.first == "kiosk.conf:60001:10: not a value; text must stand in quotes")
    }

    @Test("What is no text at all gives one complaint, in no time") func garbage() {
        var random = Proof.Random(seed: 7)
        let noise = (0..<10_000_000).map { _ in UInt8(truncatingIfNeeded: random.next()) }
        #expect(complaints(noise).count == 1)
        #expect(
            complaints([UInt8](repeating: UInt8(ascii: "a"), count: 10_000_000)) == ["kiosk.conf: the text is longer than 1048576 bytes"])
        for byte in "[{.\"'#=\0 \na".utf8 {
            let all = complaints([UInt8](repeating: byte, count: 1_000_000))
            #expect(all.count == ("# \n".utf8.contains(byte) ? 0 : 1))
        }
    }
}
