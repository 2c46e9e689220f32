// [display] and [audio].
import KioskPlatform
import KioskVocabulary

extension Configuration {
    /// `[display]`.
    package struct Display: Hashable, Sendable {
        package var connector = DisplayConnector.automatic
        package var mode = DisplayModeChoice.preferred
        /// Of every item that has none of its own.
        package var gravity = VideoGravity.resizeAspect
        /// How the picture is rotated on a display that was itself rotated.
        package var rotation = Rotation.none
        /// Of the bars beside the picture, and of the screen when nothing is played.
        package var background = Color.black
        /// Where on the display the picture is.
        package var region = Region.full
        /// Where the connector's own is not to be believed.
        package var physicalSize: PhysicalSize?
        package var picturePath = PicturePathChoice.automatic
        /// Hundredths of it that overlays leave free at each side.
        package var safeArea = 3
        /// Whether the signal ends where the display is to be off.
        package var dpms = true
        /// Whether a television is told by HDMI-CEC.
        package var cec = false
        /// Whether a touch has it on, and for how long after the last one.
        package var wakes = false
        package var wakeTime = MediaTime.seconds(300)
    }

    /// `[audio]`.
    package struct Audio: Hashable, Sendable {
        package var device = AudioDevice.automatic
        package var channels = AudioChannels.automatic
        /// At the start, 0…100.
        package var volume = 100
        /// At the start.
        package var isMuted = false
        package var delays = AudioDelays()
        package var session = AudioSession()
    }
}

extension Configuration.Display: TableRow {
    static let keys: [Key<Self>] = keyList {
        """
        "auto" is the first connector with a display on it, or /dev/fb0 where no card has connectors. A connector that cannot detect whether there is a
        display (VGA, composite) is used until another one has one; a headset never. Or name one, as /sys/class/drm lists them:
        "HDMI-A-1", and "card1:HDMI-A-1" where two cards have one of that name. "/dev/fb0" is for kernels that have nothing but a framebuffer,
        "offscreen" shows nothing (for tests).
        """
        Key(
            "connector", \.connector,
            .text("\"auto\", a connector such as \"HDMI-A-1\" or \"card1:HDMI-A-1\", \"/dev/fb0\" or \"offscreen\""), needs: .restart)
        """
        "preferred" is the mode the display asks for. Or a size, "1920x1080", with the refresh where it matters: "1920x1080@50" for clips of 25
        or 50 frames a second, "1280x720@59.94". A refresh that is a multiple of the clips' frame rate makes motion even.
        """
        Key(
            "mode", \.mode, .text("\"preferred\", \"1920x1080\" or \"1920x1080@50\"", pattern: "^(preferred|[0-9]+x[0-9]+(@[0-9.]+)?)$"),
            needs: .restart)
        """
        How a picture of another shape is shown: "fit" shows all of it between bars, "fill" fills the screen and cuts off what is beyond it, "stretch"
        distorts it.
        """
        Key("gravity", \.gravity, .gravity, inItem: { $0.gravity = $1 })
        """
        0, 90, 180 or 270: how far the picture is rotated clockwise, for a display that is mounted on its side or upside down. Touch is rotated with it.
        A panel that the kernel knows to be built in rotated (connector property "panel orientation") is upright with 0.
        """
        Key("rotation", \.rotation, .rotation)
        ##"The colour of the bars, and of the screen when there is nothing to play: "#rrggbb"."##
        Key("background", \.background, .color("#000000"))
        """
        Where on the display the picture is: left, top, width and height in hundredths of it, as a viewer sees it. The background is seen beside it, and
        touch goes on being that of the whole display. "kiosk ctl region" moves it while it plays.
        """
        Key("region", \.region, .region)
        """
        What the display measures, width and height in millimetres, before any rotation. The controls have their sizes by it, so that a button is as large
        as a finger on a small panel and on a large one. No default: the connector says it, and where it says nothing or nonsense a size is assumed.
        An example, a panel of 7 inches:
        """
        Key(
            "physical-size", \.physicalSize, .text("width and height in millimetres, such as \"154x86\"", pattern: "^[0-9.]+x[0-9.]+$"),
            needs: .restart, example: "\"154x86\"")
        """
        How a decoded picture comes to the screen. "auto" takes the first way that the display hardware agrees to, for each size and format: "dmabuf" (a
        hardware decoder's memory is shown as it is), "direct" (the processor decodes into memory of the display), "copy" (copied once, scaled and rotated by
        the display), "scale" (scaled by the processor, colours by the display), "convert" (all by the processor, which works everywhere). A name allows that
        way and those after it: "convert" is for displays whose colours or scaling are not right. On vkms, whose planes the processor composes, "auto" is
        "convert". The log says what is taken, and why not another.
        """
        Key("picture-path", \.picturePath, .word, needs: .restart)
        "How many hundredths of it an [[overlay]] leaves free at each side, from 0 to 20: televisions may cut the edge off."
        Key("safe-area", \.safeArea, .number(in: 0...20))
        """
        How the display is switched off, for a [[program]] with off = true, by "display off" (a key, [[at]]) or by kiosk ctl display off. dpms ends its signal:
        it goes to sleep. cec tells a television to go to standby, and to be on, by the kernel's HDMI-CEC adapter (/dev/cec*). What is played stands
        meanwhile, and nothing is decoded. docs/display-off.md
        """
        Key("dpms", \.dpms, .flag)
        Key("cec", \.cec, .flag)
        """
        "touch" has a touch or a key switch it on, until nobody has touched anything for wake-time (seconds). Whatever is touched while it is off does nothing
        else. "off" leaves it off until the schedule, or "display on", switches it on.
        """
        Key("wake", \.wakes, Kind<Wake>.word.map({ $0 == .touch }, back: { $0 ? .touch : .off }))
        Key("wake-time", \.wakeTime, .time)
    }

    /// What switches it on.
    private enum Wake: String, CaseIterable {
        case off, touch
    }
}

extension Configuration.Audio: TableRow {
    static let keys: [Key<Self>] = keyList {
        """
        "auto" is the system's default where one is set (/etc/asound.conf, a sound server); else the sound of the display that is used, where it takes
        sound by HDMI or DisplayPort; else the first real card that can play. kiosk devices says which. It is chosen again when another card, or a
        display with sound, has come and stayed for two seconds. Muted switches in its mixer that the sound passes through are turned on then; a volume
        of 0 is raised only where it was muted as well, and otherwise logged. Or a device by its name in aplay -L, such as "hdmi:CARD=vc4hdmi0" or
        "hw:1,0": its mixer is left as it is. "off" uses no sound card.
        """
        Key("device", \.device, .text("\"auto\", an ALSA device such as \"hw:0,0\" or \"off\""), needs: .restart)
        """
        How many channels the sound has. With "auto" kiosk asks the displays at the start, by HDMI or DisplayPort, and plays 2, 6 or 8 channels. Without
        such a display it plays two. With "5.1" or "7.1" it asks every card for six or eight. If the card has fewer channels, kiosk mixes the sound down.
        docs/audio-session.md
        """
        Key("channels", \.channels, .word, needs: .restart)
        "Loudness at the start, from 0 to 100. Keys change it until the next start."
        Key("volume", \.volume, .number(in: 0...100))
        "true starts without sound, until the mute key is pressed."
        Key("muted", \.isMuted, .flag)
        """
        By how many milliseconds the sound comes later than the picture, from -500 to 500: televisions take their time for pictures, and amplifiers for
        sound. 0 is right for a display that shows a picture at once and plays the sound itself.
        """
        Key("delay", \.delays.usual, .delay, needs: .restart)
        """
        The same for one sound card, if several can play: such as the television by HDMI and an amplifier by USB. A card is named by a part of its name,
        of its output's name, or of the ALSA device; kiosk devices lists them. A card that is not listed has delay.
        An example: delays = { "HDMI" = 120, "USB Audio" = 0 }
        """
        Key("delays", \.delays.entries, .delays, needs: .restart)
        """
        The following four are one thing, how the sound gets along with the rest of the machine: docs/audio-session.md.
        true lets other programs be heard at the same time, by ALSA's software mixer (dmix). false takes the card alone, which pauses more exactly.
        """
        Key("mix", \.session.mixesWithOthers, .flag, needs: .restart)
        """
        With device = "auto", what is played to. "display": the sound of the display, and what is plugged in later. "port": what is plugged in, headphones or
        a line first, then the display; what is pulled out is left for what is still there. "fixed": what was found at the start, for as long as it is there.
        """
        Key("follow", \.session.route, .word { "\($0)" }, needs: .restart)
        """
        While another program asks for silence (kiosk ctl interruption begin), such as one for announcements: "duck" makes the sound quieter, to duck-volume,
        "mute" turns it off, and the picture goes on; "pause" holds picture and sound, which go on afterwards.
        """
        Key("interruption", \.session.interruption, .word { "\($0)" }, needs: .restart)
        Key(
            "duck-volume", \.session.duckedVolume,
            Kind<Int>.number(in: 0...100).map({ Double($0) / 100 }, back: { Int(($0 * 100).rounded()) }), needs: .restart)
    }
}

extension Kind where Value == Int {
    /// Milliseconds by which sound comes later than the picture.
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
