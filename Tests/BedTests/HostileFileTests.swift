import Bed
import Foundation
import Testing

extension BedTests {
    /// Files that harm their decoder, between good ones. Tests/HostileDecoder, preloaded, does the deed that the packets name.
    @Suite struct HostileFiles {
        /// Each deed, and the player's words about it; nil if the sandbox refuses the deed and the file plays on.
        private static let deeds: [(deed: String, words: String?)] = [
            ("crash", "its decoder crashed (SIGSEGV)"), ("abort", "its decoder crashed (SIGABRT)"), ("trap", "its decoder crashed ("),
            ("exit", "its decoder ended by itself (status 0)"), ("_exit", "its decoder ended by itself (status 7)"),
            ("scribble-crash", "its decoder "), ("allocate", "its decoder "), ("hang-up", "its decoder made no progress for 2 s"),
            ("nonsense", "its decoder was ended: it sent "), ("connect", "its decoder was ended: it called socket"),
            ("exec", "its decoder was ended: it called execve"), ("ptrace", "its decoder was ended: it called ptrace"),
            ("kill", "its decoder was ended: it called kill"), ("vm-write", "its decoder was ended: it called process_vm_writev"),
            ("open", nil), ("open-through", nil), ("create", nil), ("shrink", nil), ("descriptors", nil),
            ("sleep", "its decoder made no progress for 2 s"),
        ]
        // A decoder that spins would take a whole processor here, where computing takes no time: ReaderClientTests has it.

        /// $KIOSK_HOSTILE sets the number of files of each kind.
        @Test func `whatever a file does to its decoder, the others' frames are on time`() async throws {
            let count = ProcessInfo.processInfo.environment["KIOSK_HOSTILE"].flatMap { Int($0) } ?? 1
            let good = try BedGallery.plain("hostile-neighbour", "0x406040", size: "320x240", frames: 30)
            let first = NumberedClip("", frames: 30, from: 2001, frameRate: 30000 / 1001)
            let folder = NSTemporaryDirectory() + "kiosk-hostile-\(UUID().uuidString)"
            defer { try? FileManager.default.removeItem(atPath: folder) }
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            var items: [NumberedClip] = []
            for turn in 0..<count {
                for (deed, _) in Self.deeds {
                    let path = "\(folder)/\(deed)-\(turn).mp4"
                    try FileManager.default.copyItem(atPath: BedGallery.hostile(deed, from: 2001), toPath: path)
                    items += [good, NumberedClip(path, frames: 30, from: 2001, frameRate: 30000 / 1001)]
                }
            }
            let machine = Machine { ($0.time, $0.mode) = (.free, Machine.Mode(width: 640, height: 480)) }
            let library = try BedGallery.library("HostileDecoder")
            let start = "LD_PRELOAD=\(library) exec \"$@\""
            // A round of all files is 35 s long. In a second round the player would name some of them again.
            let seconds = Double(count) * 35 + 3
            let record = try await Bed.run(
                "hostile", for: .seconds(seconds), playing: items, .under(["sh", "-c", start, "sh"], .kiosk(KioskConfiguration())),
                on: machine)

            let told = record.log.map(\.text)
            for turn in 0..<count {
                for (deed, words) in Self.deeds {
                    let lines = told.filter { $0.contains("/\(deed)-\(turn).mp4: ") }
                    guard let words else {
                        #expect(lines == [])
                        continue
                    }
                    #expect(lines.count == 1 && lines[0].contains(": ends early: \(words)"), "\(deed): \(lines)")
                }
            }
            // The background is never visible, and a picture stands only while its decoder hangs. A picture that a decoder overwrites is a
            // wrong one, with any number.
            let firstPicture = try #require(record.firstPicture)
            let dark = record.vblanks.filter { firstPicture < $0.time && $0.time < .seconds(seconds) && $0.number == 0 }
            #expect(dark == [], "\(dark.prefix(5))")
            let longest = record.frames.map { Double($0.vblanks) / record.refreshRate }.sorted().reversed()
            let stalls = Self.deeds.count { $0.words?.contains("no progress") == true } * count
            #expect(longest.dropFirst(stalls).first ?? 0 < 0.3, "\(longest.prefix(stalls + 3))")
            #expect(longest.first ?? 0 < 3)
            // The good clip between them has each of its frames for its time, except for the first after a hang. The item after it begins
            // in time.
            let wrong = record.wrongHolds(from: firstPicture + .milliseconds(100)).filter { good.numbers.contains($0.number) }
            #expect(wrong.count <= stalls && wrong.allSatisfy { $0.number == good.numbers.first }, "\(wrong)")
            let seams = record.seams.filter { good.numbers.contains($0.last.number) }
            #expect(seams.count >= Self.deeds.count * count - 2 && seams.allSatisfy { $0.isClean }, "\(seams.filter { !$0.isClean })")
            #expect(first.numbers.allSatisfy { number in record.frames.contains { $0.number == number } }, "what is refused plays on")

            let samples = record.usage.samples.filter { $0.time > .seconds(10) }
            try #require(samples.count >= 4)
            let (before, after) = (samples[0], samples[samples.count - 1])
            let figures: Comment = "\(samples.map { ($0.residentMemory >> 10, $0.threads, $0.descriptors) })"
            print("descriptors \(before.descriptors) → \(after.descriptors), threads \(before.threads) → \(after.threads)")
            #expect(after.descriptors - before.descriptors <= 8 && after.threads - before.threads <= 2, figures)
            #expect(record.status == 0)
        }
    }
}
