import Bed
import Glibc
import Testing

extension BedTests {
    /// Faulty displays, drivers and terminals.
    @Suite struct DisplayFaults {
        let clip: NumberedClip
        let machine = Machine { ($0.time, $0.recordsSound) = (.free, false) }

        init() throws { clip = try BedGallery.clip("a", frames: 150, frameRate: 30) }

        @Test func `a display that may not be there gives the picture up to one that is connected`() async throws {
            let machine = Machine { ($0.time, $0.recordsSound, $0.displays) = (.free, false, 2) }
            let record = try await Bed.run("unknown", for: .seconds(7), playing: [clip], on: machine) { at in
                at(-0.2, .display(false, display: 1))
                at(-0.2, .shell("echo 3 >/sys/kernel/config/vkms/bed/connectors/0/status"))
                at(3, .display(true, display: 1), "plug")
            }
            let plugged = record.time(of: "plug")
            #expect(record.frames(on: 0).contains { $0.time < plugged }, "what may be there is lit where there is nothing else")
            let first = try #require(record.frames(on: 1).first)
            #expect(first.time - plugged < .seconds(2))
            #expect(record.frames(on: 0).last.map { $0.time < first.time + .milliseconds(100) } == true)
            #expect(record.frames(on: 1).count > 60 && record.status == 0 && record.terminal == "text on auto")
        }

        @Test(arguments: ["atomic", "legacy"]) func `a driver that refuses flips with events gets flips that block`(
            _ kms: String
        ) async throws {
            let record = try await run("events", refusing: "events", kms: kms, for: 6)
            let frames = record.frames
            #expect(frames.count > 100, "\(record.log.map(\.text))")
            let steps = zip(frames, frames.dropFirst()).map { $1.number - $0.number }.filter { $0 != 1 && $0 != -149 }
            #expect(steps == [], "frames were left out or came twice")
            #expect(count("paced by", record) == 3 && count("the driver refuses", record) == 2)
        }

        @Test func `a driver that refuses every flip is left alone`() async throws {
            let record = try await run("flips", refusing: "flips", kms: "atomic", for: 25)
            #expect(record.frames == [] && record.status == 0)
            // Two ways in four modes, each twice.
            #expect(count("paced by", record) == 16, "\(record.log.map(\.text))")
            #expect(count("the driver takes modes, but no flips", record) == 1)
            let last = try #require(record.log.last { $0.text.contains("the driver takes modes") })
            #expect(last.time < .seconds(20))
            #expect(record.terminal == "text on auto")
        }

        @Test func `colours that a program has left with the older calls do not stay`() async throws {
            let arguments = ["--mode", "1280x720", clip.path]
            let command = Program.command(["env", "KIOSK_KMS=legacy", try Bed.player()] + arguments)
            let record = try await Bed.run("legacy tint", for: .seconds(3), playing: [clip], command, on: machine) { at in
                at(-0.3, .shell("tint on; tint"), "before")
                at(2, .shell("tint"), "after")
            }
            #expect(record.outputs["before"] == "on\n" && record.outputs["after"] == "off\n", "\(record.outputs)")
            #expect(record.frames.count > 60)
        }

        @Test func `a framebuffer that the console has blanked is lit`() async throws {
            // There is no room to pan between pictures: panning lights a display, copying does not.
            let machine = Machine {
                ($0.time, $0.recordsSound, $0.mode) = (.free, false, Machine.Mode(width: 1024, height: 768))
                $0.kernelArguments = "drm_kms_helper.drm_fbdev_overalloc=100"
            }
            let configuration = KioskConfiguration(display: "connector = \"/dev/fb0\"\nmode = \"preferred\"")
            let record = try await Bed.run(
                "blanked", for: .seconds(3), playing: [clip], .kiosk(configuration), on: machine,
                area: Vblank.Rectangle(x: 0, y: 96, width: 1024, height: 576)
            ) { at in
                at(-0.2, .shell("echo 4 >/sys/class/graphics/fb0/blank"))
            }
            #expect(record.frames.count > 40)
        }

        @Test func `a terminal that is another program's screen is not taken before that has ended`() async throws {
            let record = try await Bed.run("desktop", for: .seconds(9), playing: [clip], on: machine) { at in
                at(-0.2, .shell("vt hold 1"))
                at(2, .terminal, "while")
                at(2.5, .shell("kill -TERM $(pidof vt)"), "ends")
                at(3, .terminal, "between")
                at(8, .terminal, "taken")
            }
            let ends = record.time(of: "ends")
            #expect(record.outputs["while"] == "graphics off process" && record.outputs["between"] == "text on auto")
            #expect(record.frames.allSatisfy { $0.time > ends } && record.frames.count > 60)
            #expect(record.outputs["taken"] == "graphics off process" && record.terminal == "text on auto")
            #expect(count("/dev/tty1 is the screen of vt (pid ", record) == 1, "\(record.log.map(\.text))")
        }

        @Test func `a preview does not take another program's terminal`() async throws {
            let record = try await Bed.run(
                "desktop preview", for: .seconds(3), playing: [clip], .kiosk(KioskConfiguration(), arguments: ["--preview"]), on: machine
            ) { at in
                at(-0.2, .shell("vt hold 1"))
                at(2, .terminal, "while")
                at(2.9, .shell("kill -TERM $(pidof vt)"))
            }
            #expect(record.frames == [] && record.outputs["while"] == "graphics off process")
            #expect(count("no display that is free: playing in memory", record) == 1)
        }

        private func run(_ name: String, refusing what: String, kms: String, for seconds: Int) async throws -> Record {
            let start = "export REFUSE=\(what) KIOSK_KMS=\(kms); LD_PRELOAD=$(command -v refuse) exec \"$@\""
            let command = ["sh", "-c", start, "sh", try Bed.player(), "--mode", "1280x720", clip.path]
            return try await Bed.run(name, for: .seconds(seconds), playing: [clip], .command(command), on: machine)
        }

        private func count(_ text: String, _ record: Record) -> Int { record.log.count { $0.text.contains(text) } }
    }
}
