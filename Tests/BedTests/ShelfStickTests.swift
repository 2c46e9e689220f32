import Bed
import Foundation
import Testing

extension BedTests {
    /// USB sticks on the shelf: file systems mounted as kiosk-usb@.service mounts them. After the stick is pulled out, reads fail.
    @Suite struct ShelfSticks {
        private static let mount = "/run/kiosk-usb/sda1"

        /// Makes three short clips, and one of 52 MB, too large to be read ahead. Its numbers are 3001 to 3030, again and again.
        private static func stick() throws -> (folder: String, long: NumberedClip) {
            let folder = NSTemporaryDirectory() + "kiosk-stick-\(UUID().uuidString)"
            try FileManager.default.createDirectory(atPath: folder + "/Trips", withIntermediateDirectories: true)
            for name in ["loop24", "loop30", "other30"] {
                try FileManager.default.copyItem(atPath: BedGallery.path(name + ".mp4"), toPath: "\(folder)/Trips/\(name).mp4")
            }
            let long = try BedGallery.raw("nv12", from: 3001)
            _ = try Bed.shell(
                "ffmpeg -nostdin -v error -stream_loop 19 -i \(long.path) -c copy \(folder)/long.nut",
                arguments: ["-V", "-t", "60", "-w", "/tmp"])
            return (folder, long)
        }

        @Test func `the clips of a stick are on the shelf while it is plugged in, and one that plays when it is pulled out ends there`()
            async throws
        {
            let (stick, long) = try Self.stick()
            defer { try? FileManager.default.removeItem(atPath: stick) }
            let clip = try BedGallery.clip("a", frames: 150, frameRate: 30)
            let (socket, cache) = (stick + ".sock", stick + ".cache")
            defer { for path in [socket, cache] { try? FileManager.default.removeItem(atPath: path) } }
            let configuration = KioskConfiguration(
                playback: "cache-folder = \"\(cache)\"", input: "[input.keys]\nf1 = \"shelf\"\n[shelf]\nfolders = [\"usb\"]",
                control: "socket = \"\(socket)\"", playlist: ["source = \"\(clip.path)\""])
            let machine = Machine { ($0.time, $0.recordsSound) = (.free, false) }
            let ctl = "$(readlink /proc/$PLAYER/exe) ctl --socket \(socket)"
            let list = "\(ctl) shelf list | grep -E 'count|open'; ls \(cache)/thumbnails | grep -c ."
            let plug = "mkdir -p \(Self.mount) && mount -t ext4 -o loop,ro /run/stick.img \(Self.mount) && echo done"
            // From now on all reads fail, as from a stick that has gone (EXT4_IOC_SHUTDOWN, without its journal). Then the service unmounts
            // it.
            let pull = """
                perl -e 'open(F, q(<), q(\(Self.mount))) or die; my $how = pack(q(L), 2); ioctl(F, 0x8004587d, $how) or die' \
                    && umount -l \(Self.mount) && rmdir \(Self.mount) && echo done
                """
            let record = try await Bed.run("shelf-stick", for: .seconds(32), playing: [clip, long], .kiosk(configuration), on: machine) {
                at in
                at(0.5, .shell("mke2fs -q -F -t ext4 -d \(stick) /run/stick.img 80M"))
                at(2, .key(.f1), "open")
                at(3, .shell(list), "before")
                at(4, .shell(plug), "plugged, mount")
                at(8, .screenshot(), "plugged")
                at(8, .shell(list), "plugged, list")
                at(9, .shell("\(ctl) shelf play long.nut"), "play")
                at(15, .shell(pull), "pulled, umount")
                at(18, .shell("\(list); \(ctl) --json status | grep -o playing"), "pulled, list")
                // Pull it out once more while the shelf is open.
                at(20, .shell(plug), "again, mount")
                at(22, .key(.f1), "open again")
                at(23, .shell(list), "again, list")
                at(24, .shell(pull), "pulled again, umount")
                at(27, .screenshot(), "pulled again")
                at(27, .shell(list), "pulled again, list")
                at(28, .key(.f1), "close")
            }
            if let folder = ProcessInfo.processInfo.environment["KIOSK_CONTROLS_PICTURES"] {
                for (name, picture) in record.screenshots { try picture.write(to: "\(folder)/stick-\(name).png") }
            }
            let said = record.outputs.mapValues { $0.split(separator: "\n").joined(separator: ", ") }
            for name in ["plugged, mount", "pulled, umount", "again, mount", "pulled again, umount"] {
                #expect(said[name] == "done", "\(name): \(said[name] ?? "")")
            }
            #expect(said["before"]?.hasPrefix("count: 0, open: true") == true, "\(said)")
            // Each clip has a thumbnail, and the cache keeps it.
            #expect(said["plugged, list"] == "count: 4, open: true, 4", "\(said)")
            #expect(said["pulled, list"] == "count: 0, open: false, 4, playing", "\(said)")
            #expect(said["again, list"] == "count: 4, open: true, 4", "\(said)")
            #expect(said["pulled again, list"] == "count: 0, open: true, 4", "\(said)")
            // Cards come and go on the screen, too.
            for name in ["plugged, mount", "pulled again, umount"] {
                let time = record.time(of: name)
                let seen = Set(record.vblanks.filter { $0.time > time && $0.time < time + .seconds(2.5) }.map(\.hash))
                #expect(seen.count > 1, "\(name): nothing else on the screen")
            }
            // The player shows the frames that it has read before, and then resumes the playlist in its old place.
            #expect(record.log.contains { $0.text.contains("long.nut: ends early: Input/output error") })
            let (play, pulled, open) = (record.time(of: "play"), record.time(of: "pulled, umount"), record.time(of: "open again"))
            let left = try #require(record.frames.last { $0.time < play }).number
            let frames = record.frames.filter { $0.time > play && $0.time < open }
            let first = try #require(frames.firstIndex { long.numbers.contains($0.number) })
            let back = try #require(frames.indices.first { $0 > first && clip.numbers.contains(frames[$0].number) })
            #expect(frames[first].time - play < .seconds(1), "\(frames[first].time - play)")
            #expect((left...left + 2).contains(frames[back].number), "left at \(left), went on at \(frames[back].number)")
            #expect(
                frames[back].time > pulled && frames[back].time - pulled < .seconds(2),
                "\(frames[back].time - pulled) after it was pulled out")
            #expect(frames[back...].allSatisfy { clip.numbers.contains($0.number) } && frames[back...].count > 100)
            #expect(frames[first...].dropFirst().allSatisfy { $0.vblanksBefore == 0 }, "\(frames.filter { $0.vblanksBefore != 0 })")
            let wrong = record.wrongHolds(from: frames[first].time).filter { $0.time < open - .seconds(0.2) }
            #expect(wrong.isEmpty, "\(wrong)")
            print("stick: \(frames[back].time - pulled) after it was pulled out the playlist went on")
            // The playlist also resumes when the empty shelf is closed.
            let after = record.frames.filter { $0.time > record.time(of: "close") }
            #expect(after.count > 60, "\(after.count) frames")
            #expect(record.status == 0)
        }
    }
}
