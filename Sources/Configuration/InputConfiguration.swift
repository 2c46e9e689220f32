// [input] and its tables, and [theme].
import KioskCommands
import KioskPlatform
import KioskVocabulary

extension Configuration {
    /// `[input]`, `[input.gestures]` and `[input.keys]`.
    package struct Input: Hashable, Sendable {
        package var controls = ControlsMode.full
        /// Whether kiosk uses touch screens.
        package var usesTouch = true
        /// Whether playback continues while a finger holds the slider.
        package var scrubPlays = false
        /// Whether a key bound to `quit` ends the program.
        package var allowsQuit = false
        /// Whether kiosk grabs the devices, so that nothing else on the machine receives their events, above all the console.
        package var grabsDevices = true
        package var isLocked = false
        /// The entries that still act while it is locked.
        package var allowed: Set<InputLock.Entry> = []
        /// The display of each touch screen.
        package var map: [DeviceMapping] = []
        /// Whether an accelerometer turns the picture.
        package var usesAccelerometer = false
        package var ownGestures = Gestures()
        /// The defaults that the file does not rebind, then the file's own in order, including those bound to `none`.
        package var bindings = KeyBinding.defaults

        /// The command of each gesture: the file's, else the default. If nothing is drawn, only the tap and the swipes have defaults.
        /// Gestures that the lock does not allow are left out.
        package var gestures: [GestureName: Command] {
            var result = Self.defaultGestures.filter { controls != .none || [.tap, .swipeLeft, .swipeRight].contains($0.key) }
            for (name, command) in ownGestures.commands { result[name] = command }
            return result.filter { lock.allows($0.key) }
        }

        /// The lock that `locked` and `allow` define.
        package var lock: InputLock { InputLock(allowed: isLocked ? allowed : nil) }

        /// ``bindings`` without those that the lock does not allow.
        package var allowedBindings: [KeyBinding] { bindings.filter { lock.allows($0.trigger) } }

        /// The default commands of gestures. The command of ``GestureName/volumeDrag`` applies to a hundredth of the height.
        package static let defaultGestures: [GestureName: Command] = {
            var result: [GestureName: Command] = [.volumeDrag: .player(.changeVolume(by: 1))]
            for case .plain(let command, _, let gestures) in CommandTable.ofViewers.flatMap(\.forms) {
                for gesture in gestures { result[gesture] = command }
            }
            return result
        }()
    }

    /// `[input.gestures]`: the file's gestures; a nil command means `none`.
    package struct Gestures: Hashable, Sendable {
        package var commands: [GestureName: Command?] = [:]
    }
}

/// One entry of `[input] map`: the touch screen whose name contains `device` lies on the display at `connector`.
package struct DeviceMapping: Hashable, Sendable {
    /// A part of the name that the device gives itself; case is ignored.
    package var device: String
    /// The display's connector.
    package var connector: DisplayConnector
}

/// A key and its command: one line of `[input.keys]`, or a default.
package struct KeyBinding: Hashable, Sendable {
    /// The keys, and how they are pressed. Unchecked: there may be no such keys.
    package var trigger: KeyTrigger
    /// The command; nil if the key is bound to `none`.
    package var command: Command?
    /// The position in kiosk.conf; nil for a default.
    package var position: SourcePosition?

    /// The default bindings: the keys of the table of commands, and digits for the first items.
    package static let defaults: [KeyBinding] = {
        let named = CommandTable.ofViewers.flatMap(\.forms).flatMap { form -> [KeyBinding] in
            guard case .plain(let command, let keys, _) = form else { return [] }
            return keys.compactMap(KeyTrigger.name).map { KeyBinding(trigger: KeyTrigger([$0]), command: command) }
        }
        let digits = (1...9).flatMap { number in
            ["\(number)", "KP\(number)", "NUMERIC_\(number)"].map {
                KeyBinding(trigger: KeyTrigger(["KEY_" + $0]), command: .player(.selectItem(number)))
            }
        }
        return named + digits
    }()
}

extension Configuration.Input: TableRow {
    static let keys: [Key<Self>] = keyList {
        """
        Reaction of the screen to a touch. "full" shows the controls: play, the slider, the volume, the
        title. During playback they hide three seconds after the last touch. While playback is paused,
        they stay. "tap-only" shows a short play or pause sign and nothing else. "none" draws nothing.
        """
        Key("controls", \.controls, .word)
        """
        Set false to ignore touch screens and mice, such as for a screen within reach that nobody should
        touch.
        """
        Key("touch", \.usesTouch, .flag)
        """
        Set true to let playback go on while a finger holds the slider. With false playback waits. Either
        way the picture follows the finger.
        """
        Key("scrub-plays", \.scrubPlays, .flag)
        """
        Set true to let the keys bound to "quit" end the player. Leave it false if the public has a
        keyboard.
        """
        Key("allow-quit", \.allowsQuit, .flag)
        """
        Set false to let keys and touches reach other programs too: such as a login prompt on the console
        behind the picture.
        """
        Key("grab", \.grabsDevices, .flag)
        """
        Set locked = true in public places: only the entries of allow act, and nothing if allow is empty.
        An entry is one of these:
          "KEY_VOLUMEUP"               a key as in [input.keys], but with its KEY_;
                                       write "hold KEY_POWER" if you mean that
          "tap"                        a gesture, by its name in [input.gestures]
          "slider"                     a part of the controls, by its name in [theme]
          "device ILITEK"              devices whose name contains ILITEK
          "place usb-0000:00:14.0-2"   the device in this socket
          "id 222a:0001"               devices of this vendor and product
        If you list a device, no other device acts. A device chooses its own name. If strangers can plug
        one in, list its socket or its vendor and product instead. kiosk devices shows the names and, if
        you set locked, the places and ids.
        An example:
          allow = ["tap", "play-button", "slider", "KEY_VOLUMEUP", "KEY_VOLUMEDOWN", "device ILITEK"]
        """
        Key("locked", \.isLocked, .flag)
        Key("allow", \.allowed, .lockEntries)
        """
        Display of each touch screen, by its connector, if several displays have touch screens. Name a
        touch screen by a part of its name. If two have the same name, use a part of the place instead.
        kiosk devices shows both. kiosk ignores touches on any display but its own. A touch screen that
        you do not list belongs to the connector in its udev property WL_OUTPUT. Without that property the
        touch screen belongs to the current display.
        An example: map = { "ILITEK" = "HDMI-A-1", "usb-0000:00:14.0-2" = "HDMI-A-2" }
        If the axes of a touch screen are swapped, turned or off, run kiosk calibrate. It finds and writes
        the udev property that corrects them, LIBINPUT_CALIBRATION_MATRIX.
        """
        Key("map", \.map, .mappings)
        """
        Set true to turn the picture with the machine, by its accelerometer (one of the kernel's iio
        devices). kiosk turns the picture once the machine has been at rest for half a second.
        """
        Key("accelerometer", \.usesAccelerometer, .flag)
        Key(table: "input.gestures", \.ownGestures)
        """
        Give each key, button or knob a command. Name keys as <linux/input-event-codes.h> does: KEY_SPACE,
        or space for short, or BTN_0. evtest shows the names. Remote controls (infrared, HDMI-CEC) and
        GPIO buttons have such names, too. "dial-up" and "dial-down" are a notch of a knob or of a mouse
        wheel. Say in quotes how somebody presses the keys:
          "ctrl+alt+KEY_Q"                 with Ctrl and Alt held (also "shift" and "meta"),
                                           and no other of these four
          "KEY_VOLUMEUP+KEY_VOLUMEDOWN"    together, in any order;
                                           each of them alone then acts a tenth of a second later
          "hold KEY_POWER"                 held for a second;
                                           KEY_POWER alone then acts at the release, if that comes sooner
          "repeat KEY_N"                   again and again while held;
                                           commands that go by steps (seek, volume) do so anyway
          "once KEY_RIGHT"                 once, even for such a command
        A command is one of these:
          "toggle" (play or pause), "play", "pause"
          "seek-forward", "seek-back" (by seek-step)
          "seek +30", "seek -30" (seconds), "seek 1:30" (to that time)
          "next", "previous", "item 3" (the third of the playlist)
          "restart" (the item from its beginning), "restart-playlist" (the first item)
          "go-on" (from an item that waits for a tap)
          "play special.mp4" (that file or URL now, then the next item); a path that does not begin
            with / is relative to this file's folder
          "play special.mp4 then resume" (then on from the former position)
          "audio-track de", "audio-track 2", "audio-track off"
          "next-audio-track" (of a film with several languages)
          "subtitle-track de", "subtitle-track 2", "subtitle-track off"
          "next-subtitle-track" (after the last one none)
          "chapter 3", "next-chapter", "previous-chapter"
          "volume-up", "volume-down", "volume 40", "mute", "rate 1.5" (the speed, 0.5 to 2)
          "rotate" (the picture by a quarter clockwise), "rotate 90" (as [display] rotation)
          "display off", "display on" (until the schedule next switches the display)
          "display auto" (as the schedule has it now)
          "zone news next" (the next item of the [[zone]] called news)
          "zone news previous", and likewise with play, pause, toggle and tap
          "record start", "record stop", "record toggle", "record pause", "record resume",
            "record preview" (the camera, with a start button),
            "record keep", "record retake" and "record cancel", if [record] has a folder
          "show-controls", "hide-controls", "toggle-controls" (shows them, or hides them again)
          "shelf" (opens the shelf, or closes it), "quit"
          "none", which removes a default
        An example: "KEY_F5" = "play /media/special.mp4 then resume"
        Keys that you do not bind here keep their defaults:
        """
        Key("keys", \.bindings, .bindings, isSame: { $0.elementsEqual($1) { ($0.trigger, $0.command) == ($1.trigger, $1.command) } })
    }

    static func check(_ row: inout Self, _ table: TableReader) {
        guard case .array(let items)? = table.entry("allow")?.value.kind else { return }
        let bound = Set(row.bindings.map(\.trigger.withoutRepeat))
        for item in items {
            guard case .key(let trigger)? = item.kind.string.flatMap(InputLock.Entry.init), !bound.contains(trigger) else { continue }
            table.complaints.add("[input] allow: \(trigger) is not bound to anything in [input.keys]", at: item.position)
        }
    }
}

extension Configuration.Gestures: TableRow {
    static let keys: [Key<Self>] = keyList {
        """
        Give each gesture a command as in [input.keys]. With controls = "none" only the tap and the swipes
        have these defaults. The others then have "none".
        """
        gesture(.tap)
        "Two taps in the left or the right third of the screen."
        gesture(.doubleTapLeft)
        gesture(.doubleTapRight)
        "A finger that rests for 0.7 seconds."
        gesture(.longPress)
        "A finger drawn sideways. A long swipe repeats a command that goes by steps."
        gesture(.swipeLeft)
        gesture(.swipeRight)
        "Two fingers at once."
        gesture(.twoFingerTap)
        "With true, a finger drawn up or down along the right edge changes the volume."
        Key(
            GestureName.volumeDrag.rawValue, \.commands[.volumeDrag],
            Kind<Bool>.flag.map({ $0 ? Configuration.Input.defaultGestures[.volumeDrag] : nil }, back: { $0 != nil }), shown: "true")
        "A finger drawn from the very edge inwards."
        gesture(.edgeLeft)
        gesture(.edgeRight)
        gesture(.edgeTop)
        gesture(.edgeBottom)
    }

    private static func gesture(_ name: GestureName) -> Key<Self> {
        let kind = Kind.commandOrNone
        return Key(name.rawValue, \.commands[name], kind, shown: kind.shown(Configuration.Input.defaultGestures[name]))
    }
}

extension Kind where Value == Set<InputLock.Entry> {
    /// `[input] allow`.
    fileprivate static var lockEntries: Self {
        let expected =
            "a key such as \"KEY_SPACE\", a gesture such as \"tap\", a part of the controls such as \"slider\", or "
            + "\"device NAME\", \"place PLACE\" or \"id VENDOR:PRODUCT\""
        let list = Kind<[InputLock.Entry]>.list("[\"tap\", \"KEY_SPACE\"]", of: expected, shown: { _ in "[]" }) { text, _ in
            InputLock.Entry(text)
        } advice: { text in
            let words = GestureName.allCases.map(\.rawValue) + ControlsPart.allCases.map(\.rawValue)
            return suggestion(for: text, among: words).map { ", did you mean “\($0)”?" } ?? ""
        }
        return list.map({ Set($0) }, back: { Array($0) })
    }
}

extension Kind where Value == [DeviceMapping] {
    /// `[input] map`.
    fileprivate static var mappings: Self {
        Self(schema: #""type": "object", "additionalProperties": { "type": "string" }"#, shown: { _ in "{}" }) { value, place in
            TableReader(value, heading: "[input.map]", in: place.table)?.entries.compactMap { entry in
                if entry.key.isEmpty {
                    place.table.complaints.add(
                        "[input.map] \"\": expected a part of the name of a touch screen; kiosk devices lists them", at: entry.position)
                    return nil
                }
                switch entry.value.kind.string.flatMap(DisplayConnector.init) {
                case .named(let name, let card): return DeviceMapping(device: entry.key, connector: .named(name, card: card))
                case .framebuffer(let path): return DeviceMapping(device: entry.key, connector: .framebuffer(path))
                default:
                    let expected = "a connector such as \"HDMI-A-1\" or \"card1:HDMI-A-1\", or \"/dev/fb0\""
                    place.table.complaints.add(
                        "[input.map] \(shownKey(entry.key)): expected \(expected), found \(entry.value.kind.shown)",
                        at: entry.value.position)
                    return nil
                }
            }
        }
    }
}

extension Kind where Value == [KeyBinding] {
    /// `[input.keys]`, which is open to any key.
    fileprivate static var bindings: Self {
        let shown = { @Sendable (bindings: [KeyBinding]) in
            bindings.map { binding in
                var name = binding.trigger.description.lowercased()
                if name.hasPrefix("key_") { name.removeFirst(4) }
                return "\(name) = \(Kind<Command?>.commandOrNone.shown(binding.command))"
            }.joined(separator: "\n")
        }
        let schema = #""type": "object", "additionalProperties": { "type": "string" }"#
        return Self(schema: schema, shown: shown, heading: "[input.keys]") { value, place in
            guard let table = TableReader(value, heading: "[input.keys]", in: place.table) else { return nil }
            let words = CommandWords(folder: place.folder)
            var bindings: [KeyBinding] = []
            var writtenAs: [KeyTrigger: TOMLEntry] = [:]
            for entry in table.entries {
                let shown = "[input.keys] \(shownKey(entry.key))"
                guard let trigger = KeyTrigger(entry.key) else {
                    table.complaints.add(
                        "\(shown): not a key; keys are such as KEY_SPACE, space, \"ctrl+KEY_Q\" or \"hold KEY_POWER\"", at: entry.position)
                    continue
                }
                if let first = writtenAs[trigger.withoutRepeat] {
                    table.complaints.add("\(shown): the same key as “\(first.key)” in line \(first.position.line)", at: entry.position)
                    continue
                }
                writtenAs[trigger.withoutRepeat] = entry
                do throws(CommandFault) {
                    bindings.append(KeyBinding(trigger: trigger, command: try words.command(entry.value.kind), position: entry.position))
                } catch {
                    table.complaints.add("\(shown): \(error.text)", at: entry.value.position)
                }
            }
            let triggers = Set(bindings.map(\.trigger.withoutRepeat))
            return KeyBinding.defaults.filter { !triggers.contains($0.trigger.withoutRepeat) } + bindings
        }
    }
}

extension Theme: TableRow {
    static let keys: [Key<Self>] = keyList {
        "Look of the controls. Colour of the played part of the slider:"
        Key("accent", \.accent, .color("#339eff"))
        """
        Font by fontconfig's name, or several names with commas between them; "fc-list : family" lists the
        names. If a font lacks a character, kiosk takes another font. If no font has the character, the
        log says so. Subtitles without a look of their own use this font, too.
        """
        Key("font", \.font, .line("the name of a font family", longest: 200))
        "Height of a line of subtitles, in per cent of the height of [display] region: 2 to 20."
        Key("subtitle-size", \.subtitleSize, .number(in: SubtitleStyle.sizes))
        "Opacity of the controls, from 0 (invisible) to 1."
        Key("opacity", \.opacity, .fraction)
        """
        Set false to leave out a part:
          play-button    the disc in the middle that plays and pauses
          title          the title
          skip-buttons   previous and next
          slider         the slider
          times          the times beside the slider
          preview        the picture above a finger that holds the slider
          mute           the button that mutes
          volume         the volume
          spinner        the wheel that turns while the player waits for data
          toast          the sign for a volume or a seek by a key or a gesture
          shelf          the button that opens the shelf
          subtitles      the button for subtitles and sound tracks
        """
        for part in ControlsPart.allCases.filter({ $0 != .rotate }) { Key(part.rawValue, \.[shows: part], .flag) }
        "Set true for a button that rotates the picture by a quarter clockwise."
        Key(ControlsPart.rotate.rawValue, \.[shows: .rotate], .flag)
    }

    fileprivate subscript(shows part: ControlsPart) -> Bool {
        get { parts.contains(part) }
        set { if newValue { parts.insert(part) } else { parts.remove(part) } }
    }
}
