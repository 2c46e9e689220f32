import KioskPlatform
import Testing

@testable import Cache

/// Tests of the cache's decisions, without a server and without a disk.
@Suite struct CacheValueTests {
    private let source: Path = "http://host/a.mp4"
    private func entry(size: Int64 = 100, tag: String? = "\"one\"", modified: String? = nil, synced: Int64 = 0) -> CacheEntry {
        CacheEntry(
            source: source, file: "\(CacheKey(source))-1.mp4", size: size, validators: .init(tag: tag, modified: modified), synced: synced)
    }
    private func head(_ lines: String...) -> ResponseHead {
        var head = ResponseHead()
        for line in lines { head.add(line: line + "\r\n") }
        return head
    }

    // MARK: Entries

    @Test func anEntryIsReadAsItWasWritten() {
        let entry = entry(modified: "Sun, 06 Nov 1994 08:49:37 GMT", synced: 40)
        #expect(CacheEntry(entry.text) == entry)
    }

    @Test func halfAnEntryIsNone() {
        let text = entry().text
        for count in 0..<text.count { #expect(CacheEntry(String(text.prefix(count))) == nil) }
        #expect(CacheEntry(text.replacing("size 100", with: "size -1")) == nil)
        #expect(CacheEntry(text.replacing("synced 0", with: "synced 101")) == nil)
        #expect(CacheEntry(text.replacing("-1.mp4", with: "-1/../../x")) == nil, "no other folder")
        #expect(CacheEntry(text.replacing("host", with: "other")) == nil, "no other source")
    }

    @Test func namesOfFiles() {
        #expect(CacheKey(source).description.count == 32 && CacheKey(source) != CacheKey("\(source)x"))
        #expect(CacheKey(fileName: "\(CacheKey(source)).entry") == CacheKey(source))
        #expect(CacheKey(fileName: "film.mp4") == nil)
    }

    // MARK: Requests

    @Test func nothingThere() { #expect(TransferPlan().headers == [] && !TransferPlan().isHead) }

    @Test func somethingKept() {
        #expect(TransferPlan(kept: entry()).headers == ["If-None-Match: \"one\""])
        #expect(TransferPlan(kept: entry(tag: nil, modified: "Sun")).headers == ["If-Modified-Since: Sun"])
        let bare = TransferPlan(kept: entry(tag: nil))
        #expect(bare.headers == [] && bare.isHead)
    }

    @Test func aPart() {
        #expect(TransferPlan(part: entry(), partBytes: 40).headers == ["Range: bytes=40-", "If-Range: \"one\""])
        #expect(TransferPlan(part: entry(tag: nil, modified: "Sun"), partBytes: 40).headers == ["Range: bytes=40-", "If-Range: Sun"])
        #expect(TransferPlan(part: entry(tag: "W/\"one\"", modified: "Sun"), partBytes: 40).headers == [], "the bytes may be others")
        #expect(TransferPlan(part: entry(tag: nil), partBytes: 40).headers == [])
        #expect(
            TransferPlan(kept: entry(), part: entry(tag: "\"two\""), partBytes: 40).headers == ["Range: bytes=40-", "If-Range: \"two\""])
    }

    // MARK: Responses

    @Test func theWhole() {
        #expect(TransferPlan().verdict(head("HTTP/1.1 200 OK", "Content-Length: 100")) == .begin(size: 100))
        #expect(
            TransferPlan().verdict(head("HTTP/1.1 302 Found", "Content-Length: 5", "HTTP/2 200", "content-length: 100"))
                == .begin(size: 100))
    }

    @Test func unchanged() {
        #expect(TransferPlan(kept: entry()).verdict(head("HTTP/1.1 304 Not Modified")) == .unchanged)
        #expect(
            TransferPlan(kept: entry()).verdict(head("HTTP/1.1 200 OK", "Content-Length: 100", "ETag: \"one\"")) == .unchanged,
            "a server that knows no conditions")
        #expect(
            TransferPlan(kept: entry()).verdict(head("HTTP/1.1 200 OK", "Content-Length: 100", "ETag: \"two\"")) == .begin(size: 100))
        #expect(TransferPlan(kept: entry(tag: nil)).verdict(head("HTTP/1.1 200 OK", "Content-Length: 101")) == .begin(size: 101))
        #expect(TransferPlan().verdict(head("HTTP/1.1 304 Not Modified")) != .unchanged, "nobody asked")
    }

    @Test func theRest() {
        let plan = TransferPlan(part: entry(), partBytes: 40)
        #expect(plan.verdict(head("HTTP/1.1 206 Partial", "Content-Range: bytes 40-99/100", "ETag: \"one\"")) == .resume)
        #expect(plan.verdict(head("HTTP/1.1 206 Partial", "Content-Range: bytes 40-99/100", "ETag: \"two\"")) == .restart)
        #expect(plan.verdict(head("HTTP/1.1 206 Partial", "Content-Range: bytes 30-99/100")) == .restart)
        #expect(plan.verdict(head("HTTP/1.1 206 Partial", "Content-Range: bytes 40-119/120")) == .restart, "it has another length")
        #expect(plan.verdict(head("HTTP/1.1 206 Partial")) == .restart)
        #expect(plan.verdict(head("HTTP/1.1 416 Range")) == .restart)
        #expect(plan.verdict(head("HTTP/1.1 200 OK", "Content-Length: 120")) == .begin(size: 120), "it is another by now")
    }

    @Test func whatCannotBeKept() {
        func isRefused(_ lines: String..., lasting: Bool) -> Bool {
            var head = ResponseHead()
            for line in lines { head.add(line: line) }
            guard case .refused(_, let isLasting) = TransferPlan().verdict(head) else { return false }
            return isLasting == lasting
        }
        #expect(isRefused("HTTP/1.1 200 OK", lasting: true), "no length: it may be a radio station")
        #expect(isRefused("HTTP/1.1 200 OK", "Content-Length: 100", "Content-Type: application/vnd.apple.mpegurl", lasting: true))
        #expect(isRefused("HTTP/1.1 200 OK", "Content-Length: 100", "Content-Encoding: gzip", lasting: true))
        #expect(isRefused("HTTP/1.1 200 OK", "Content-Length: 0", lasting: false))
        #expect(isRefused("HTTP/1.1 404 Not Found", lasting: true) && isRefused("HTTP/1.1 503 Busy", lasting: false))
        #expect(isRefused("nonsense", lasting: false))
    }

    @Test func whichSourcesCanBeKept() {
        let rows = [
            ("http://a/b.mp4", true), ("HTTPS://a/b", true), ("http://a/live.m3u8?x=1", false), ("https://a/b.mpd", false),
            ("rtsp://a/b", false),
            ("/srv/b.mp4", false), ("http://a/b.mp4?list=c.m3u8", true),
        ]
        for (source, may) in rows { #expect(AssetCache.mayKeep(source) == may, "\(source)") }
    }

    // MARK: Schedule

    private func at(_ seconds: Double) -> HostTime { HostTime(nanoseconds: 0) + .seconds(seconds) }

    @Test func oneAfterTheOther() {
        var schedule = CacheSchedule()
        schedule.setWanted(["a", "b"], at: at(0))
        #expect(schedule.due(at: at(0)) == "a")
        schedule.succeeded("a", at: at(5))
        #expect(schedule.due(at: at(5)) == "b")
        schedule.failed("b", at: at(6))
        #expect(schedule.due(at: at(15)) == nil && schedule.due(at: at(16)) == "b")
        schedule.failed("b", at: at(16))
        #expect(schedule.due(at: at(35)) == nil && schedule.due(at: at(36)) == "b")
        for _ in 0..<20 { schedule.failed("b", at: at(100)) }
        #expect(schedule.due(at: at(304.9)) == nil && schedule.due(at: at(305)) == "a", "checked again")
        schedule.succeeded("a", at: at(305))
        #expect(schedule.due(at: at(700)) == "a" || schedule.due(at: at(700)) == "b")
        schedule.setWanted(["c"], at: at(800))
        #expect(schedule.due(at: at(800)) == "c")
        schedule.failed("a", at: at(800))
        #expect(schedule.due(at: at(800)) == "c", "nobody wants it any more")
    }

    @Test func aLastingReasonIsNotTriedSoon() {
        var schedule = CacheSchedule()
        schedule.setWanted(["a"], at: at(0))
        schedule.failed("a", at: at(0), isLasting: true)
        #expect(schedule.due(at: at(599)) == nil && schedule.due(at: at(600)) == "a")
        schedule.hurry("a", at: at(10))
        #expect(schedule.due(at: at(10)) == "a")
    }

    // MARK: Eviction

    @Test func theOldestThatNobodyWantsGivesWay() {
        func candidate(_ name: Path, _ size: Int64, used: Int64, isWanted: Bool = false) -> Eviction.Candidate {
            .init(key: CacheKey(name), size: size, used: used, isWanted: isWanted)
        }
        let kept = [candidate("new", 30, used: 9), candidate("old", 30, used: 1), candidate("listed", 30, used: 0, isWanted: true)]
        #expect(Eviction.choose(among: kept, need: 10, limit: 100) == [])
        #expect(Eviction.choose(among: kept, need: 20, limit: 100) == [CacheKey("old")])
        #expect(Eviction.choose(among: kept, need: 60, limit: 100) == [CacheKey("old"), CacheKey("new")])
        #expect(Eviction.choose(among: kept, need: 80, limit: 100) == nil, "what is on the playlist stays")
        #expect(Eviction.choose(among: [], need: 101, limit: 100) == nil)
        #expect(Eviction.choose(among: kept, need: .max, limit: 100) == nil, "a server may say any length")
        let large = [candidate("a", .max, used: 1), candidate("b", .max, used: 2)]
        #expect(Eviction.choose(among: large, need: 1, limit: 100) == [CacheKey("a"), CacheKey("b")])
    }
}
