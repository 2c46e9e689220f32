import KioskPlatform
import Testing

@testable import KioskMedia

@Suite struct SurfaceUseTests {
    private let now = HostTime(nanoseconds: 5_000_000_000)

    @Test("where each picture is copied the hardware is left alone, and tried again later")
    func copied() {
        var use = SurfaceUse()
        for _ in 1..<SurfaceUse.proof {
            let isRule = use.copy(at: now)
            #expect(!isRule && !use.isPointless(at: now))
        }
        let isRule = use.copy(at: now)
        #expect(isRule && use.isPointless(at: now) && use.isPointless(at: now + SurfaceUse.pause - .milliseconds(1)))
        #expect(!use.isPointless(at: now + SurfaceUse.pause))
        let again = use.copy(at: now + SurfaceUse.pause)
        #expect(!again)
    }

    @Test("a screenshot now and then is no rule where pictures are shown as they are")
    func shown() {
        var use = SurfaceUse()
        for _ in 0..<10 * SurfaceUse.proof {
            use.show()
            let isRule = use.copy(at: now)
            #expect(!isRule)
        }
        #expect(!use.isPointless(at: now))
    }
}
