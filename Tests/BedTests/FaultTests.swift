import Bed
import Glibc
import Testing

extension BedTests {
    /// Devices that are unplugged and plugged in again, and those that are missing or broken from the beginning.
    @Suite struct Faults {
        let clip: NumberedClip
        let other: NumberedClip
        let machine = Machine { $0.time = .free }

        init() throws {
            clip = try BedGallery.clip("a", frames: 150, frameRate: 30)
            other = try BedGallery.clip("b", frames: 150, from: 1001, frameRate: 30)
        }

        @Test func `a display is unplugged and plugged in again`() async throws {
            let record = try await Bed.run("display", for: .seconds(7), playing: [clip], on: machine) { at in
                at(2, .display(false), "unplug")
                at(4, .display(true), "plug")
            }
            let plugged = record.time(of: "plug")
            let back = try #require(record.frames.first { $0.time > plugged })
            #expect(back.time - plugged < .seconds(2))
            #expect((119...123).contains(back.number), "the clip went on in the dark: \(back.number) after 4 s")
            #expect(record.wrongHolds(from: back.time + .milliseconds(100)) == [])
            #expect(record.sound?.tone?.phaseJumps == [] && record.sound?.holes == [], "the sound plays on")
            expectLog(record, "no display (card0:Virtual-1 disconnected); waiting for one", "Virtual-1 1280x720@60")
            #expect(record.status == 0 && record.terminal == "text on auto")
        }

        @Test func `there is no display at the start, then one comes`() async throws {
            let record = try await Bed.run("no display", for: .seconds(6), playing: [clip], on: machine) { at in
                at(-0.2, .display(false))
                at(3, .display(true), "plug")
            }
            #expect(try #require(record.firstPicture) - record.time(of: "plug") < .seconds(2))
            #expect(record.wrongHolds(from: .seconds(4)) == [] && record.frames.count > 60)
            expectLog(record, "no display (card0:Virtual-1 disconnected); waiting for one")
        }

        /// No display is plugged in, or another program was the first to open the card.
        @Test(arguments: [ActionTimeline.Action.display(false), .shell("sleep 9 <>/dev/dri/card0 &")])
        func `a preview goes to memory where no display is free`(_ obstacle: ActionTimeline.Action) async throws {
            let record = try await Bed.run(
                "preview", for: .seconds(3), playing: [clip], .kiosk(KioskConfiguration(), arguments: ["--preview"]), on: machine
            ) { at in
                at(-0.2, obstacle)
            }
            #expect(record.frames == [])
            expectLog(record, "no display that is free: playing in memory")
            #expect(try #require(record.statistics).shown > 60 && record.status == 0)
        }

        @Test func `a touch screen and a keyboard are unplugged and plugged in again`() async throws {
            let record = try await Bed.run("input", for: .seconds(6), playing: [clip], on: machine) { at in
                at(1, .unplug(.touchScreen))
                at(1, .unplug(.keyboard))
                at(1.5, .tap(640, 360), "nothing to touch")
                at(2, .plug(.touchScreen))
                at(3, .tap(640, 360), "tap")
                at(4, .plug(.keyboard))
                at(4.5, .key(.space), "key")
            }
            #expect(record.vblank(at: .seconds(2.9))?.number != record.vblank(at: .seconds(2))?.number, "it plays on without them")
            #expect(try #require(record.response(to: "tap")) < .milliseconds(100))
            #expect(record.vblank(at: .seconds(4.4))?.number == record.vblank(at: .seconds(3.2))?.number, "the tap pauses")
            #expect(try #require(record.response(to: "key")) < .milliseconds(40))
            expectLog(record, "/dev/input/event0 is gone", "/dev/input/event1 is gone", "Bed Touchscreen: touch screen", "Bed Keyboard:")
        }

        @Test func `of two displays the one that is named is used, and the other one left alone`() async throws {
            let machine = Machine { ($0.time, $0.displays) = (.free, 2) }
            let configuration = KioskConfiguration(display: "connector = \"Virtual-2\"")
            let record = try await Bed.run("two displays", for: .seconds(4), playing: [clip], .kiosk(configuration), on: machine) { at in
                at(2, .screenshot(display: 1), "second")
            }
            #expect(record.frames(on: 1).count > 110)
            #expect(record.frames(on: 0) == [])
            #expect(record.screenshots["second"]?.width == 1280)
        }

        @Test func `of two displays that have one CRTC the one that is named gets it, and the other one back at the end`() async throws {
            let machine = Machine { ($0.time, $0.spareConnectors, $0.recordsSound) = (.free, 1, false) }
            let configuration = KioskConfiguration(display: "connector = \"Virtual-2\"")
            let users = "sed -n '/^connector/{s/.* //;h};/crtc=crtc-/{x;/Virtual/p}' /sys/kernel/debug/dri/0/state"
            let record = try await Bed.run("one CRTC", for: .seconds(5), playing: [clip], .kiosk(configuration), on: machine) { at in
                at(-0.3, .display(true, display: 1))
                at(-0.1, .shell(users), "before")
                at(2, .shell(users), "while")
                at(3, .signal(SIGTERM))
                at(4, .shell(users), "after")
            }
            #expect(record.outputs == ["before": "Virtual-1\n", "while": "Virtual-2\n", "after": "Virtual-1\n"])
            #expect(record.frames.count > 60 && record.status == 0)
        }

        @Test func `a display that is only a framebuffer shows every frame, and no dark at the seam`() async throws {
            // The kernel's own console on /dev/fb0 has 1024x768; the picture is centred in it.
            let machine = Machine { ($0.time, $0.mode) = (.free, Machine.Mode(width: 1024, height: 768)) }
            let configuration = KioskConfiguration(display: "connector = \"/dev/fb0\"\nmode = \"preferred\"")
            let record = try await Bed.run(
                "framebuffer", for: .seconds(8), playing: [clip], .kiosk(configuration), on: machine,
                area: Vblank.Rectangle(x: 0, y: 96, width: 1024, height: 576))
            expectLog(record, "/dev/fb0")
            #expect(record.seams.count == 1 && record.seams.allSatisfy { $0.darkVblanks == 0 && $0.lostFrames == 0 }, "\(record.seams)")
            let steps = zip(record.frames, record.frames.dropFirst()).map { $1.number - $0.number }.filter { $0 != 1 && $0 != -149 }
            #expect(steps == [], "frames were left out or came twice")
            #expect(record.terminal == "text on auto")
        }

        @Test func `colours that a program before it has left do not stay`() async throws {
            let machine = Machine { ($0.time, $0.recordsSound) = (.free, false) }
            let record = try await Bed.run("tint", for: .seconds(3), playing: [clip], on: machine) { at in
                at(-0.3, .shell("tint on; tint"), "before")
                at(2, .shell("tint"), "after")
            }
            #expect(record.outputs["before"] == "on\n" && record.outputs["after"] == "off\n", "\(record.outputs)")
            #expect(record.frames.count > 60)
        }

        @Test(arguments: [SIGTERM, SIGINT, SIGKILL]) func `the console is given back`(signal: Int32) async throws {
            let machine = Machine { ($0.time, $0.recordsSound) = (.free, false) }
            let record = try await Bed.run("signal \(signal)", for: .seconds(4), playing: [clip], on: machine) { at in
                at(-0.1, .screenshot(), "before")
                at(0, .terminal, "terminal before")
                at(1.5, .terminal, "terminal")
                at(2, .signal(signal), "signal")
                at(3, .screenshot(), "after")
            }
            #expect(record.outputs["terminal"] == "graphics off process")
            #expect(record.terminal == "text on auto")
            let (before, after) = (try #require(record.screenshots["before"]), try #require(record.screenshots["after"]))
            let differences = zip(before.bytes, after.bytes).count { $0 != $1 }
            #expect(after.width == before.width && differences <= 8 * 16 * 3, "more than the blinking cursor differs: \(differences)")
            let asked = signal != SIGKILL
            #expect(record.status == (asked ? 0 : 128 + Int(signal)))
            #expect((record.statistics != nil) == asked)
        }

        @Test func `the console that a player left when it was killed with its guard is given back by the next one`() async throws {
            let machine = Machine { ($0.time, $0.recordsSound) = (.free, false) }
            let guards = "$(grep -lx kiosk-vt-guard /proc/[0-9]*/comm | cut -d/ -f3)"
            let record = try await Bed.run("killed with its guard", for: .seconds(6), playing: [clip], on: machine) { at in
                // Start the player once more with its own command line, and stop it by a signal that it sees.
                let again = "setsid \"$@\" </dev/tty1 & sleep 1.5; kill -TERM $!; wait $!; echo $?"
                at(2, .shell("set -- $(tr '\\0' ' ' </proc/$PLAYER/cmdline); kill -9 \(guards) $PLAYER; sleep 1; \(again)"), "again")
                at(2.5, .terminal, "left")
                at(4, .terminal, "second")
                at(5.5, .terminal, "after")
            }
            #expect(record.status == 128 + Int(SIGKILL))
            #expect(record.outputs["left"] == "graphics off process" && record.outputs["second"] == "graphics off process")
            #expect(record.outputs["again"]?.hasSuffix("0\n") == true, "\(record.outputs["again"] ?? "")")
            #expect(record.outputs["after"] == "text on auto")
        }

        @Test func `the screen is left to another terminal, also when it came and went unseen`() async throws {
            let machine = Machine { ($0.time, $0.recordsSound) = (.free, false) }
            let record = try await Bed.run("terminals", for: .seconds(8), playing: [clip], on: machine) { at in
                at(2, .shell("vt 2"), "away")
                at(3, .signal(SIGSTOP))
                at(3.2, .shell("vt 1"))
                at(3.4, .shell("vt 2"))
                at(3.6, .signal(SIGCONT))
                at(5, .shell("cat /sys/class/tty/tty0/active"), "active")
                at(6, .shell("vt 1"), "back")
            }
            #expect(record.outputs["active"] == "tty2\n")
            let (away, back) = (record.time(of: "away"), record.time(of: "back"))
            #expect(record.frames.contains { $0.time < away } && record.frames.contains { $0.time > back })
            let between = record.vblanks.filter { $0.time > away + .milliseconds(100) && $0.time < back }
            #expect(between.allSatisfy { !record.isFrame($0.number) }, "a picture over somebody else's terminal")
            #expect(record.status == 0 && record.terminal == "text on auto")
        }

        @Test func `bad items are left out before their turn`() async throws {
            let bad = ["no-moov.mp4", "header-only.mp4", "empty.mp4", "text.mp4"]
            let items = [clip.path] + (try bad.map(BedGallery.path)) + ["/nowhere.mp4", other.path]
            let configuration = KioskConfiguration(playlist: items.map { "source = \"\($0)\"" })
            let record = try await Bed.run("bad items", for: .seconds(12), playing: [clip, other], .kiosk(configuration), on: machine)
            #expect(record.seams.map(\.first.number) == [1001, 1])
            #expect(record.seams.allSatisfy { $0.isClean }, "\(record.seams)")
            #expect(record.sound?.holes == [])
            for item in items[1...5] { expectLog(record, item) }
        }

        @Test func `there is no sound card, then there is one`() async throws {
            let machine = Machine { ($0.time, $0.recordsSound) = (.free, false) }
            let driver = "/sys/bus/platform/drivers/snd_aloop"
            let record = try await Bed.run("no card", for: .seconds(12), playing: [clip], on: machine) { at in
                at(-0.2, .shell("echo snd_aloop.0 >\(driver)/unbind"))
                at(3, .shell("echo snd_aloop.0 >\(driver)/bind"), "card")
                at(6, .shell("cat /proc/asound/Loopback/pcm0p/sub0/status"), "status")
            }
            expectLog(record, "no sound: there is no device hw:Loopback,0,0", "audio: hw:Loopback,0,0 S16_LE 48000 Hz stereo")
            #expect(record.outputs["status"]?.contains("state: RUNNING") == true)
            #expect(record.seams.count == 2 && record.seams.allSatisfy { $0.isClean }, "\(record.seams)")
            #expect(record.wrongHolds(from: .seconds(1)) == [])
        }

        @Test func `the sound card is pulled out and put back, and the picture does not care`() async throws {
            let machine = Machine { ($0.time, $0.recordsSound) = (.free, false) }
            let driver = "/sys/bus/platform/drivers/snd_aloop"
            let record = try await Bed.run("card lost", for: .seconds(12), playing: [clip], on: machine) { at in
                at(2.5, .shell("echo snd_aloop.0 >\(driver)/unbind"), "pulled")
                at(6, .shell("echo snd_aloop.0 >\(driver)/bind"), "card")
                at(9, .shell("cat /proc/asound/Loopback/pcm0p/sub0/status"), "status")
            }
            expectLog(record, "sound lost: ", "audio: hw:Loopback,0,0 S16_LE 48000 Hz stereo")
            #expect(record.outputs["status"]?.contains("state: RUNNING") == true)
            #expect(record.seams.count == 2 && record.seams.allSatisfy { $0.isClean }, "\(record.seams)")
            #expect(record.wrongHolds == [])
        }

        @Test func `another program holds the sound card for a while`() async throws {
            let record = try await Bed.run("card in use", for: .seconds(7), playing: [clip], on: machine) { at in
                at(-0.2, .shell("timeout 2 aplay -q -D hw:Loopback,0,0 -f S16_LE -r 48000 -c 2 /dev/zero"))
            }
            expectLog(record, "hw:Loopback,0,0 is in use by aplay", "audio: hw:Loopback,0,0 S16_LE 48000 Hz stereo")
            let sound = try #require(record.sound)
            #expect(sound[.zero..<(.seconds(1.5))].isSilent && !sound[.seconds(5)..<(.seconds(6))].isSilent)
            #expect(sound.tone?.phaseJumps == [])
        }

        /// A folder without files and a file that is no film leave neither the console nor a black screen. The screen shows the fallback,
        /// its marks in the corners; without a fallback, it shows the background, in one colour.
        @Test(arguments: [true, false]) func `nothing can be played`(hasFallback: Bool) async throws {
            let picture = try BedGallery.path("corners.png")
            let configuration = KioskConfiguration(
                display: "background = \"#2080a0\"\ngravity = \"stretch\"", playback: hasFallback ? "fallback = \"\(picture)\"" : "",
                playlist: ["source = \"/proc/self/task/nothing\"", "source = \"/etc/hostname\""])
            let machine = Machine { ($0.time, $0.recordsSound) = (.free, false) }
            let record = try await Bed.run(
                "nothing to play, \(hasFallback ? "fallback" : "background")", for: .seconds(8), .kiosk(configuration), on: machine
            ) { at in
                at(6, .screenshot(), "seen")
                at(7.5, .screenshot(), "still seen")
            }
            let seen = try #require(record.screenshots["seen"])
            if hasFallback {
                for (x, y, mark) in [(6, 6, 0), (1273, 6, 1), (1273, 713, 2), (6, 713, 3)] {
                    #expect(seen[x, y].isLike(Geometry.marks[mark]), "\(x), \(y): \(seen[x, y])")
                }
            } else {
                #expect(seen.isUniform && seen[640, 360].isLike(Geometry.background, within: 2), "\(seen[640, 360])")
            }
            #expect(record.screenshots["still seen"] == seen)
            expectLog(record, "/etc/hostname")
            #expect(record.status == 0)
        }

        /// Expects the player to have logged each of these texts.
        private func expectLog(_ record: Record, _ texts: String..., sourceLocation: SourceLocation = #_sourceLocation) {
            for text in texts {
                #expect(record.log.contains { $0.text.contains(text) }, "it never said: \(text)", sourceLocation: sourceLocation)
            }
        }
    }
}
