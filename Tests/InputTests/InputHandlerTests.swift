import KioskPlatform
import KioskVocabulary
import Synchronization
import Testing

@testable import KioskInputCore

/// The idle timer around a handler, and the amounts of gestures.
@Suite struct InputHandlerTests {
    private static func at(_ milliseconds: Int64) -> HostTime { HostTime(nanoseconds: 1_000_000_007) + .milliseconds(milliseconds) }

    /// A finger that goes down.
    private static let finger = InputEvent.contact(
        ContactEvent(
            device: DeviceID(rawValue: 1), contact: Contact(slot: 0, id: 0, x: 0.5, y: 0.5, surface: .display), phase: .down, time: at(0)))

    /// The length of a volume drag sets its hundredths, and that of a swipe its steps.
    @Test func gesturesWithAnAmount() {
        #expect(Gesture.swipe(steps: -2).command([.swipeLeft: .player(.seekSteps(-1))]) == .player(.seekSteps(-2)))
        #expect(Gesture.swipe(steps: 3).command([.swipeRight: .player(.seekBy(.seconds(5)))]) == .player(.seekBy(.seconds(15))))
        #expect(Gesture.swipe(steps: 3).command([.swipeRight: .player(.nextItem)]) == .player(.nextItem))
        #expect(Gesture.volumeDrag(by: -7).command([.volumeDrag: .player(.changeVolume(by: 1))]) == .player(.changeVolume(by: -7)))
        #expect(
            Gesture.doubleTap(x: 0.5, y: 0.5).command([
                .tap: .player(.play), .doubleTapLeft: .player(.pause), .doubleTapRight: .player(.pause),
            ]) == nil)
    }

    @Test func idleIsToldOnceAfterEachTouch() {
        var timer = IdleTimer(after: .seconds(60))
        #expect(timer.nextDeadline == nil, "nobody has touched anything yet")
        #expect(timer.expire(at: Self.at(1_000_000)) == nil)
        timer.touched(at: Self.at(0))
        timer.touched(at: Self.at(5_000))
        #expect(timer.nextDeadline == Self.at(65_000))
        #expect(timer.expire(at: Self.at(64_999)) == nil)
        #expect(timer.expire(at: Self.at(65_100)) == Self.at(65_000))
        #expect(timer.nextDeadline == nil && timer.expire(at: Self.at(200_000)) == nil)
        timer.touched(at: Self.at(300_000))
        #expect(timer.expire(at: Self.at(360_000)) == Self.at(360_000))
    }

    /// The handler waits for the idle time as well as for another handler's deadline.
    @Test func theHandlerWaitsForTheEarlier() {
        let told = Mutex<[HostTime]>([])
        let recognizer = Mutex(GestureRecognizer([.longPress]))
        let handler = InputHandler(
            handle: { if case .contact(let event) = $0 { _ = recognizer.withLock { $0.update(event) } } },
            nextDeadline: { recognizer.withLock { $0.nextDeadline } },
            expire: { time in
                let deadline = recognizer.withLock { $0.nextDeadline }
                if let deadline, !recognizer.withLock({ $0.expire(at: time) }).isEmpty { told.withLock { $0.append(deadline) } }
            }
        )
        .whenIdle(after: .seconds(60)) { time in told.withLock { $0.append(time) } }
        #expect(handler.nextDeadline() == nil)
        handler.handle(Self.finger)
        #expect(handler.nextDeadline() == Self.at(700))
        handler.expire(Self.at(700))
        #expect(handler.nextDeadline() == Self.at(60_000))
        handler.expire(Self.at(60_000))
        #expect(told.withLock { $0 } == [Self.at(700), Self.at(60_000)] && handler.nextDeadline() == nil)
    }

    /// A person before a camera touches nothing, but is not idle.
    @Test func nobodyIsIdleWhoIsRecorded() {
        let told = Mutex<[HostTime]>([]), isInUse = Mutex(true)
        let handler = InputHandler(handle: { _ in })
            .whenIdle(after: .seconds(60), unless: { isInUse.withLock { $0 } }) { time in told.withLock { $0.append(time) } }
        handler.handle(Self.finger)
        handler.expire(Self.at(60_000))
        #expect(told.withLock { $0 } == [] && handler.nextDeadline() == Self.at(120_000))
        isInUse.withLock { $0 = false }
        handler.expire(Self.at(120_000))
        #expect(told.withLock { $0 } == [Self.at(120_000)] && handler.nextDeadline() == nil)
    }
}
