import KioskMedia
import KioskPlatform
import Testing

@testable import KioskPlayback

/// Checks of the sound, and of picture and sound together.
extension SimulationCheck {
    private var sampleRate: Double { Double(SimulatedCard.sampleRate) }

    /// Returns when a picture belongs on the screen: the number of its sample on the timeline, in seconds. Returns nil if no sound of its
    /// reading was read.
    private func soundTime(of shown: Outcome.Shown) -> Double? {
        guard let picture = outcome.pictures[shown.number] else { return nil }
        let reading = outcome.readings[picture.reading]
        let begin = reading.begin.seconds
        return reading.firstSample.map { Double($0) / sampleRate + max(scenario.clips[reading.clip].edges[picture.frame], begin) - begin }
    }

    /// At each flip, the picture is ahead of its sound or behind it by a limited time: the locked tolerance, half a period and 1 ms.
    func together() {
        let quiet = outcome.shown.filter { isQuiet($0.time) && scenario.clips[picture($0).clip].rate != nil }
        let leads = quiet.compactMap { shown -> (time: Double, lead: Double)? in
            guard let heard = shown.heard, let wanted = soundTime(of: shown) else { return nil }
            return (shown.time, wanted - heard)
        }
        expectNone(leads.filter { abs($0.lead) > FrameScheduler.lockedTolerance.seconds + 0.5 * period + 0.001 }, "apart")
        // While nothing happens, every picture has sound.
        if scenario.events.isEmpty { #expect(leads.count == quiet.count, sourceLocation: location) }
        if scenario.events.isEmpty, scenario.clips.allSatisfy({ $0.rate != nil }) {
            #expect(Double(quiet.count) > 5 * scenario.seconds, "enough to judge by", sourceLocation: location)
        }
    }

    /// Every sample follows the one before, at the card's speed or an eighth of a per cent off. Silence comes only before the first.
    func soundIsWhole() {
        let places = outcome.played.drop { $0 == nil }
        #expect(Double(places.count) > (scenario.seconds - 2) * sampleRate, sourceLocation: location)
        expectNone(places.enumerated().filter { $1 == nil }.map(\.offset), "silent")
        let steps = zip(places, places.dropFirst()).enumerated().compactMap { index, pair -> (Int, Double)? in
            guard let a = pair.0, let b = pair.1 else { return nil }
            return (index, b - a)
        }
        expectNone(steps.filter { abs($1 - 1) > 0.01 }, "jumps in the sound")
    }

    /// All samples of every clip that played to its end were read, and the next clip's samples follow on them.
    func soundOfEveryClipIsWhole() {
        let heard = outcome.readings.filter { $0.firstSample != nil }
        let wrong = zip(heard, heard.dropFirst()).filter { reading, next in
            let length = scenario.clips[reading.clip].edges.last!
            return abs(Double(reading.samples) - length * sampleRate) > 1 || next.firstSample! - reading.firstSample! != reading.samples
        }
        expectNone(wrong, "sound of a clip not as long as the clip")
        #expect(heard.count > 2, sourceLocation: location)
    }

    /// Like ``soundIsWhole()``, but with silences. After a silence the sound goes on with the next sample, or elsewhere after a jump.
    func soundGoesOn() {
        let played = outcome.played
        #expect(Double(played.count { $0 != nil }) > 0.25 * scenario.seconds * sampleRate, sourceLocation: location)
        var jumps: [(Int, Double)] = []
        var last: (index: Int, place: Double)?
        for (index, place) in played.enumerated() {
            guard let place else { continue }
            if let last, abs(place - last.place - 1) > (last.index == index - 1 ? 0.01 : 1) { jumps.append((index, place - last.place)) }
            last = (index, place)
        }
        // Interpolated samples are bent at the end of the sound, where the queue ran dry.
        let dry = played.indices.filter { played[$0] == nil }
        let wrong = jumps.filter { jump in !dry.contains { abs($0 - jump.0) <= 2 * Interpolator.reach } }
        expectNone(wrong, "jumps in the sound")
        #expect(jumps.count < 200, sourceLocation: location)
    }
}
