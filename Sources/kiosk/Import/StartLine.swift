import Glibc
import KioskCommands
import KioskPlatform

/// The command line of another player: `omxplayer -o hdmi --loop clip.mp4`. A pure value.
struct StartLine {
    /// The meaning of an option for kiosk.
    enum Meaning {
        /// kiosk does this by itself, or does not need it; without or with a value.
        case nothing, nothingWithValue
        case flag(@Sendable (inout ConfigurationDraft) -> Void)
        case value(@Sendable (inout ConfigurationDraft, String) -> Void)
        /// kiosk has no equivalent; the text says what to do instead.
        case missing(String), missingWithValue(String)

        var takesValue: Bool {
            switch self {
            case .nothing, .flag, .missing: false
            case .nothingWithValue, .value, .missingWithValue: true
            }
        }

        func apply(_ option: String, _ value: String?, to draft: inout ConfigurationDraft) {
            switch self {
            case .nothing, .nothingWithValue: break
            case .flag(let body): body(&draft)
            case .value(let body): if let value { body(&draft, value) }
            case .missing(let remark), .missingWithValue(let remark): draft.leaveOut(value.map { "\(option) \($0)" } ?? option, remark)
            }
        }
    }

    /// The player's name.
    let player: String
    let words: [String]

    private static let players = ["omxplayer", "omxplayer.bin", "mpv", "vlc", "cvlc", "nvlc"]

    /// Finds the first line that starts one of the players in a script, a systemd unit or a crontab; nil if there is none.
    init?(in text: String) {
        // A backslash at the end joins lines.
        for line in text.replacing("\\\n", with: " ").split(whereSeparator: \.isNewline) {
            let line = line.drop { $0 == " " || $0 == "\t" }
            if line.hasPrefix("#") || line.hasPrefix(";") { continue }
            let words = Self.words(line)
            for (index, word) in words.enumerated() {
                let name = String(word.split(separator: "/").last ?? "").split(separator: "=").last.map(String.init) ?? ""
                guard Self.players.contains(name) else { continue }
                let rest = words[(index + 1)...].prefix { !Self.ends.contains($0) }
                (player, self.words) = (name == "omxplayer.bin" ? "omxplayer" : name.hasSuffix("vlc") ? "vlc" : name, Array(rest))
                return
            }
        }
        return nil
    }

    private static let ends: Set<String> = [";", "&", "&&", "||", "|", ">", ">>", "2>", "2>&1", "<", "done"]

    /// Splits a shell's line into words, without quotes. An operator that ends a command becomes a word of its own.
    static func words(_ line: some StringProtocol) -> [String] {
        var words: [String] = []
        var word = "", isWord = false, quote: Character?, isEscaped = false
        func end() {
            if isWord { words.append(word) }
            (word, isWord) = ("", false)
        }
        for character in line {
            if isEscaped {
                (word, isWord, isEscaped) = (word + String(character), true, false)
            } else if let open = quote {
                if character == open {
                    quote = nil
                } else if character == "\\", open == "\"" {
                    isEscaped = true
                } else {
                    word.append(character)
                }
            } else {
                switch character {
                case "\"", "'": (quote, isWord) = (character, true)
                case "\\": isEscaped = true
                case " ", "\t": end()
                case ";", "|", ">", "<":
                    end()
                    words.append(String(character))
                case "&":
                    end()
                    words.append("&")
                default:
                    word.append(character)
                    isWord = true
                }
            }
        }
        end()
        return words
    }

    // MARK: Conversion

    func write(to draft: inout ConfigurationDraft) {
        let table = player == "omxplayer" ? Self.omxplayer : Self.vlc
        var rest = words[...]
        var sources: [String] = []
        while let word = rest.popFirst() {
            if word == "--" {
                sources += rest
                break
            }
            guard word.hasPrefix("-"), word.count > 1 else {
                // For VLC, this is an option of the previous item.
                if player == "vlc", word.hasPrefix(":") { draft.leaveOut(word, Self.unknown) } else { sources.append(word) }
                continue
            }
            apply(word, &rest, table, to: &draft)
        }
        draft.entries += sources.map { .init(source: $0) }
    }

    private func apply(_ word: String, _ rest: inout ArraySlice<String>, _ table: [String: Meaning], to draft: inout ConfigurationDraft) {
        if player == "mpv" { return MPVOptions.apply(word, to: &draft) }
        let (name, given): (String, String?) =
            word.hasPrefix("--")
            ? word.firstIndex(of: "=").map { (String(word[..<$0]), String(word[word.index(after: $0)...])) } ?? (word, nil)
            : (word, nil)
        // One word may hold several single-letter flags: -br.
        if table[name] == nil, !name.hasPrefix("--"), name.dropFirst().allSatisfy({ table["-\($0)"]?.takesValue == false }) {
            for letter in name.dropFirst() { table["-\(letter)"]?.apply("-\(letter)", nil, to: &draft) }
            return
        }
        guard let meaning = table[name] else { return draft.leaveOut(word, Self.unknown) }
        meaning.apply(name, meaning.takesValue ? given ?? rest.popFirst() : nil, to: &draft)
    }

    static let unknown = "kiosk import does not know this option; look it up, and look for its task in man kiosk.conf."

    private static let subtitles = "put the file beside the clip, under the clip's name: clip.srt, clip.de.srt."

    /// omxplayer's options, as its README lists them.
    private static let omxplayer: [String: Meaning] = {
        var table: [String: Meaning] = [
            "-o": .value(audio), "-b": .nothing, "-n": .value { $0.set("playback", "audio-track", Int($1) ?? 1) },
            "-t": .value { $0.set("playback", "subtitle-track", Int($1) ?? 1) },
            "-p": .missing("kiosk decodes the sound, and sends PCM. [audio] channels asks for 5.1 or 7.1."), "-d": .nothing,
            "-w": .nothing, "-3": .missingWithValue("kiosk does not switch a television into 3D."),
            "-y": .missing("kiosk does not change the mode by the clip: set [display] mode."),
            "-r": .missing("kiosk does not change the mode by the clip: set [display] mode."), "-z": .nothing, "-s": .nothing,
            "-g": .nothing,
            "-i": .nothing, "-k": .nothing, "-I": .nothing, "-l": .value(start),
            "--nodeinterlace": .flag { $0.set("playback", "deinterlace", "off") },
            "--loop": .flag { $0.finishing.append { if $0.entries.count == 1 { $0.set("playback", "loop", "item") } } },
            "--vol": .value(millibels), "--subtitles": .missingWithValue(subtitles),
            "--win": .missingWithValue("write the window as [display] region: left, top, width and height in hundredths of the display."),
            "--crop": .missingWithValue("kiosk does not crop: cut the clip, or use gravity = \"fill\"."),
            "--orientation": .value { $0.set("display", "rotation", Int($1) ?? 0) }, "--display": .value(display),
            "--aspect-mode": .value { $0.set("display", "gravity", $1 == "letterbox" ? "fit" : $1) },
            "--timeout": .value { $0.set("network", "timeout", Double($1) ?? 10) }, "--live": .nothing, "--no-keys": .nothing,
            "--layer": .missingWithValue("kiosk has the screen to itself; text and logos are [[overlay]]."),
            "--alpha": .missingWithValue("the picture has no opacity; an [[overlay]] has."),
            "--font": .missingWithValue("[theme] font takes a font by its name in fontconfig."),
            // The value is in thousandths of the height; 55 equals kiosk's default.
            "--font-size": .value { draft, value in
                if let size = Double(value), size != 55 { draft.set("theme", "subtitle-size", min(20, max(2, size / 10))) }
            },
            "--layout": .value { $0.set("audio", "channels", $1 == "5.1" || $1 == "7.1" ? $1 : "auto") },
            "--key-config": .missingWithValue("bind keys in [input.keys]."),
        ]
        for (name, letter) in [
            ("--adev", "-o"), ("--blank", "-b"), ("--aidx", "-n"), ("--sid", "-t"), ("--passthrough", "-p"), ("--deinterlace", "-d"),
            ("--hw", "-w"),
            ("--3d", "-3"), ("--hdmiclocksync", "-y"), ("--refresh", "-r"), ("--nohdmiclocksync", "-z"), ("--stats", "-s"),
            ("--genlog", "-g"),
            ("--info", "-i"), ("--keys", "-k"), ("--pos", "-l"),
        ] { table[name] = table[letter] }
        for name in ["--no-osd", "--no-boost-on-downmix", "--no-ghost-box", "--no-dbus", "--advanced"] { table[name] = .nothing }
        for name in [
            "--align", "--lines", "--audio_fifo", "--video_fifo", "--audio_queue", "--video_queue", "--threshold", "--italic-font", "--fps",
            "--dbus_name", "--amp",
        ] { table[name] = .nothingWithValue }
        return table
    }()

    private static let audio: @Sendable (inout ConfigurationDraft, String) -> Void = { draft, value in
        switch value {
        case "hdmi": break
        case "local":
            draft.set("audio", "device", "hw:CARD=Headphones", "The headphone socket of a Raspberry Pi; kiosk devices lists the cards.")
        case "both": draft.leaveOut("sound on HDMI and the headphone socket", "kiosk plays to one card, by default the display's.")
        case "alsa": break
        default: draft.set("audio", "device", value.hasPrefix("alsa:") ? String(value.dropFirst(5)) : value)
        }
    }

    private static let display: @Sendable (inout ConfigurationDraft, String) -> Void = { draft, value in
        // The firmware's numbers for the two sockets of a Raspberry Pi 4.
        draft.set(
            "display", "connector", value == "7" ? "HDMI-A-2" : value == "2" ? "HDMI-A-1" : value, "kiosk devices lists the connectors.")
    }

    private static let start: @Sendable (inout ConfigurationDraft, String) -> Void = { draft, value in
        draft.finishing.append { $0.setAll("start", ConfigurationDraft.time(value)) }
    }

    private static let millibels: @Sendable (inout ConfigurationDraft, String) -> Void = { draft, value in
        let volume = 100 * pow(10, (Double(value) ?? 0) / 2000)
        if volume > 100 { draft.leaveOut("--vol \(value)", "kiosk does not make sound louder than the clip's.") }
        draft.set("audio", "volume", min(100, max(0, Int(saturating: volume))))
    }

    /// The VLC options that are usual for digital signs.
    private static let vlc: [String: Meaning] = {
        var table: [String: Meaning] = [
            "--loop": .nothing, "-L": .nothing, "--no-loop": .flag { $0.set("playback", "loop", "off") },
            "--repeat": .flag { $0.set("playback", "loop", "item") }, "-R": .flag { $0.set("playback", "loop", "item") },
            "--random": .flag { $0.set("playback", "shuffle", true) }, "-Z": .flag { $0.set("playback", "shuffle", true) },
            "--play-and-exit": .flag { $0.set("playback", "loop", "off") },
            "--no-audio": .flag { $0.set("audio", "device", "off") },
            "--alsa-audio-device": .value { $0.set("audio", "device", $1) },
            "--image-duration": .value { $0.set("playback", "image-duration", Double($1) ?? 10) },
            "--start-time": .value { draft, value in draft.finishing.append { $0.setAll("start", Double(value) ?? 0) } },
            "--stop-time": .value { draft, value in draft.finishing.append { $0.setAll("end", Double(value) ?? 0) } },
            "--run-time": .value { draft, value in draft.finishing.append { $0.setAll("duration", Double(value) ?? 0) } },
            "--sub-file": .missingWithValue(subtitles),
            "--sub-language": .value { $0.set("playback", "subtitle-track", $1) },
            "--audio-language": .value { $0.set("playback", "audio-track", $1) },
            "--http-user-agent": .value { $0.set("network", "user-agent", $1) },
            "--extraintf": .missingWithValue("kiosk has a control socket: kiosk ctl."), "-I": .nothingWithValue,
            "--intf": .nothingWithValue,
            "--video-filter": .missingWithValue("kiosk has no filters; [display] rotation rotates the picture."),
        ]
        for name in [
            "-f", "--fullscreen", "--no-osd", "--no-video-title-show", "--no-video-title", "--quiet", "-q", "--video-on-top",
            "--no-qt-privacy-ask",
            "--no-spu", "--mouse-hide-timeout", "--no-embedded-video", "--no-interact", "--no-dbus",
        ] { table[name] = .nothing }
        for name in ["--aout", "--vout", "-V", "-A", "--file-caching", "--network-caching", "--live-caching", "--avcodec-hw"] {
            table[name] = .nothingWithValue
        }
        return table
    }()
}
