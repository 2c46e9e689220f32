import Foundation
import TestSupport
import Testing

/// `kiosk import`: settings of other players, and the kiosk.conf for them.
@Suite(.blocking) struct ImportTests {
    private static let looper = """
        # A comment = of ours
        [video_looper]
        video_player = omxplayer
        file_reader = directory
        wait_time = 3
        is_random = true
        one_shot_playback = true
        bgimage = /home/pi/loader.png
        bgcolor = 16, 32, 48
        datetime_display: true
        [control]
        keyboard_control = false
        gpio_pin_map = "11" : 1, "15": "test.mp4", "16": "+2", "18": "-1", "19": "K_SPACE", "99": 1, nonsense
        [directory]
        path = /srv/video
        [playlist]
        path = evening.m3u
        [alsa]
        hw_device = 1,0
        [omxplayer]
        sound = alsa
        show_titles = true
        extra_args = --no-osd --audio_fifo 0.01 --orientation 90 --display 7 --nonsense
        """
    private static let sticks = """
        [video_looper]
        video_player = image_player
        file_reader = usb_drive_copymode
        [copymode]
        mode = add
        password = videopi
        [image_player]
        duration = 7.5
        scale = false
        """
    private static let mpv = """
        # mpv.conf
        fs
        no-osc
        loop-playlist = inf
        image-display-duration=inf   # for ever
        drm-connector=1.HDMI-A-1
        drm-mode="1920x1080@50"
        audio-device=alsa/hdmi:CARD=vc4hdmi0
        audio-delay=-0.12
        slang=de,en
        aid=2
        volume=130
        panscan=1.0
        background-color='#FF102030'
        hwdec=no
        glsl-shaders=~~/x.glsl
        [night]
        volume=20
        """
    private static let script = """
        #!/bin/sh
        # omxplayer is old
        while true; do
            /usr/bin/omxplayer -b -o hdmi --vol -600 --win "0 0 960 540" --pos 0:05 --loop \\
                '/srv/my video.mp4' > /dev/null 2>&1 &
        done
        """
    private static let unit = """
        [Service]
        ExecStart=/usr/bin/mpv --fullscreen --loop-file=inf --no-audio --start=10 --playlist=/srv/list.m3u -- /srv/-a.mp4
        Restart=always
        """
    private static let vlc =
        "@reboot cvlc -f -Z --no-video-title-show --start-time=5 --alsa-audio-device hw:1,0 /srv/media https://example.org/a.mp4"
    private static let anthias = """
        {"results": [
          {"name": "Film \\u202e\\"x\\"", "uri": "/data/anthias_assets/abc", "start_date": "2026-11-01T00:00:00Z", "end_date": "2027-01-31T18:00:00Z",
           "duration": 30, "mimetype": "video", "is_enabled": true, "play_order": 2, "play_days": "[5, 1, 2]", "play_time_from": "22:00:00",
           "play_time_to": "02:00:00"},
          {"name": "Menu", "uri": "https://example.org/menu.png", "start_date": "2026-11-01T00:00:00Z", "end_date": "9999-01-01T00:00:00Z",
           "duration": "12", "mimetype": "image", "is_enabled": 1, "play_order": 1, "play_days": [1, 2, 3, 4, 5, 6, 7], "play_time_from": null},
          {"name": "Site", "uri": "https://example.org", "duration": 10, "mimetype": "webpage", "is_enabled": true, "play_order": 0},
          {"name": "Old", "uri": "/x", "duration": 10, "mimetype": "image", "is_enabled": false, "play_order": 0}
        ]}
        """

    /// kiosk recognises each file by its content, whatever its name.
    @Test(arguments: [
        ("looper", looper), ("sticks", sticks), ("mpv", mpv), ("script", script), ("unit", unit), ("vlc", vlc), ("anthias", anthias),
    ])
    func aConfigurationIsWritten(name: String, text: String) throws {
        let folder = try TestFolder()
        let path = try folder.file("settings", text)
        let kiosk = try KioskProcess(["import", path])
        #expect(kiosk.status() == 0 && kiosk.errors == "")
        try expect(kiosk.output, isAsIn: "import-\(name).txt")
        try isRead(kiosk.output, in: folder)
    }

    /// Expects the written kiosk.conf to have no mistakes.
    private func isRead(_ text: String, in folder: TestFolder) throws {
        let path = try folder.file("written.conf", text)
        let check = try KioskProcess(["check", "--display", "offscreen", "--config", path])
        let status = check.status(within: 120)
        #expect(status == 0 || status == 1, "\(status as Any) \(check.errors)")
    }

    @Test func sourcesAreAddedAndAFileIsWritten() throws {
        let folder = try TestFolder()
        let path = try folder.file("mpv.conf", "shuffle\n")
        let output = folder.path + "/kiosk.conf"
        let kiosk = try KioskProcess(["import", path, "/srv/list.m3u", "--output", output])
        #expect(kiosk.status() == 0 && kiosk.output == "")
        let text = try String(contentsOfFile: output, encoding: .utf8)
        #expect(text.contains("[playback]\nshuffle = true\n") && text.contains("[[playlist]]\nsource = \"/srv/list.m3u\"\n"))
        // The file stays as it is.
        let second = try KioskProcess(["import", path, "-o", output])
        #expect(second.status() == 64 && second.errors.contains("it exists already; name another file"))
        #expect(try String(contentsOfFile: output, encoding: .utf8) == text)
    }

    @Test(arguments: [
        "root:x:0:0:root:/root:/bin/bash\n", "", "[]", "{\"a\": 1}", "\u{0}\u{1}\u{2}", "a = 1\nb = 2\n", "[[playlist]]\nsource = \"x\"\n",
    ])
    func whatIsNoneOfThem(text: String) throws {
        let folder = try TestFolder()
        let kiosk = try KioskProcess(["import", try folder.file("settings", text)])
        #expect(kiosk.status() == 64 && kiosk.output == "" && kiosk.errors.contains("has no settings that kiosk knows"), "\(kiosk.errors)")
    }

    @Test func aFileThatIsNotThereAndOneThatIsTooLarge() throws {
        let missing = try KioskProcess(["import", "/nowhere/mpv.conf"])
        #expect(missing.status() == 64 && missing.errors.contains("/nowhere/mpv.conf cannot be read: No such file or directory"))
        let folder = try TestFolder()
        let large = try KioskProcess(["import", try folder.file("large", String(repeating: "fs\n", count: 2_000_000))])
        #expect(large.status() == 64 && large.errors.contains("is larger than 4 MB"))
    }

    /// Every setting with every nonsense gives a kiosk.conf without a mistake.
    @Test(arguments: [
        "", "nan", "1e999", "-1", "99999999999999999999", "\"", "\\", "#", "]] = [[", "a\u{1b}[31mb\u{202e}", "../../..", "'''", "Ünïcödé",
        "0x7f", "{}",
    ])
    func nonsense(value: String) throws {
        let folder = try TestFolder()
        let options = [
            "loop-file", "loop", "loop-playlist", "shuffle", "playlist", "image-display-duration", "volume", "mute", "audio-device",
            "audio-channels",
            "audio-delay", "drm-connector", "drm-mode", "video-rotate", "keepaspect", "panscan", "background", "hwdec", "deinterlace",
            "alang", "slang",
            "aid", "sid", "sub-font", "sub-codepage", "start", "end", "length", "user-agent", "network-timeout", "tls-verify",
            "tls-ca-file", "video",
        ]
        let shell = "'" + value.replacing("'", with: "'\\''") + "'"
        let asset = JSONEncoder()
        let text = String(decoding: try asset.encode(value), as: UTF8.self)
        let keys = [
            "name", "uri", "mimetype", "start_date", "end_date", "play_days", "play_time_from", "play_time_to", "duration", "play_order",
        ]
        for (index, settings) in [
            "fs\n" + options.map { "\($0)=\(value)\n" }.joined(),
            "omxplayer "
                + ["-o", "-n", "-t", "-l", "--vol", "--orientation", "--display", "--aspect-mode", "--timeout", "--font-size", "--layout"]
                .map { "\($0) \(shell) " }.joined() + shell,
            "cvlc "
                + [
                    "--alsa-audio-device", "--image-duration", "--start-time", "--stop-time", "--run-time", "--sub-language",
                    "--http-user-agent",
                ]
                .map { "\($0)=\(shell) " }.joined() + shell,
            "[video_looper]\nfile_reader = directory\nbgcolor = \(value)\nbgimage = \(value)\n[directory]\npath = \(value)\n[image_player]\nduration = \(value)\n"
                + "[control]\ngpio_pin_map = \"11\": \"\(value)\", \(value): 1\n[alsa]\nhw_device = \(value)\n[omxplayer]\nsound = alsa\nextra_args = \(value)\n",
            "[{\"is_enabled\": true, \"uri\": \"x\", \"mimetype\": \"video\"}, {\(keys.map { "\"\($0)\": \(text)" }.joined(separator: ", "))}]",
        ].enumerated() {
            let kiosk = try KioskProcess(["import", try folder.file("settings-\(index)", settings)])
            #expect(kiosk.status() == 0, "\(index): \(kiosk.errors)")
            #expect(!kiosk.output.contains("\u{1b}"))
            try isRead(kiosk.output, in: folder)
        }
    }
}
