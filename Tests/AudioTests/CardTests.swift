import Glibc
import KioskMedia
import KioskPlatform
import Synchronization
import TestSupport
import Testing

@testable import KioskAudioCore
@testable import KioskPlayback

/// The output on failing cards.
@Suite(.blocking) struct CardTests {
    private let renderer = CountingRenderer()

    private func output(_ card: MadeUpCard) -> ALSAOutput {
        ALSAOutput { rate, buffer, _ throws(AudioError) in try card.open(rate: rate, buffer: buffer) }
    }

    /// Waits until `condition` holds, at most 120 s.
    private func wait(_ condition: () -> Bool) -> Bool {
        for _ in 0..<12_000 where !condition() { usleep(10_000) }
        return condition()
    }

    @Test func aCardPlays() {
        let card = MadeUpCard()
        let output = output(card)
        output.start(renderer)
        #expect(renderer.wait(for: 48_000))
        #expect(output.name == "made-up S16_LE 48000 Hz stereo, buffer 120 ms")
        output.stop()
        #expect(renderer.counts.broken == [] && renderer.counts.reports.count > 3)
        #expect(card.state.withLock { $0.starts } == 1)
    }

    /// A USB card without enough bandwidth returns EPIPE. It has played nothing, and time continues without it.
    @Test func aCardThatCannotBeStartedIsLost() {
        let card = MadeUpCard(.init(startResult: -EPIPE))
        let output = output(card)
        output.start(renderer)
        #expect(wait { output.name.hasPrefix("silent: made-up does not start") })
        #expect(renderer.wait(for: 12_000))
        output.stop()
        #expect(renderer.counts.takenBack >= 4800 && renderer.counts.broken == [])
        #expect(card.state.withLock { $0.starts } < 20, "tried again now and then only")
    }

    @Test func aCardThatStopsAtEachStartIsLost() {
        let card = MadeUpCard(.init(stopsAtOnce: true))
        let output = output(card)
        output.start(renderer)
        #expect(wait { output.name.hasPrefix("silent: made-up does not start") })
        output.stop()
        #expect(renderer.counts.broken == [])
        #expect((6...50).contains(card.state.withLock { $0.starts }), "with longer buffers, too")
    }

    /// The time that opening takes counts as passed.
    @Test func silenceGoesOnWhileACardIsOpened() throws {
        let card = MadeUpCard()
        let renderer = renderer
        let opened = Mutex<(begin: CountingRenderer.Counts, took: MediaTime)?>(nil)
        let tries = Atomic(0)
        let output = ALSAOutput { rate, buffer, _ throws(AudioError) in
            guard tries.add(1, ordering: .relaxed).newValue > 1 else { throw .noCard }
            let (counts, begin) = (renderer.counts, HostTime.now)
            usleep(200_000)
            let device = try card.open(rate: rate, buffer: buffer)
            opened.withLock { $0 = $0 ?? (counts, .now - begin) }
            return device
        }
        output.start(renderer)
        #expect(wait { card.state.withLock { $0.starts > 0 } })
        output.stop()
        let (before, took) = try #require(opened.withLock { $0 })
        let after = renderer.counts
        #expect(after.interruptions > before.interruptions, "the clock begins anew")
        let silence = after.silence - before.silence
        // The clock skips a longer delay. Silence comes in whole periods.
        let period = 48_000.0 / Double(SilentOutput.periodsPerSecond)
        #expect(took > SilentClock.longestDelay || Double(silence) > 0.9 * took.seconds * 48_000 - period)
        #expect(after.broken == [])
    }

    /// Time continues, the renderer gets the unheard frames back, and the card plays again once the call returns.
    @Test func anotherThreadStandsInWhileACardHangs() {
        let card = MadeUpCard()
        let output = output(card)
        output.start(renderer)
        #expect(renderer.wait(for: 24_000))
        for _ in 0..<20 {
            output.standIn()
            usleep(5000)
        }
        #expect(card.state.withLock { $0.starts } == 1 && output.name.hasPrefix("made-up"), "nothing hangs")
        card.state.withLock { $0.hangs = true }
        // The card has played its buffer, and the thread hangs.
        usleep(300_000)
        let before = renderer.counts
        usleep(200_000)
        #expect(renderer.counts.rendered == before.rendered)
        output.standIn()
        usleep(50_000)
        output.standIn()
        output.standIn()
        #expect(renderer.wait(for: before.rendered + 24_000))
        #expect(output.name.hasPrefix("silent: the driver"))
        output.interrupt()
        #expect(wait { renderer.counts.interruptions > before.interruptions + 1 })
        card.state.withLock { $0.hangs = false }
        #expect(wait { card.state.withLock { $0.starts > 1 && $0.played > 9600 } })
        #expect(output.name.hasPrefix("made-up"))
        output.stop()
        #expect(renderer.counts.broken == [])
    }

    @Test func anOutputThatHangsEndsInTime() {
        let card = MadeUpCard()
        let output = output(card)
        output.start(renderer)
        #expect(renderer.wait(for: 12_000))
        card.state.withLock { $0.hangs = true }
        usleep(300_000)
        #expect(!output.stop(by: .now + .milliseconds(100)))
        card.state.withLock { $0.hangs = false }
    }

    /// USB speakers return while HDMI has replaced them.
    @Test func theChoiceIsMadeAnewWhenACardComes() {
        let (first, second) = (MadeUpCard(), MadeUpCard())
        let list = Mutex("00-03: HDMI 0 : HDMI 0 : playback 1\n")
        let output = ALSAOutput(listPCMs: { list.withLock { $0 } }) { rate, buffer, _ throws(AudioError) in
            try (list.withLock { $0.contains("USB") } ? second : first).open(rate: rate, buffer: buffer)
        }
        output.start(renderer)
        #expect(renderer.wait(for: 12_000))
        #expect(first.state.withLock { $0.starts } == 1 && second.state.withLock { $0.starts } == 0)
        list.withLock { $0 += "01-00: USB Audio : USB Audio : playback 1\n" }
        #expect(wait { second.state.withLock { $0.starts == 1 && $0.played > 9600 } })
        output.stop()
        #expect(first.state.withLock { $0.starts } == 1)
        #expect(renderer.counts.takenBack > 0 && renderer.counts.broken == [])
    }

    @Test func aCardThatComesWhileAnotherIsOpenedIsChosen() {
        let (first, second) = (MadeUpCard(), MadeUpCard())
        let list = Mutex("00-03: HDMI 0 : HDMI 0 : playback 1\n")
        let output = ALSAOutput(listPCMs: { list.withLock { $0 } }) { rate, buffer, _ throws(AudioError) in
            let isThere = list.withLock { list in
                defer { if !list.contains("USB") { list += "01-00: USB Audio : USB Audio : playback 1\n" } }
                return list.contains("USB")
            }
            return try (isThere ? second : first).open(rate: rate, buffer: buffer)
        }
        output.start(renderer)
        #expect(wait { second.state.withLock { $0.starts == 1 } })
        output.stop()
        #expect(first.state.withLock { $0.starts } == 1)
    }

    /// A suspended machine has not played the sound in its card, however long it slept.
    @Test func whatASuspendedCardHeldIsPlayedLater() {
        let card = MadeUpCard()
        let output = output(card)
        output.start(renderer)
        #expect(renderer.wait(for: 24_000))
        card.state.withLock { $0.freeze = .milliseconds(300) }
        output.interrupt()
        #expect(wait { renderer.counts.interruptions > 0 })
        #expect(wait { card.state.withLock { $0.starts } == 2 })
        output.stop()
        let held = card.state.withLock { $0.frozenWith }
        let back = renderer.counts.firstTakenBack
        // Frames on the way to the card count, too: a period, and another one if the card was waiting and took it at once.
        #expect((held...held + 3 * 960).contains(back), "\(back), \(held)")
    }

    @Test(arguments: [ESTRPIPE, EBADFD]) func aSuspensionBeforeTheStartIsNoLoss(errno: Int32) {
        let card = MadeUpCard(.init(startResult: -errno, isSuspendedByStart: true))
        let output = output(card)
        output.start(renderer)
        #expect(renderer.wait(for: 48_000))
        #expect(output.name.hasPrefix("made-up"))
        output.stop()
        #expect(card.state.withLock { $0.starts } == 2)
    }
}
