import Bed
import Foundation
import Testing

extension BedTests {
    /// Seams of hardware-decoded video. Tests/VADriver, preloaded, draws a picture's number into a dmabuf. The planes show its surfaces as
    /// they are.
    @Suite struct HardwareSeams {
        /// `decoders` is how many decoders the device has at once. With one, software decodes the first picture of each loop but the first,
        /// and it is copied.
        @Test(arguments: [2, 1]) func `a loop`(decoders: Int) async throws {
            let machine = Machine { ($0.time, $0.planesScale) = (.free, true) }
            let configuration = KioskConfiguration(
                display: "picture-path = \"dmabuf\"", playback: "decoder = \"hardware\"\ndecoder-device = \"/dev/null\"")
            let start = "export KIOSK_TEST_VA_CONTEXTS=\(decoders); LD_PRELOAD=\(try BedGallery.library("VADriver")) exec \"$@\""
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

        /// The driver's filter makes a picture of each field. No loop misses its first or last frames.
        @Test func `a loop of interlaced video`() async throws {
            let machine = Machine {
                ($0.time, $0.planesScale, $0.mode) = (.free, true, Machine.Mode(width: 848, height: 480, refresh: 50))
            }
            let configuration = KioskConfiguration(
                display: "gravity = \"stretch\"\npicture-path = \"dmabuf\"",
                playback: "decoder = \"hardware\"\ndecoder-device = \"/dev/null\"")
            let start = "LD_PRELOAD=\(try BedGallery.library("VADriver")) exec \"$@\""
            let clip = try BedGallery.clip("loop50i", frames: 50, frameRate: 50)
            let record = try await Bed.run(
                "hardware fields", for: .seconds(12.6), playing: [clip], .under(["sh", "-c", start, "sh"], .kiosk(configuration)),
                on: machine)
            #expect(record.seams.count >= 10 && record.seams.allSatisfy { $0.isClean }, "\(record.seams.filter { !$0.isClean })")
            #expect(record.frames.dropFirst().dropLast().filter { $0.vblanks != 1 } == [])
            expectCountsToAgree(record)
            let shown = record.vblanks.filter { record.isFrame($0.number) }
            #expect(shown.allSatisfy { $0.planes.map(\.format) == ["NV12"] }, "\(Set(shown.flatMap { $0.planes.map(\.format) }))")
        }

        /// Plays with Tests/V4L2Driver: its pictures lie in memory and are copied. It redirects libavcodec from /dev to files in /tmp.
        /// LIBVA_DRIVERS_PATH makes the sandbox leave that folder open, as if drivers were there.
        private func playByV4L2(
            _ name: String, _ environment: String, for duration: Duration = .seconds(24)
        ) async throws -> Record {
            let machine = Machine { ($0.time, $0.planesScale) = (.free, true) }
            let configuration = KioskConfiguration(display: "picture-path = \"copy\"", playback: "decoder = \"hardware\"")
            let start = "export LIBVA_DRIVERS_PATH=/tmp \(environment); LD_PRELOAD=\(try BedGallery.library("V4L2Driver")) exec \"$@\""
            let clip = try BedGallery.clip("a", frames: 150, frameRate: 30)
            return try await Bed.run(
                name, for: duration, playing: [clip], .under(["sh", "-c", start, "sh"], .kiosk(configuration)), on: machine)
        }

        /// Returns the formats of the planes: the driver's pictures are NV12, those of software YUV420.
        private func formats(_ record: Record) -> Set<String> {
            Set(record.vblanks.filter { record.isFrame($0.number) }.flatMap { $0.planes.map(\.format) })
        }

        @Test(arguments: [2, 1]) func `a loop, by V4L2`(decoders: Int) async throws {
            let record = try await playByV4L2("v4l2 \(decoders)", "KIOSK_TEST_V4L2_DECODERS=\(decoders)")
            #expect(record.seams.count >= 4 && record.seams.allSatisfy { $0.isClean }, "\(record.seams)")
            #expect(record.wrongHolds(from: .seconds(1)) == [])
            expectCountsToAgree(record)
            #expect(formats(record) == (decoders == 2 ? ["NV12"] : ["NV12", "YU12"]), "\(formats(record))")
        }

        /// The picture stands for about a second, and no longer. Then software goes on with the next picture.
        @Test func `a driver that hangs in mid-item`() async throws {
            let record = try await playByV4L2("v4l2 hangs", "KIOSK_TEST_V4L2_DECODERS=2 KIOSK_TEST_V4L2_HANGS=DQBUF:200")
            // The wheel that turns while the player waits lies above them.
            #expect(formats(record).subtracting(["AR24"]) == ["NV12", "YU12"], "\(formats(record))")
            let longest = record.frames.map(\.vblanks).max() ?? 0
            #expect(longest > 2 && longest < 90, "\(longest)")
            #expect(record.seams.count >= 3 && record.log.contains { $0.text.contains("did not answer for 1 s") })
            for (frame, next) in zip(record.frames, record.frames.dropFirst()) {
                #expect(next.number == frame.number % 150 + 1, "\(frame.number), then \(next.number)")
            }
        }
    }
}
