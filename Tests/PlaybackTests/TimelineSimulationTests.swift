import Media
import Platform
import Testing

@testable import Playback

/// Random playlists on random walls: whatever the rates, the crystals and the card's steps are, and whatever happens, some things always hold.
@Suite struct TimelineSimulationTests {
    /// Nothing happens: every picture is shown, in order, for its own time, with its sound.
    @Test(arguments: 0..<40) func calm(seed: UInt64) {
        let check = Check(.random(seed, rough: false))
        check.order()
        check.accounts()
        check.bounds()
        check.nothingIsLost()
        check.cadence()
        check.together()
        check.soundIsWhole()
        #expect(check.outcome.snapshot?.status == .playing)
        #expect(check.outcome.snapshot?.statistics.stalls == 0)
        // Whoever keeps up has something ready at all times.
        #expect(check.outcome.snapshot?.statistics.leastBuffered.map { $0.frames > 0 && $0.sound > .zero } != false)
        #expect(check.outcome.snapshot?.statistics.framesLate == 0 && check.outcome.snapshot?.statistics.framesDropped == 0)
    }

    /// A second at 30 frames a second, again and again on 60 Hz.
    private static var aSecond: SimulatedWall.Scenario {
        SimulatedWall.Scenario(clips: [.init(edges: (0...30).map { Double($0) / 30 }, rate: 30)])
    }

    /// What is said of standing still is what was silent.
    @Test func stalls() throws {
        var scenario = Self.aSecond
        scenario.events = [
            (4, .decoderStalls(0.9)), (8, .command(.pause)), (9, .command(.play)), (12, .decoderStalls(1.5)), (16, .cardRunsDry(0.3)),
        ]
        let outcome = SimulatedWall.run(scenario)
        let told = try #require(outcome.snapshot?.statistics)
        let played = outcome.played
        let begins = played.indices.dropFirst().filter { played[$0] == nil && played[$0 - 1] != nil }
        let silence = begins.map { played[$0...].prefix { $0 == nil }.count }
        // The pause is the second.
        #expect(silence.count == 3 && told.stalls == 2, "\(silence), \(told.stalls)")
        #expect(abs(told.stalledTime.seconds - Double(silence[0] + silence[2]) / Double(SimulatedWall.sampleRate)) < 0.002)
        #expect(told.stalledTime > .seconds(1))
    }

    /// A flip that comes later than the vblank it was meant for is late, and nothing else is.
    @Test func lostVblanks() throws {
        var scenario = Self.aSecond
        scenario.events = [(4, .vblanksLost(1)), (8, .vblanksLost(1)), (12, .vblanksLost(1))]
        let outcome = SimulatedWall.run(scenario)
        let holds = zip(outcome.shown, outcome.shown.dropFirst()).map { $1.vblank - $0.vblank }.dropFirst()
        #expect(holds.count { $0 > 2 } == 3)
        #expect(outcome.snapshot?.statistics.framesLate == 3 && outcome.snapshot?.statistics.framesDropped == 0)
    }

    /// A driver that turns out to count no vblanks: the pictures go on, by the timer.
    @Test func vblanksThatNobodyCounts() throws {
        var scenario = Self.aSecond
        scenario.events = [(4, .vblanksUncounted)]
        let outcome = SimulatedWall.run(scenario)
        let later = outcome.shown.filter { $0.time > 5 }
        #expect(later.count > 440 && zip(later, later.dropFirst()).allSatisfy { $1.vblank - $0.vblank == 2 })
        #expect(outcome.snapshot?.statistics.framesDropped == 0)
    }

    /// A flip that was told of late because nobody ran is not a lost one.
    @Test func stops() throws {
        var scenario = Self.aSecond
        scenario.events = [(4, .everythingStops(1.7)), (9, .everythingStops(0.5))]
        let outcome = SimulatedWall.run(scenario)
        #expect(outcome.snapshot?.statistics.flipsLost == 0)
        #expect(outcome.violations == [] && outcome.snapshot?.status == .playing)
    }

    /// While all of the process stands (a debugger, a freezer) the card plays what it holds and no more: of the pictures no more are left out than there are
    /// for that.
    @Test(arguments: [0.5, 2, 60]) func frozen(seconds: Double) throws {
        var scenario = Self.aSecond
        scenario.seconds = 90
        scenario.events = [(8.005, .frozen(seconds))]
        let check = Check(scenario)
        check.order()
        check.accounts()
        check.nothingIsLost()
        check.cadence()
        check.together()
        check.soundGoesOn()
        let held = Double(scenario.cardPeriod * scenario.cardPeriods) / Double(SimulatedWall.sampleRate)
        let dropped = try #require(check.outcome.snapshot?.statistics.framesDropped)
        #expect(dropped <= Int(held * 30) + 1, "\(held) s of sound")
        let after = check.outcome.shown.filter { $0.time > 8 + seconds }
        let holds = zip(after, after.dropFirst()).map { $1.vblank - $0.vblank }
        #expect(holds.max()! <= 6, "no standing still afterwards")
    }

    /// Decoders stall, vblanks are lost, the card runs dry, the display goes and comes, and viewers press keys: a second after each it is as if nothing had been.
    @Test(arguments: 1000..<1060) func rough(seed: UInt64) {
        let check = Check(.random(seed, rough: true))
        check.order()
        check.accounts()
        check.bounds()
        check.nothingIsLost()
        check.cadence()
        check.together()
        check.soundGoesOn()
        check.jumpsLand()
        check.pausesStand()
        #expect(check.outcome.snapshot?.status == .playing)
    }
}

extension SimulatedWall.Scenario {
    private static let rates = [10, 12.5, 15, 24000.0 / 1001, 24, 25, 30000.0 / 1001, 30, 48, 50, 60000.0 / 1001, 60]
    private static let refreshRates = [24, 25, 30, 48, 50, 60000.0 / 1001, 60, 72, 75, 90, 100, 120, 144]

    /// A wall like no other seed's.
    static func random(_ seed: UInt64, rough: Bool) -> SimulatedWall.Scenario {
        var random = SystemRandomNumberGeneratorSeeded(seed: seed)
        for _ in 0..<8 { _ = random.unit() }
        func number(_ range: ClosedRange<Double>) -> Double {
            range.lowerBound + (random.unit() + 1) / 2 * (range.upperBound - range.lowerBound)
        }
        func choice<Element>(_ elements: [Element]) -> Element {
            elements[min(elements.count - 1, Int(number(0...Double(elements.count))))]
        }
        var scenario = SimulatedWall.Scenario(seed: seed)
        scenario.refreshRate = choice(refreshRates)
        scenario.displayError = number(-200...200)
        scenario.vblankJitter = number(0...0.0005)
        scenario.cardError = number(-300...300)
        scenario.cardPeriod = Int(number(10...40))
        // Up to half a second, as the cards of virtual machines need.
        scenario.cardPeriods = random.unit() > 0.5 ? 1000 / scenario.cardPeriod : Int(number(3...8))
        scenario.cardStep = choice([1, 1, scenario.cardPeriod / 2, scenario.cardPeriod])
        // Whoever converts and decodes keeps up.
        scenario.composeTime = number(0.0005...(0.6 / scenario.refreshRate))
        scenario.decodeShare = number(0.05...0.8)
        let rates = rates.filter { $0 <= scenario.refreshRate * 1.005 }
        // One rate for all items in half of the cases, so that the cadence has to hold across seams.
        let rate = choice(rates)
        let isUniform = random.unit() > 0
        for _ in 0..<Int(number(1...6)) {
            let count = random.unit() > 0.5 ? Int(number(1...5)) : Int(number(5...120))
            let isVariable = !isUniform && random.unit() > 0.6
            let itsRate = isUniform ? rate : choice(rates)
            var edges = [0.0]
            for frame in 0..<count {
                edges.append(isVariable ? edges[frame] + number((1 / scenario.refreshRate)...0.2) : Double(frame + 1) / itsRate)
            }
            scenario.clips.append(.init(edges: edges, rate: isVariable ? nil : itsRate))
        }
        guard rough else { return scenario }
        scenario.buffers = choice([2, 3, 3, 4])
        var time = number(0.1...3)
        while time < scenario.seconds - 3 {
            let length = number(0.05...1)
            switch Int(number(0...9)) {
            case 0: scenario.events.append((time, .decoderStalls(length)))
            case 1: scenario.events.append((time, .vblanksLost(Int(number(1...20)))))
            case 2: scenario.events.append((time, .cardRunsDry(length)))
            case 3: scenario.events += [(time, .display(isLit: false)), (time + length, .display(isLit: true))]
            case 4: scenario.events += [(time, .command(.pause)), (time + length, .command(.play))]
            case 5: scenario.events.append((time, .command(.seekTo(.seconds(number(0...5))))))
            case 6: scenario.events.append((time, .vblankDoubled))
            case 7: scenario.events.append((time, .command(choice([.nextItem, .previousItem, .restartItem]))))
            default:
                // A key that is held down.
                for step in 0..<5 { scenario.events.append((time + Double(step) * 0.04, .command(.seekBy(.seconds(number(-1...1)))))) }
            }
            time += length + number(0.2...4)
        }
        return scenario
    }
}

/// What must hold, looked for in what was seen and heard.
private struct Check {
    let scenario: SimulatedWall.Scenario
    let outcome: SimulatedWall.Outcome
    let location: SourceLocation

    init(_ scenario: SimulatedWall.Scenario, _ location: SourceLocation = #_sourceLocation) {
        (self.scenario, self.location) = (scenario, location)
        outcome = SimulatedWall.run(scenario)
        #expect(outcome.violations == [], sourceLocation: location)
        #expect(outcome.shown.count > 10 && outcome.shown.allSatisfy { outcome.laid[$0.number] != nil }, sourceLocation: location)
    }

    private var period: Double { 1 / (scenario.refreshRate * (1 + scenario.displayError * 1e-6)) }
    private func place(_ shown: SimulatedWall.Shown) -> FramePlace { outcome.laid[shown.number]!.place }
    private func generation(_ shown: SimulatedWall.Shown) -> UInt64 { outcome.laid[shown.number]!.generation }

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
    private var quietPairs: [(SimulatedWall.Shown, SimulatedWall.Shown)] {
        zip(outcome.shown, outcome.shown.dropFirst()).filter { isQuiet($0.time) && isQuiet($1.time) && generation($0) == generation($1) }
    }

    private func expectNone<Element>(_ wrong: [Element], _ what: String) {
        #expect(wrong.isEmpty, "\(what): \(wrong.count), first \(wrong.prefix(3))", sourceLocation: location)
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
        #expect(outcome.mostFrames <= 30 && outcome.longestQueue < Pipeline.queueTime + .milliseconds(200), sourceLocation: location)
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
        var stretch: [SimulatedWall.Shown] = []
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
