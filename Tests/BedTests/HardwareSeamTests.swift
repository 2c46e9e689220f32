import Bed
import Foundation
import Testing

extension BedTests {
    /// Seams of what a hardware decoder decodes: Tests/VADriver, preloaded, which draws a picture's number into a dmabuf. The planes show its
    /// surfaces as they are.
    @Suite struct HardwareSeams {
        /// How many decoders the device has at once. With one, the first picture of each turn but the first is decoded in software, and copied.
        @Test(arguments: [2, 1]) func `a loop`(decoders: Int) async throws {
            let machine = Machine { ($0.time, $0.planesScale) = (.free, true) }
            let configuration = KioskConfiguration(
                display: "picture-path = \"dmabuf\"", playback: "decoder = \"hardware\"\ndecoder-device = \"/dev/null\"")
            let driver =
                try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
                .split(separator: "/").dropLast().map { "/" + $0 }.joined() + "/libVADriver.so"
            let start = "export VA_DRIVER_CONTEXTS=\(decoders); LD_PRELOAD=\(driver) exec \"$@\""
            let clip = try BedGallery.clip("a", frames: 150, frameRate: 30)
            let record = try await Bed.run(
                "hardware \(decoders)", for: .seconds(24), playing: [clip], .under(["sh", "-c", start, "sh"], .kiosk(configuration)),
                on: machine)
            #expect(record.seams.count >= 4 && record.seams.allSatisfy { $0.isClean }, "\(record.seams)")
            #expect(record.wrongHolds(from: .seconds(1)) == [])
            expectCountsToAgree(record)
            let shown = record.vblanks.filter { record.isFrame($0.number) }
            let copied = shown.filter { $0.planes.contains { $0.format != "NV12" } }
            #expect(copied.allSatisfy { decoders == 1 && $0.number == 1 }, "\(Set(copied.map(\.number)))")
            #expect(decoders == 2 || !copied.isEmpty)
        }
    }
}
