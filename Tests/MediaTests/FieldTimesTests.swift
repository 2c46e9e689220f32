import KioskPlatform
import KioskVocabulary
import Testing

@testable import KioskMedia

@Suite struct FieldTimesTests {
    private static let frame = MediaTime.milliseconds(40)

    /// Sends frames with the times `begins`, and returns the times and durations in milliseconds for these output timestamps.
    private func places(
        of begins: [Double], interlaced: [Bool]? = nil, timestamps: [Int64], isWhole: Bool = false, ofFields: Bool = true,
        told: MediaTime = frame
    ) -> [[Double]?] {
        var times = FieldTimes()
        for (index, begin) in begins.enumerated() {
            let place = FieldTimes.Place(time: .seconds(begin / 1000), duration: told)
            #expect(times.send(place, isInterlaced: interlaced?[index] ?? true) == Int64(index))
        }
        return timestamps.map { timestamp in
            times.receive(timestamp, isWhole: isWhole, ofFields: ofFields).map { [$0.time.seconds * 1000, $0.duration.seconds * 1000] }
        }
    }

    @Test func `a frame becomes two pictures, half as long each`() {
        #expect(places(of: [0, 40, 80], timestamps: [0, 1, 2, 3]) == [[0, 20], [20, 20], [40, 20], [60, 20]])
    }

    @Test func `what cannot be halved is not lost`() {
        var times = FieldTimes()
        _ = times.send(.init(time: .zero, duration: MediaTime(nanoseconds: 33_366_667)), isInterlaced: true)
        let first = times.receive(0, isWhole: false, ofFields: true), second = times.receive(1, isWhole: false, ofFields: true)
        #expect(first?.duration.nanoseconds == 16_683_333)
        #expect(second?.time.nanoseconds == 16_683_333 && second?.duration.nanoseconds == 16_683_334)
    }

    /// Once a frame comes out, earlier frames can no longer come out.
    @Test func `frames that never come out`() {
        #expect(places(of: [0, 40, 80], timestamps: [0, 4, 5, 2]) == [[0, 20], [80, 20], [100, 20], nil])
    }

    @Test func `the last frame, and one that is alone`() {
        #expect(places(of: [0, 40], timestamps: [2, 3, 4]) == [[40, 20], [60, 20], nil])
        #expect(places(of: [0], timestamps: [0, 0, 0]) == [[0, 20], [20, 20], nil])
    }

    @Test func `a picture for a frame`() {
        #expect(places(of: [0, 40, 80], timestamps: [0, 2, 4], ofFields: false) == [[0, 40], [40, 40], [80, 40]])
    }

    @Test func `progressive frames, and interlaced ones that the filter passes`() {
        #expect(
            places(of: [0, 40, 80], interlaced: [true, false, true], timestamps: [0, 1, 2, 4, 5]) == [
                [0, 20], [20, 20], [40, 40], [80, 20], [100, 20],
            ])
        #expect(places(of: [0, 40], timestamps: [0, 2], isWhole: true) == [[0, 40], [40, 40]])
    }

    /// A transport stream may state the duration of a field. If a frame is missing, the fields of the frame before it fill the gap.
    @Test func `a frame lasts until the next begins`() {
        #expect(places(of: [0, 40], timestamps: [0, 1, 2, 3], told: .milliseconds(20)) == [[0, 20], [20, 20], [40, 10], [50, 10]])
        #expect(places(of: [0, 80], timestamps: [0, 1]) == [[0, 40], [40, 40]])
        #expect(places(of: [0, 1000], timestamps: [0, 1]) == [[0, 20], [20, 20]])
        #expect(places(of: [0, -40], timestamps: [0, 1]) == [[0, 20], [20, 20]])
    }

    @Test func `the orientation of a frame is that of its fields`() {
        var times = FieldTimes()
        let orientation = Orientation(rotation: .clockwise90)
        _ = times.send(.init(time: .zero, duration: Self.frame, orientation: orientation), isInterlaced: true)
        #expect(times.receive(0, isWhole: false, ofFields: true)?.orientation == orientation)
        #expect(times.receive(1, isWhole: false, ofFields: true)?.orientation == orientation)
    }
}

@Suite struct DecodingPaceTests {
    /// Returns how many pictures of 20 ms it takes until the pace is too slow, if each takes `milliseconds`; nil if `count` do not suffice.
    private func tooSlow(within count: Int, _ milliseconds: (Int) -> Double) -> Int? {
        var pace = DecodingPace()
        for index in 0..<count {
            pace.add(.seconds(milliseconds(index) / 1000), for: .milliseconds(20))
            if pace.isTooSlow { return index + 1 }
        }
        return nil
    }

    @Test func `what is as fast as it is shown is fast enough`() {
        #expect(tooSlow(within: 1000) { _ in 20 } == nil)
        #expect(tooSlow(within: 1000) { $0 % 2 == 0 ? 39 : 0 } == nil)
    }

    @Test func `what is slower is known after a second`() { #expect(tooSlow(within: 1000) { _ in 20.1 } == 50) }

    @Test func `a machine that stands still for once, or for every other half second, is not too slow`() {
        #expect(tooSlow(within: 1000) { $0 == 100 ? 5000 : 5 } == nil)
        #expect(tooSlow(within: 1000) { $0 / 25 % 2 == 0 ? 30 : 5 } == nil)
    }

    @Test func `it stays too slow`() {
        var pace = DecodingPace()
        for _ in 0..<50 { pace.add(.milliseconds(30), for: .milliseconds(20)) }
        for _ in 0..<500 { pace.add(.milliseconds(1), for: .milliseconds(20)) }
        #expect(pace.isTooSlow)
    }
}
