import Bed
import TestSupport
import Testing

@testable import KioskControlsCore

extension BedTests {
    /// Fingers on the controls on the screen, in virtual time for exact expectations.
    @Suite struct OnScreen {
        private let lift = Duration.milliseconds(60)
        private let x = OnScreenStage.beside.0, y = OnScreenStage.beside.1

        @Test(arguments: [2, 0]) func `a tap pauses and shows the controls, another plays, and three seconds later they are gone`(
            overlays: Int
        ) async throws {
            let stage = try OnScreenStage(overlays: overlays)
            let record = try await stage.run("tap", for: 14) { at in
                at(3, .tap(x, y), "pause")
                at(8, .tap(x, y), "play")
            }
            let (pause, play) = (record.time(of: "pause") + lift, record.time(of: "play") + lift)
            try expectPause(record, from: pause, to: play)
            let covered = record.covered
            let shown = try #require(covered.first)
            #expect(covered.count == 1, "\(covered)")
            // They fade in over a quarter of a second.
            #expect(shown.lowerBound > pause && shown.lowerBound - pause <= record.period * 4)
            let hidden = shown.upperBound - play
            #expect(hidden > .seconds(3) && hidden <= .seconds(3.25) + record.period * 3, "they were gone after \(hidden)")
            let whole = record.vblanks.filter { $0.time > pause + .seconds(0.5) && $0.time < play + .seconds(2.9) }
            #expect(whole.count > 400 && whole.allSatisfy { $0.overlays.isEmpty == (overlays == 0) })
            // Hidden controls take nothing: there is one plane, and one commit for each frame.
            let after = record.vblanks.filter { $0.time > shown.upperBound + .milliseconds(100) && $0.time < .seconds(13.8) }
            #expect(after.allSatisfy { $0.planes.count == 1 })
            let commits = after.filter { $0.commits > 0 }.map(\.sequence)
            #expect(commits.count > 50 && zip(commits, commits.dropFirst()).allSatisfy { $1 - $0 == 2 })
            #expect(record.statistics?.dropped == 0 && record.statistics?.late == 0)
        }

        @Test(arguments: Proof.some([0, 2])) func `a hundred times the controls come and go, and no vblank is missed`(
            overlays: Int
        ) async throws {
            let stage = try OnScreenStage(overlays: overlays)
            let record = try await stage.run("hundred", for: 75.5, input: Self.keys) { at in
                for count in 0..<100 {
                    at(4 + 0.71 * Double(count), .key(.f1), "show \(count)")
                    at(4.4 + 0.71 * Double(count), .key(.f2), "hide \(count)")
                }
            }
            let covered = record.covered
            #expect(covered.count == 100)
            for (count, stretch) in covered.enumerated() {
                let (show, hide) = (record.time(of: "show \(count)"), record.time(of: "hide \(count)"))
                #expect(stretch.lowerBound > show && stretch.lowerBound - show <= record.period * 4, "\(count): \(stretch)")
                let gone = stretch.upperBound - hide
                #expect(gone > .milliseconds(200) && gone <= .milliseconds(250) + record.period * 3, "\(count): \(stretch)")
            }
            let whole = record.vblanks.filter { vblank in
                covered.contains { $0.lowerBound + .milliseconds(300)..<$0.upperBound - .milliseconds(300) ~= vblank.time }
            }
            #expect(whole.allSatisfy { $0.overlays.isEmpty == (overlays == 0) })
            expectNothingMissed(record)
        }

        /// The same in the host's time: drawing, blending and uploading take time, too.
        @Test(.thorough("real time"), arguments: [2, 0]) func `nor is one in real time`(overlays: Int) async throws {
            let stage = try OnScreenStage(overlays: overlays) { ($0.time, $0.measuresHost) = (.real, true) }
            let record = try await stage.run("twelve", for: 13.5, input: Self.keys) { at in
                for count in 0..<12 {
                    at(4 + 0.71 * Double(count), .key(.f1))
                    at(4.4 + 0.71 * Double(count), .key(.f2))
                }
            }
            #expect(record.covered.count >= 12)
            expectNothingMissed(record)
        }

        static let keys = "[input.keys]\nf1 = \"show-controls\"\nf2 = \"hide-controls\""

        private func expectNothingMissed(_ record: Record, sourceLocation: SourceLocation = #_sourceLocation) {
            #expect(record.wrongHolds(from: .seconds(2)) == [], sourceLocation: sourceLocation)
            let seams = record.seams.filter { $0.first.time > .seconds(2) }
            #expect(seams.count >= 4 && seams.allSatisfy(\.isClean), "\(seams.filter { !$0.isClean })", sourceLocation: sourceLocation)
            let told = record.statistics
            #expect(told?.late == 0 && told?.dropped == 0 && told?.flipsLost == 0, "\(told as Any)", sourceLocation: sourceLocation)
        }

        /// The pressed look of the disc in the middle. The picture stands still, so any change is the answer.
        @Test(arguments: Proof.some([(2, Machine.Time.free), (0, .free), (2, .real), (0, .real)], 2))
        func `what is touched looks pressed within two vblanks`(overlays: Int, time: Machine.Time) async throws {
            let stage = try OnScreenStage(overlays: overlays) { ($0.time, $0.measuresHost) = (time, time == .real) }
            let disc = try #require(OnScreenStage.layout().discs[.playPause])
            let count = time == .real ? 12 : 60
            let record = try await stage.run("pressed", for: 5 + 1.1 * Double(count)) { at in
                at(3, .tap(x, y), "pause")
                for press in 0..<count {
                    // The presses come at every moment of a vblank period.
                    let begin = 4 + 1.1 * Double(press) + 0.0167 * Double(press) / Double(count)
                    at(begin, .down(disc.x, disc.y), "\(press)")
                    at(begin + 0.08, .up(), "lift \(press)")
                    at(begin + 0.5, .tap(disc.x, disc.y))
                }
            }
            let downs = try (0..<count).map { try #require(record.change(after: record.time(of: "\($0)")), "\($0)") }
            let spread = Spread(downs)
            print("touch to vblank, \(overlays) overlay planes, \(time) time: \(spread)")
            #expect(spread.percentile(50) <= record.period * 2 && spread.percentile(99) <= record.period * 2, "\(spread)")
            // The lift resumes playback: the frame that stood has the rest of its time first.
            for press in 0..<count {
                let lifted = record.time(of: "lift \(press)")
                let next = try #require(record.frames.first { $0.time > lifted })
                #expect(next.time - lifted <= record.period * 4, "\(press)")
            }
        }

        @Test(arguments: [2, 0])
        func `a finger on the slider shows key frames, and where it lifts is the next frame that is seen`(overlays: Int) async throws {
            let clip = try OnScreenStage.clip("wide-long", frames: 300)
            let stage = try OnScreenStage(overlays: overlays, clip: clip)
            let slider = try #require(OnScreenStage.layout().slider)
            let length = slider.right - slider.left
            let places = [0.2, 0.71, 0.333].map { slider.left + Int($0 * Double(length)) }
            let record = try await stage.run("scrub", for: 12) { at in
                at(1.5, .tap(x, y), "pause")
                at(2.5, .drag(from: (places[0], slider.y), to: (places[1], slider.y), over: .seconds(1), stays: .seconds(0.5)), "drag")
                at(5.5, .tap(x, y), "play")
                at(7, .drag(from: (places[1], slider.y), to: (places[2], slider.y), over: .seconds(0.5), stays: .seconds(1)), "playing")
            }
            func frame(at place: Int) -> ClosedRange<Int> {
                let number = 1 + Int(slider.fraction(at: Double(place)) * Double(clip.numbers.count))
                return number - 1...number + 1
            }
            // Paused: key frames during the drag, and the exact frame at the lift. That frame stands.
            let down = record.time(of: "drag"), up = down + .seconds(1.5), play = record.time(of: "play") + lift
            let dragged = record.numbers(from: down + .milliseconds(30), to: up)
            #expect(dragged.count >= 6 && dragged.allSatisfy { ($0 - 1) % 15 == 0 }, "\(dragged)")
            #expect(zip(dragged, dragged.dropFirst()).allSatisfy { $0 < $1 }, "\(dragged)")
            let landed = record.numbers(from: up, to: play + .milliseconds(10))
            #expect(landed.count == 1 && frame(at: places[1]).contains(landed[0]), "\(landed), expected about \(frame(at: places[1]))")
            try expectPause(record, from: up + .seconds(0.3), to: play)

            // Playing: the item waits for the finger and goes on from the place of the lift. No frame comes in between, and none of the old
            // place.
            let again = record.time(of: "playing"), lifted = again + .seconds(1.5)
            let held = record.numbers(from: again + .milliseconds(50), to: lifted)
            #expect(held.allSatisfy { ($0 - 1) % 15 == 0 } && held.count >= 5, "\(held)")
            let onwards = record.numbers(from: lifted, to: .seconds(11.5))
            let first = try #require(onwards.first)
            #expect(frame(at: places[2]).contains(first), "\(first), expected about \(frame(at: places[2]))")
            // The first frame may stand until enough is decoded ahead; then none is left out.
            let playing = onwards.dropFirst()
            #expect(playing.first == first + 1, "\(onwards)")
            #expect(playing.count > 60 && zip(playing, playing.dropFirst()).allSatisfy { $1 == $0 + 1 }, "\(onwards)")
            #expect(record.frames.allSatisfy { $0.vblanksBefore == 0 || $0.time < .milliseconds(200) }, "it was dark in between")
            let told = try #require(record.statistics)
            #expect(told.dropped == 0 && told.late == 0, "\(told)")
        }

        @Test func `with scrub-plays the item goes on beneath the finger`() async throws {
            let clip = try OnScreenStage.clip("wide-long", frames: 300)
            let slider = try #require(OnScreenStage.layout().slider)
            let place = slider.left + (slider.right - slider.left) / 2
            let record = try await OnScreenStage(clip: clip).run("scrub plays", for: 7, input: "scrub-plays = true") { at in
                at(1, .tap(x, y))
                at(1.5, .tap(x, y))
                at(2.5, .drag(from: (place, slider.y), to: (place, slider.y), over: .seconds(0.1), stays: .seconds(2)), "hold")
            }
            let down = record.time(of: "hold")
            let held = record.numbers(from: down + .seconds(0.3), to: down + .seconds(2))
            #expect(held.count > 30 && zip(held, held.dropFirst()).allSatisfy { $1 == $0 + 1 }, "\(held)")
            let expected = 1 + Int(slider.fraction(at: Double(place)) * 300)
            let after = record.numbers(from: down + .seconds(2.1), to: down + .seconds(3))
            #expect(after.contains { abs($0 - expected) <= 1 }, "\(after), expected \(expected)")
        }

        @Test func `two taps in the outer thirds seek, and it plays on`() async throws {
            let clip = try OnScreenStage.clip("wide-long", frames: 300)
            let record = try await OnScreenStage(clip: clip).run("double tap", for: 8, playback: "seek-step = 2") { at in
                at(2, .doubleTap(1200, y), "right")
                at(5, .doubleTap(80, y), "left")
            }
            for (name, frames) in [("right", 60), ("left", -60)] {
                let jump = try #require(record.jump(after: name), "\(name) led nowhere")
                #expect(abs(jump.to - jump.from - frames) <= 2, "\(name): \(jump)")
                let after = record.time(of: name) + .seconds(0.6)
                let numbers = record.numbers(from: after, to: after + .seconds(1))
                #expect(numbers.count >= 28 && zip(numbers, numbers.dropFirst()).allSatisfy { $1 == $0 + 1 }, "\(name): \(numbers)")
            }
        }

        @Test func `two fingers mute, the right edge is the volume, and a toast says so while it plays on`() async throws {
            let record = try await OnScreenStage().run("sound", for: 13, audio: "volume = 50") { at in
                at(3, .twoFingerTap((500, 250), (700, 260)), "mute")
                at(6, .twoFingerTap((500, 250), (700, 260)), "sound")
                at(8.5, .swipe(from: (1270, 450), to: (1270, 250), over: .seconds(0.5)), "up")
                at(11, .key(.volumeDown), "down")
            }
            let sound = try #require(record.sound)
            func peak(_ time: Double) -> Double { Double(sound[.seconds(time)..<(.seconds(time + 0.1))].peak) }
            #expect(peak(2) > 0 && peak(4) == 0 && abs(peak(7) / peak(2) - 1) < 0.05)
            #expect(peak(10) > 1.5 * peak(7), "\(peak(10)), \(peak(7))")
            #expect(peak(12) < peak(10) && peak(12) > peak(7))
            #expect(record.wrongHolds(from: .seconds(2)) == [] && record.statistics?.late == 0, "it played on")
            for name in ["mute", "sound", "up", "down"] {
                let time = record.time(of: name)
                let toast = record.covered.first { $0.upperBound > time }
                #expect(toast.map { $0.lowerBound > time && $0.lowerBound - time < .seconds(0.7) } == true, "\(name): \(record.covered)")
            }
        }

        /// Replays recordings of each kind of device, each by such a device that the test plugs in.
        @Test(arguments: Recording.Device.allCases) func `a tap and a swipe of every kind of device`(device: Recording.Device) async throws
        {
            let clip = try OnScreenStage.clip("wide-long", frames: 300)
            let stage = try OnScreenStage(clip: clip) { $0.hasTouchScreen = false }
            let record = try await stage.run("device \(device.rawValue)", for: 9, playback: "seek-step = 2") { at in
                at(1.5, .replay(Recording("tap", by: device, [.init(0, 0.08, at: (0.05, 0.35))])), "pause")
                at(3.5, .replay(Recording("tap", by: device, [.init(0, 0.08, at: (0.05, 0.35))])), "play")
                at(5.5, .replay(Recording("swipe", by: device, [.init(0, 0.25, at: (0.25, 0.35), to: (0.45, 0.36))])), "swipe")
            }
            // The device sends 0.4 s after it is plugged in, and the finger is down for 0.08 s.
            let lifted = Duration.milliseconds(480)
            try expectPause(record, from: record.time(of: "pause") + lifted, to: record.time(of: "play") + lifted)
            let jump = try #require(record.jump(after: "swipe"))
            #expect(abs(jump.to - jump.from - 60) <= 2, "\(jump)")
        }

        @Test(arguments: [Recording.Device.slots, .contacts]) func `two fingers of every kind of device`(
            device: Recording.Device
        ) async throws {
            let stage = try OnScreenStage { $0.hasTouchScreen = false }
            let fingers = [Recording.Stroke(0, 0.08, at: (0.4, 0.35)), .init(0.02, 0.09, at: (0.6, 0.36))]
            let record = try await stage.run("fingers \(device.rawValue)", for: 5) { at in
                at(2, .replay(Recording("two", by: device, fingers)), "mute")
            }
            let sound = try #require(record.sound)
            #expect(sound[.seconds(1)..<(.seconds(1.5))].peak > 0 && sound[.seconds(3)..<(.seconds(4))].peak == 0)
            #expect(record.wrongHolds(from: .seconds(1)) == [], "neither finger was a tap")
        }

        @Test(arguments: ["tap-only", "none"]) func `without controls a tap pauses all the same`(controls: String) async throws {
            let record = try await OnScreenStage().run(controls, for: 8, input: "controls = \"\(controls)\"") { at in
                at(3, .tap(x, y), "pause")
                at(5, .tap(x, y), "play")
                at(6.5, .key(.volumeDown))
            }
            let (pause, play) = (record.time(of: "pause") + lift, record.time(of: "play") + lift)
            try expectPause(record, from: pause, to: play)
            let covered = record.covered
            if controls == "none" {
                #expect(covered == [])
            } else {
                // Each tap shows a sign for a moment.
                #expect(
                    covered.count == 2
                        && zip(covered, [pause, play]).allSatisfy { sign, tap in
                            sign.lowerBound - tap <= record.period * 2 && sign.upperBound - tap < .seconds(1.2)
                        }, "\(covered)")
            }
        }

        /// A server sends the first half of eight seconds, and the other half 7.5 s later. Playback stalls for about three seconds.
        @Test func `a wheel turns where it waits for longer than half a second`() async throws {
            let clip = try OnScreenStage.clip("wide")
            let url = "http://127.0.0.1:8080/x.ts"
            let record = try await OnScreenStage().run("waiting", for: 10, clips: [clip], playlist: ["source = \"\(url)\""]) { at in
                let file = "/dev/shm/x.ts"
                let stream = "ffmpeg -v quiet -stream_loop 3 -i '\(clip.path)' -c copy -f mpegts \(file)"
                let source = "exec 3<\(file); dd bs=$(($(stat -c %s \(file)) / 2)) count=1 <&3; sleep 7.5; cat <&3"
                let copy = "-f data -blocksize 188 -i - -map 0 -c copy -f data"
                let server = "timeout 20 ffmpeg -v quiet -probesize 32 \(copy) -listen 1 \(url)"
                at(-1.5, .shell("\(stream); (\(source)) 2>/dev/null | \(server)"))
            }
            let frames = record.frames
            let stall = try #require(frames.first { $0.vblanks > 60 && $0.time > .seconds(1) }, "it did not wait")
            let end = stall.time + record.period * stall.vblanks
            let wheel = try #require(record.covered.first { $0.upperBound > stall.time })
            let delay = wheel.lowerBound - stall.time
            #expect(delay > .seconds(0.4) && delay < .seconds(0.8), "the wheel came after \(delay)")
            #expect(wheel.upperBound - end < .seconds(0.4))
            // The wheel turns.
            let turning = record.vblanks.filter { $0.time > wheel.lowerBound + .seconds(0.3) && $0.time < end - .seconds(0.1) }
            #expect(Set(turning.map(\.hash)).count > 3 || Set(turning.map { $0.overlays.map(\.framebuffer) }).count > 1)
        }
    }
}
