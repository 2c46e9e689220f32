import Glibc
import KioskPlatform
import KioskVocabulary
import TestSupport
import Testing

@testable import KioskPlayback

/// A player whose decoders die every few minutes, for days: the whole engine in simulated time, with the real ``CrashRecord``. The display
/// and the clips are slow, to limit the arithmetic of a week.
@Suite struct CrashWeekTests {
    private struct Watched {
        var shown = 0, playthroughs = 0, cleanSeams = 0
        var brokenPlaythroughs = 0, begunBehind = 0
        var longestHold = 0.0, holdsBeyond = 0
        var silent = 0
        /// The first five sights that no death explains.
        var wrong: [String] = []

        private var last: (shown: Outcome.Shown, picture: SimulatedMedia.Picture, clip: Int, duration: Double)?

        mutating func see(
            _ shown: Outcome.Shown, _ picture: SimulatedMedia.Picture, _ clip: Int, of edges: [Double], silent samples: Int, period: Double
        ) {
            self.shown += 1
            silent += samples
            let duration = edges[picture.frame + 1] - edges[picture.frame]
            defer { last = (shown, picture, clip, duration) }
            guard let last, last.shown.number != shown.number else { return }
            let hold = shown.time - last.shown.time
            longestHold = max(longestHold, hold - last.duration)
            if hold > last.duration + 0.3 { holdsBeyond += 1 }
            if last.picture.reading == picture.reading {
                if picture.frame != last.picture.frame + 1 { complain("\(last.picture) is followed by \(picture) at \(shown.time) s") }
                return
            }
            playthroughs += 1
            let isWhole = edges.count > 0 && wasLast
            if !isWhole { brokenPlaythroughs += 1 }
            if picture.frame != 0 { begunBehind += 1 }
            if isWhole, picture.frame == 0, abs(hold - last.duration) < 0.5 * period { cleanSeams += 1 }
        }

        /// Whether the picture before was the last of its clip; the caller sets it.
        var wasLast = false

        private mutating func complain(_ text: String) { if wrong.count < 5 { wrong.append(text) } }
    }

    private static func clip(_ seconds: Int) -> Scenario.Clip { .init(edges: (0...seconds * 2).map { Double($0) / 2 }, rate: 2) }

    // make test-all runs a whole week, half an hour of arithmetic in a debug build; make test runs some hours.
    @Test func aWeek() {
        let days = Proof.isThorough ? 7.0 : 0.1
        var scenario = Scenario(seed: 5, seconds: days * 86_400, clips: [7, 11, 20, 5].map(Self.clip))
        (scenario.refreshRate, scenario.displayError, scenario.sampleRate) = (4, 120, 200)
        (scenario.cardPeriod, scenario.cardPeriods, scenario.cardError) = (20, 4, -80)
        scenario.deaths = .init(interval: 60...400, shareOfOpenings: 0.25, badPicture: (clip: 3, frame: 6))
        let clips = scenario.clips
        var watched = Watched()
        var frame = 0, count = 1, hours = 0.0
        let outcome = SimulatedPlayback.run(scenario) { shown, picture, reading, _, silent in
            watched.wasLast = frame == count - 1
            let edges = clips[reading.clip].edges
            watched.see(shown, picture, reading.clip, of: edges, silent: silent, period: scenario.refreshPeriod)
            (frame, count) = (picture.frame, clips[reading.clip].count)
            // The runner takes a test that is silent for long for a hang.
            if shown.time >= (hours + 6) * 3600 {
                hours += 6
                print("after \(Int(hours)) hours: \(watched.playthroughs) playthroughs")
                fflush(nil)
            }
        }
        #expect(outcome.violations == [])
        #expect(watched.wrong == [])
        let (deaths, openings) = (outcome.deaths.inMiddle, outcome.deaths.atOpening)
        // A death every few minutes, and those of the bad clip.
        #expect(deaths > Int(300 * days) && openings > Int(60 * days))
        // Each death costs the rest of its own clip, and nothing else.
        #expect(watched.brokenPlaythroughs <= deaths && watched.brokenPlaythroughs > 0)
        #expect(watched.begunBehind > 0 && watched.begunBehind <= deaths)
        #expect(watched.holdsBeyond == 0, "the longest hold is \(watched.longestHold) s longer than its picture")
        // Every other seam is clean.
        #expect(watched.cleanSeams >= watched.playthroughs - 2 * deaths - openings, "\(watched)")
        #expect(outcome.snapshot?.status == .playing)
        #expect(outcome.snapshot?.statistics.framesDropped == 0 && outcome.snapshot?.statistics.framesLate == 0)
        // The engine decodes no further ahead than the limit.
        #expect(outcome.mostFrames <= 30)
    }
}
