import Foundation
import TestSupport
import Testing

/// Playback with a hardware decoder: Tests/VADriver in the player's process.
@Suite(.blocking) struct HardwareTests {
    @Test("Plays what a device decodes, says so, and shows its pictures") func plays() throws {
        let clip = try Clips.numbered("hardware-player.mp4", frames: 60, size: "320x240", sound: false)
        let kiosk = try play(clip, decoder: "auto")
        #expect(kiosk.process.waits(for: "hardware-player.mp4 looks like"), "\(kiosk.process.errors)")
        usleep(3_000_000)  // the playlist loops
        #expect(kiosk.process.end() == 0)
        let log = kiosk.process.log
        #expect(log.contains("info decoder: /dev/null: test driver"))
        #expect(log.contains("info decoder: \(clip): h264 320×240, decoded by vaapi (test driver)"))
        #expect(!log.contains { $0.hasPrefix("warning") }, "\(log)")
        let picture = "\(kiosk.folder.path)/pictures/item-1.png"
        let gray = try Clips.bytes(Clips.make("\(UUID().uuidString).raw", ["-i", picture, "-f", "rawvideo", "-pix_fmt", "gray"]))
        try #require(gray.count == 320 * 240)
        let number = burnedInNumber(width: 320, height: 240) { x, y in Int(gray[y * 320 + x]) }
        #expect(1...60 ~= number, "\(number)")
        // Frames that a busy machine has dropped count, too.
        let shape = #/info kiosk: ended: ([0-9]+) frames shown, [0-9]+ late, ([0-9]+) dropped.*/#
        let summary = try #require(log.compactMap { $0.wholeMatch(of: shape) }.first, "\(log)")
        #expect(Int(summary.1)! + Int(summary.2)! > 60, "\(summary.0)")
    }

    @Test("Software is software, and hardware that is not there is a warning, once", arguments: ["software", "hardware"])
    func withoutDevice(decoder: String) throws {
        let clip = try Clips.numbered("hardware-absent.mp4", frames: 15, size: "320x240", sound: false)
        let kiosk = try play(clip, decoder: decoder, device: decoder == "software" ? "/dev/null" : "/dev/dri/renderD191")
        #expect(kiosk.process.waits(for: "hardware-absent.mp4 looks like"), "\(kiosk.process.errors)")
        usleep(2_000_000)
        #expect(kiosk.process.end() == 0)
        let warnings = kiosk.process.log.filter { $0.hasPrefix("warning") && $0.contains("is decoded in software") }
        #expect(warnings.count == (decoder == "hardware" ? 1 : 0), "\(kiosk.process.log)")
        #expect(!kiosk.process.log.contains { $0.contains("vaapi (test driver)") })
    }

    private func play(
        _ clip: String, decoder: String, device: String = "/dev/null"
    ) throws -> (process: KioskProcess, folder: TestFolder) {
        let folder = try TestFolder()
        let configuration = try folder.file(
            "test.conf",
            """
            [input]
            grab = false
            touch = false
            [playback]
            decoder = "\(decoder)"
            decoder-device = "\(device)"
            """)
        let library = URL(fileURLWithPath: KioskProcess.binary).deletingLastPathComponent().path + "/libVADriver.so"
        let arguments = [
            "--config", configuration, "--display", "offscreen", "--mode", "320x240", "--audio", "off", "--snapshots",
            folder.path + "/pictures", clip,
        ]
        return (try KioskProcess(arguments, wrapper: ["env", "LD_PRELOAD=\(library)"]), folder)
    }
}
