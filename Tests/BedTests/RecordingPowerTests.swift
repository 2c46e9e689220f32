import Bed
import Foundation
import Testing

/// What a power cut leaves, and how soon what the camera sees is seen.
extension BedTests.Recordings {
    /// The guest's kernel is told to power off at once, with nothing written back: what it had of a file in memory alone is gone. (Files lie in folders of
    /// the host here, so this says nothing about a disk that lies about what it has written.) $KIOSK_BED_CUTS says how often; 8 by default.
    @Test func `a power cut while the player records leaves a film at the next start`() throws {
        let count = ProcessInfo.processInfo.environment["KIOSK_BED_CUTS"].flatMap { Int($0) } ?? 8
        let folder = "/tmp/kiosk-bed-cuts-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let player = try Bed.player(), clip = try BedGallery.clip("a", frames: 150, frameRate: 30)
        let instants: [Double] = (0..<count).map { (index: Int) -> Double in Double(170 + (index * 7919 + 311) % 641) / 100 }
        func command(_ index: Int) -> String { "\(player) --config \(folder)/\(index).conf" }
        var elapsed: [Double] = []
        for (index, instant) in instants.enumerated() {
            try FileManager.default.createDirectory(atPath: "\(folder)/\(index)", withIntermediateDirectories: true)
            let configuration = """
                [display]
                mode = "1280x720"
                [audio]
                device = "hw:Loopback,0,0"
                [record]
                folder = "\(folder)/\(index)"
                size = "320x180@30"
                microphone = "hw:Loopback,1"
                [control]
                socket = "/run/kiosk.sock"
                [[playlist]]
                source = "\(clip.path)"
                """
            try Data(configuration.utf8).write(to: URL(fileURLWithPath: "\(folder)/\(index).conf"))
            // reboot(2) with LINUX_REBOOT_CMD_POWER_OFF does not sync.
            let script = """
                \(command(index)) 2>/run/log & sleep 1.5
                ctl="\(player) ctl --socket /run/kiosk.sock"
                $ctl record start >&2; sleep \(instant); $ctl record status >&2
                perl -e 'syscall(169, 0xfee1dead, 672274793, 0x4321fedc)'
                """
            do {
                _ = try Bed.shell(script, arguments: ["-V", "-t", "200", "-w", "/tmp"])
                Issue.record("the guest came to its end as if nothing had happened")
            } catch BedError.failed(let said) {
                let last = said.matches(of: #/elapsed: ([0-9.]+)/#).last.flatMap { Double($0.output.1) }
                elapsed.append(try #require(last, "\(said)"))
            }
            let names = try FileManager.default.contentsOfDirectory(atPath: "\(folder)/\(index)/.new")
            #expect(names.count == 1 && names[0].hasSuffix(".mp4.part"), "\(names)")
        }
        let starts = instants.indices.map { "timeout -s TERM 3 \(command($0)) 2>>\(folder)/log" }.joined(separator: "\n")
        _ = try Bed.shell(starts + "\ntrue", arguments: ["-V", "-t", "200", "-w", "/tmp"])
        var lost: [Double] = []
        for (index, instant) in instants.enumerated() {
            let films = try FileManager.default.contentsOfDirectory(atPath: "\(folder)/\(index)").filter { $0.hasPrefix("film-") }
            #expect(films.count == 1, "cut \(index), at \(instant) s: \(films)")
            guard let film = films.first else { continue }
            try expectSound("\(folder)/\(index)/\(film)")
            let end = try times("\(folder)/\(index)/\(film)").max() ?? 0
            lost.append(elapsed[index] - end)
            #expect(
                elapsed[index] > instant - 1 && elapsed[index] - end < 1, "cut at \(instant) s, recorded \(elapsed[index]) s, left \(end) s"
            )
        }
        print("power cuts: \(lost.count) films, at most \(lost.max() ?? 0) s are missing, \(lost)")
    }

    /// From vivid's time of a picture to the vblank at which it lies on the display, in real time. At five pictures a second there is no doubt which of them
    /// a vblank shows; at thirty the changes are counted against the pictures.
    @Test(arguments: [(720, 5), (720, 30), (1080, 30)]) func `the camera is seen within 100 ms`(height: Int, rate: Int) async throws {
        let stage = try Stage()
        defer { stage.remove() }
        let machine = Machine {
            ($0.measuresHost, $0.recordsSound, $0.mode) = (true, false, Machine.Mode(width: height * 16 / 9, height: height))
        }
        let program = stage.program("[log]\nlevel = \"trace\"", size: "1280x720@\(rate)", microphone: "off")
        let record = try await Bed.run(
            "preview-\(height)-\(rate)", for: .seconds(14), playing: [stage.clip], program, on: machine
        ) { at in at(2, .tap(640, 200), "preview") }
        struct Picture { var taken: Int, drawn: Int, shown: Int, read: Int }
        let pictures = record.log.compactMap { line -> Picture? in
            guard let match = line.text.firstMatch(of: #/preview: taken, drawn from and shown at \[(\d+), (\d+), (\d+)\]/#),
                let taken = Int(match.output.1), let drawn = Int(match.output.2), let shown = Int(match.output.3)
            else { return nil }
            return Picture(taken: taken, drawn: drawn, shown: shown, read: line.time.microseconds)
        }
        // A line is read at once after it was written: where the player's start is on the clock of the pictures.
        let start = try #require(pictures.map { $0.shown - $0.read }.max())
        // The player is paused: whatever is on a plane, or blended into the picture, changes with the camera alone.
        let changes = zip(record.vblanks, record.vblanks.dropFirst()).filter { $0.planes != $1.planes }.map { $1.time.microseconds + start }
        // When all is loaded, until the end.
        let (from, to) = (record.time(of: "preview").microseconds + start + 3_000_000, start + 13_500_000)
        let judged = pictures.indices.dropLast().filter { pictures[$0].shown > from && pictures[$0].shown < to }
        var latencies: [Double] = [], superseded = 0
        for index in judged {
            guard let change = changes.first(where: { $0 > pictures[index].shown }) else { continue }
            if change > pictures[index + 1].shown {
                superseded += 1
            } else {
                latencies.append(Double(change - pictures[index].taken) / 1000)
            }
        }
        latencies.sort()
        let drawing = judged.map { Double(pictures[$0].shown - pictures[$0].drawn) / 1000 }.sorted()
        #expect(judged.count > rate * 7 * 9 / 10, "\(judged.count) pictures")
        let changed = changes.count { $0 > from && $0 < to }
        #expect(
            abs(changed - (judged.count - superseded)) <= 2, "\(changed) changes for \(judged.count) pictures, \(superseded) superseded")
        guard let worst = latencies.last, let drawn = drawing.last else { return }
        print(
            "preview, 1280x720@\(rate) on \(height * 16 / 9)x\(height): taken to vblank p50 \(latencies[latencies.count / 2]) ms, at most \(worst) ms,",
            "of \(latencies.count), \(superseded) superseded; drawn in p50 \(drawing[drawing.count / 2]) ms, at most \(drawn) ms")
        #expect(worst <= 100)
    }
}

extension Duration {
    fileprivate var microseconds: Int { Int(components.seconds) * 1_000_000 + Int(components.attoseconds / 1_000_000_000_000) }
}
