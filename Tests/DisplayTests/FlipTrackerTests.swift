import Glibc
import KioskPlatform
import KioskPlayback
import Testing

@testable import KioskDisplayCore

struct FlipTrackerTests {
    static let start = HostTime(nanoseconds: 1_000_000_000)
    private var tracker = FlipTracker(refreshPeriod: .milliseconds(16), reportsVblank: true)

    /// The difference between the engine's ids and the kernel's.
    static let offset: UInt64 = 1000

    /// Returns the tracker's answer to a commit: `code` is the kernel's errno, 0 if it took the commit.
    private mutating func committed(_ id: UInt64, code: Int32, at now: HostTime) -> ScreenAnswer {
        if code != 0 { return tracker.refused(DeviceError("flip", code: code), at: now) }
        tracker.committed(id, as: id + Self.offset, at: now)
        return .queued
    }

    private func kind(_ answer: ScreenAnswer) -> String {
        switch answer {
        case .queued: "queued"
        case .queuedWithoutOverlay: "queued without its overlay"
        case .refusedVideo: "refused the picture"
        case .busy: "busy"
        case .lost: "lost"
        }
    }

    @Test mutating func anEventEndsItsFlipOnly() {
        #expect(kind(committed(7, code: 0, at: Self.start)) == "queued")
        #expect(tracker.event(userData: 6 + Self.offset, sequence: 1, stamp: nil, at: Self.start) == nil)
        let stamp = Self.start + .milliseconds(9)
        #expect(
            tracker.event(userData: 7 + Self.offset, sequence: 40, stamp: stamp, at: Self.start + .milliseconds(10))
                == Flip(id: 7, time: stamp, sequence: 40))
        #expect(tracker.event(userData: 7 + Self.offset, sequence: 40, stamp: stamp, at: Self.start) == nil)
        #expect(tracker.deadline == nil)
    }

    @Test mutating func aLostEventIsSurvivedAndItsLateArrivalIgnored() {
        tracker.committed(1, as: 1 + Self.offset, at: Self.start)
        #expect(tracker.deadline == Self.start + .milliseconds(100))
        #expect(tracker.overdue(at: Self.start + .milliseconds(99)) == nil)
        let late = Self.start + .milliseconds(100)
        #expect(tracker.overdue(at: late) == Flip(id: 1, time: late, sequence: nil, isAssumed: true))
        #expect(tracker.lostCount == 1 && tracker.overdue(at: late) == nil)
        tracker.committed(2, as: 2 + Self.offset, at: late)
        #expect(tracker.event(userData: 1 + Self.offset, sequence: 9, stamp: nil, at: late) == nil)
        #expect(tracker.event(userData: 2 + Self.offset, sequence: 10, stamp: nil, at: late)?.id == 2)
    }

    @Test func slowDisplaysAreWaitedForLonger() {
        #expect(FlipTracker(refreshPeriod: .milliseconds(42), reportsVblank: true).timeout == .milliseconds(168))
    }

    @Test mutating func busyLeavesNothingBehindButIsBounded() {
        #expect(kind(committed(1, code: EBUSY, at: Self.start)) == "busy")
        #expect(tracker.deadline == nil)
        #expect(kind(committed(1, code: 0, at: Self.start + .seconds(0.9))) == "queued")
        #expect(kind(committed(2, code: EBUSY, at: Self.start + .seconds(1.5))) == "busy")
        #expect(kind(committed(2, code: EBUSY, at: Self.start + .seconds(2.6))) == "lost")
    }

    @Test(arguments: [EACCES, ENODEV, EINVAL, ENOENT]) mutating func otherErrorsLoseTheDisplay(_ code: Int32) {
        #expect(kind(committed(1, code: code, at: Self.start)) == "lost")
        #expect(tracker.deadline == nil)
    }

    @Test mutating func noCounterMeansNoVblanks() {
        for (id, sequence) in [(1, 5), (2, 0), (3, 6), (4, 0)] as [(UInt64, UInt32)] {
            tracker.committed(id, as: id + Self.offset, at: Self.start)
            #expect(tracker.event(userData: id + Self.offset, sequence: sequence, stamp: nil, at: Self.start)?.sequence == UInt64(sequence))
        }
        #expect(tracker.reportsVblank)
        tracker.committed(5, as: 5 + Self.offset, at: Self.start)
        #expect(tracker.event(userData: 5 + Self.offset, sequence: 0, stamp: nil, at: Self.start)?.sequence == nil)
        #expect(!tracker.reportsVblank)
    }
}
