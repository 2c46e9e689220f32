import Testing

@testable import Bed

/// Tests whether a host is fast enough for measurements in real time.
@Suite struct HostTests {
    private func measured(_ able: String, _ references: Int...) -> Host? {
        Host(Report((["able \(able)"] + references.map { "reference \($0)" }).joined(separator: "\n") + "\n"))
    }

    @Test func `what the director wrote down`() throws {
        let host = try #require(measured("5832 16195 16518", 382_452, 828_266))
        #expect(host.call == .nanoseconds(5832) && host.change == .nanoseconds(16_195) && host.fault == .nanoseconds(16_518))
        #expect(host.firstFrame == .microseconds(382_452))
        #expect(abs(try #require(host.decoding) - 0.166) < 0.001)
    }

    @Test func `a fast host has no excuse`() { #expect(measured("5832 16195 16518", 382_452, 828_266)?.shortfall(refresh: 60) == nil) }

    @Test func `dear system calls are one, sooner where the display is faster`() throws {
        let slow = try #require(measured("20000 50000 50000", 382_452, 828_266))
        #expect(slow.shortfall(refresh: 60)?.contains("20 µs") == true)
        let fair = try #require(measured("10000 30000 16518"))
        #expect(fair.shortfall(refresh: 60) == nil && fair.shortfall(refresh: 120) != nil)
    }

    @Test func `so is decoding that takes most of the time`() {
        #expect(measured("5832 16195 16518", 3_023_226, 3_449_641)?.shortfall(refresh: 60)?.contains("68 %") == true)
    }

    @Test func `what was not measured, or failed, is not there`() throws {
        #expect(Host(Report("done\n")) == nil)
        let host = try #require(measured("5832 16195 16518", 382_452))
        #expect(host.firstFrame == nil && host.decoding == nil)
    }

    @Test func `in virtual time nothing is measured`() {
        var machine = Machine.measured
        #expect(machine.isMeasured)
        machine.time = .free
        #expect(!machine.isMeasured)
        machine.time = .virtual
        #expect(!machine.isMeasured)
    }
}
