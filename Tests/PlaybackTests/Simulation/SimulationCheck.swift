import KioskMedia
import KioskPlatform
import KioskVocabulary
import Testing

@testable import KioskPlayback

/// Checks what was seen and heard against the rules. This file checks pictures and their order; sound and commands have files of their own.
///
/// A picture or a sample is identified by its number (``SimulatedMedia``), not by the engine's account. A check that finds little to judge
/// fails.
struct SimulationCheck {
    let scenario: Scenario
    let outcome: Outcome
    let location: SourceLocation

    init(_ scenario: Scenario, _ location: SourceLocation = #_sourceLocation) {
        (self.scenario, self.location) = (scenario, location)
        outcome = SimulatedPlayback.run(scenario)
        #expect(outcome.violations == [], sourceLocation: location)
        #expect(outcome.shown.count > 10 && outcome.shown.allSatisfy { outcome.enqueued[$0.number] != nil }, sourceLocation: location)
    }

    var period: Double { scenario.refreshPeriod }
    func place(_ shown: Outcome.Shown) -> FramePlace { outcome.enqueued[shown.number]!.place }
    func generation(_ shown: Outcome.Shown) -> UInt64 { outcome.enqueued[shown.number]!.generation }

    /// Returns the clip of a picture, and the picture's index in it.
    func picture(_ shown: Outcome.Shown) -> (clip: Int, frame: Int) {
        let picture = outcome.pictures[shown.number]!
        return (outcome.readings[picture.reading].clip, picture.frame)
    }

    /// Returns how long an event lasts, in seconds.
    func length(_ event: Scenario.Event) -> Double {
        switch event {
        case .decoderStalls(let seconds), .cardRunsDry(let seconds), .everythingStops(let seconds), .frozen(let seconds): seconds
        case .vblanksLost(let count): Double(count) * period
        case .flipUnreported: 6 * period
        case .vblankDoubled, .vblanksUncounted: 0
        case .display(let isConnected): isConnected ? 0 : 10
        case .command(let command): command == .pause ? 10 : 0
        }
    }

    /// Returns whether nothing has happened for a second; the start counts, too.
    func isQuiet(_ time: Double) -> Bool {
        time > 1
            && scenario.events.allSatisfy { begin, event in
                let end = scenario.events.first { $0.time > begin }.map { min(begin + length(event), $0.time) } ?? begin + length(event)
                return time < begin || time > end + 1
            }
    }

    /// The pictures on the screen, each once. A picture comes again if its overlay has changed.
    var pictures: [Outcome.Shown] {
        zip([nil] + outcome.shown.map { Optional($0) }, outcome.shown).filter { $0?.number != $1.number }.map(\.1)
    }

    /// Consecutive pictures of one generation while nothing happened.
    private var quietPairs: [(Outcome.Shown, Outcome.Shown)] {
        zip(pictures, pictures.dropFirst()).filter { isQuiet($0.time) && isQuiet($1.time) && generation($0) == generation($1) }
    }

    func expectNone<Element>(_ wrong: [Element], _ what: String) {
        #expect(wrong.isEmpty, "\(what): \(wrong.count), first \(wrong.prefix(3))", sourceLocation: location)
    }

    /// Checks the rules that hold for any display and any event.
    func whatAlwaysHolds() {
        order()
        accounts()
        bounds()
        nothingIsLost()
        cadence()
        together()
    }

    /// Later pictures follow earlier ones, and none comes back. (After a reconnect, the display shows the same one again.)
    func order() {
        expectNone(zip(outcome.shown, outcome.shown.dropFirst()).filter { $0.number > $1.number }, "out of order")
    }

    /// The player's statistics match the pictures on the screen.
    func accounts() {
        let told = outcome.snapshot?.statistics
        #expect(told?.framesShown == outcome.shown.count, sourceLocation: location)
        // A seam that began while the display went or was away was not seen.
        let seams = Set(outcome.shown.compactMap { place($0).playthrough?.isSeam == true ? place($0).playthrough?.serial : nil }).count
        let absences = scenario.events.count { if case .display(isConnected: false) = $0.event { true } else { false } }
        #expect(told.map { (seams - 3 * absences...seams).contains($0.seams) } == true, sourceLocation: location)
        // Without a display, frames pass by unseen; none of them counts as dropped.
        if absences == 0 {
            #expect(told?.framesDropped == leftOut, sourceLocation: location)
            #expect(told?.items.values.map(\.framesDropped).reduce(0, +) == leftOut, sourceLocation: location)
        }
    }

    /// The number of pictures that were dropped before one that was seen. Pictures still queued at the end or at a jump do not count.
    private var leftOut: Int {
        let shown = Set(outcome.shown.map(\.number))
        var last: [UInt64: Int] = [:]
        for one in outcome.shown { last[generation(one)] = one.number }
        return outcome.enqueued.count { number, frame in !shown.contains(number) && last[frame.generation].map { number < $0 } ?? false }
    }

    /// The engine decodes ahead as far as the limits allow, and no further.
    func bounds() {
        #expect(outcome.mostFrames <= 30 && outcome.longestQueue < FrameQueue.longest + .milliseconds(200), sourceLocation: location)
        let least = outcome.snapshot?.statistics.leastBuffered
        #expect(
            least.map { $0.frames <= outcome.mostFrames + Pipeline.readyLimit && $0.sound < .seconds(1) } != false, sourceLocation: location
        )
    }

    /// No picture is missing: each is followed by the next one of its clip, and the last by the first of the next clip.
    func nothingIsLost() {
        func isNext(_ next: Outcome.Shown, after shown: Outcome.Shown) -> Bool {
            let (a, b) = (outcome.pictures[shown.number]!, outcome.pictures[next.number]!)
            if a.reading == b.reading { return b.frame == a.frame + 1 }
            let (clip, nextClip) = (outcome.readings[a.reading].clip, outcome.readings[b.reading].clip)
            return a.frame == scenario.clips[clip].count - 1 && nextClip == (clip + 1) % scenario.clips.count && b.frame == 0
        }
        expectNone(quietPairs.filter { !isNext($1, after: $0) }, "left out")
    }

    /// In a fade, the old clip's pictures go on beneath the new clip, from their last place to the clip's end. They give way step by step.
    func fades() {
        var wrong: [(time: Double, what: String)] = []
        var count = 0
        for (shown, next) in zip(outcome.shown, outcome.shown.dropFirst()) {
            guard let beneath = next.underlay, let under = outcome.pictures[beneath.number] else { continue }
            let (before, present) = (outcome.pictures[shown.number]!, outcome.pictures[next.number]!)
            if !(0...1).contains(beneath.share) || under.reading == present.reading { wrong.append((next.time, "mixed with itself")) }
            if let last = shown.underlay, before.reading == present.reading {
                if last.number > beneath.number || last.share > beneath.share { wrong.append((next.time, "goes back")) }
                continue
            }
            count += 1
            if present.frame != 0 || under != .init(reading: before.reading, frame: before.frame + 1) {
                wrong.append((next.time, "does not begin where the one before stopped"))
            }
        }
        for (shown, next) in zip(outcome.shown, outcome.shown.dropFirst()) where shown.underlay != nil && next.underlay == nil {
            let under = outcome.pictures[shown.underlay!.number]!
            let edges = scenario.clips[outcome.readings[under.reading].clip].edges
            // The last mixed picture's duration; its rate may differ from the rate beneath it.
            let (clip, frame) = picture(shown)
            let step = scenario.clips[clip].edges[frame + 1] - scenario.clips[clip].edges[frame]
            if edges[under.frame + 1] + step + 0.001 < edges.last! { wrong.append((next.time, "ends before its end")) }
        }
        expectNone(wrong, "fades")
        #expect(count > 1, "enough to judge fades by", sourceLocation: location)
    }

    // MARK: Cadence

    /// For a rate that fits a refresh rate: the vblanks that so many pictures take. The well-known pairs are listed, not computed, so the
    /// table does not repeat the scheduler's arithmetic.
    private static let patterns: [Double: [Double: (vblanks: Int, pictures: Int)]] = [
        10: [24: (12, 5), 25: (5, 2), 30: (3, 1), 50: (5, 1), 60: (6, 1), 90: (9, 1), 100: (10, 1), 120: (12, 1)],
        12.5: [25: (2, 1), 30: (12, 5), 50: (4, 1), 75: (6, 1), 100: (8, 1)],
        15: [24: (8, 5), 25: (5, 3), 30: (2, 1), 50: (10, 3), 60: (4, 1), 75: (5, 1), 90: (6, 1), 120: (8, 1)],
        24: [24: (1, 1), 30: (5, 4), 48: (2, 1), 60: (5, 2), 72: (3, 1), 120: (5, 1), 144: (6, 1)],
        25: [25: (1, 1), 30: (6, 5), 50: (2, 1), 60: (12, 5), 75: (3, 1), 100: (4, 1)],
        30: [30: (1, 1), 48: (8, 5), 50: (5, 3), 60: (2, 1), 72: (12, 5), 75: (5, 2), 90: (3, 1), 100: (10, 3), 120: (4, 1)],
        48: [48: (1, 1), 60: (5, 4), 72: (3, 2), 120: (5, 2), 144: (3, 1)],
        50: [50: (1, 1), 60: (6, 5), 75: (3, 2), 90: (9, 5), 100: (2, 1), 120: (12, 5)],
        60: [60: (1, 1), 72: (6, 5), 75: (5, 4), 90: (3, 2), 100: (5, 3), 120: (2, 1), 144: (12, 5)],
    ]

    /// Returns the pattern of a clip's rate on the scenario's display. 23.976, 29.97 and 59.94 count as 24, 30 and 60.
    private func pattern(_ clip: Int) -> (vblanks: Int, pictures: Int)? {
        func nominal(_ rate: Double) -> Double { rate == 12.5 ? rate : rate.rounded() }
        return scenario.clips[clip].rate.flatMap { Self.patterns[nominal($0)]?[nominal(scenario.refreshRate)] }
    }

    /// If the rate fits the refresh rate, each picture stands for exactly its vblanks. Seams between items of that rate change nothing.
    func cadence() {
        var stretch: [Outcome.Shown] = []
        var judged = 0
        for (shown, next) in quietPairs {
            if stretch.last?.number != shown.number { stretch = [shown] }
            let clips = (picture(shown).clip, picture(next).clip)
            guard scenario.clips[clips.0].rate == scenario.clips[clips.1].rate, let pattern = pattern(clips.0) else {
                stretch = []
                continue
            }
            stretch.append(next)
            let hold = next.vblank - shown.vblank
            let isEven = pattern.vblanks / pattern.pictures <= hold && hold * pattern.pictures < pattern.vblanks + pattern.pictures
            var isWhole = true
            if stretch.count > pattern.pictures {
                judged += 1
                isWhole = next.vblank - stretch[stretch.count - 1 - pattern.pictures].vblank == pattern.vblanks
            }
            guard isEven, isWhole else {
                expectNone([(shown, next)], "not \(pattern.vblanks) vblanks for \(pattern.pictures) pictures")
                return
            }
        }
        if scenario.events.isEmpty, Set(scenario.clips.map(\.rate)).count == 1, pattern(0) != nil {
            #expect(judged > Int(5 * scenario.seconds), "enough to judge the cadence by", sourceLocation: location)
        }
    }
}
