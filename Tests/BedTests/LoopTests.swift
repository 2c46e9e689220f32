import Bed
import TestSupport
import Testing

extension BedTests {
    /// At least thirty loops (twelve in make test) at every rate on both refresh rates, of items of every kind. A viewer sees no seam.
    @Suite struct Loops {
        static let rates = [(60, 24), (60, 25), (60, 30), (60, 50), (60, 60), (50, 24), (50, 25), (50, 30), (50, 50), (50, 60)]

        @Test(arguments: rates)
        func `an item alone`(refresh: Int, rate: Int) async throws {
            try await expectNobodyCanTell("\(rate) on \(refresh)", try [clip("loop", rate, from: 1)], refresh)
        }

        @Test(arguments: rates)
        func `two items in turn`(refresh: Int, rate: Int) async throws {
            let clips = try [clip("loop", rate, from: 1), clip("other", rate, from: 1001)]
            let record = try await expectNobodyCanTell("two \(rate) on \(refresh)", clips, refresh)
            #expect(record.seams.allSatisfy { ($0.first.number < 1000) != ($0.last.number < 1000) })
        }

        private func clip(_ name: String, _ rate: Int, from first: Int) throws -> NumberedClip {
            try BedGallery.clip("\(name)\(rate)", frames: rate, from: first, frameRate: Double(rate))
        }

        @discardableResult
        private func expectNobodyCanTell(_ name: String, _ clips: [NumberedClip], _ refresh: Int) async throws -> Record {
            // The display is small because there are many runs, and its 60 Hz are not 59.94.
            let machine = Machine { ($0.time, $0.mode) = (.free, Machine.Mode(width: 848, height: 480, refresh: refresh)) }
            let configuration = KioskConfiguration(display: "gravity = \"stretch\"")
            // The run ends in mid-loop: a seam on its way at the end is seen, but no longer counted.
            let turns = Proof.isThorough ? 30 : 12
            let record = try await Bed.run(
                name, for: .seconds(Double(turns) + 2.6), playing: clips, .kiosk(configuration), on: machine)
            #expect(abs(record.refreshRate / Double(refresh) - 1) < 0.002)
            #expect(record.seams.count >= turns)
            let sound = try #require(record.sound)
            let tone = try #require(sound.tone)
            // The sound follows the display, by at most an eighth of a per cent.
            #expect(abs(tone.frequency - 440) < 440 * 0.00125)
            #expect(tone.phaseJumps == [] && tone.clicks == [] && sound.holes == [])
            // Both channels are the same, except for the losses of a codec.
            #expect(sound.largestDifference < sound.peak / 50, "\(sound.largestDifference) of \(sound.peak)")
            expectCountsToAgree(record)
            let told = try #require(record.statistics)
            if clips[0].frameRate > Double(refresh) {
                // At 50 Hz, the player must drop a sixth of 60 frames a second, sometimes the last or the first.
                #expect(record.seams.filter { $0.darkVblanks > 0 || $0.latePresents > 0 || $0.lostFrames > 1 } == [])
                #expect(abs(told.dropped - told.shown / 5) <= 2)
                let frames = record.frames.dropFirst(2).dropLast()
                let steps = zip(frames, frames.dropFirst()).map { $1.number - $0.number }
                #expect(frames.allSatisfy { $0.vblanks == 1 } && steps.allSatisfy { $0 <= 2 || $0 > 900 })
            } else {
                #expect(record.seams.filter { !$0.isClean } == [])
                #expect(record.wrongHolds == [])
                #expect(told.late == 0 && told.dropped == 0)
            }
            return record
        }

        @Test(arguments: [60, 50])
        func `ten items that have nothing in common`(refresh: Int) async throws {
            let clips = try [
                ("mix-1.mp4", 30.0), ("mix-2.webm", 25), ("mix-3.mkv", 24000.0 / 1001), ("mix-4.ts", 25), ("mix-5.mp4", 60),
                ("mix-6.mp4", 50),
                ("mix-7.mov", 24), ("mix-8.mkv", 15), ("mix-9.mp4", 30000.0 / 1001), ("mix-10.mp4", 30),
            ].enumerated().map { index, clip in
                NumberedClip(
                    try BedGallery.path(clip.0), frames: Int(clip.1.rounded()), from: 1000 * (index + 1) + 1, frameRate: clip.1)
            }
            let machine = Machine { ($0.time, $0.mode.refresh) = (.free, refresh) }
            let configuration = KioskConfiguration(display: "gravity = \"stretch\"")
            let record = try await Bed.run("ten on \(refresh)", for: .seconds(33), playing: clips, .kiosk(configuration), on: machine)
            #expect(record.seams.count >= 30)
            // At 50 Hz, the player must drop a sixth of 60 frames a second, sometimes the last.
            let bad = record.seams.filter { seam in
                !seam.isClean && !(refresh == 50 && seam.lostFrames == 1 && seam.latePresents == 0 && seam.last.number / 1000 == 5)
            }
            #expect(bad == [])
            expectCountsToAgree(record)
            let told = try #require(record.statistics)
            if refresh == 60 { #expect(told.late == 0 && told.dropped == 0) }

            // Check each loop by itself: its frames, and its sound except for both ends, which a codec bends.
            let sound = try #require(record.sound)
            for (first, next) in zip(record.seams, record.seams.dropFirst()).map({ ($0.first, $1.first) }) {
                let clip = clips[first.number / 1000 - 1]
                let frames = record.frames.filter { $0.time >= first.time && $0.time < next.time }
                if clip.frameRate < Double(refresh) {
                    let cadence = Cadence(frameRate: clip.frameRate, refreshRate: record.refreshRate)
                    #expect(cadence.wrongHolds(in: frames) == [], "\(clip.path)")
                }
                let heard = sound[first.time + .milliseconds(30)..<next.time - .milliseconds(30)]
                if clip == clips[4] { #expect(heard.isSilent) }
                for channel in heard.channels where clip != clips[4] {
                    let tone = try #require(channel.tone)
                    // At most an eighth of a per cent; a second of sound gives its frequency to a hundredth of a hertz.
                    #expect(abs(tone.frequency - 440) < 440 * 0.00125 + 0.01, "\(clip.path): \(tone.frequency) Hz")
                    #expect(
                        channel.holes == [] && tone.phaseJumps == [] && tone.clicks == [], "\(clip.path) from \(first.time) on: \(tone)")
                }
            }
            // Check the sound across each seam between two items with sound.
            for seam in record.seams where seam.last.number / 1000 != 5 && seam.first.number / 1000 != 5 {
                let heard = sound[seam.first.time - .milliseconds(100)..<seam.first.time + .milliseconds(100)]
                #expect(heard.holes == [], "\(seam)")
            }
        }

        /// Compares picture and sound by flash and beep, as a person in front of the screen would.
        @Test(arguments: Proof.some([200, -200]))
        func `minutes with a sound card that is off`(partsPerMillion: Int) async throws {
            let clip = try BedGallery.clip("flash-half", frames: 15, frameRate: 30000 / 1001)
            let machine = Machine { ($0.time, $0.mode) = (.free, Machine.Mode(width: 640, height: 480)) }
            let area = Vblank.Rectangle(x: 0, y: 60, width: 640, height: 360)
            let record = try await Bed.run("\(partsPerMillion) ppm", for: .seconds(150), playing: [clip], on: machine, area: area) { at in
                let shift = "iface=PCM,name='PCM Rate Shift 100000',device=1"
                at(-0.2, .shell("amixer -c Loopback cset \"\(shift)\" \(100_000 + partsPerMillion / 10) | tail -n 1"), "shift")
            }
            #expect(record.outputs["shift"]?.contains("values=\(100_000 + partsPerMillion / 10)") == true, "\(record.outputs)")
            #expect(record.wrongHolds == [] && record.seams.filter { !$0.isClean } == [])
            let told = try #require(record.statistics)
            #expect(told.late == 0 && told.dropped == 0)
            #expect(abs(told.soundChange - partsPerMillion) < 30, "the sound makes up for it: \(told.soundChange)")
            let most = try #require(told.synchrony).most
            let offsets = record.offsets(ofFlash: 8, every: 15).map { abs($0) * 1000 }.sorted()
            #expect(offsets.count >= 290)
            let seen = try #require(offsets.dropLast(offsets.count / 100).last)
            #expect(seen <= 20 && most <= 20 && abs(seen - Double(most)) <= 5, "seen \(seen) ms, told \(most) ms")
        }

        /// For a television that delays pictures: `[audio] delay`, and the delay of one card.
        @Test(arguments: [
            (150, "delay = 150"), (-150, "delay = -150"), (500, "delay = 500"), (-500, "delay = -500"),
            (150, "delay = -100\ndelays = { \"usb\" = -200, \"loopback\" = 150 }"),
        ]) func `sound that is to come later, or earlier, than the picture`(delay: Int, audio: String) async throws {
            let clip = try BedGallery.clip("flash-half", frames: 15, frameRate: 30000 / 1001)
            let machine = Machine { ($0.time, $0.mode) = (.free, Machine.Mode(width: 640, height: 480)) }
            let area = Vblank.Rectangle(x: 0, y: 60, width: 640, height: 360)
            let configuration = KioskConfiguration(audio: audio)
            let record = try await Bed.run(
                "delay \(delay)", for: .seconds(16), playing: [clip], .kiosk(configuration), on: machine, area: area)
            #expect(record.wrongHolds == [] && record.seams.filter { !$0.isClean } == [], "\(record.wrongHolds)")
            let told = try #require(record.statistics)
            #expect(told.late == 0 && told.dropped == 0 && record.status == 0)
            let offsets = record.offsets(ofFlash: 8, every: 15).map { $0 * 1000 }
            #expect(offsets.count >= 25)
            // The last flash may have its beep after the end.
            // A flash comes every 15 frames, so a delay of half a second looks like next to none.
            let every = 15 * 1001.0 / 30
            let wrong = offsets.dropLast(2).filter { abs(($0 - Double(delay)).remainder(dividingBy: every)) > 20 }
            #expect(wrong == [], "\(offsets)")
        }
    }
}
