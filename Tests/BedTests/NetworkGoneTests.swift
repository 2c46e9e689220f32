import Bed
import Foundation
import Testing

extension BedTests {
    /// Items over HTTP that the cache keeps on the disk, when the network goes.
    @Suite struct NetworkGone {
        @Test func `the network goes, and nobody can tell`() async throws {
            let clip = try BedGallery.clip("loop30", frames: 30, frameRate: 30)
            let server = try GuestServer([clip.path])
            defer { server.remove() }
            let configuration = KioskConfiguration(
                display: "gravity = \"stretch\"", playback: "cache = \"100 MB\"\ncache-folder = \"\(server.folder)/cache\"",
                playlist: ["source = \"\(server.url("loop30.mp4"))\""])
            let machine = Machine { ($0.time, $0.mode) = (.free, Machine.Mode(width: 848, height: 480)) }
            let record = try await Bed.run("network-gone", for: .seconds(20.6), playing: [clip], .kiosk(configuration), on: machine) { at in
                at(-0.8, server.start)
                at(7, .shell("kill $(cat /run/server); ip link set lo down; ip link show lo; ls -l \(server.folder)/cache"), "gone")
            }
            let log = record.log.map(\.text)
            #expect(log.contains { $0.contains("is kept now") }, "\(log)")
            #expect(record.outputs["gone"]?.contains("state DOWN") == true, "\(record.outputs)")
            #expect(record.seams.count >= 17 && record.seams.filter { !$0.isClean } == [], "\(record.seams)")
            #expect(record.wrongHolds == [])
            let sound = try #require(record.sound)
            #expect(sound.holes == [] && sound.tone?.phaseJumps == [] && sound.tone?.clicks == [])
            #expect(record.frames.contains { $0.time > .seconds(20) })
            #expect(!log.contains { $0.contains("cannot be opened") || $0.contains("gave no data") }, "\(log)")
            #expect(record.status == 0)
        }
    }

    /// Sound that changes while the picture plays on: another track, ducking for other programs, headphones.
    @Suite struct SoundSelection {
        private static func socket() -> String { NSTemporaryDirectory() + "kiosk-\(UUID().uuidString).sock" }
        private let machine = Machine { ($0.time, $0.mode) = (.free, Machine.Mode(width: 848, height: 480)) }
        private func ctl(_ words: String, _ socket: String) -> ActionTimeline.Action {
            .shell("$(readlink /proc/$PLAYER/exe) ctl --socket \(socket) \(words)")
        }

        /// Makes loop30.mp4 with a second sound track, 880 Hz.
        private func film() throws -> String {
            let path = NSTemporaryDirectory() + "kiosk-film-\(UUID().uuidString).mp4"
            let ffmpeg = Process()
            ffmpeg.executableURL = URL(fileURLWithPath: "/usr/bin/env")
            ffmpeg.arguments =
                ["ffmpeg", "-nostdin", "-loglevel", "error", "-i", try BedGallery.path("loop30.mp4"), "-f", "lavfi", "-i"]
                + ["sine=f=880:r=48000:d=1,pan=stereo|c0=c0|c1=c0", "-map", "0:v", "-map", "0:a", "-map", "1:a", "-c:v", "copy"]
                + ["-c:a:0", "copy", "-c:a:1", "aac", "-metadata:s:a:0", "language=deu", "-metadata:s:a:1", "language=eng", path]
            try ffmpeg.run()
            ffmpeg.waitUntilExit()
            try #require(ffmpeg.terminationStatus == 0)
            return path
        }

        @Test func `another sound track, and not a vblank is wrong`() async throws {
            let (path, socket) = (try film(), Self.socket())
            defer { for file in [path, socket] { unlink(file) } }
            let clip = NumberedClip(path, frames: 30, from: 1, frameRate: 30)
            let configuration = KioskConfiguration(
                display: "gravity = \"stretch\"", control: "socket = \"\(socket)\"", playlist: ["source = \"\(path)\""])
            let record = try await Bed.run("sound-track", for: .seconds(12.6), playing: [clip], .kiosk(configuration), on: machine) { at in
                at(2.2, ctl("tracks --json", socket), "tracks")
                at(4.35, ctl("select audio en", socket), "select")
                at(8.4, ctl("select audio 1", socket), "back")
            }
            #expect(record.outputs["tracks"]?.contains("\"language\":\"deu\"") == true, "\(record.outputs)")
            #expect(record.seams.count >= 10 && record.seams.filter { !$0.isClean } == [], "\(record.seams)")
            #expect(record.wrongHolds == [])
            let sound = try #require(record.sound)
            // At a change of track less than half a packet may be missing, and nothing anywhere else.
            let changes = [4.3...6.1, 8.4...10.2]
            #expect(
                sound.holes.allSatisfy { hole in
                    hole.duration < .milliseconds(10) && changes.contains { $0 ~= hole.start / .seconds(1) }
                }, "\(sound.holes)")
            func frequency(_ from: Double, _ to: Double) -> Double { sound[.seconds(from)..<(.seconds(to))].tone?.frequency ?? 0 }
            #expect(abs(frequency(1, 4) - 440) < 2 && abs(frequency(6.1, 8.3) - 880) < 4 && abs(frequency(10.2, 12.5) - 440) < 2)
            // The sound changes softly in these stretches, and has no click outside of them.
            let clicks = sound.tone?.clicks.filter { !(4.3...6.1 ~= $0 / .seconds(1) || 6.1...10.2 ~= $0 / .seconds(1)) } ?? []
            #expect(clicks == [], "\(clicks)")
            #expect(record.status == 0)
        }

        @Test func `the sound is ducked and comes back, each sample at its time`() async throws {
            let clip = try BedGallery.clip("loop30", frames: 30, frameRate: 30)
            let socket = Self.socket()
            defer { unlink(socket) }
            let configuration = KioskConfiguration(
                display: "gravity = \"stretch\"", audio: "duck-volume = 50", control: "socket = \"\(socket)\"",
                playlist: ["source = \"\(clip.path)\""])
            let record = try await Bed.run("duck", for: .seconds(9.6), playing: [clip], .kiosk(configuration), on: machine) { at in
                at(3, ctl("interruption begin --by bed", socket), "duck")
                at(6, ctl("interruption end --by bed", socket), "unduck")
            }
            #expect(record.seams.count >= 7 && record.seams.filter { !$0.isClean } == [], "\(record.seams)")
            #expect(record.wrongHolds == [])
            let sound = try #require(record.sound)
            let loud = sound[.seconds(1.5)..<(.seconds(2.9))].peak
            let quiet = sound[.seconds(3.7)..<(.seconds(5.9))].peak
            let again = sound[.seconds(7.2)..<(.seconds(9.3))].peak
            #expect(
                abs(Double(quiet) / Double(loud) - 0.125) < 0.01 && abs(Double(again) / Double(loud) - 1) < 0.01,
                "\(loud), \(quiet), \(again)")
            #expect(sound.tone?.phaseJumps == [] && sound.tone?.clicks == [])
            #expect(record.status == 0)
        }

        /// The bed's card has no jack; a control with a jack's name stands in for it. The second device of the card is the headphones'.
        @Test func `headphones are plugged in, and pulled out`() async throws {
            let clip = try BedGallery.clip("loop30", frames: 30, frameRate: 30)
            let configuration = KioskConfiguration(
                display: "gravity = \"stretch\"", audio: "device = \"auto\"\nfollow = \"port\"", playlist: ["source = \"\(clip.path)\""])
            func jack(_ on: Int) -> ActionTimeline.Action {
                .shell("control hw:Loopback \"iface=CARD,name='Headphone,pcm=1 Jack'\" switch \(on)")
            }
            let record = try await Bed.run("jack", for: .seconds(16.6), playing: [clip], .kiosk(configuration), on: machine) { at in
                at(-0.4, jack(0))
                at(3, jack(1))
                at(9, jack(0))
            }
            let opened = record.log.map(\.text).filter { $0.contains("audio: ") && $0.contains("S16_LE") }
            #expect(opened.count == 3 && opened.dropFirst().first?.contains("DEV=1") == true, "\(record.log.map(\.text))")
            #expect(opened.last?.contains("DEV=1") == false)
            #expect(record.seams.filter { !$0.isClean } == [] && record.wrongHolds == [])
            #expect(record.status == 0)
        }
    }
}
