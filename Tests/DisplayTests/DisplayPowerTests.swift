import KioskPlatform
import KioskVocabulary
import Testing

@testable import KioskDisplayCore

@Suite struct DisplayPowerTests {
    private let start = HostTime(nanoseconds: 1_000_000_000)

    @Test("The schedule decides, until somebody asks for something else") func orders() {
        var power = DisplayPower()
        #expect(!power.isDark(at: start))
        power.isNight = true
        #expect(power.isDark(at: start))
        power.ask(.on)
        #expect(!power.isDark(at: start))
        power.ask(.auto)
        #expect(power.isDark(at: start))
        power.isNight = false
        #expect(!power.isDark(at: start))
        power.ask(.off)
        #expect(power.isDark(at: start) && power.nextChange == nil)
    }

    @Test("A touch wakes it for a while, where it may, and means nothing else then") func touches() {
        var power = DisplayPower(wakeTime: .seconds(10))
        func touched(_ seconds: Double) -> Bool { power.touched(at: start + .seconds(seconds)) }
        #expect(touched(0) == false && power.nextChange == nil)
        power.isNight = true
        #expect(touched(0) == true && !power.isDark(at: start))
        #expect(power.nextChange == start + .seconds(10))
        // The next touch is for the item on the screen, and keeps it on.
        #expect(touched(5) == false && power.nextChange == start + .seconds(15))
        #expect(!power.isDark(at: start + .seconds(14)) && power.isDark(at: start + .seconds(15)))
        #expect(touched(20) == true)
        // An order to switch off takes effect at once.
        power.ask(.off)
        #expect(power.isDark(at: start + .seconds(21)))
        power.wakeTime = nil
        #expect(touched(22) == true && power.isDark(at: start + .seconds(22)))
    }
}
