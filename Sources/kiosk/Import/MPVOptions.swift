import KioskCommands
import KioskPlatform

/// mpv's options, from its command line and mpv.conf.
enum MPVOptions {
    /// Converts an mpv.conf: an option a line, with or without a value; `#` begins a comment. Leaves out profiles.
    static func write(file text: String, to draft: inout ConfigurationDraft) {
        var isApplied = true
        for line in text.split(whereSeparator: \.isNewline) {
            let line = line.trimmingBlanks
            if line.isEmpty || line.hasPrefix("#") { continue }
            if line.hasPrefix("["), line.hasSuffix("]") {
                isApplied = line == "[default]"
                if !isApplied { draft.leaveOut(String(line), "kiosk has no profiles; [[playlist]] has keys for one entry.") }
                continue
            }
            if isApplied { apply("--" + StartLine.words(withoutComment(line)).joined(separator: " "), to: &draft) }
        }
    }

    /// Returns whether a text may be an mpv.conf: all its lines are options, and mpv has some of them.
    static func isFile(_ text: String) -> Bool {
        let lines = text.split(whereSeparator: \.isNewline).map(\.trimmingBlanks).filter {
            !$0.isEmpty && !$0.hasPrefix("#") && !$0.hasPrefix("[")
        }
        func name(_ line: Substring) -> String {
            String(line.drop { $0 == "-" }.prefix { $0 != "=" && $0 != " " && $0 != "#" })
        }
        guard !lines.isEmpty,
            lines.allSatisfy({ name($0).allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-") } && !name($0).isEmpty })
        else { return false }
        return lines.contains { line in
            let name = name(line), bare = name.hasPrefix("no-") ? String(name.dropFirst(3)) : name
            return options[bare] != nil || ignored.contains { bare.hasPrefix($0) }
        }
    }

    private static func withoutComment(_ line: Substring) -> Substring {
        line.firstRange(of: " #").map { line[..<$0.lowerBound] } ?? line
    }

    /// Converts an option: `--loop-file=inf`, `--no-audio`, `fs`.
    static func apply(_ word: String, to draft: inout ConfigurationDraft) {
        let bare = word.drop { $0 == "-" }
        let equals = bare.firstIndex(of: "=")
        var name = String(bare[..<(equals ?? bare.endIndex)]).trimmingBlanks
        var value = equals.map { String(bare[bare.index(after: $0)...]).trimmingBlanks } ?? "yes"
        if equals == nil, name.hasPrefix("no-") { (name, value) = (name.dropFirst(3), "no") }
        let setting = equals == nil ? "\(bare)" : "\(name)=\(value)"
        switch options[String(name)] {
        case .value(let body): body(&draft, String(value))
        case .flag(let body): body(&draft)
        case .missing(let remark), .missingWithValue(let remark): draft.leaveOut(setting, remark)
        case .nothing, .nothingWithValue: break
        case nil:
            if ignored.contains(where: { name.hasPrefix($0) }) { break }
            draft.leaveOut(setting, StartLine.unknown)
        }
    }

    /// Prefixes of options for windows, buffers and logs, which kiosk does not have or need.
    private static let ignored = [
        "cache", "demuxer", "vo", "ao", "gpu", "opengl", "fullscreen", "fs", "border", "ontop", "window", "geometry", "autofit", "osd",
        "osc", "term",
        "msg", "log-file", "quiet", "really-quiet", "idle", "force-window", "keep-open", "input-vo-keyboard", "cursor", "video-sync",
        "interpolation",
        "tscale", "scale", "dscale", "cscale", "profile", "framedrop", "hr-seek", "gapless-audio", "prefetch-playlist", "save-position",
        "screenshot",
        "config", "load-scripts", "ytdl", "stop-screensaver", "vd-lavc", "hwdec-codecs", "drm-draw", "drm-drmprime", "drm-device",
        "audio-buffer",
        "audio-pitch", "index", "sub-auto", "correct-downscaling", "linear", "sigmoid", "deband", "dither", "player-operation-mode",
    ]

    private static func number(_ table: String, _ key: String, _ range: ClosedRange<Double>) -> StartLine.Meaning {
        .value { draft, value in
            guard let number = Double(value), number.isFinite else { return draft.leaveOut("\(key) \(value)", "it is no number.") }
            let fitting = min(max(number, range.lowerBound), range.upperBound)
            draft.set(table, key, fitting, fitting == number ? nil : "\(value) is out of kiosk's range.")
        }
    }

    fileprivate static let options: [String: StartLine.Meaning] = [
        "loop-file": .value { if $1 != "no" { $0.set("playback", "loop", "item") } },
        "loop": .value { if $1 != "no" { $0.set("playback", "loop", "item") } },
        "loop-playlist": .value { if $1 == "no" { $0.set("playback", "loop", "off") } else { $0.unset("playback", "loop") } },
        "shuffle": .value { $0.set("playback", "shuffle", $1 == "yes") },
        "playlist": .value { $0.entries.append(.init(source: $1)) },
        "image-display-duration": .value { draft, value in
            guard let seconds = Double(value), seconds.isFinite else {
                return draft.set("playback", "image-duration", 86_400, "kiosk has no end for pictures: a day is close to it.")
            }
            draft.set("playback", "image-duration", seconds)
        },
        "volume": number("audio", "volume", 0...100),
        "mute": .value { $0.set("audio", "muted", $1 == "yes") },
        "audio": .value { if $1 == "no" { $0.set("audio", "device", "off") } },
        "audio-device": .value { draft, value in
            guard value.hasPrefix("alsa/") else {
                return value == "auto" ? () : draft.leaveOut("audio-device=\(value)", "kiosk plays to ALSA; kiosk devices lists the cards.")
            }
            draft.set("audio", "device", String(value.dropFirst("alsa/".count)))
        },
        "audio-channels": .value { $0.set("audio", "channels", ["5.1", "7.1", "stereo"].contains($1) ? $1 : "auto") },
        "audio-delay": .value { draft, value in
            draft.set("audio", "delay", min(500, max(-500, Int(saturating: (Double(value) ?? 0) * 1000))))
        },
        "drm-connector": .value { draft, value in
            // In `1.HDMI-A-1`, 1 is the card's number.
            let parts = value.split(separator: ".", maxSplits: 1)
            draft.set("display", "connector", parts.count == 2 && Int(parts[0]) != nil ? "card\(parts[0]):\(parts[1])" : value)
        },
        "drm-mode": .value { draft, value in
            if Int(value) != nil || value == "highest" {
                draft.leaveOut("drm-mode=\(value)", "write [display] mode as a size: \"1920x1080@50\"; kiosk devices lists the modes.")
            } else {
                draft.set("display", "mode", value)
            }
        },
        "video-rotate": .value { $0.set("display", "rotation", Int($1) ?? 0) },
        "keepaspect": .value { if $1 == "no" { $0.set("display", "gravity", "stretch") } },
        "panscan": .value { if (Double($1) ?? 0) > 0.5 { $0.set("display", "gravity", "fill") } },
        "background": .value(background), "background-color": .value(background),
        "hwdec": .value { if $1 == "no" { $0.set("playback", "decoder", "software") } },
        "deinterlace": .value { if $1 == "no" { $0.set("playback", "deinterlace", "off") } },
        "alang": .value { $0.set("playback", "audio-track", first($1)) },
        "slang": .value { $0.set("playback", "subtitle-track", first($1)) },
        "aid": .value { track("audio-track", $1, &$0) }, "sid": .value { track("subtitle-track", $1, &$0) },
        "sub": .value { if $1 == "no" { $0.set("playback", "subtitle-track", "off") } },
        "sub-file": .missing("put the file beside the clip, under the clip's name: clip.srt, clip.de.srt."),
        "sub-font": .value { $0.set("theme", "font", $1) }, "sub-codepage": .value { $0.set("playback", "subtitle-encoding", $1) },
        "start": .value { draft, value in draft.finishing.append { $0.setAll("start", ConfigurationDraft.time(value)) } },
        "end": .value { draft, value in draft.finishing.append { $0.setAll("end", ConfigurationDraft.time(value)) } },
        "length": .value { draft, value in draft.finishing.append { $0.setAll("duration", ConfigurationDraft.time(value)) } },
        "speed": .missing("set the rate with a command: kiosk ctl rate."),
        "user-agent": .value { $0.set("network", "user-agent", $1) },
        "network-timeout": number("network", "timeout", 1...3600),
        "tls-verify": .value { $0.set("network", "tls-verify", $1 == "yes") }, "tls-ca-file": .value { $0.set("network", "ca-file", $1) },
        "http-header-fields": .missing("write them as [network] headers, or for one entry in its [[playlist]]."),
        "input-ipc-server": .missing("kiosk has a control socket of its own: [control] socket, kiosk ctl."),
        "input-default-bindings": .value {
            if $1 == "no" { $0.set("input", "locked", true, "Keys and touches do nothing. List in allow those that act.") }
        },
        "input-conf": .missing("bind keys in [input.keys]."),
        "script": .missing("kiosk runs no scripts: its control socket answers other programs."),
        "vf": .missing("kiosk has no filters; [display] has rotation and gravity."), "af": .missing("kiosk has no filters."),
        "lavfi-complex": .missing("kiosk has no filters."),
        "video": .value { if $1 == "no" { $0.finishing.append { $0.setAll("video-track", "off") } } },
        "external-file": .missing("kiosk plays the tracks of one file."), "audio-file": .missing("kiosk plays the tracks of one file."),
    ]

    private static let background: @Sendable (inout ConfigurationDraft, String) -> Void = { draft, value in
        // The last six digits of `#AARRGGBB`.
        guard value.hasPrefix("#"), value.count == 7 || value.count == 9 else { return }
        draft.set("display", "background", "#" + value.suffix(6))
    }

    private static func first(_ languages: String) -> String { String(languages.prefix { $0 != "," }) }

    private static func track(_ key: String, _ value: String, _ draft: inout ConfigurationDraft) {
        if let number = Int(value) { draft.set("playback", key, number) } else { draft.set("playback", key, value == "no" ? "off" : value) }
    }
}

extension StringProtocol {
    var trimmingBlanks: Substring {
        let begin = Substring(drop { $0 == " " || $0 == "\t" || $0 == "\r" })
        return begin.lastIndex { $0 != " " && $0 != "\t" && $0 != "\r" }.map { begin[...$0] } ?? ""
    }
}
