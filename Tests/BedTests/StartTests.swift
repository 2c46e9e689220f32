import Bed
import Foundation
import TestSupport
import Testing

extension BedTests {
    /// The beginning of playback.
    @Suite struct Starts {
        /// A stream of 60 frames a second with sound comes slowly for a second. Then it comes as fast as the player reads it. The first
        /// picture stands meanwhile; after that, nothing stops again. In virtual time the stream is slow by the same amount every time.
        @Test func `a stream that is slow at first begins when it can go on`() async throws {
            let clip = try BedGallery.clip("loop60", frames: 60, frameRate: 60)
            let url = "http://127.0.0.1:8080/x.ts"
            let configuration = KioskConfiguration(playlist: ["source = \"\(url)\""])
            let machine = Machine { $0.time = .free }
            let record = try await Bed.run("slow stream", for: .seconds(4.5), playing: [clip], .kiosk(configuration), on: machine) { at in
                // Eight seconds are 590 kB. The first 8 kB make the server listen. Then ten times 2 kB follow, from 0.2 s after the start
                // on.
                let file = "/dev/shm/x.ts"
                let stream = "ffmpeg -v quiet -stream_loop 7 -i '\(clip.path)' -c copy -f mpegts \(file)"
                let slowly = "for i in 1 2 3 4 5 6 7 8 9 10; do dd bs=2000 count=1 <&3; sleep 0.1; done"
                let source = "exec 3<\(file); dd bs=8000 count=1 <&3; sleep 1.7; \(slowly); cat <&3"
                let copy = "-f data -blocksize 188 -i - -map 0 -c copy -f data"
                let server = "timeout 20 ffmpeg -v quiet -probesize 32 \(copy) -listen 1 \(url)"
                at(-1.5, .shell("\(stream); (\(source)) 2>/dev/null | \(server)"))
            }
            let told = try #require(record.statistics)
            #expect(told.stalls.count == 0 && told.late == 0 && told.dropped == 0, "\(told)")
            let holds = record.frames.dropFirst().dropLast().map(\.vblanks)
            #expect(holds.count > 100 && holds.allSatisfy { $0 == 1 }, "\(holds)")
        }

        /// Loading libavcodec with all its libraries takes a tenth of a second here, before the first picture.
        @Test func `the player shows what others have decoded, and loads no decoder itself`() async throws {
            let clip = try BedGallery.clip("loop30", frames: 30, frameRate: 30)
            let holders = NSTemporaryDirectory() + "kiosk-holders-\(UUID().uuidString)"
            defer { try? FileManager.default.removeItem(atPath: holders) }
            let machine = Machine { $0.time = .free }
            _ = try await Bed.run("no decoder", for: .seconds(3), playing: [clip], .kiosk(), on: machine) { at in
                at(1, .tap(640, 360))
                at(1.5, .tap(640, 360))
                at(2.5, .shell("for process in /proc/[0-9]*; do grep -q libavcodec $process/maps && cat $process/comm; done > \(holders)"))
            }
            let names = try String(contentsOfFile: holders, encoding: .utf8).split(separator: "\n")
            #expect(Set(names) == ["kiosk-reader"])
        }

        /// With a touch screen: its controls look up fonts. In virtual time in which computing takes the processor's time.
        @Test(.thorough("virtual time in which computing takes time"))
        func `the second picture follows the first, and the sound has no hole`() async throws {
            let clip = try BedGallery.clip("a60", frames: 300, frameRate: 60)
            let record = try await Bed.run("motion", for: .seconds(2), playing: [clip], .kiosk(), on: Machine { $0.time = .virtual })
            // The first half second: 60 pictures a second are nearly all that the core can do, and later frames are not the start.
            let holds = record.frames.prefix(30).map(\.vblanks)
            #expect(holds.count == 30 && holds[0] <= 2 && holds.dropFirst().allSatisfy { $0 == 1 }, "\(holds)")
            let told = try #require(record.statistics)
            #expect(told.stalls.count == 0, "\(told)")
            let second = try #require(record.frames.dropFirst().first).time
            let sound = try #require(record.sound)[second + .milliseconds(50)..<second + .milliseconds(550)]
            #expect(sound.holes == [] && sound.tone?.clicks == [])
        }
    }
}
