import Platform
import Testing

@Suite struct TimeTests {
    @Test(arguments: [(0, "0:00.0"), (59.96, "1:00.0"), (61.5, "1:01.5"), (3723.4, "1:02:03.4"), (-1.5, "-0:01.5")])
    func description(seconds: Double, text: String) {
        #expect(MediaTime(seconds: seconds).description == text)
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
