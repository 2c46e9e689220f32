import Testing

@testable import KioskPlatform

@Suite struct StartTraceTests {
    @Test func aLineHasTheTimeToATenthOfAMillisecond() {
        let line = StartTrace.line(.shown, after: MediaTime(nanoseconds: 38_249_999))
        #expect(line == "   38.2 ms: the first picture is on the screen")
        #expect(StartTrace.line(.loaded, after: MediaTime(nanoseconds: 96_000)) == "    0.1 ms: the libraries are loaded")
        #expect(StartTrace.line(.moved, after: .seconds(12)) == "12000.0 ms: the second picture is on the screen")
    }
}
