import Testing

@testable import KioskDisplayCore

struct SeatSwitchTests {
    private var switching = SeatSwitch()

    private mutating func told(wantsOut: Bool = false, cameBack: Bool = false, _ outputs: Set<Int> = [1, 2]) -> [SeatSwitch.Action] {
        switching.told(wantsOut: wantsOut, cameBack: cameBack, outputs: outputs)
    }

    @Test mutating func thereAndBack() {
        #expect(switching.mayDrive && told().isEmpty)
        #expect(told(wantsOut: true) == [.announce(false), .leave] && !switching.mayDrive)
        #expect(switching.left(2).isEmpty && switching.left(2).isEmpty)
        #expect(switching.left(1) == [.release] && switching.left(1).isEmpty)
        #expect(told(cameBack: true) == [.reacquire, .comeBack] && switching.mayDrive)
        #expect(switching.returned(1).isEmpty)
        #expect(switching.returned(2) == [.announce(true)])
    }

    @Test mutating func withoutOutputsNobodyIsWaitedFor() {
        #expect(told(wantsOut: true, []) == [.announce(false), .leave, .release])
        #expect(told(cameBack: true, []) == [.reacquire, .comeBack, .announce(true)])
    }

    /// The kernel gave us the screen, then wanted it back before we looked.
    @Test mutating func bothAtOnceIsToLeave() {
        #expect(told(wantsOut: true, cameBack: true, [1]) == [.announce(false), .leave])
        #expect(switching.left(1) == [.release])
        #expect(told(wantsOut: true, cameBack: true, [1]) == [.announce(false), .release])
    }

    @Test mutating func wantedBackWhileItIsBeingTaken() {
        switching = SeatSwitch(isInFront: false)
        #expect(told(cameBack: true) == [.reacquire, .comeBack] && switching.returned(1).isEmpty)
        #expect(told(wantsOut: true) == [.announce(false), .leave])
        // The result of the look for a display no longer matters.
        #expect(switching.returned(2).isEmpty && switching.left(1).isEmpty && switching.left(2) == [.release])
    }

    @Test mutating func itAsksTwice() {
        _ = told(wantsOut: true)
        #expect(told(wantsOut: true).isEmpty && told(cameBack: true).isEmpty)
        #expect(told(cameBack: true).isEmpty && !switching.mayDrive)
    }

    @Test mutating func whatIsThereAlreadyIsSaidAgain() { #expect(told(cameBack: true) == [.announce(true)] && switching.mayDrive) }

    @Test mutating func anOutputThatGoesIsNotWaitedFor() {
        _ = told(wantsOut: true)
        #expect(switching.left(1).isEmpty && switching.removed(2) == [.release])
        _ = told(cameBack: true, [3])
        #expect(switching.removed(3) == [.announce(true)] && switching.removed(4).isEmpty)
    }
}
