import KioskCommands
import KioskPlatform

/// video_looper.ini of Adafruit's pi_video_looper: sections of `key = value`. A pure value.
struct LooperSettings {
    private var values: [String: String] = [:]

    /// Parses a text; nil if it is no such file.
    init?(_ text: String) {
        var section = "", isOurs = false
        for line in text.split(whereSeparator: \.isNewline) {
            let line = line.trimmingBlanks
            if line.isEmpty || line.hasPrefix("#") || line.hasPrefix(";") { continue }
            if line.hasPrefix("["), let end = line.firstIndex(of: "]") {
                section = line[line.index(after: line.startIndex)..<end].lowercased()
                if section == "video_looper" { isOurs = true }
            } else if let equals = line.firstIndex(where: { $0 == "=" || $0 == ":" }) {
                values[section + "." + line[..<equals].trimmingBlanks.lowercased()] = String(
                    line[line.index(after: equals)...].trimmingBlanks)
            }
        }
        if !isOurs { return nil }
    }

    private func text(_ key: String) -> String? { values[key].flatMap { $0.isEmpty ? nil : $0 } }
    private func flag(_ key: String) -> Bool? { values[key].map { ["true", "yes", "on", "1"].contains($0.lowercased()) } }

    // MARK: Conversion

    func write(to draft: inout ConfigurationDraft) {
        let isOfPictures = text("video_looper.video_player") == "image_player"
        writeFiles(to: &draft)
        if flag("video_looper.is_random") == true { draft.set("playback", "shuffle", true) }
        if let seconds = text("image_player.duration").flatMap(Double.init), isOfPictures {
            draft.set("playback", "image-duration", seconds)
        }
        if let color = text("video_looper.bgcolor").flatMap(Self.color), color != "#000000" { draft.set("display", "background", color) }
        if let picture = text("video_looper.bgimage") {
            draft.set(
                "playback", "fallback", picture, "kiosk shows it while there is nothing to play. Between items it shows no other picture.")
        }
        writeSound(to: &draft)
        if flag("control.keyboard_control") == false {
            draft.set("input", "locked", true, "Keys and touches do nothing. List in allow those that act.")
        }
        writeButtons(to: &draft)
        leaveOutRest(&draft)
        if !isOfPictures {
            draft.leaveOut("video_player", "kiosk plays videos, sounds and pictures. Move files away that are not to be shown.")
        }
        if let line = text("omxplayer.extra_args"), !isOfPictures, let start = StartLine(in: "omxplayer " + line) {
            start.write(to: &draft)
        }
    }

    private var folder: String { text("directory.path") ?? "/home/pi/video" }

    private func writeFiles(to draft: inout ConfigurationDraft) {
        let list = text("playlist.path")
        switch text("video_looper.file_reader") ?? "usb_drive" {
        case "directory":
            let source = list.map { $0.hasPrefix("/") ? $0 : folder + "/" + $0 } ?? folder
            draft.entries.append(
                .init(source: source, remark: "The service does not see home folders: move the files, such as to /srv/kiosk."))
        case "usb_drive_copymode":
            draft.set("playback", "usb", "copy", "The package lets the service mount sticks. A new stick's files replace the old ones.")
            if text("copymode.mode") == "add" {
                draft.leaveOut("[copymode] mode = add", "the files of a stick replace those of the stick before.")
            }
            if let password = text("copymode.password"), !password.isEmpty {
                draft.leaveOut(
                    "[copymode] password", "kiosk takes the files of every stick. Set usb = \"off\" if strangers reach the socket.")
            }
        default: draft.set("playback", "usb", "play", "The package lets the service mount sticks.")
        }
        if list != nil, text("video_looper.file_reader") != "directory" {
            draft.leaveOut("[playlist] path", "kiosk takes no lists from sticks. It plays their files in the order of the names.")
        }
    }

    private func writeSound(to draft: inout ConfigurationDraft) {
        switch text("omxplayer.sound") {
        case "local":
            draft.set("audio", "device", "hw:CARD=Headphones", "The headphone socket of a Raspberry Pi; kiosk devices lists the cards.")
        case "alsa":
            if let device = text("alsa.hw_device") { draft.set("audio", "device", "hw:" + device) }
        case "both": draft.leaveOut("[omxplayer] sound = both", "kiosk plays to one card, by default the display's.")
        default: break
        }
        if text("alsa.hw_vol_file") != nil { draft.leaveOut("[alsa] hw_vol_file", "set [audio] volume, or turn it with kiosk ctl volume.") }
    }

    /// Converts buttons on the pins of a Raspberry Pi: `"11" : 1, "15" : "test.mp4", "16" : "+2"`.
    private func writeButtons(to draft: inout ConfigurationDraft) {
        guard let map = text("control.gpio_pin_map") else { return }
        var number = 0
        for pair in map.split(separator: ",") {
            let parts = pair.split(separator: ":", maxSplits: 1).map { $0.filter { !"\"' \t{}".contains($0) } }
            guard parts.count == 2, let pin = Int(parts[0]), number < Self.keyCodes.count else {
                draft.leaveOut("gpio_pin_map \(pair)", "bind a key in [input.keys]; docs/controls.md has GPIO buttons.")
                continue
            }
            guard let gpio = Self.lines[pin], let command = command(parts[1]) else {
                draft.leaveOut("gpio_pin_map \(pair)", "kiosk has no such command; docs/control-commands.md lists them.")
                continue
            }
            // Keyboards lack these function keys.
            let key = "f\(13 + number)"
            draft.set(
                "input.keys", key, command,
                "Pin \(pin). Add to /boot/firmware/config.txt: dtoverlay=gpio-key,gpio=\(gpio),active_low=1,gpio_pull=up,keycode=\(Self.keyCodes[number])"
            )
            number += 1
        }
        if number > 0, flag("control.keyboard_control") == false {
            draft.set("input", "allow", (0..<number).map { "KEY_F\(13 + $0)" })
        }
    }

    private func command(_ target: String) -> String? {
        switch target {
        case "+1": return "next"
        case "-1": return "previous"
        case "K_SPACE": return "toggle"
        case "K_RIGHT", "K_k": return "next"
        case "K_LEFT", "K_b": return "previous"
        default:
            if let index = Int(target), !target.hasPrefix("+"), index >= 0 { return "item \(index + 1)" }
            if target.hasPrefix("K_") || target.hasPrefix("+") || target.hasPrefix("-") { return nil }
            let isInFolder = text("video_looper.file_reader") == "directory" && !target.hasPrefix("/")
            return "play \(isInFolder ? folder + "/" : "")\(target)"
        }
    }

    private func leaveOutRest(_ draft: inout ConfigurationDraft) {
        if let seconds = text("video_looper.wait_time"), seconds != "0" {
            draft.leaveOut("wait_time = \(seconds)", "kiosk plays without a pause. A black picture with image-duration makes one.")
        }
        if flag("video_looper.datetime_display") == true {
            draft.leaveOut("datetime_display", "[[overlay]] with kind = \"clock\" shows the time over the picture.")
        }
        if flag("video_looper.resume_playlist") == true {
            draft.leaveOut("resume_playlist", "kiosk begins with the first item after a restart.")
        }
        if flag("video_looper.one_shot_playback") == true {
            draft.leaveOut("one_shot_playback", "an item with wait-for = \"tap\" repeats until somebody taps.")
        }
        if flag("omxplayer.show_titles") == true {
            draft.leaveOut("show_titles", "a tap shows the controls with the title. [[overlay]] shows a text all the time.")
        }
        for key in ["scale", "center"] where flag("image_player.\(key)") == false {
            draft.leaveOut("[image_player] \(key) = false", "[display] gravity has fit, fill and stretch.")
        }
    }

    /// Converts `16, 32, 48` to `#102030`.
    private static func color(_ text: String) -> String? {
        let parts = text.split(separator: ",").compactMap { UInt8($0.trimmingBlanks) }
        guard parts.count == 3 else { return nil }
        return "#" + parts.map { Int($0).padded(to: 2, radix: 16) }.joined()
    }

    /// The codes of the keys F13 to F24 (linux/input-event-codes.h).
    private static let keyCodes = Array(183...194)

    /// A Raspberry Pi's GPIO lines, by the pins of its connector.
    private static let lines = [
        3: 2, 5: 3, 7: 4, 8: 14, 10: 15, 11: 17, 12: 18, 13: 27, 15: 22, 16: 23, 18: 24, 19: 10, 21: 9, 22: 25, 23: 11, 24: 8, 26: 7, 29: 5,
        31: 6,
        32: 12, 33: 13, 35: 19, 36: 16, 37: 26, 38: 20, 40: 21,
    ]
}
