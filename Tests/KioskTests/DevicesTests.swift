import Foundation
import TestSupport
import Testing

/// `kiosk devices`.
@Suite(.blocking) struct DevicesTests {
    static let hasDevices = ["/dev/dri", "/dev/fb0", "/dev/snd", "/dev/input", "/dev/video0"].contains(
        where: FileManager.default.fileExists)

    @Test(.disabled(if: hasDevices, "this machine has devices")) func withoutAny() throws {
        let kiosk = try KioskProcess(["devices"])
        #expect(kiosk.status() == 0)
        try expect(kiosk.output, isAsIn: "devices-none.txt")
        #expect(kiosk.errors == "")
    }

    @Test("Whatever there is, every section ends with what would be used") func sections() throws {
        let kiosk = try KioskProcess(["devices", "--audio", "off", "--display", "offscreen"])
        #expect(kiosk.status() == 0)
        let headings = kiosk.output.split(separator: "\n").filter { !$0.hasPrefix(" ") }
        #expect(headings == ["Displays", "Sound", "Input", "Cameras", "Microphones", "Encoders"])
        #expect(kiosk.output.contains("\n  → offscreen: "))
        #expect(kiosk.output.contains("\n  → off: "))
    }

    /// Devices of ALSA's own plugins: one that takes any number of channels, and two that would mix them down themselves, to two and to
    /// six.
    @Test(arguments: [
        ("any", "auto", "stereo"), ("any", "stereo", "stereo"), ("any", "5.1", "5.1"), ("any", "7.1", "7.1"),
        ("two", "auto", "stereo"), ("two", "5.1", "stereo"), ("six", "5.1", "5.1"), ("six", "7.1", "5.1"),
    ]) func surroundSoundIsAskedFor(device: String, channels: String, name: String) throws {
        let folder = try TestFolder()
        let alsa = try folder.file(
            "asound.conf",
            """
            pcm.any { type file slave.pcm { type null } file "/dev/null" format raw }
            pcm.two { type plug slave { pcm any channels 2 } }
            pcm.six { type plug slave { pcm any channels 6 } }
            """)
        let path = try folder.file(
            "kiosk.conf", "[display]\nconnector = \"offscreen\"\n[audio]\ndevice = \"\(device)\"\nchannels = \"\(channels)\"\n")
        let kiosk = try KioskProcess(["devices", "-c", path], wrapper: ["ALSA_CONFIG_PATH=\(alsa)"])
        #expect(kiosk.status() == 0)
        #expect(kiosk.output.contains("\n  → \(device): \(device) S16_LE 48000 Hz \(name), buffer "), "\(kiosk.output)")
    }
}
