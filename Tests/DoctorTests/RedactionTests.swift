import Testing

@testable import Doctor

@Suite struct RedactionTests {
    private let redaction = Redaction(names: ["ann-shop", "ann", "Wedding of Ann", "/srv/films/Wedding of Ann.mp4", "tv", "kiosk", ""])

    /// Redacted texts, and texts that a reader needs and that stay.
    @Test(arguments: [
        ("ann-shop kernel: ANN was here, annual", "NAME kernel: NAME was here, annual"), ("tv kiosk", "tv kiosk"),
        ("plays /srv/films/Wedding of Ann.mp4 at once", "plays NAME at once"), ("“Wedding of Ann”, 3", "“NAME”, 3"),
        ("at https://user:secret@example.org/a?token=1 now", "at URL now"), ("rtsp://10.0.0.2:554/live", "URL"),
        ("eth0 192.168.1.20, fe80::1 and 2001:db8:1:2:3:4:5:6", "eth0 IP, IP and IP"), ("link b8:27:eb:01:02:03 up", "link MAC up"),
        ("mail ann.b@example.org", "mail MAIL"), ("1920x1080@59.94 and card1:HDMI-A-1", "1920x1080@59.94 and card1:HDMI-A-1"),
        ("usb-0000:00:14.0-2 Linux 6.1.0-18 FFmpeg 59.27.100", "usb-0000:00:14.0-2 Linux 6.1.0-18 FFmpeg 59.27.100"),
        ("SerialNumber: 1234ABC, ok", "SerialNumber REMOVED, ok"), ("serial=77", "serial REMOVED"), ("SSID='Home'", "SSID REMOVED"),
        ("root=UUID=123e4567-e89b-12d3-a456-426614174000", "root=UUID=UUID"),
        ("/dev/dri/card0, /sys/class/drm", "/dev/dri/card0, /sys/class/drm"),
        ("reads /home/jo/film.mp4: 3 MB/s", "reads PATH.mp4: 3 MB/s"), ("/media/jo/STICK", "PATH"),
        ("25/1 frames/s 4/3", "25/1 frames/s 4/3"),
        ("/etc/kiosk/kiosk.conf line 3", "/etc/kiosk/kiosk.conf line 3"), ("a\u{1b}[31mb", "a\u{fffd}[31mb"), ("", ""),
    ])
    func whatGoes(text: String, redacted: String) { #expect(redaction.applied(to: text) == redacted) }

    /// Thousands of names, in a log of some hundred KB.
    @Test func manyNames() {
        let names = (0..<6000).map { "holiday-\($0).mp4" }
        let log = String(repeating: "[ 1.000000] drm: a line of the kernel's log that has no name in it\n", count: 4000)
        #expect(Redaction(names: names).applied(to: log + "plays HOLIDAY-17.mp4 now") == log + "plays NAME now")
    }
}
