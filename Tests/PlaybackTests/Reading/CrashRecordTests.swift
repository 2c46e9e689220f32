import KioskPlatform
import KioskVocabulary
import Testing

@testable import KioskPlayback

@Suite struct CrashRecordTests {
    private static let start = HostTime(nanoseconds: 0)
    private let version = FileVersion(device: 1, inode: 2, size: 3, modified: 4)
    private let path: Path = "/clip.mp4"

    private func time(_ seconds: Double) -> HostTime { Self.start + .seconds(seconds) }

    private func turn(_ record: inout CrashRecord, alone: Bool = false, at seconds: Double) -> CrashRecord.Turn {
        record.turn(of: path, version, isAlone: alone, now: time(seconds))
    }

    private func die(_ record: inout CrashRecord, at place: Double, from start: Double = 0, isLast: Bool = false, now: Double) {
        record.died(path, version, of: "SIGSEGV", at: .seconds(place), from: .seconds(start), isLast: isLast, now: time(now))
    }

    @Test func whatHasNotDiedBeginsAtItsBeginning() {
        var record = CrashRecord()
        #expect(turn(&record, at: 0) == .fromBeginning)
        record.ended(path)
        #expect(turn(&record, at: 1) == .fromBeginning)
    }

    @Test func oneBadPlaceIsPassedEverySecondTurn() {
        var record = CrashRecord()
        for round in 0..<50 {
            let now = Double(round * 60)
            #expect(turn(&record, at: now) == .fromBeginning, "\(round)")
            die(&record, at: 10, now: now + 10)
            #expect(turn(&record, at: now + 11) == .behind(.seconds(10), "SIGSEGV"), "\(round)")
            record.ended(path)
        }
    }

    @Test func whatDiesAgainIsLeftOutLongerAndLonger() {
        var record = CrashRecord()
        die(&record, at: 10, now: 10)
        die(&record, at: 14, from: 12, now: 20)
        var (now, pauses) = (20.0, [Double]())
        for _ in 0..<12 {
            guard case .leftOut(let pause, _) = turn(&record, at: now) else { break }
            pauses.append(pause.seconds)
            now += pause.seconds
            #expect(turn(&record, at: now) == .fromBeginning)
            die(&record, at: 10, now: now)
        }
        #expect(pauses == [10, 20, 40, 80, 160, 320, 640, 1280, 2560, 3600, 3600, 3600])
        record.ended(path)
        #expect(turn(&record, at: now) == .fromBeginning)
        die(&record, at: 10, now: now)
        #expect(turn(&record, at: now) == .behind(.seconds(10), "SIGSEGV"))
    }

    @Test func theOnlySourceIsShownUpToThePlace() {
        var record = CrashRecord()
        die(&record, at: 10, now: 10)
        die(&record, at: 12.1, from: 12, now: 13)
        for round in 0..<50 {
            let now = Double(20 + round * 10)
            #expect(turn(&record, alone: true, at: now) == .fromBeginning)
            die(&record, at: 10, now: now + 10)
        }
        #expect(turn(&record, at: 525) != .fromBeginning)
    }

    @Test func theOnlySourceIsLeftOutWhereNothingOfItIsSeen() {
        var record = CrashRecord()
        die(&record, at: 0.1, now: 0)
        die(&record, at: 2.2, from: 2.1, now: 1)
        #expect(turn(&record, alone: true, at: 2) == .leftOut(for: .seconds(10), "SIGSEGV"))
        #expect(turn(&record, alone: true, at: 12) == .fromBeginning)
    }

    @Test func whatWasOpenAlreadyWhenItDiedSaysNothingNew() {
        var record = CrashRecord()
        die(&record, at: 10, now: 10)
        die(&record, at: 10, now: 20)
        #expect(turn(&record, at: 20) == .behind(.seconds(10), "SIGSEGV"))
    }

    @Test func whatDiesAtItsEndIsNotTriedFromThere() {
        var record = CrashRecord()
        for round in 0..<20 {
            #expect(turn(&record, at: Double(round * 10)) == .fromBeginning)
            die(&record, at: 9.5, isLast: true, now: Double(round * 10 + 9))
        }
        record = CrashRecord()
        die(&record, at: 0.2, isLast: true, now: 0)
        die(&record, at: 0.2, isLast: true, now: 1)
        #expect(turn(&record, at: 1) == .leftOut(for: .seconds(10), "SIGSEGV"))
    }

    @Test func whatHasNoKeyFrameBehindThePlaceIsTriedFromItsBeginning() {
        var record = CrashRecord()
        die(&record, at: 10, now: 10)
        record.hasNothingBehind(path)
        #expect(turn(&record, at: 10) == .fromBeginning)
        die(&record, at: 10, now: 20)
        #expect(turn(&record, at: 20) == .leftOut(for: .seconds(10), "SIGSEGV"))
    }

    @Test func aNewVersionBeginsAnew() {
        var record = CrashRecord()
        die(&record, at: 10, now: 10)
        die(&record, at: 13, from: 12, now: 20)
        var other = version
        other.modified += 1
        #expect(record.turn(of: path, other, isAlone: false, now: time(20)) == .fromBeginning)
        #expect(turn(&record, at: 20) == .fromBeginning)
    }

    @Test func itRemembersNoMoreThanAThousand() {
        var record = CrashRecord()
        for number in 0..<10_000 {
            let path = Path("/\(number)")
            record.died(path, nil, of: "x", at: .seconds(1), from: .zero, isLast: false, now: time(0))
        }
        let remembered = (0..<10_000).count { record.turn(of: Path("/\($0)"), nil, isAlone: false, now: time(0)) != .fromBeginning }
        #expect(1...1000 ~= remembered)
    }

    @Test func whatGivesNothingIsLeftOutForAMinuteAtMost() {
        var record = CrashRecord()
        var (now, pauses) = (0.0, [Double]())
        for _ in 0..<6 {
            record.fellSilent(path, version, of: "silence", now: time(now))
            guard case .leftOut(let pause, "silence") = turn(&record, alone: true, at: now) else { break }
            pauses.append(pause.seconds)
            now += pause.seconds
            #expect(turn(&record, at: now) == .fromBeginning)
        }
        #expect(pauses == [10, 20, 40, 60, 60, 60])
        record.ended(path)
        record.fellSilent(path, version, of: "silence", now: time(now))
        #expect(turn(&record, at: now) == .leftOut(for: .seconds(10), "silence"))
    }
}
