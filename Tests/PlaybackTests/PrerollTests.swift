import KioskPlatform
import Testing

@testable import KioskPlayback

/// The start of the clock, by the level of the queues.
@Suite struct PrerollTests {
    private static let demand = MediaTime.milliseconds(50)
    private let begin = HostTime(nanoseconds: 1_000_000_000)

    /// Returns the start in milliseconds; nil if there is none within 5 s. The level grows by 16 ms at each of `times`; a poll comes every
    /// 4 ms.
    private func start(growingAt times: [Int], full: Int = .max) -> Int? {
        var preroll = Preroll(from: begin)
        return stride(from: 0, to: 5000, by: 4).first { time in
            let level = MediaTime.milliseconds(Int64(16 * times.count { $0 <= time }))
            return preroll.isReady(
                at: begin + .milliseconds(Int64(time)), level: level, demand: Self.demand, isFull: 16 * times.count { $0 <= time } >= full)
        }
    }

    /// Steps every `interval` ms.
    private func steady(_ interval: Int, count: Int = 1000) -> [Int] { (1...count).map { $0 * interval } }

    @Test func `a decoder that is fast enough is waited for no longer than the card needs`() throws {
        // 50 ms for the card and a step of 4 ms are four pictures.
        #expect(start(growingAt: steady(4)) == 16)
        #expect(try #require(start(growingAt: steady(12))) <= 60)
        // No later than with a fixed wait of a tenth of a second.
        #expect(try #require(start(growingAt: steady(16))) <= 112)
    }

    @Test func `a slow one is waited for until what is lost is made up for`() throws {
        let (fast, slow) = (try #require(start(growingAt: steady(16), full: 200)), try #require(start(growingAt: steady(20), full: 200)))
        #expect(slow > fast && slow < 260)
        // At a third of its speed, only full queues will do.
        #expect(start(growingAt: steady(48), full: 200) == 13 * 48)
    }

    @Test func `the dear first pictures are forgotten`() throws {
        let first = [60, 120]
        let begun = try #require(start(growingAt: first + (1...100).map { 120 + 6 * $0 }, full: 400))
        #expect(begun < 170, "\(begun)")
    }

    @Test func `a pause in decoding has to be covered`() throws {
        let begun = try #require(start(growingAt: [4, 8, 70, 74, 78, 82, 86, 90, 94, 98, 102]))
        #expect(begun > 78 && begun <= 102, "\(begun)")
    }

    @Test func `nothing ahead is no start, but not for ever`() {
        #expect(start(growingAt: []) == 2000)
        #expect(start(growingAt: [10, 20]) == 2000)
        #expect(start(growingAt: steady(300)) == 2000)
    }

    @Test func `full queues are enough`() { #expect(start(growingAt: [], full: 0) == 0) }
}
