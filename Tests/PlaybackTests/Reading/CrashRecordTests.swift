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

    /// A clip of a list: the item times at which its decoder dies, and the share of the passes at which it does.
    private struct Clip {
        var path: Path
        var length: Double
        var badPlaces: [(time: Double, share: Double)] = []
        /// The seconds seen in the turn before and in this one, and the counts of openings, deaths and turns left out.
        var seen: [Set<Int>] = []
        var openings = 0, deaths = 0, turnsLeftOut = 0
    }

    /// A list in which a decoder dies every few minutes, for a week. A whole clip plays in each turn. A clip with one bad place shows all
    /// the rest within two turns. A clip that dies at once costs an opening an hour.
    @Test(arguments: UInt64(1)...5) func aWeekOfDeaths(_ seed: UInt64) {
        var (record, random, now) = (CrashRecord(), SeededRandom(seed: seed), 0.0)
        var clips = [
            Clip(path: "/whole.mp4", length: 60), Clip(path: "/one.mp4", length: 90, badPlaces: [(40, 1)]),
            Clip(path: "/sometimes.mp4", length: 120, badPlaces: [(20, 0.3), (70, 0.3)]),
            Clip(path: "/two.mp4", length: 60, badPlaces: [(10, 1), (13, 1)]),
            Clip(path: "/at-once.mp4", length: 30, badPlaces: (0..<30).map { (Double($0), 1) }),
        ]
        func play(_ clip: inout Clip, from start: Double) {
            clip.openings += 1
            let bad = clip.badPlaces.first { $0.time >= start && abs(random.unit()) < $0.share }
            let end = bad?.time ?? clip.length
            clip.seen = clip.seen.suffix(1) + [Set(Int(start)..<max(Int(start), Int(end)))]
            now += end - start + 0.1
            guard let bad else { return record.ended(clip.path) }
            clip.deaths += 1
            record.died(
                clip.path, version, of: "SIGSEGV", at: .seconds(bad.time), from: .seconds(start), isLast: clip.length - bad.time < 2,
                now: time(now))
        }
        while now < 7 * 86_400 {
            for index in clips.indices {
                switch record.turn(of: clips[index].path, version, isAlone: false, now: time(now)) {
                case .fromBeginning: play(&clips[index], from: 0)
                case .behind(let place, _): play(&clips[index], from: place.seconds + 2)
                case .leftOut: clips[index].turnsLeftOut += 1
                }
                let clip = clips[index]
                if index == 0 { #expect(clip.turnsLeftOut == 0 && clip.seen.last?.count == 60) }
                if index == 1 {
                    #expect(clip.turnsLeftOut == 0)
                    if clip.seen.count == 2 { #expect(clip.seen[0].union(clip.seen[1]).count == 88) }
                }
            }
        }
        #expect(clips[1].deaths * 2 - clips[1].openings <= 1 && clips[1].deaths > 500, "\(clips[1].deaths) of \(clips[1].openings)")
        #expect(clips[2].openings > 10 * clips[2].turnsLeftOut / 9, "\(clips[2].openings), \(clips[2].turnsLeftOut)")
        // After 10 s, after twice as long each time, then once an hour.
        for clip in clips[3...] { #expect((168...185).contains(clip.openings), "\(clip.path): \(clip.openings)") }
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
