import Media
import Platform
import Testing

@testable import Playback

/// What must hold, looked for in what was seen and heard.
struct Check {
    let scenario: Scenario
    let outcome: Outcome
    let location: SourceLocation

    init(_ scenario: Scenario, _ location: SourceLocation = #_sourceLocation) {
        (self.scenario, self.location) = (scenario, location)
        outcome = SimulatedWall.run(scenario)
        #expect(outcome.violations == [], sourceLocation: location)
        #expect(outcome.shown.count > 10 && outcome.shown.allSatisfy { outcome.laid[$0.number] != nil }, sourceLocation: location)
    }

    private var period: Double { scenario.refreshPeriod }
    private func place(_ shown: Outcome.Shown) -> FramePlace { outcome.laid[shown.number]!.place }
    private func generation(_ shown: Outcome.Shown) -> UInt64 { outcome.laid[shown.number]!.generation }

    /// Whether nothing has happened for a second, the start included.
    private func isQuiet(_ time: Double) -> Bool {
        time > 1
            && scenario.events.allSatisfy { begin, event in
                let length: Double =
                    switch event {
                    case .decoderStalls(let seconds), .cardRunsDry(let seconds), .everythingStops(let seconds), .frozen(let seconds):
                        seconds
                    case .vblanksLost(let count): Double(count) * period
                    case .vblankDoubled, .vblanksUncounted: 0
                    case .display(let isLit): isLit ? 0 : 10
                    case .command(let command): command == .pause ? 10 : 0
                    }
                let end = scenario.events.first { $0.time > begin }.map { min(begin + length, $0.time) } ?? begin + length
                return time < begin || time > end + 1
            }
    }

    /// What followed each other while nothing happened.
    private var quietPairs: [(Outcome.Shown, Outcome.Shown)] {
        zip(outcome.shown, outcome.shown.dropFirst()).filter { isQuiet($0.time) && isQuiet($1.time) && generation($0) == generation($1) }
    }

    private func expectNone<Element>(_ wrong: [Element], _ what: String) {
        #expect(wrong.isEmpty, "\(what): \(wrong.count), first \(wrong.prefix(3))", sourceLocation: location)
    }

    /// What holds whatever the wall is like and whatever happens.
    func whatAlwaysHolds() {
        order()
        accounts()
        bounds()
        nothingIsLost()
        cadence()
        together()
    }

    /// Later pictures follow earlier ones, and none comes back. (The same comes again where the display has.)
    func order() {
        expectNone(zip(outcome.shown, outcome.shown.dropFirst()).filter { $0.number > $1.number }, "out of order")
    }

    /// What the player says of itself is what was seen.
    func accounts() {
        let told = outcome.snapshot?.statistics
        #expect(told?.framesShown == outcome.shown.count, sourceLocation: location)
        // One that began while the display went or was away is none that was seen.
        let seams = Set(outcome.shown.compactMap { place($0).turn?.isSeam == true ? place($0).turn?.serial : nil }).count
        let darkness = scenario.events.count { if case .display(isLit: false) = $0.event { true } else { false } }
        #expect(told.map { (seams - 3 * darkness...seams).contains($0.seams) } == true, sourceLocation: location)
    }

    /// As much is decoded ahead as was agreed, and no more.
    func bounds() {
        #expect(outcome.mostFrames <= 30 && outcome.longestQueue < FrameQueue.longest + .milliseconds(200), sourceLocation: location)
        let least = outcome.snapshot?.statistics.leastBuffered
        #expect(
            least.map { $0.frames <= outcome.mostFrames + Pipeline.readyLimit && $0.sound < .seconds(1) } != false, sourceLocation: location
        )
    }

    /// No picture was left out.
    func nothingIsLost() {
        expectNone(quietPairs.filter { $1.number != $0.number + 1 }, "left out")
    }

    /// Where the rate fits the refresh each picture stands for exactly its vblanks, whatever seams there are between items of that rate.
    func cadence() {
        var stretch: [Outcome.Shown] = []
        for (shown, next) in quietPairs {
            let cadence = place(shown).cadence
            if stretch.last?.number != shown.number { stretch = [shown] }
            guard place(next).cadence == cadence, let cadence, let vblanks = Self.fit(cadence, scenario.refreshRate) else {
                stretch = []
                continue
            }
            stretch.append(next)
            let count = Double(stretch.count - 1)
            guard abs(Double(next.vblank - stretch[0].vblank) - count * vblanks) < 0.999 else {
                expectNone([(shown, next)], "stood for other than \(vblanks) vblanks")
                return
            }
        }
    }

    /// Vblanks a frame, where that is a simple ratio within half a per cent.
    private static func fit(_ cadence: MediaTime, _ refreshRate: Double) -> Double? {
        let exact = cadence.seconds * refreshRate
        for frames in [1.0, 2, 3, 4, 5] {
            let whole = (exact * frames).rounded()
            if whole >= 1, frames == 1 || whole <= 12, abs(exact * frames / whole - 1) <= 0.005 { return whole / frames }
        }
        return nil
    }

    /// At each flip the picture comes at most so much before or after its sound.
    func together() {
        let leads = outcome.shown.filter { isQuiet($0.time) && place($0).cadence != nil }.compactMap { shown in
            shown.heard.map { (time: shown.time, lead: place(shown).start.seconds - $0) }
        }
        expectNone(leads.filter { abs($0.lead) > FrameScheduler.lockedTolerance.seconds + 0.5 * period + 0.001 }, "apart")
    }

    /// Every sample follows the one before, at the speed of the card or an eighth of a per cent off; silence only before the first.
    func soundIsWhole() {
        let places = outcome.played.drop { $0 == nil }
        expectNone(places.enumerated().filter { $1 == nil }.map(\.offset), "silent")
        let steps = zip(places, places.dropFirst()).enumerated().compactMap { index, pair -> (Int, Double)? in
            guard let a = pair.0, let b = pair.1 else { return nil }
            return (index, b - a)
        }
        expectNone(steps.filter { abs($1 - 1) > 0.01 }, "jumps in the sound")
    }

    /// The same but for silences, after which it goes on with the next sample, or elsewhere after a jump.
    func soundGoesOn() {
        let played = outcome.played
        var jumps: [(Int, Double)] = []
        var last: (index: Int, place: Double)?
        for (index, place) in played.enumerated() {
            guard let place else { continue }
            if let last, abs(place - last.place - 1) > (last.index == index - 1 ? 0.01 : 1) { jumps.append((index, place - last.place)) }
            last = (index, place)
        }
        // What is read between samples is bent where they end: where it ran dry.
        let dry = played.indices.filter { played[$0] == nil }
        let wrong = jumps.filter { jump in !dry.contains { abs($0 - jump.0) <= 2 * Interpolator.reach } }
        expectNone(wrong, "jumps in the sound")
        #expect(jumps.count < 200, sourceLocation: location)
    }

    /// Seeks and skips lead to the picture that was asked for, soon.
    func jumpsLand() {
        for (time, generation, jump) in outcome.jumps {
            guard jump.precision == .exact, let first = outcome.shown.first(where: { self.generation($0) == generation }) else { continue }
            let target = jump.time ?? .zero
            let place = place(first)
            #expect(place.turn?.position.index == jump.position.index, sourceLocation: location)
            let length = place.end - place.start
            expectNone(
                place.itemTime <= target && target < place.itemTime + length ? [] : [(time, place.itemTime)], "not where it was to go")
        }
    }

    /// A pause stands: from two vblanks after it to the next event.
    func pausesStand() {
        for (index, (time, event)) in scenario.events.enumerated() {
            guard case .command(.pause) = event, index + 1 < scenario.events.count else { continue }
            let end = scenario.events[index + 1].time
            let wrong = outcome.shown.filter { $0.time > time + 2 * period + 0.001 && $0.time < end }
            // Unless a jump was under way, whose first picture is still to come.
            expectNone(wrong.filter { _ in !outcome.jumps.contains { $0.time > time - 0.5 && $0.time <= time } }, "shown in a pause")
        }
    }
}
