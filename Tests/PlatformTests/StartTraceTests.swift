import Testing

@testable import KioskPlatform

@Suite struct StartTraceTests {
    @Test func aLineHasTheTimeToATenthOfAMillisecondAndThePageFaults() {
        let line = StartTrace.line(.shown, after: MediaTime(nanoseconds: 38_249_999), faults: 2250)
        #expect(line == "   38.2 ms,  2250 page faults: the first picture is on the screen")
        #expect(
            StartTrace.line(.loaded, after: MediaTime(nanoseconds: 96_000), faults: 7)
                == "    0.1 ms,     7 page faults: the libraries are loaded")
        #expect(
            StartTrace.line(.moved, after: .seconds(12), faults: 123_456)
                == "12000.0 ms, 123456 page faults: the second picture is on the screen")
    }
}
