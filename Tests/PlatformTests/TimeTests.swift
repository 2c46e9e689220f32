import KioskPlatform
import Testing

@Suite struct TimeTests {
    @Test(arguments: [(0, "0:00.0"), (59.96, "1:00.0"), (61.5, "1:01.5"), (3723.4, "1:02:03.4"), (-1.5, "-0:01.5")])
    func description(seconds: Double, text: String) {
        #expect(MediaTime(seconds: seconds).description == text)
    }

    /// Arithmetic saturates at the limits of 64 bits and never traps, whatever a file contains.
    @Test func arithmeticSaturates() {
        let (first, last) = (MediaTime(nanoseconds: .min), MediaTime(nanoseconds: .max))
        let second = MediaTime.seconds(1)
        #expect(last + second == last && first - second == first && second - first == last && first + first == first)
        #expect(-first == last && MediaTime.zero - first == last && -last == MediaTime(nanoseconds: -.max))
        #expect(last * 2 == last && last * -2 == first && first * -1 == last && first * 0 == .zero && second * -3 == .seconds(-3))
        #expect(last.scaled(by: 2) == last && last.scaled(by: -2) == first && last.scaled(by: .nan) == .zero)
        #expect(MediaTime.seconds(.infinity) == last && MediaTime.seconds(-.infinity) == first && MediaTime.seconds(.nan) == .zero)
        #expect(MediaTime.seconds(1e300) == last && MediaTime.milliseconds(.max) == last && MediaTime.milliseconds(.min) == first)
        #expect(first.description == "-2562047:47:16.9" && last.description == "2562047:47:16.9")
        var sum = last
        sum += second
        sum -= second
        #expect(sum == last - second)
        let (epoch, end) = (HostTime(nanoseconds: .min), HostTime(nanoseconds: .max))
        #expect(end + second == end && epoch - second == epoch && end - epoch == last && epoch - end == first)
    }

    @Test(arguments: [(0.5, 1), (-2.6, -3), (1e30, .max), (-1e30, .min), (.nan, 0), (9.3e18, .max), (-0x1p63, .min)])
    func numbersSaturate(value: Double, expected: Int64) {
        #expect(Int64(saturating: value) == expected)
    }

    @Test func waitReturnsNilOnlyAfterItsDeadline() {
        let monitor = Monitor(0)
        let deadline = HostTime.now + .milliseconds(5)
        let result: Int? = monitor.wait(until: deadline) { _ in nil }
        #expect(result == nil)
        #expect(HostTime.now >= deadline)
    }

    @Test func aSignalWakesAWaiter() {
        let monitor = Monitor(0)
        let thread = Thread("signaller") { monitor.signal { $0 = 42 } }
        #expect(monitor.wait { $0 == 0 ? nil : $0 } == 42)
        thread.join()
    }
}
