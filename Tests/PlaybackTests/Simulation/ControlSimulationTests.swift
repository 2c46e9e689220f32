import KioskMedia
import KioskPlatform
import KioskVocabulary
import Testing

@testable import KioskPlayback

/// The slider and interludes in simulated time.
@Suite struct ControlSimulationTests {
    private static func clip(_ seconds: Double, rate: Double = 30) -> Scenario.Clip {
        .init(edges: (0...Int(seconds * rate)).map { Double($0) / rate }, rate: rate)
    }

    /// A finger drags the slider back and forth, and lets go. However slow the decoder is, one seek is under way and one waits. The frame
    /// of the last place is the next one seen. The slider is drawn for each place, on a plane, in the scenes or in both. It keeps none of
    /// these frames from the screen.
    @Test(arguments: [0.1, 0.9, 6], [Slider.none, .onPlane, .blended, .inBoth]) func scrubbing(decodeShare: Double, slider: Slider) throws {
        var random = SeededRandom(seed: 7)
        var scenario = Scenario(clips: [Self.clip(60)])
        (scenario.seconds, scenario.slowPictures, scenario.slowShare) = (80, 13, decodeShare)
        (scenario.overlayWay, scenario.composeTime) = (slider == .onPlane ? .plane : slider == .inBoth ? .both : .blended, 0.004)
        var ends: [(time: Double, target: Double)] = []
        var drags: [ClosedRange<Double>] = []
        for begin in stride(from: 4.0, to: 70, by: 6) {
            var (time, target) = (begin, 30 + 25 * random.unit())
            for _ in 0..<Int(40 + 30 * abs(random.unit())) {
                scenario.events.append((time, .command(.scrub(.seconds(target)))))
                if slider != .none { scenario.overlays.append((time, scenario.overlays.count + 1)) }
                time += 0.016
                target = min(max(target + random.unit(), 0.5), 59)
            }
            scenario.events.append((time, .command(.endScrub(.seconds(target)))))
            if slider != .none { scenario.overlays.append((time + 0.5, 0)) }
            drags.append(begin...time)
            ends.append((time, target))
        }
        let check = SimulationCheck(scenario)
        check.order()
        if decodeShare < 1 { check.seeksLand() }
        let jumps = check.outcome.jumps
        var scrubs = 0
        for (jump, next) in zip(jumps, jumps.dropFirst()) where jump.jump.precision != .exact && next.jump.precision != .exact {
            scrubs += 1
            let first = check.outcome.shown.first { check.generation($0) == jump.generation }
            // At least, it has been committed.
            #expect(first.map { $0.time <= next.time + 1.1 * check.period } == true, "one more was begun before \(jump.time) was seen")
        }
        #expect(scrubs > ends.count, "enough to judge by")
        for end in ends {
            // A picture committed before the release comes with the vblank after it.
            let next = try #require(check.pictures.first { $0.time > end.time + check.period })
            #expect(check.picture(next).frame == scenario.clips[0].frame(at: end.target), "\(end), \(next.time)")
            #expect(check.pictures.contains { $0.time > next.time + 0.5 && $0.time < next.time + 2 }, "it plays on")
        }
        #expect(check.outcome.snapshot?.status == .playing)
        guard decodeShare < 0.5 else { return }
        for drag in drags {
            let times = [drag.lowerBound] + check.pictures.map(\.time).filter(drag.contains) + [drag.upperBound]
            let longest = zip(times, times.dropFirst()).map { $1 - $0 }.max()!
            #expect(longest < 0.2, "no picture for \(longest) s while the finger moved")
        }
        #expect(check.outcome.snapshot?.statistics.framesLate == 0)
    }

    /// Where the display shows the slider while a finger is on it.
    enum Slider { case none, onPlane, blended, inBoth }

    /// A clip of one second plays as an interlude. At both ends picture follows picture, and then the item goes on at its old place.
    @Test(arguments: [false, true]) func anInterludeReturns(isPaused: Bool) throws {
        var scenario = Scenario(clips: [Self.clip(20), Self.clip(1)])
        scenario.listed = 1
        if isPaused { scenario.events.append((5, .command(.pause))) }
        scenario.events.append((6, .command(.playSource("1", resumes: true))))
        if isPaused { scenario.events.append((10, .command(.play))) }
        let check = SimulationCheck(scenario)
        check.order()
        let pictures = check.pictures
        let begin = try #require(pictures.firstIndex { check.picture($0).clip == 1 })
        let after = try #require(pictures.lastIndex { check.picture($0).clip == 1 }) + 1
        #expect(pictures[begin..<after].map { check.picture($0).frame } == Array(0..<30), "all of it, in order")
        // The picture on the screen stands until the clip is open.
        #expect(pictures[begin].time - 6 < 0.1)
        let left = check.picture(pictures[begin - 1]).frame, back = check.picture(pictures[after])
        #expect(back.clip == 0 && back.frame == left, "\(left), \(back)")
        // The first picture stands until enough is decoded.
        #expect(zip(pictures[(begin + 1)..<after], pictures[(begin + 2)...after]).allSatisfy { $1.vblank - $0.vblank == 2 })
        #expect(check.outcome.snapshot?.statistics.framesLate == 0)
        let next = pictures[after + 1]
        if isPaused {
            #expect(next.time > 10 && next.time < 10.2, "it was paused, and is again")
        } else {
            #expect(next.vblank - pictures[after].vblank == 2)
        }
        #expect(check.outcome.snapshot?.status == .playing && check.outcome.snapshot?.item == 0)
    }

    /// The player reports a source that it cannot open, and goes on at its old place.
    @Test(arguments: [false, true]) func anInterludeThatCannotBeOpened(isPaused: Bool) throws {
        var scenario = Scenario(clips: [Self.clip(20)])
        if isPaused { scenario.events.append((5, .command(.pause))) }
        scenario.events.append((6, .command(.playSource("none", resumes: true))))
        let outcome = SimulatedPlayback.run(scenario)
        let failures = outcome.events.compactMap { if case .itemFailed(let item, _) = $0 { item } else { nil } }
        #expect(failures.count == 1 && failures[0] != 0)
        let check = SimulationCheck(scenario)
        let next = try #require(check.pictures.first { $0.time > 6 })
        let left = try #require(check.pictures.last { $0.time < 6 })
        #expect((check.picture(left).frame...check.picture(left).frame + 2).contains(check.picture(next).frame) && next.time < 6.3)
        #expect(outcome.snapshot?.status == (isPaused ? .paused : .playing))
    }

    /// Without a return, the playlist goes on with the successor of the interrupted item.
    @Test func anInterludeThatDoesNotReturn() {
        var scenario = Scenario(clips: [Self.clip(4), Self.clip(3), Self.clip(1)])
        scenario.listed = 2
        scenario.events.append((2, .command(.playSource("2", resumes: false))))
        let check = SimulationCheck(scenario)
        var clips: [Int] = []
        for picture in check.pictures where clips.last != check.picture(picture).clip { clips.append(check.picture(picture).clip) }
        #expect(clips.prefix(4) == [0, 2, 1, 0])
    }
}
