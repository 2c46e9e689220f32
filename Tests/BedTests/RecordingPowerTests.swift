import Bed
import Foundation
import TestSupport
import Testing

/// Power cuts during a recording, and the delay from the camera to the display.
extension BedTests.Recordings {
    /// Keeps a film, records another one, and powers the guest's kernel off at once, with nothing written back. The films lie on an ext4
    /// file system, and the kernel writes that back by itself after seconds only. Data without fsync is lost, and so is everything that the
    /// journal lacks. Its mount options let a name reach the disk before the file's content. $KIOSK_BED_CUTS sets the number of cuts; the
    /// default is 8 (2 in make test). The second of every four comes right after a discarded film, and nothing of that film may come back.
    /// Disks that lie about writes are not tested.
    @Test func `a power cut while the player records leaves a film at the next start`() throws {
        let count = ProcessInfo.processInfo.environment["KIOSK_BED_CUTS"].flatMap { Int($0) } ?? (Proof.isThorough ? 8 : 2)
        let folder = "/tmp/kiosk-bed-cuts-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let player = try Bed.player(), clip = try BedGallery.clip("a", frames: 150, frameRate: 30)
        let cuts = (0..<count).map { (index: Int) -> Cut in
            let instant = Double(170 + (index * 7919 + 311) % 641) / 100
            return Cut(folder: "\(folder)/\(index)", instant: index % 4 == 1 ? nil : instant)
        }
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let configuration = """
            [display]
            mode = "1280x720"
            [audio]
            device = "hw:Loopback,0,0"
            [record]
            folder = "/run/disk/films"
            size = "320x180@30"
            microphone = "hw:Loopback,1"
            [control]
            socket = "/run/kiosk.sock"
            [[playlist]]
            source = "\(clip.path)"
            """
        try Data(configuration.utf8).write(to: URL(fileURLWithPath: "\(folder)/kiosk.conf"))
        let command = "\(player) --config \(folder)/kiosk.conf", ctl = "\(player) ctl --socket /run/kiosk.sock"
        var elapsed: [Double] = []
        for cut in cuts {
            try FileManager.default.createDirectory(atPath: cut.folder, withIntermediateDirectories: true)
            let second =
                if let instant = cut.instant { "\(ctl) record start; sleep \(instant); \(ctl) record status" } else {
                    "\(ctl) record start; sleep 2.5; \(ctl) record cancel; until \(ctl) record status | grep 'state: idle'; do sleep 0.02; done"
                }
            // reboot(2) with LINUX_REBOOT_CMD_POWER_OFF does not sync.
            let script = """
                exec >&2
                mke2fs -q -F -t ext4 -E lazy_itable_init=0,lazy_journal_init=0 \(cut.image) 64M && \(cut.mount) || exit
                \(command) 2>/run/log & sleep 1.5
                \(ctl) record start; sleep 2; \(ctl) record stop
                until \(ctl) record status | grep 'film: /'; do sleep 0.1; done
                \(second)
                perl -e 'syscall(169, 0xfee1dead, 672274793, 0x4321fedc)'
                """
            do {
                _ = try Bed.shell(script, arguments: ["-V", "-t", "200", "-w", "/tmp"])
                Issue.record("the guest came to its end as if nothing had happened")
            } catch BedError.failed(let said) {
                #expect(said.contains("film: /run/disk/films/film-"), "\(said)")
                guard cut.instant != nil else { continue }
                let last = said.matches(of: #/elapsed: ([0-9.]+)/#).last.flatMap { Double($0.output.1) }
                elapsed.append(try #require(last, "\(said)"))
            }
        }
        // Copy the films as the new mount has them (found), and as the player leaves them (made).
        let starts = cuts.map { cut in
            """
            \(cut.mount) && cp -r /run/disk/films \(cut.folder)/found
            timeout -s TERM 3 \(command) 2>>\(folder)/log; cp -r /run/disk/films \(cut.folder)/made; umount /run/disk; losetup -d /dev/loop0
            e2fsck -fn \(cut.image) >\(cut.folder)/check 2>&1; echo "check $?"
            """
        }
        let output = try Bed.shell(starts.joined(separator: "\n"), arguments: ["-V", "-t", "400", "-w", "/tmp"])
        #expect(output.matches(of: #/check 0\n/#).count == count, "\(output)")
        var lost: [Double] = []
        for cut in cuts {
            let found = try cut.names(in: "found/.new")
            #expect(found.count { $0.hasSuffix(".mp4.part") } == (cut.instant == nil ? 0 : 1), "\(cut): \(found)")
            // Each file with the name of a film is a whole film.
            for name in try cut.films(in: "found") + found.filter({ $0.hasPrefix("film-") }).map({ ".new/\($0)" }) {
                try expectSound("\(cut.folder)/found/\(name)")
            }
            let films = try cut.films(in: "made")
            #expect(films.count == (cut.instant == nil ? 1 : 2), "\(cut): \(films), found \(found)")
            for film in films { try expectSound("\(cut.folder)/made/\(film)") }
            guard let kept = films.first else { continue }
            let length = try times("\(cut.folder)/made/\(kept)").max() ?? 0
            #expect(abs(length - 2) < 0.3, "\(cut): of the film that was kept there are \(length) s")
            guard let instant = cut.instant else { continue }
            let recorded = elapsed.removeFirst()
            guard films.count == 2 else { continue }
            let end = try times("\(cut.folder)/made/\(films[1])").max() ?? 0
            lost.append(recorded - end)
            #expect(recorded > instant - 1 && recorded - end < 1, "\(cut), recorded \(recorded) s, left \(end) s")
        }
        print("power cuts: \(lost.count) films, of which at most \(lost.max() ?? 0) s are missing, \(lost)")
    }

    /// A power cut `instant` seconds after the start of a recording; nil for right after a discarded one. The disk is a file of the host.
    private struct Cut: CustomStringConvertible {
        var folder: String
        var instant: Double?
        var image: String { folder + ".img" }
        var mount: String {
            "mkdir -p /run/disk && losetup /dev/loop0 \(image) && mount -t ext4 -o noauto_da_alloc,commit=1 /dev/loop0 /run/disk"
        }
        var description: String { instant.map { "cut at \($0) s" } ?? "cut after a film was thrown away" }

        func names(in place: String) throws -> [String] {
            try FileManager.default.contentsOfDirectory(atPath: "\(folder)/\(place)").sorted()
        }
        func films(in place: String) throws -> [String] { try names(in: place).filter { $0.hasPrefix("film-") } }
    }

    /// Measures in real time from vivid's time of a picture to the vblank that scans out its number. vivid burns that number into the
    /// picture (kernel/patches/11).
    @Test(.thorough("real time"), arguments: [(720, 5), (720, 30), (1080, 30)]) func `the camera is seen within 100 ms`(
        height: Int, rate: Int
    ) async throws {
        let stage = try Stage()
        defer { stage.remove() }
        let machine = Machine {
            ($0.measuresHost, $0.recordsSound, $0.mode) = (true, false, Machine.Mode(width: height * 16 / 9, height: height))
            $0.readsTopmost = true
        }
        let program = stage.program("mirror = false\n[log]\nlevel = \"trace\"", size: "1280x720@\(rate)", microphone: "off")
        let record = try await Bed.run(
            "preview-\(height)-\(rate)", for: .seconds(14), playing: [stage.clip], program, on: machine
        ) { at in at(2, .tap(640, 200), "preview") }
        /// A picture in the player's log: vivid's number and time, and the beginning and the end of the drawing.
        struct Drawn { var number: Int, taken: Int, begin: Int, end: Int, said: Int }
        let drawn = record.log.compactMap { line -> Drawn? in
            guard let match = line.text.firstMatch(of: #/preview: picture (\d+), taken, drawn from and shown at \[(\d+), (\d+), (\d+)\]/#),
                let number = Int(match.output.1), let taken = Int(match.output.2), let begin = Int(match.output.3),
                let end = Int(match.output.4)
            else { return nil }
            return Drawn(number: number, taken: taken, begin: begin, end: end, said: line.time.microseconds)
        }
        // The bed reads each line at once, so this is the player's start on the clock of the pictures.
        let start = try #require(drawn.map { $0.end - $0.said }.max())
        // The first vblank of each picture, as the kernel read it out of the display.
        var seen: [(number: Int, time: Int)] = []
        for vblank in record.vblanks where vblank.number >> 14 == 1 && seen.last?.number != vblank.number & 0x3fff {
            seen.append((vblank.number & 0x3fff, vblank.time.microseconds + start))
        }
        #expect(zip(seen, seen.dropFirst()).allSatisfy { $0.number < $1.number }, "\(seen.map(\.number))")
        // Judge from 3 s after the tap, when all is loaded, until the end.
        let (from, to) = (record.time(of: "preview").microseconds + start + 3_000_000, start + 13_500_000)
        let judged = drawn.filter { $0.end > from && $0.end < to }
        // vivid takes a picture each period, so the player's time of a number has to be vivid's own.
        let period = 1_000_000 / Double(rate)
        let uneven = judged.map { Double($0.taken - judged[0].taken) - Double($0.number - judged[0].number) * period }
        #expect(uneven.allSatisfy { abs($0) < 2000 }, "\(uneven)")
        var latencies: [Double] = [], unseen = 0
        for (picture, next) in zip(judged, judged.dropFirst()) {
            if let vblank = seen.first(where: { $0.number == picture.number }) {
                #expect(vblank.time > picture.end - 1000, "picture \(picture.number) was on the display before it was drawn")
                latencies.append(Double(vblank.time - picture.taken) / 1000)
            } else {
                // Another picture replaced it before a commit.
                #expect(next.end - picture.end < 25_000, "picture \(picture.number) was not seen")
                unseen += 1
            }
        }
        latencies.sort()
        let drawing = judged.map { Double($0.end - $0.begin) / 1000 }.sorted()
        #expect(judged.count > rate * 7 * 9 / 10, "\(judged.count) pictures")
        guard let worst = latencies.last, let slowest = drawing.last else { return }
        print(
            "preview, 1280x720@\(rate) on \(height * 16 / 9)x\(height): taken to vblank p50 \(latencies[latencies.count / 2]) ms, at most \(worst) ms,",
            "of \(latencies.count), \(unseen) unseen; drawn in p50 \(drawing[drawing.count / 2]) ms, at most \(slowest) ms")
        #expect(worst <= 100)
    }
}

extension Duration {
    fileprivate var microseconds: Int { Int(components.seconds) * 1_000_000 + Int(components.attoseconds / 1_000_000_000_000) }
}
