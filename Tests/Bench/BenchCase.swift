import Bed

/// One or two clips on a display, the players that show them, and the measurements.
struct BenchCase: Sendable {
    /// The name for --case: the clip, the display's refresh rate, then any peculiarity.
    var name: String
    var clips: [Clip]
    var mode: Machine.Mode
    var kind = Kind.playback
    /// Whether it is repeated in the short form, too.
    var isMain = false
    var seconds = 9
    var players = [Player.kiosk, .mpv]
    /// The players whose system calls and instructions are counted (``Count``); empty for most cases.
    var counted: [Player] = []
    /// The lines in kiosk.conf's [display], and mpv's options on its command line.
    var display = ""
    var mpvOptions: [String] = []

    enum Kind: Sendable {
        /// Measures the picture, its seams and their sound, processor time and memory.
        case playback
        /// Measures the offset between sound and picture.
        case flash
        /// Measures the response time to touch and keys.
        case controls
        /// Measures nothing in real time: the load is too much for the bed's one processor.
        case counts
    }

    enum Player: String, Sendable {
        case kiosk, mpv
        /// Reads its files in the player's own process.
        case inside = "kiosk, isolation off"
        /// Shows a clock with seconds and a ticker over the picture.
        case signs = "kiosk, a clock and a ticker"
        /// Decodes and converts the same frames, and shows nothing.
        case ffmpeg
        /// Decodes only.
        case decoding = "ffmpeg, decoding alone"
    }

    /// A numbered clip of the gallery.
    struct Clip: Sendable {
        var name: String
        var height: Int, frameRate: Int
        var first = 1
        /// An edit of that clip by ffmpeg: the file's name, and the filter.
        var change: (file: String, filter: String)?

        static func hd(_ frameRate: Int) -> Clip { Clip(name: frameRate == 30 ? "a" : "a\(frameRate)", height: 720, frameRate: frameRate) }
        static func fullHD(_ frameRate: Int) -> Clip { Clip(name: "a1080p\(frameRate)", height: 1080, frameRate: frameRate) }
        static let other = Clip(name: "b", height: 720, frameRate: 30, first: 1001)
        static let ultraHD = Clip(name: "a1080p30", height: 2160, frameRate: 30, change: ("a2160p30.mp4", "scale=3840:2160"))
        /// Upright after a clockwise rotation by 90 degrees.
        static let turned = Clip(name: "a1080p30", height: 1080, frameRate: 30, change: ("a1080p30-turned.mp4", "transpose=cclock"))
        static let flash = Clip(name: "flash", height: 720, frameRate: 30)

        /// Returns the file. Every clip lasts 5 s.
        func file() throws -> NumberedClip {
            let clip = try BedGallery.clip(name, frames: 5 * frameRate, from: first, frameRate: Double(frameRate))
            return try change.map { try BedGallery.filtered(clip, by: $0.filter, called: $0.file) } ?? clip
        }
    }

    /// All cases, the main ones first.
    static let all: [BenchCase] = main + cadences + sizes + paths + [flash, controls]

    private static let main = [
        BenchCase(
            name: "720p30@60", clips: [.hd(30)], mode: hd(60), isMain: true, seconds: 12, players: [.kiosk, .inside, .mpv, .ffmpeg],
            counted: [.kiosk, .mpv, .ffmpeg, .decoding]),
        BenchCase(
            name: "720p30@60-two-items", clips: [.hd(30), .other], mode: hd(60), isMain: true, seconds: 12,
            players: [.kiosk, .inside, .mpv]),
    ]

    private static let cadences = [60, 50].flatMap { refresh in
        [24, 25, 30, 50, 60].filter { ($0, refresh) != (30, 60) }.map { rate in
            BenchCase(name: "720p\(rate)@\(refresh)", clips: [.hd(rate)], mode: hd(refresh))
        }
    }

    private static let sizes = [
        BenchCase(name: "1080p25@50", clips: [.fullHD(25)], mode: fullHD(50)),
        BenchCase(
            name: "1080p30@60", clips: [.fullHD(30)], mode: fullHD(60), players: [.kiosk, .inside, .signs, .mpv, .ffmpeg],
            counted: [.kiosk, .mpv, .ffmpeg]),
        BenchCase(name: "1080p60@60", clips: [.fullHD(60)], mode: fullHD(60), players: [.kiosk, .inside, .mpv]),
        BenchCase(name: "1080p30@60-two-items", clips: [.fullHD(30), .fullHD(30)], mode: fullHD(60)),
        BenchCase(
            name: "720p30@60-on-1080p", clips: [.hd(30)], mode: fullHD(60), players: [.kiosk, .mpv, .ffmpeg], counted: [.kiosk, .mpv]),
        BenchCase(name: "1080p30@60-on-720p", clips: [.fullHD(30)], mode: hd(60), players: [.kiosk, .mpv, .ffmpeg]),
        BenchCase(
            name: "2160p30@60-on-1080p", clips: [.ultraHD], mode: fullHD(60), kind: .counts, players: [],
            counted: [.kiosk, .mpv, .decoding]),
    ]

    /// 1080p30@60 with a rotated picture, and with each `picture-path` that the bed supports.
    private static let paths =
        [
            BenchCase(
                name: "1080p30@60-turned", clips: [.turned], mode: fullHD(60), counted: [.kiosk, .mpv], display: "rotation = 90",
                mpvOptions: ["--video-rotate=90"])
        ]
        + ["direct", "copy", "scale", "convert"].map { path in
            BenchCase(
                name: "1080p30@60-\(path)", clips: [.fullHD(30)], mode: fullHD(60),
                players: path == "direct" ? [.kiosk, .signs] : [.kiosk],
                counted: [.kiosk] + (["direct", "copy"].contains(path) ? [.decoding] : []) + (path == "direct" ? [.signs] : []),
                display: "picture-path = \"\(path)\"")
        }

    private static let flash = BenchCase(name: "flash", clips: [.flash], mode: hd(60), kind: .flash, isMain: true, seconds: 12)
    // One frame per vblank: a missing frame is visible at once. mpv reads no touch screen and, without a terminal, no keys.
    private static let controls = BenchCase(
        name: "controls", clips: [.hd(60)], mode: hd(60), kind: .controls, seconds: 17, players: [.kiosk])

    private static func hd(_ refresh: Int) -> Machine.Mode { Machine.Mode(width: 1280, height: 720, refresh: refresh) }
    private static func fullHD(_ refresh: Int) -> Machine.Mode { Machine.Mode(width: 1920, height: 1080, refresh: refresh) }

    /// The overlays at the end of kiosk.conf: always visible text, one of which moves at every vblank.
    private static let signs = """

        [[overlay]]
        kind = "clock"
        name = "clock"
        format = "%H:%M:%S"
        anchor = "top-right"
        [[overlay]]
        kind = "ticker"
        name = "news"
        text = "The museum closes at six\\nThe café is on the second floor"
        background = "#003366"
        anchor = "bottom"
        """

    /// The number of frames for ffmpeg: `seconds` at the clip's frame rate.
    var convertedFrames: Int { clips[0].frameRate * seconds }

    /// Returns the command of a player with these files as its playlist.
    ///
    /// - Parameters:
    ///   - modeName: mpv's name of the mode; see ``ModeList``.
    ///   - frames: the number of frames for ffmpeg.
    ///   - isIsolated: whether kiosk reads files in separate processes, unless `player` is ``Player/inside``.
    func program(_ player: Player, _ files: [String], modeName: String, frames: Int, isIsolated: Bool = true) -> Program {
        switch player {
        case .kiosk, .inside, .signs:
            let playback = player == .inside || !isIsolated ? "isolation = \"off\"" : ""
            let items = files.map { "source = \"\($0)\"" }.joined(separator: "\n[[playlist]]\n")
            return .kiosk(
                KioskConfiguration(display: display, playback: playback, playlist: [items + (player == .signs ? Self.signs : "")]))
        case .mpv:
            return .command(
                [
                    "mpv", "--no-config", "--no-terminal", "--vo=drm", "--drm-mode=\(modeName)", "--ao=alsa",
                    "--audio-device=alsa/hw:Loopback,0,0",
                ] + mpvOptions
                    + (files.count == 1 ? ["--loop-file=inf"] : ["--loop-playlist=inf", "--prefetch-playlist=yes"]) + files)
        case .decoding:
            return .command(
                ["ffmpeg", "-nostdin", "-loglevel", "error", "-stream_loop", "-1", "-i", files[0], "-map", "0:v"]
                    + ["-frames:v", "\(frames)", "-f", "null", "-"])
        case .ffmpeg:
            // At the clip's own speed. It ends by itself.
            return .command(
                ["ffmpeg", "-nostdin", "-loglevel", "error", "-re", "-stream_loop", "-1", "-i", files[0], "-map", "0:v"]
                    + (clips[0].height == mode.height ? [] : ["-vf", "scale=\(mode.width):\(mode.height)"])
                    + ["-frames:v", "\(frames)", "-pix_fmt", "bgr0", "-f", "null", "-"])
        }
    }
}

/// The output of `mpv --drm-mode=help`. mpv expects the mode's refresh with two decimals; the kernel's 1280x720 at 50 Hz has 50.03.
enum ModeList {
    static let command = ["mpv", "--no-config", "--vo=drm", "--drm-mode=help"]

    /// Returns the name of the mode with this size and the nearest refresh; nil if none is within 1 Hz.
    static func name(of mode: Machine.Mode, in lines: [String]) -> String? {
        let names = lines.compactMap { line -> (refresh: Double, name: String)? in
            guard let match = line.firstMatch(of: #/\((\d+)x(\d+)@([\d.]+)Hz\)/#), let refresh = Double(match.output.3),
                Int(match.output.1) == mode.width, Int(match.output.2) == mode.height
            else { return nil }
            return (refresh, "\(mode.width)x\(mode.height)@\(match.output.3)")
        }
        func distance(_ refresh: Double) -> Double { abs(refresh - Double(mode.refresh)) }
        return names.filter { distance($0.refresh) < 1 }.min { distance($0.refresh) < distance($1.refresh) }?.name
    }
}

/// A touch or a key, and its action. Taps and keys alternate, at times spread over the display's refresh period.
struct Control: Equatable {
    enum Action: String { case pause, play, next }

    var device: ActionTimeline.Device
    var action: Action
    var number: Int

    init(_ device: ActionTimeline.Device, _ action: Action, _ number: Int) {
        (self.device, self.action, self.number) = (device, action, number)
    }

    /// The name of its event in a record.
    var name: String { "\(device.rawValue) \(action.rawValue) \(number)" }

    /// Creates the control with this event name.
    init?(name: String) {
        let words = name.split(separator: " ").map(String.init)
        guard words.count == 3, let device = ActionTimeline.Device(rawValue: words[0]), let action = Action(rawValue: words[1]),
            let number = Int(words[2])
        else { return nil }
        self.init(device, action, number)
    }

    /// Pauses and resumes by touch, pauses and resumes by key, then skips to the next item; six rounds of all this.
    static func act(on timeline: inout ActionTimeline) {
        for number in 0..<6 {
            // At 60 Hz a vblank comes every 16.67 ms. Each round is 2.3 ms later in the period, so that the rounds cover all phases.
            let start = 2.0 + 2.0 * Double(number) + 0.0023 * Double(number)
            for (offset, device, action) in [
                (0.0, ActionTimeline.Device.touchScreen, Action.pause), (0.4, .touchScreen, .play), (0.8, .keyboard, .pause),
                (1.2, .keyboard, .play),
                (1.6, .keyboard, .next),
            ] {
                let name = Control(device, action, number).name
                switch (device, action) {
                // A touch becomes a tap when the finger lifts: that is the event.
                case (.touchScreen, _):
                    timeline(start + offset - 0.06, .down(640, 360))
                    timeline(start + offset, .up(), name)
                case (.keyboard, .next): timeline(start + offset, .key(.n), name)
                case (.keyboard, _): timeline(start + offset, .key(.space), name)
                }
            }
        }
    }
}
