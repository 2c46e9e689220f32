import Foundation
import Glibc
import KioskPlatform
import TestSupport
import Testing

/// Plays from a folder whose files hang, are late, fail and return short reads: Tests/FaultyFiles lies beneath the player's system calls.
@Suite(.blocking) struct FaultyFilesTests {
    /// The faulty folder with its clips, and a player for them.
    final class Disk {
        let folder: TestFolder
        let stage: PlayTests.Stage

        init() throws {
            folder = try TestFolder()
            stage = try PlayTests.Stage("--log-level", "debug")
        }

        /// Copies `clip` into the folder and returns the path of the copy.
        func copy(_ clip: String, as name: String) throws -> String {
            try FileManager.default.copyItem(atPath: clip, toPath: "\(folder.path)/\(name)")
            return "\(folder.path)/\(name)"
        }

        /// Returns the words before the command.
        func wrapper(_ faults: [String: String]) -> [String] {
            let library = URL(fileURLWithPath: KioskProcess.binary).deletingLastPathComponent().path + "/libFaultyFiles.so"
            return ["env", "LD_PRELOAD=\(library)", "FAULTY_FOLDER=\(folder.path)/"] + faults.map { "FAULTY_\($0)=\($1)" }
        }

        func play(_ sources: [String], faults: [String: String]) throws -> KioskProcess {
            try KioskProcess(stage.options + sources, wrapper: wrapper(faults))
        }
    }

    /// Makes a clip of ten seconds and 2 MB. It starts to play before its last part is read.
    private func large() throws -> String {
        try Clips.numbered(
            "large.mp4", frames: 300, extra: ["-b:v", "1600k", "-minrate", "1600k", "-bufsize", "400k", "-movflags", "+faststart"])
    }

    private func plays(_ kiosk: KioskProcess, of name: String) -> Int { kiosk.log.count { $0 == "debug kiosk: playing \(name)" } }

    @Test("A file whose opening hangs is left out, said once, and the others play on") func openingHangs() throws {
        let disk = try Disk()
        let clips = try PlayTests.clips()
        let stuck = try disk.copy(clips[0], as: "stuck.mp4")
        let kiosk = try disk.play([clips[0], stuck, clips[1]], faults: ["BLOCK": "open"])
        #expect(
            eventually(120) { self.plays(kiosk, of: "faststart.mp4") >= 3 && self.plays(kiosk, of: "short.mp4") >= 2 }, "\(kiosk.errors)")
        #expect(kiosk.log.count { $0.contains("stuck.mp4") } == 1)
        #expect(kiosk.log.contains("warning kiosk: \(stuck): gave no data for 15 s: check the disk or the network"))
        #expect(kiosk.end() == 0)
    }

    @Test("A sound card whose opening hangs holds up neither the picture nor the end") func soundHangs() throws {
        let stage = try PlayTests.Stage("--log-level", "debug", "--audio", "hw:0,0")
        let library = URL(fileURLWithPath: KioskProcess.binary).deletingLastPathComponent().path + "/libFaultyFiles.so"
        let faults = ["env", "LD_PRELOAD=\(library)", "FAULTY_FOLDER=/dev/snd/", "FAULTY_BLOCK=open", "KIOSK_START_TRACE=1"]
        let kiosk = try KioskProcess(stage.options + PlayTests.clips(), wrapper: faults)
        #expect(eventually(120) { self.plays(kiosk, of: "short.mp4") >= 2 }, "\(kiosk.errors)")
        #expect(kiosk.log.contains("notice audio: the sound card takes long to open: the picture does not wait for it"))
        #expect(kiosk.log.contains { $0.hasSuffix(" page faults: the second picture is on the screen") }, "\(kiosk.errors)")
        #expect(!kiosk.log.contains { $0.hasSuffix(" page faults: the sound card is open, or there is none") })
        #expect(kiosk.end() == 0)
    }

    @Test("A file that hangs while it plays ends early, and the next one plays") func readingHangs() throws {
        let disk = try Disk()
        let stuck = try disk.copy(large(), as: "stuck.mp4")
        let short = try PlayTests.clips()[1]
        let kiosk = try disk.play([stuck, short], faults: ["BLOCK": "read", "FROM": "600000"])
        #expect(kiosk.waits(for: "playing stuck.mp4"))
        #expect(eventually(40) { self.plays(kiosk, of: "short.mp4") >= 3 }, "\(kiosk.errors)")
        #expect(plays(kiosk, of: "stuck.mp4") == 1)
        #expect(kiosk.log.contains("warning kiosk: \(stuck): ends early: gave no data for 10 s: check the disk or the network"))
        #expect(kiosk.end() == 0)
    }

    @Test("When everything hangs a signal ends it all the same", arguments: [SIGINT, SIGTERM]) func everythingHangs(_ signal: Int32) throws
    {
        let disk = try Disk()
        let clips = try [disk.copy(large(), as: "a.mp4"), disk.copy(PlayTests.clips()[0], as: "b.mp4")]
        let marker = disk.stage.folder.path + "/now"
        try Data([0]).write(to: URL(fileURLWithPath: marker))
        let kiosk = try disk.play(clips, faults: ["BLOCK": "all", "WHEN": marker])
        #expect(kiosk.waits(for: "playing a.mp4"))
        let handle = try FileHandle(forUpdating: URL(fileURLWithPath: marker))
        try handle.write(contentsOf: [1])
        usleep(2_000_000)
        #expect(kiosk.end(signal, within: 15) == 0, "\(kiosk.errors)")
        #expect(try #require(kiosk.log.last).hasPrefix("info kiosk: ended: "))
    }

    @Test("What hangs beyond reach is left behind, and a second signal does not wait for it") func endsAtOnce() throws {
        let disk = try Disk()
        let clips = try PlayTests.clips()
        for signals in [1, 2] {
            // The thread that calls the observers writes the pictures of the items.
            let kiosk = try KioskProcess(
                disk.stage.options + ["--snapshots", disk.folder.path] + clips, wrapper: disk.wrapper(["BLOCK": "open"]))
            #expect(kiosk.waits(for: "playing faststart.mp4"))
            usleep(2_000_000)
            if signals == 1 {
                #expect(kiosk.end(SIGINT) == 0)
                #expect(kiosk.log.contains { $0.contains("ended without waiting any longer") })
            } else {
                kill(kiosk.pid, SIGINT)
                // By then the player has seen the first signal, and still waits.
                usleep(2_000_000)
                #expect(kiosk.isRunning)
                #expect(kiosk.end(SIGINT) == 130)
                #expect(kiosk.log.last == "warning kiosk: ended at once, by a second signal")
            }
        }
    }

    @Test("Late and short reads lose nothing") func shortReads() throws {
        let disk = try Disk()
        let clips = try [disk.copy(PlayTests.clips()[0], as: "a.mp4"), disk.copy(PlayTests.clips()[1], as: "b.mp4")]
        let kiosk = try disk.play(clips, faults: ["DELAY": "20", "SHORT": "700", "SEED": "1"])
        #expect(eventually(120) { self.plays(kiosk, of: "b.mp4") >= 3 }, "\(kiosk.errors)")
        #expect(kiosk.end() == 0)
        #expect(!kiosk.log.contains { $0.hasPrefix("warning kiosk: \(disk.folder.path)") }, "\(kiosk.errors)")
    }

    @Test("Reads that fail end an item and not the playing", arguments: Proof.some(Array(1...3))) func failingReads(_ seed: Int) throws {
        let disk = try Disk()
        let clips = try [disk.copy(large(), as: "a.mp4"), disk.copy(PlayTests.clips()[0], as: "b.mp4")]
        let healthy = try PlayTests.clips()[1]
        let kiosk = try disk.play(
            clips + [healthy], faults: ["DELAY": "30", "SHORT": "300", "FAIL": "250", "SEED": "\(seed)"])
        #expect(eventually(120) { self.plays(kiosk, of: "short.mp4") >= 3 }, "\(kiosk.errors)")
        #expect(kiosk.end() == 0)
        #expect(kiosk.log.contains { $0.hasPrefix("warning kiosk: \(disk.folder.path)") }, "\(kiosk.errors)")
        let shown = try #require(kiosk.log.last?.prefixMatch(of: #/info kiosk: ended: ([0-9]+) frames shown/#))
        #expect(Int(shown.1)! > 30)
    }

    @Test("What is checked on a disk that hangs has no data, and the next item is checked", arguments: ["open", "all"])
    func checking(blocks: String) throws {
        let disk = try Disk()
        let clips = try PlayTests.clips()
        let stuck = try disk.copy(clips[0], as: "stuck.mp4")
        let kiosk = try KioskProcess(["check", "--refresh", "60", stuck, clips[1]], wrapper: disk.wrapper(["BLOCK": blocks]))
        #expect(kiosk.status(within: 120) == 1)
        #expect(kiosk.output.contains("cannot be played: gave no data for 15 s: check the disk or the network"))
        #expect(kiosk.output.contains("2 items, 1 cannot be played"))
    }
}
