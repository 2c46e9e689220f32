import Bed
import TestSupport
import Testing

extension BedTests {
    /// Keys and fingers, in virtual time for exact expectations.
    @Suite struct Controls {
        let clip: NumberedClip
        let other: NumberedClip
        let machine = Machine { $0.time = .free }

        init() throws {
            clip = try BedGallery.clip("a", frames: 150, frameRate: 30)
            other = try BedGallery.clip("b", frames: 150, from: 1001, frameRate: 30)
        }

        @Test func `space and a tap pause, and play on with the next frame and the next sample`() async throws {
            let record = try await Bed.run("pause", for: .seconds(7), playing: [clip], on: machine) { at in
                at(1.5, .key(.space), "pause")
                at(2.0, .screenshot(), "paused")
                at(2.8, .screenshot(), "still paused")
                at(3.0, .key(.space), "play")
                at(4.5, .tap(640, 360), "tap")
                at(5.5, .tap(640, 360), "second tap")
            }
            let sound = try #require(record.sound)
            for (pause, play) in [("pause", "play"), ("tap", "second tap")] {
                let times = (record.time(of: pause), record.time(of: play))
                // A tap is recognised when the finger lifts.
                let lift: Duration = pause == "tap" ? .milliseconds(60) : .zero
                #expect(try #require(record.response(to: pause)) <= lift + .milliseconds(34))
                #expect(try #require(record.response(to: play)) <= lift + .milliseconds(34))
                let stood = try #require(record.frames.last { $0.time < times.1 })
                let next = try #require(record.frames.first { $0.time > times.1 })
                #expect(next.number == stood.number + 1 && next.vblanksBefore == 0)

                let around = sound[times.0 - .seconds(1)..<times.1 + .seconds(1)]
                let hole = try #require(around.holes.first)
                #expect(around.holes.count == 1)
                #expect(hole.start - times.0 < lift + .milliseconds(30))
                let whole = try #require(around.cutting(hole).tone)
                #expect(whole.phaseJumps == [] && whole.clicks == [], "a sample is missing or doubled where the pause was")
            }
            #expect(record.screenshots["paused"] != nil && record.screenshots["paused"] == record.screenshots["still paused"])
        }

        @Test(.thorough("real time")) func `fingers and keys are answered at once`() async throws {
            // In the host's time: the time of the code is part of the answer.
            let record = try await Bed.run("answers", for: .seconds(7), playing: [clip, other], on: .measured) { at in
                at(2.0, .key(.space), "pause")
                at(2.6, .key(.space), "play")
                at(3.2, .tap(640, 360), "tap")
                at(3.8, .tap(640, 360), "second tap")
                at(4.6, .key(.n), "next")
                at(5.6, .key(.p), "previous")
            }
            let lift = Duration.milliseconds(60)
            let period = Duration.seconds(1 / record.refreshRate)
            // The frame that a pause has cut short first stands for the rest of its time.
            let frame = period * 2
            for (event, before) in [("pause", .zero), ("play", frame), ("tap", lift), ("second tap", lift + frame)] {
                #expect(try #require(record.response(to: event)) - before <= period * 2.25, "\(event)")
            }
            // The player has to open the other item. The limit is half of ffmpeg's time from exec to the first frame in the same guest.
            let reference = try #require(record.host?.firstFrame)
            for (event, first) in [("next", 1001), ("previous", 1)] {
                let jump = try #require(record.jump(after: event))
                #expect(jump.to == first && jump.time < reference / 2, "\(event): \(jump), ffmpeg \(reference)")
            }
        }

        @Test func `arrows and swipes seek by steps, within the item`() async throws {
            let configuration = KioskConfiguration(playback: "seek-step = 1")
            let record = try await Bed.run("seek", for: .seconds(8), playing: [clip], .kiosk(configuration), on: machine) { at in
                at(1.0, .key(.right), "right")
                at(2.0, .key(.left), "left")
                at(3.0, .swipe(from: (300, 360), to: (556, 360)), "swipe to the right")
                at(3.6, .swipe(from: (900, 360), to: (308, 360)), "long swipe to the left")
                at(5.0, .key(.home), "home")
                at(5.5, .key(.left), "left at the beginning")
                for step in 1...4 { at(5.5 + 0.2 * Double(step), .key(.right), "right \(step)") }
                at(6.4, .key(.right), "right at the end")
            }
            let expected = [
                ("right", 30), ("left", -30), ("swipe to the right", 30), ("long swipe to the left", -60), ("right 1", 30), ("right 2", 30),
                ("right 3", 30), ("right 4", 30),
            ]
            for (event, frames) in expected {
                let jump = try #require(record.jump(after: event), "\(event) led nowhere")
                #expect((frames...frames + 1).contains(jump.to - jump.from), "\(event): \(jump)")
            }
            #expect(record.jump(after: "home")?.to == 1)
            #expect(record.jump(after: "left at the beginning")?.to == 1)
            #expect(record.jump(after: "right at the end")?.to == 150)
            let last = try #require(record.frames.last { $0.number == 150 && $0.time > record.time(of: "right at the end") })
            let first = try #require(record.frames.first { $0.time > last.time })
            #expect(first.number <= 3 && first.vblanksBefore == 0, "after the last frame the clip begins again")
            #expect(record.frames.allSatisfy { $0.vblanksBefore == 0 || $0.time < .milliseconds(100) }, "it was dark in between")
        }

        @Test func `next and previous change the item`() async throws {
            let record = try await Bed.run("items", for: .seconds(6), playing: [clip, other], on: machine) { at in
                at(1.0, .key(.n), "next")
                at(2.0, .key(.pageDown), "next, round the end of the playlist")
                at(3.0, .key(.p), "previous, round its beginning")
                at(4.0, .key(.pageUp), "previous")
                at(5.0, .key(.home), "restart")
            }
            var slowest = Duration.zero
            for (event, first) in zip(record.events, [1001, 1, 1001, 1, 1]) {
                let name = try #require(event.name)
                let jump = try #require(record.jump(after: name), "\(name) led nowhere")
                #expect(jump.to == first && jump.time <= .milliseconds(34), "\(name): \(jump)")
                slowest = max(slowest, jump.time)
            }
            // The player counts from the kernel's time of the key to the flip, and gets the same.
            let counted = try #require(record.statistics?.inputLatency, "the kernel's time of an event does not reach the player")
            #expect(abs(slowest / .milliseconds(1) - Double(counted.most)) <= 2, "\(counted), and \(slowest) on the display")
            #expect(record.frames.dropFirst().allSatisfy { $0.vblanksBefore == 0 })
        }

        @Test func `volume and mute are heard`() async throws {
            let record = try await Bed.run("volume", for: .seconds(6), playing: [clip], on: machine) { at in
                for step in 0..<10 { at(1 + 0.1 * Double(step), .key(.down), "down \(step)") }
                at(3, .key(.mute), "mute")
                at(4, .key(.m), "sound")
                at(5, .key(.volumeUp), "up")
            }
            let sound = try #require(record.sound)
            func peak(_ time: Double) -> Double { Double(sound[.seconds(time)..<(.seconds(time + 0.04))].peak) }
            // Amplitude is the cube of the volume. The tenth of a second in the card's buffer keeps its old loudness.
            for (time, volume) in [(1.14, 0.95), (1.24, 0.9), (1.34, 0.85), (2.5, 0.5), (4.5, 0.5), (5.5, 0.55)] {
                #expect(abs(peak(time) / peak(0.5) / (volume * volume * volume) - 1) < 0.1, "at \(time) s it is \(peak(time))")
            }
            #expect(peak(3.5) == 0)
            #expect(sound.tone?.clicks == [], "changes are ramped")
        }
    }
}
