import KioskMedia
import KioskPlatform
import KioskVocabulary
import Testing

@testable import KioskPlayback

/// Checks of viewers' commands.
extension SimulationCheck {
    /// Returns how long the first picture of a seek at `time` may take, in seconds: half a second, plus the hindrances.
    private func longestLanding(from time: Double) -> Double {
        scenario.events.reduce(0.5) { limit, event in
            let end = event.time + lengthOfHindrance(event)
            return event.time <= time + limit && end > time - 0.1 ? limit + end - max(event.time, time) : limit
        }
    }

    private func lengthOfHindrance(_ event: (time: Double, event: Scenario.Event)) -> Double {
        switch event.event {
        case .command, .cardRunsDry: return 0
        case .display(isConnected: false):
            let back = scenario.events.first { if case .display(isConnected: true) = $0.event { $0.time > event.time } else { false } }
            return (back?.time ?? scenario.seconds) - event.time
        default: return length(event.event)
        }
    }

    private func firstShown(_ generation: UInt64) -> Outcome.Shown? { outcome.shown.first { self.generation($0) == generation } }

    /// Every seek and skip that the player began soon leads to its picture, unless the next one came before.
    func seeksLand() {
        for (index, jump) in outcome.jumps.enumerated() {
            let next = index + 1 < outcome.jumps.count ? outcome.jumps[index + 1].time : scenario.seconds
            guard let first = firstShown(jump.generation) else {
                expectNone(next - jump.time > longestLanding(from: jump.time) ? [jump] : [], "led to no picture")
                continue
            }
            expectNone(first.time - jump.time > longestLanding(from: jump.time) ? [(jump, first.time)] : [], "took long")
            let (clip, frame) = picture(first)
            let target = (jump.jump.time ?? .zero).seconds
            let isRight =
                switch jump.jump.precision {
                case .exact: frame == scenario.clips[clip].frame(at: target)
                // Going forward, it lands after `after` or on the target, so it never goes back; otherwise on the key frame before.
                case .keyFrame(let after?):
                    scenario.clips[clip].edges[frame] > after.seconds || frame == scenario.clips[clip].frame(at: target)
                case .keyFrame(nil): frame % SimulatedReader.keyFrameInterval == 0 && frame <= scenario.clips[clip].frame(at: target)
                }
            expectNone(clip == jump.jump.position.item.number && isRight ? [] : [(jump, clip, frame)], "not where it was to go")
        }
    }

    /// If nothing else happens, a seek or a skip leads to the viewer's target, judged by the picture on the screen.
    func commandsLand() {
        for (time, event) in scenario.events {
            guard case .command(let command) = event, isAlone(time) else { continue }
            guard let shown = outcome.shown.last(where: { $0.time < time }) else { continue }
            let (clip, frame) = picture(shown)
            let edges = scenario.clips[clip].edges
            // Near a seam, the viewer may have meant either item.
            guard edges[frame] > 0.2, edges[frame] < edges.last! - 0.3 else { continue }
            let count = scenario.clips.count
            let wanted: (clip: Int, frame: Int)
            switch command {
            case .seekTo(let target): wanted = (clip, scenario.clips[clip].frame(at: target.seconds))
            case .nextItem: wanted = ((clip + 1) % count, 0)
            case .previousItem: wanted = ((clip + count - 1) % count, 0)
            case .restartItem: wanted = (clip, 0)
            default: continue
            }
            let first = outcome.shown.first { $0.time > time && generation($0) != generation(shown) }
            let reached = first.map { picture($0) }
            expectNone(reached.map { $0 == wanted } == true ? [] : [(time, command)], "not where the viewer asked for")
        }
    }

    /// Returns whether nothing else happens from a second before `time` to half a second after it.
    private func isAlone(_ time: Double) -> Bool {
        time > 1 && time < scenario.seconds - 1
            && scenario.events.allSatisfy { $0.time == time || $0.time > time + 0.5 || $0.time + length($0.event) < time - 1 }
    }

    /// A pause stands. From two vblanks after it to the next event, only the first picture of a seek or skip under way may appear. After
    /// the pause the pictures go on.
    func pausesStand() {
        for (index, (time, event)) in scenario.events.enumerated() {
            guard case .command(.pause) = event, index + 1 < scenario.events.count else { continue }
            let end = scenario.events[index + 1].time
            // A picture comes again if its overlay has changed.
            let wrong = pictures.filter { shown in
                shown.time > time + 2 * period + 0.001 && shown.time < end && firstShown(generation(shown))!.time != shown.time
            }
            expectNone(wrong, "shown in a pause")
            guard case .command(.play) = scenario.events[index + 1].event else { continue }
            let limit = end + longestLanding(from: end) + 0.5
            let isStill = !outcome.shown.contains { $0.time > end && $0.time < limit }
            expectNone(isStill && limit < scenario.seconds ? [end] : [], "stands still after a pause")
        }
    }
}
