import Bed
import Foundation
import TestSupport
import Testing

extension BedTests {
    /// The film of `kiosk export`, compared with a display's pictures of the same clips.
    @Suite struct Films {
        static let clips: [(String, Double)] = [
            ("mix-1.mp4", 30.0), ("mix-2.webm", 25), ("mix-3.mkv", 24000.0 / 1001), ("mix-4.ts", 25), ("mix-5.mp4", 60), ("mix-6.mp4", 50),
            ("mix-7.mov", 24), ("mix-8.mkv", 15), ("mix-9.mp4", 30000.0 / 1001), ("mix-10.mp4", 30),
        ]

        @Test(.thorough("the unit tests compare the same films with a display in memory"))
        func `ten mixed clips, vblank by vblank and pixel by pixel`() async throws {
            let clips = try Self.clips.enumerated().map { index, clip in
                NumberedClip(
                    try BedGallery.path(clip.0), frames: Int(clip.1.rounded()), from: 1000 * (index + 1) + 1, frameRate: clip.1)
            }
            let machine = Machine { $0.time = .free }
            let configuration = KioskConfiguration(display: "gravity = \"stretch\"")
            let names = (0..<10).map { "picture \($0)" }
            let record = try await Bed.run("film", for: .seconds(12.5), playing: clips, .kiosk(configuration), on: machine) { at in
                for (index, name) in names.enumerated() { at(Double(index) + 1.5, .screenshot(), name) }
            }
            let film = NSTemporaryDirectory() + "kiosk-film-\(getpid()).mp4"
            defer { try? FileManager.default.removeItem(atPath: film) }
            let made = try Self.run(
                [
                    Bed.package + "/.build/release/kiosk", "export", "--size", "1280x720", "--rate", "60", "--gravity", "stretch",
                    "--quality",
                    "12", "--force", "--priority", "normal", "-o", film,
                ] + clips.map(\.path))
            #expect(made.status == 0, "\(made.errors)")

            // Compare the first round on the display with the film: the numbers, and the vblanks of each.
            let seen = record.frames.prefix { $0.number != 1001 || $0.time < .seconds(5) }.map { ($0.number, $0.vblanks) }
            let written = try numbers(of: film).reduce(into: [(number: Int, vblanks: Int)]()) { frames, number in
                if frames.last?.number == number { frames[frames.count - 1].vblanks += 1 } else { frames.append((number, 1)) }
            }
            #expect(seen.map(\.0) == written.map(\.number))
            let differing = zip(seen, written).dropFirst().dropLast().filter { $0.1 != $1.vblanks }
            // If an item is no whole number of vblanks long, the two may put its seam on different sides of a vblank.
            #expect(differing.allSatisfy { abs($0.0.1 - $0.1.vblanks) <= 1 }, "\(differing)")
            // The same holds for pictures: if one stands longer, the next ones make up for it.
            let ahead = differing.reduce(into: [0]) { sums, pair in sums.append(sums.last! + pair.0.1 - pair.1.vblanks) }
            #expect(ahead.allSatisfy { abs($0) <= 2 }, "\(ahead)")

            var worst = 100.0
            for name in names {
                guard let shot = record.screenshots[name], let number = number(in: shot),
                    let place = written.firstIndex(where: { $0.number == number })
                else { continue }
                let vblank = written[..<place].reduce(0) { $0 + $1.vblanks }
                worst = min(worst, psnr(shot, try picture(vblank, of: film)))
            }
            print("\(seen.count) pictures in the same order, \(differing.count) a vblank longer or shorter; the worst PSNR is \(worst) dB")
            #expect(worst > 34, "\(worst) dB")
        }

        /// Runs a program to its end and returns its status and its error messages, which stay short.
        private static func run(_ command: [String]) throws -> (status: Int32, errors: String) {
            let process = Process(), errors = Pipe()
            process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
            process.arguments = command
            (process.standardError, process.standardOutput) = (errors, FileHandle.nullDevice)
            process.standardInput = FileHandle.nullDevice
            try process.run()
            let text = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
            process.waitUntilExit()
            return (process.terminationStatus, text)
        }

        /// Returns the numbers burned into the pictures of a film of 1280x720.
        private func numbers(of film: String) throws -> [Int] {
            let strip = film + ".gray"
            defer { try? FileManager.default.removeItem(atPath: strip) }
            let read = try Self.run(
                ["ffmpeg", "-nostdin", "-loglevel", "error", "-i", film, "-vf", "crop=512:2:0:704", "-pix_fmt", "gray"]
                    + ["-f", "rawvideo", "-y", strip])
            #expect(read.status == 0, "\(read.errors)")
            let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: strip)))
            return stride(from: 0, to: bytes.count, by: 1024).map { start in
                (0..<16).reduce(0) { $0 << 1 | (bytes[start + $1 * 32 + 16] > 128 ? 1 : 0) }
            }
        }

        private func number(in picture: Picture) -> Int? {
            let number = (0..<16).reduce(0) { $0 << 1 | (picture[$1 * 32 + 16, 704].green > 128 ? 1 : 0) }
            return number > 0 ? number : nil
        }

        private func picture(_ index: Int, of film: String) throws -> Picture {
            let path = film + ".ppm"
            defer { try? FileManager.default.removeItem(atPath: path) }
            let read = try Self.run(
                [
                    "/usr/bin/env", "ffmpeg", "-nostdin", "-loglevel", "error", "-i", film, "-vf", "select=eq(n\\,\(index))", "-frames:v",
                    "1",
                ]
                    + ["-y", path])
            #expect(read.status == 0, "\(read.errors)")
            return try #require(Picture(ppm: [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))))
        }

        private func psnr(_ a: Picture, _ b: Picture) -> Double {
            let error = zip(a.bytes, b.bytes).reduce(0.0) { $0 + Double((Int($1.0) - Int($1.1)) * (Int($1.0) - Int($1.1))) }
            return error == 0 ? 100 : 10 * log10(255 * 255 * Double(a.bytes.count) / error)
        }
    }
}
