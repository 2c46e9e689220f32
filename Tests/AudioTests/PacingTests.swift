import KioskPlatform
import Testing

@testable import KioskAudioCore
@testable import KioskPlayback

@Suite struct SilentClockTests {
    private let start = HostTime(nanoseconds: 1_000_000_000)

    @Test(arguments: [44_100, 48_000, 96_000])
    func aDayOfPeriodsIsADay(rate: Int) {
        let period = rate / 100
        var clock = SilentClock(sampleRate: rate, period: period, start: start)
        for index in 0..<8_640_000 {
            let due = clock.deadline
            if index % 100 == 0 { #expect(due == start + .milliseconds(Int64(index) * 10)) }
            // The thread wakes late, and the next deadline does not move.
            guard clock.advance(at: due + MediaTime(nanoseconds: 700_000)) == due else {
                Issue.record("period \(index)")
                return
            }
        }
    }

    @Test func nothingIsDueBeforeItsTime() {
        var clock = SilentClock(sampleRate: 48_000, period: 480, start: start)
        #expect(clock.advance(at: start - MediaTime(nanoseconds: 1)) == nil)
        #expect(clock.advance(at: start) == start)
        #expect(clock.advance(at: start + MediaTime(nanoseconds: 9_999_999)) == nil)
        #expect(clock.deadline == start + .milliseconds(10))
    }

    @Test func whatIsNotDueIsTakenBackAndRenderedAgainAtItsTime() {
        var clock = SilentClock(sampleRate: 48_000, period: 480, start: start)
        _ = clock.advance(at: start)
        #expect(clock.takeBack(at: start + .milliseconds(4)) == 480 - 192)
        #expect(clock.deadline == start + .milliseconds(4))
        #expect(clock.takeBack(at: start + .milliseconds(4)) == 0)
        #expect(clock.takeBack(at: start - .milliseconds(4)) == 192, "never more than was rendered")
    }

    @Test func aShortDelayIsCaughtUpWithAndALongOneIsNot() {
        var clock = SilentClock(sampleRate: 48_000, period: 480, start: start)
        var now = start + .milliseconds(205)
        var periods = 0
        while clock.advance(at: now) != nil { periods += 1 }
        #expect(periods == 21)
        now += .milliseconds(3_600_000)
        #expect(clock.advance(at: now) == now)
        #expect(clock.advance(at: now) == nil)
    }
}

@Suite struct UnheardFramesTests {
    private let start = HostTime(nanoseconds: 5_000_000_000)

    @Test func beforeTheFirstObservationNothingIsHeard() {
        var frames = UnheardFrames(sampleRate: 48_000)
        frames.add(4320)
        #expect(frames.count(at: start + .milliseconds(1000)) == 4320)
    }

    @Test func theDelayIsWhatTheCardSaysAndTimeGoesOnFromThere() {
        var frames = UnheardFrames(sampleRate: 48_000)
        frames.add(4800)
        #expect(frames.observe(delay: 4000, pending: 100, at: start) == 4100)
        #expect(frames.count(at: start + .milliseconds(10)) == 4100 - 480)
        frames.add(720)
        #expect(frames.count(at: start + .milliseconds(10)) == 4100 - 480 + 720)
        #expect(frames.count(at: start + .milliseconds(500)) == 0)
    }

    @Test func aCardCannotHoldBackMoreThanItWasGiven() {
        var frames = UnheardFrames(sampleRate: 48_000)
        frames.add(480)
        #expect(frames.observe(delay: 9000, pending: 0, at: start) == 480)
        #expect(frames.observe(delay: -30, pending: 7, at: start) == 7)
        frames.restart()
        #expect(frames.count(at: start) == 0)
    }
}

@Suite struct CardPaceTests {
    private let start = HostTime(nanoseconds: 7_000_000_000)
    /// A buffer of 100 ms.
    private func pace() -> CardPace { CardPace(sampleRate: 48_000, bufferSize: 4800, start: start) }

    /// Plays for `duration` from `time`, with a look every 10 ms. Returns the fault and its time.
    private func play(
        _ pace: inout CardPace, from time: MediaTime, for duration: MediaTime, heard: (MediaTime) -> Int?
    ) -> (fault: CardPace.Fault, time: MediaTime)? {
        var now = time
        while now < time + duration {
            now += .milliseconds(10)
            let rendered = 4800 + Int(now.seconds * 48_000)
            if let fault = pace.check(rendered: rendered, heard: heard(now), at: start + now) { return (fault, now) }
        }
        return nil
    }

    @Test func aCardThatMovesIsNeverAtFault() {
        var pace = pace()
        #expect(play(&pace, from: .zero, for: .milliseconds(60_000)) { Int($0.seconds * 48_000) } == nil)
    }

    @Test(arguments: [0, 3000] as [Int64])
    func aCardThatStandsStillHasFailed(after moving: Int64) throws {
        for silent in [false, true] {
            var pace = pace()
            #expect(play(&pace, from: .zero, for: .milliseconds(moving)) { Int($0.seconds * 48_000) } == nil)
            let seen = try #require(
                play(&pace, from: .milliseconds(moving), for: .milliseconds(5000)) { _ in silent ? nil : Int(Double(moving) * 48) })
            #expect(seen.fault == .stalled)
            #expect(seen.time == .milliseconds(moving + 1210))
        }
    }

    /// The first look after a suspend finds the card at the same place.
    @Test(arguments: [200, 2000, 3_600_000] as [Int64])
    func whoDidNotLookHasSeenNothingStand(for absence: Int64) throws {
        var pace = pace()
        #expect(play(&pace, from: .zero, for: .milliseconds(1000)) { Int($0.seconds * 48_000) } == nil)
        let back = MediaTime.milliseconds(1000 + absence)
        #expect(pace.check(rendered: 52_800, heard: 48_000, at: start + back) == nil)
        #expect(play(&pace, from: back, for: .milliseconds(1000)) { _ in 48_000 } == nil)
        #expect(play(&pace, from: back + .milliseconds(1000), for: .milliseconds(200)) { _ in 48_000 }?.fault == .stalled)
    }

    /// The card may have started with less than a full buffer.
    @Test(arguments: [4800, 1920]) func aCardDoesNotRunEmptySoonerThanItPlays(given: Int) {
        #expect(pace().stopsEarly(given: given, at: start))
        let half = MediaTime(nanoseconds: Int64(given) * 1_000_000_000 / 48_000 / 2)
        #expect(pace().stopsEarly(given: given, at: start + half - .milliseconds(1)))
        #expect(!pace().stopsEarly(given: given, at: start + half + .milliseconds(1)))
        #expect(!pace().stopsEarly(given: given + 48_000 * 60, at: start + .milliseconds(60_000) + half), "a minute later")
        #expect(!pace().stopsEarly(given: 0, at: start))
    }

    /// ALSA's null device takes any number of frames, and reports all of them as heard.
    @Test func aCardIsNotFasterThanTime() {
        var pace = pace()
        #expect(pace.check(rendered: 57_000, heard: 57_000, at: start + .milliseconds(1)) == nil)
        #expect(pace.check(rendered: 58_000, heard: 58_000, at: start + .milliseconds(2)) == .keepsNoTime)
    }
}
