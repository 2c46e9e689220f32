import Glibc
import KioskPlatform
import Testing

@testable import KioskDisplayCore

struct RefusalsTests {
    static let modes = (0..<6).map {
        ConnectorMode(width: 640 + $0, height: 480, refresh: 60, isPreferred: $0 == 0, isProgressive: true)
    }
    static let start = HostTime(nanoseconds: 1)

    /// Returns the attempts on a driver that refuses everything, in order, with modes by their numbers.
    private func tries(_ refusals: inout Refusals, of modes: [ConnectorMode], isFirst: Bool, at now: HostTime) -> [String] {
        var tried: [String] = []
        while tried.count < 100, refusals.verdict(on: modes, at: now) == .drive {
            let mode = modes.first { !refusals.leavesOut($0) }!
            let method = refusals.method(in: mode)
            tried.append("\(mode.width - 640) \(method)")
            refusals.refusedFlip(mode, method, isFirst: isFirst)
        }
        return tried
    }

    @Test func bothWaysInFourModesAndThenRest() {
        var refusals = Refusals()
        let tried = tries(&refusals, of: Self.modes, isFirst: true, at: Self.start)
        #expect(tried == (0..<4).flatMap { ["\($0) event", "\($0) event", "\($0) blocking", "\($0) blocking"] })
        #expect(refusals.verdict(on: Self.modes, at: Self.start) == .restsStill && refusals.hasRested)
    }

    @Test func allModesWhereThereAreFewer() {
        var refusals = Refusals()
        let all = ["0 event", "0 event", "0 blocking", "0 blocking"]
        #expect(tries(&refusals, of: [Self.modes[0]], isFirst: true, at: Self.start) == all)
        refusals = Refusals()
        for _ in 0..<Refusals.maximum { refusals.refusedModeset(Self.modes[1]) }
        #expect(tries(&refusals, of: Array(Self.modes[0...1]), isFirst: true, at: Self.start) == all)
    }

    @Test func whatWorkedForAWhileIsTriedThreeTimes() {
        var refusals = Refusals()
        let tried = tries(&refusals, of: [Self.modes[0]], isFirst: false, at: Self.start)
        #expect(tried == ["0 event", "0 event", "0 event", "0 blocking", "0 blocking", "0 blocking"])
    }

    @Test func onceAMinuteTheFirstChoiceIsTriedAgain() {
        var refusals = Refusals()
        #expect(tries(&refusals, of: Self.modes, isFirst: true, at: Self.start).count == 16)
        var now = Self.start
        for _ in 0..<3 {
            now = now + Refusals.pause
            #expect(refusals.verdict(on: Self.modes, at: now + .seconds(-1)) == .restsStill)
            #expect(tries(&refusals, of: Self.modes, isFirst: true, at: now) == ["0 event"])
        }
        refusals.proved()
        #expect(!refusals.hasRested && refusals.method(in: Self.modes[0]) == .event)
        #expect(refusals.verdict(on: Self.modes, at: now) == .drive)
    }

    @Test func refusedModesetsAloneNeverRest() {
        var refusals = Refusals()
        for mode in Self.modes { for _ in 0..<9 { refusals.refusedModeset(mode) } }
        #expect(refusals.verdict(on: Self.modes, at: Self.start) == .drive && Self.modes.allSatisfy(refusals.leavesOut))
    }

    @Test(arguments: [(EINVAL, true), (EBUSY, true), (ENOSPC, true), (EACCES, false), (ENODEV, false), (ENOENT, false)])
    func whoseFaultItIs(_ code: Int32, _ isRefusal: Bool) { #expect(DeviceError("flip", code: code).isRefusal == isRefusal) }
}
