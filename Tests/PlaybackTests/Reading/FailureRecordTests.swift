import KioskPlatform
import Testing

@testable import KioskPlayback

@Suite struct FailureRecordTests {
    private let now = HostTime(nanoseconds: 1_000_000_000)

    /// Returns, for each of `times` failures in a row, whether it was the last of a round of three.
    private func fail(_ failures: inout FailureRecord, _ times: Int) -> [Bool] { (0..<times).map { _ in failures.fail(of: 3) } }

    @Test func aRoundIsOverWhenEveryItemHasFailedInARow() {
        var failures = FailureRecord()
        let rounds = fail(&failures, 5)
        #expect(rounds == [false, false, true, false, false])
        failures.played()
        let anew = fail(&failures, 3)
        #expect(anew == [false, false, true])
    }

    @Test func theLastOfARoundIsNotSkippedAhead() {
        var failures = FailureRecord()
        #expect(!failures.maySkipAhead(of: 1))
        #expect(failures.maySkipAhead(of: 3))
        failures.failAhead()
        #expect(failures.maySkipAhead(of: 3))
        failures.failAhead()
        #expect(!failures.maySkipAhead(of: 3))
        let last = fail(&failures, 1)
        #expect(last == [true])
    }

    /// Items that play meanwhile come before the one that failed ahead, so its failure still counts.
    @Test func whatFailedAheadCountsFromItsTurnOn() {
        var failures = FailureRecord()
        failures.failAhead()
        failures.played()
        failures.takePlaythrough()
        #expect(failures.maySkipAhead(of: 3) && !failures.maySkipAhead(of: 2))
        failures.played()
        #expect(failures.maySkipAhead(of: 2))
    }

    @Test func itIsTriedAgainAfterASecondThenEveryTwoAndSaidOnce() {
        var failures = FailureRecord()
        let first = failures.wait(from: now)
        #expect(first == .seconds(1))
        #expect(failures.retryAt == now + .seconds(1))
        failures.retry()
        #expect(failures.retryAt == nil)
        for _ in 0..<3 {
            let later = failures.wait(from: now)
            #expect(later == nil)
            #expect(failures.retryAt == now + .seconds(2))
        }
        failures.restart()
        #expect(failures.retryAt == nil)
        failures.played()
        let anew = failures.wait(from: now)
        #expect(anew == .seconds(1))
    }

    @Test func eachComplaintIsNewsOnce() {
        var failures = FailureRecord()
        let complaints: [(QueueItem.ID, String)] = [(0, "missing"), (0, "missing"), (1, "missing"), (0, "damaged"), (1, "missing")]
        let news = complaints.map { failures.isNews($1, about: $0) }
        #expect(news == [true, false, true, true, false])
        let again = failures.isNews("missing", about: 0)
        #expect(!again, "two complaints take turns, round by round")
        failures.clear(0)
        let anew = [failures.isNews("damaged", about: 0), failures.isNews("missing", about: 1)]
        #expect(anew == [true, false])
    }

    @Test("A long number that is another one each time is no news, and a short one is") func numbers() {
        var failures = FailureRecord()
        let claims = [
            "it claims to be 2779077507 ahead in its sound", "it claims to be 2779096473 ahead in its sound", "answers 404", "answers 503",
        ]
        let news = claims.map { failures.isNews($0, about: 0) }
        #expect(news == [true, false, true, true])
    }
}
