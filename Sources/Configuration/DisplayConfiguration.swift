// [display] and [audio].
import KioskPlatform
import KioskVocabulary

extension Configuration {
    /// `[display]`.
    package struct Display: Hashable, Sendable {
        package var connector = DisplayConnector.automatic
        package var mode = DisplayModeChoice.preferred
        /// The default for every item.
        package var gravity = VideoGravity.resizeAspect
        /// The rotation of the picture, for a display that is itself rotated.
        package var rotation = Rotation.none
        /// The colour of the bars beside the picture, and of the empty screen.
        package var background = Color.black
        /// The place of the picture on the display.
        package var region = Region.full
        /// The size of the display, if the connector reports a wrong one.
        package var physicalSize: PhysicalSize?
        package var picturePath = PicturePathChoice.automatic
        /// The margin without overlays at each side, in hundredths of the display.
        package var safeArea = 3
        /// Whether to end the signal while the display is off.
        package var dpms = true
        /// Whether to switch a television by HDMI-CEC.
        package var cec = false
        /// Whether a touch switches it on, and for how long after the last one.
        package var wakes = false
        package var wakeTime = MediaTime.seconds(300)
    }

    /// `[audio]`.
    package struct Audio: Hashable, Sendable {
        package var device = AudioDevice.automatic
        package var channels = AudioChannels.automatic
        /// The loudness at the start, 0…100.
        package var volume = 100
        /// Whether the sound is off at the start.
        package var isMuted = false
        package var delays = AudioDelays()
        package var session = AudioSession()
    }
}

extension Configuration.Display: TableRow {
    static let keys: [Key<Self>] = keyList {
        """
        "auto" is the first connector with a display, or /dev/fb0 if no card has connectors. VGA and
        composite outputs cannot detect a display: "auto" takes one only until another output has a
        display. "auto" never takes a VR headset. Or name a connector as /sys/class/drm lists it:
        "HDMI-A-1". Write "card1:HDMI-A-1" if two cards have a connector of that name. "/dev/fb0" is for
        kernels with nothing but a framebuffer. "offscreen" shows nothing (for tests).
        """
        Key(
            "connector", \.connector,
            .text("\"auto\", a connector such as \"HDMI-A-1\" or \"card1:HDMI-A-1\", \"/dev/fb0\" or \"offscreen\""), needs: .restart)
        """
        "preferred" is the display's own choice. Or write a size, "1920x1080". Add the refresh if it
        matters: "1920x1080@50" for clips of 25 or 50 frames a second, or "1280x720@59.94". Motion is even
        if the refresh is a multiple of the clips' frame rate.
        """
        Key(
            "mode", \.mode, .text("\"preferred\", \"1920x1080\" or \"1920x1080@50\"", pattern: "^(preferred|[0-9]+x[0-9]+(@[0-9.]+)?)$"),
            needs: .restart)
        """
        Fit of a picture whose shape differs from the display's:
          "fit"        shows all of the picture, between bars
          "fill"       fills the screen, and cuts off the rest of the picture
          "stretch"    distorts the picture
        """
        Key("gravity", \.gravity, .gravity, inItem: { $0.gravity = $1 })
        """
        Rotate the picture clockwise by 0, 90, 180 or 270 degrees, for a display on its side or upside
        down. Touch rotates with it. Some panels are built in rotated. If the kernel knows that (connector
        property "panel orientation"), the picture is upright with 0.
        """
        Key("rotation", \.rotation, .rotation)
        ##"Colour of the bars, and of the screen while kiosk has nothing to play: "#rrggbb"."##
        Key("background", \.background, .color("#000000"))
        """
        Place of the picture on the display: left, top, width and height in hundredths, as a viewer sees
        the display. The background fills the rest. Touch still covers the whole display.
        "kiosk ctl region" moves the picture during playback.
        """
        Key("region", \.region, .region)
        """
        Size of the display: width and height in millimetres, before any rotation. kiosk sizes the
        controls by it, so a button is as large as a finger on every panel. No default: the connector
        reports the size. If it reports nothing or nonsense, kiosk assumes a size.
        An example, a panel of 7 inches:
        """
        Key(
            "physical-size", \.physicalSize, .text("width and height in millimetres, such as \"154x86\"", pattern: "^[0-9.]+x[0-9.]+$"),
            needs: .restart, example: "\"154x86\"")
        """
        Way of a decoded picture to the screen. For each size and format, "auto" takes the first of these
        ways that the display hardware accepts:
          "dmabuf"     the display shows a hardware decoder's memory as it is
          "direct"     the processor decodes into memory of the display
          "copy"       kiosk copies the picture once; the display scales and rotates it
          "scale"      the processor scales the picture; the display makes the colours
          "convert"    the processor does everything; this way works everywhere
        A name allows that way and the ways below it. Set "convert" if the display's colours or scaling
        are wrong. With the driver vkms the processor composes the planes, so "auto" is "convert" there.
        The log names the chosen way, and the reasons against the others.
        """
        Key("picture-path", \.picturePath, .word, needs: .restart)
        """
        Free margin at each side of the display, in hundredths, from 0 to 20. No [[overlay]] lies in it:
        televisions may cut the edge off. Subtitles without a look of their own keep the same distance
        from the edges of region.
        """
        Key("safe-area", \.safeArea, .number(in: 0...20))
        """
        Ways to switch the display off. A [[program]] with off = true switches it off, and so does
        "display off" (a key, [[at]], kiosk ctl display off). dpms ends the signal, and the display goes
        to sleep. cec sends a television to standby, and wakes it, by the kernel's HDMI-CEC adapter
        (/dev/cec*). Playback stands still meanwhile, and kiosk decodes nothing. docs/display-off.md
        """
        Key("dpms", \.dpms, .flag)
        Key("cec", \.cec, .flag)
        """
        With "touch", a touch or a key switches the display on. kiosk switches it off again wake-time
        (seconds) after the last touch or key. While the display is off, touches and keys do nothing else,
        except keys with a "display" command. With "off", the display stays off until the schedule or the
        command "display on" switches it on.
        """
        Key("wake", \.wakes, Kind<Wake>.word.map({ $0 == .touch }, back: { $0 ? .touch : .off }))
        Key("wake-time", \.wakeTime, .time)
    }

    /// The event that switches it on.
    private enum Wake: String, CaseIterable {
        case off, touch
    }
}

extension Configuration.Audio: TableRow {
    static let keys: [Key<Self>] = keyList {
        """
        "auto" plays to the first of these:
          - the system's default, if you have set one (/etc/asound.conf, a sound server)
          - the sound of the current display, if it takes sound by HDMI or DisplayPort
          - the first real card that can play
        kiosk devices shows the choice. kiosk chooses again once another card, or a display with sound,
        has been there for two seconds. Of the chosen card, kiosk turns on the muted mixer switches that
        the sound passes through. It raises a volume of 0 only if the mixer was muted, too. Otherwise it
        logs the volume. Or name a device as aplay -L does, such as "hdmi:CARD=vc4hdmi0" or "hw:1,0":
        kiosk leaves its mixer alone. "off" uses no sound card.
        """
        Key("device", \.device, .text("\"auto\", an ALSA device such as \"hw:0,0\" or \"off\""), needs: .restart)
        """
        Number of channels. With "auto" kiosk asks the displays at the start, by HDMI or DisplayPort, and
        plays 2, 6 or 8 channels. Without such a display it plays two. With "5.1" or "7.1" it asks every
        card for six or eight, with "stereo" for two. If the card has fewer channels, kiosk mixes the
        sound down. docs/audio-session.md
        """
        Key("channels", \.channels, .word, needs: .restart)
        "Loudness at the start, from 0 to 100. Keys change it until the next start."
        Key("volume", \.volume, .number(in: 0...100))
        "Set true to start without sound, until somebody presses the mute key."
        Key("muted", \.isMuted, .flag)
        """
        Delay of the sound behind the picture in milliseconds, from -500 to 500. With a negative number
        the sound comes before the picture. Televisions take some time for pictures, and amplifiers for
        sound. 0 is right for a display that shows a picture at once and plays the sound itself.
        """
        Key("delay", \.delays.usual, .delay, needs: .restart)
        """
        Delay of one sound card, if several can play: such as the television by HDMI and an amplifier by
        USB. Name a card by a part of its name, of its output's name, or of the ALSA device. kiosk devices
        lists the names. A card that you do not list has delay.
        An example: delays = { "HDMI" = 120, "USB Audio" = 0 }
        """
        Key("delays", \.delays.entries, .delays, needs: .restart)
        """
        The next four keys decide how kiosk shares the sound with other programs. docs/audio-session.md
        Set true to let other programs play at the same time, by ALSA's software mixer (dmix). With false
        kiosk takes the card alone, and pauses more exactly.
        """
        Key("mix", \.session.mixesWithOthers, .flag, needs: .restart)
        """
        Output that kiosk follows, with device = "auto". With each of these, kiosk first tries the default
        that you have set in ALSA (/etc/asound.conf, a sound server):
          "display"    the sound of the display; later also a card or a display that you plug in
          "port"       plugged headphones or a plugged line, then the display;
                       if you pull the plug, an output that is still there
          "fixed"      the output that kiosk found at the start, for as long as it is there
        """
        Key("follow", \.session.route, .word { "\($0)" }, needs: .restart)
        """
        Reaction while another program asks for silence (kiosk ctl interruption begin), such as one for
        announcements:
          "duck"       makes the sound quieter, to duck-volume (0 to 100); the picture goes on
          "mute"       turns the sound off; the picture goes on
          "pause"      holds picture and sound; both go on afterwards
        """
        Key("interruption", \.session.interruption, .word { "\($0)" }, needs: .restart)
        Key(
            "duck-volume", \.session.duckedVolume,
            Kind<Int>.number(in: 0...100).map({ Double($0) / 100 }, back: { Int(($0 * 100).rounded()) }), needs: .restart)
    }
}

extension Kind where Value == Int {
    /// The delay of the sound behind the picture, in milliseconds.
    fileprivate static var delay: Self { number(in: -500...500) }
}

extension Kind where Value == [AudioDelays.Entry] {
    /// `[audio] delays`.
    fileprivate static var delays: Self {
        let one = Kind<Int>.delay
        return Self(
            schema: "\"type\": \"object\", \"additionalProperties\": { \(one.schema()) }", shown: { _ in "{}" }
        ) { value, place in
            guard let table = TableReader(value, heading: "[audio.delays]", in: place.table) else { return nil }
            return table.entries.compactMap { entry in
                if entry.key.isEmpty {
                    let expected = "expected a part of the name of a sound card; kiosk devices lists them"
                    table.complaints.add("\(table.heading) \"\": \(expected)", at: entry.position)
                    return nil
                }
                let delay = one.read(entry.value, Place(key: shownKey(entry.key), table: table))
                return delay.map { AudioDelays.Entry(device: entry.key, milliseconds: $0) }
            }
        }
    }
}
