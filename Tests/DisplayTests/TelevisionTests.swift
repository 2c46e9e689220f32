import Glibc
import KioskPlatform
import Synchronization
import TestSupport
import Testing

@testable import KioskDisplayCore

/// A television on a simulated CEC adapter.
@Suite(.blocking) struct TelevisionTests {
    private final class Television: CECBus, Sendable {
        struct State {
            var address: UInt16
            var power: UInt8 = 0
            /// The numbers of orders to ignore, and of messages to leave unacknowledged.
            var deaf = 0, gone = 0
            var answers = true
            var sent: [[UInt8]] = []
        }

        let takesAddress: Bool
        let connector: CECPlace.Connector?
        let state: Mutex<State>

        init(address: UInt16 = 0x1000, takesAddress: Bool = false, connector: CECPlace.Connector? = nil) {
            (self.takesAddress, self.connector) = (takesAddress, connector)
            state = Mutex(State(address: address))
        }

        func address() throws(DeviceError) -> UInt16 { state.withLock { $0.address } }
        func setAddress(_ address: UInt16) throws(DeviceError) { state.withLock { $0.address = address } }
        func claim() throws(DeviceError) -> UInt8 { 4 }

        func send(_ message: [UInt8], reply: UInt8?) throws(DeviceError) -> UInt8 {
            let answer: UInt8? = state.withLock { state in
                state.sent.append(message)
                if state.gone > 0 {
                    state.gone -= 1
                    return nil
                }
                switch message[1] {
                case 0x36, 0x04:
                    if state.deaf > 0 { state.deaf -= 1 } else { state.power = message[1] == 0x36 ? 1 : 0 }
                case 0x8f: return state.answers ? state.power : nil
                default: break
                }
                return 0
            }
            guard let answer else { throw DeviceError("reach it", code: reply == nil ? EREMOTEIO : ETIME) }
            return answer
        }
    }

    private static let here = CECPlace(connector: .init(card: 0, id: 32), address: 0x1000)

    private func power(_ television: Television, _ place: CECPlace? = Self.here) -> TelevisionPower {
        TelevisionPower(place: { place }, pause: .milliseconds(1)) { [television] }
    }

    @Test("It is told to go to standby, and to be on with the address at which it finds us") func orders() throws {
        let television = Television()
        let power = power(television)
        #expect(power.attempt(isOn: false) == .done("in standby"))
        #expect(television.state.withLock { $0.sent } == [[0x40, 0x36], [0x40, 0x8f]])
        television.state.withLock { $0.sent = [] }
        #expect(power.attempt(isOn: true) == .done("on"))
        #expect(television.state.withLock { $0.sent } == [[0x40, 0x04], [0x4f, 0x82, 0x10, 0x00], [0x40, 0x8f]])
        // At a start, a television that is on gets no order; one in standby is woken.
        television.state.withLock { $0.sent = [] }
        #expect(power.attempt(isOn: true, ifAsleep: true) == .done("on") && television.state.withLock { $0.sent } == [[0x40, 0x8f]])
        television.state.withLock { ($0.sent, $0.power) = ([], 1) }
        #expect(power.attempt(isOn: true, ifAsleep: true) == .done("on"))
        #expect(television.state.withLock { $0.sent } == [[0x40, 0x8f], [0x40, 0x04], [0x4f, 0x82, 0x10, 0x00], [0x40, 0x8f]])
        // Without a report of its power state, the order counts as done.
        television.state.withLock { $0.answers = false }
        #expect(power.attempt(isOn: false) == .done("told to go to standby"))
    }

    @Test("One that does not heed, or is not there yet, is told again; the newest order counts") func again() {
        let television = Television()
        television.state.withLock { ($0.gone, $0.deaf) = (3, 2) }
        let power = power(television)
        power.set(isOn: false)
        let start = HostTime.now
        while !power.isAtRest, HostTime.now - start < .seconds(60) { usleep(2000) }
        #expect(television.state.withLock { $0.power } == 1)
        power.set(isOn: true)
        power.set(isOn: false)
        power.set(isOn: true)
        while !power.isAtRest, HostTime.now - start < .seconds(60) { usleep(2000) }
        #expect(television.state.withLock { $0.power } == 0)
    }

    @Test("An adapter that does not know where it is is asked again, or told; one at another display's address is left alone")
    func addresses() {
        let unknown = Television(address: 0xffff)
        #expect(power(unknown).attempt(isOn: false) == .again("its adapter does not know where it is plugged in"))
        unknown.state.withLock { $0.address = 0x1000 }
        #expect(power(unknown).attempt(isOn: false) == .done("in standby"))
        // A television in standby may give no address. It is woken if the kernel says that the adapter is the display's.
        unknown.state.withLock { ($0.address, $0.sent) = (0xffff, []) }
        #expect(power(unknown).attempt(isOn: true) == .again("its adapter does not know where it is plugged in"))
        #expect(unknown.state.withLock { $0.sent.isEmpty })
        let asleep = Television(address: 0xffff, connector: Self.here.connector)
        #expect(power(asleep).attempt(isOn: false) == .again("its adapter does not know where it is plugged in"))
        #expect(
            power(asleep).attempt(isOn: true)
                == .again("its adapter does not know where it is plugged in; kiosk has told the television to switch on"))
        #expect(asleep.state.withLock { $0.sent } == [[0xf0, 0x04]])
        let told = Television(address: 0xffff, takesAddress: true)
        #expect(power(told).attempt(isOn: false) == .done("in standby") && told.state.withLock { $0.address } == 0x1000)
        // The cable moves to another socket; then the adapter loses its address for a moment.
        let moved = Mutex(Self.here)
        let mover = TelevisionPower(place: { moved.withLock { $0 } }, pause: .milliseconds(1)) { [told] in [told] }
        told.state.withLock { $0.address = 0xffff }
        #expect(mover.attempt(isOn: false) == .done("in standby"))
        moved.withLock { $0.address = 0x2000 }
        #expect(mover.attempt(isOn: true) == .done("on") && told.state.withLock { $0.address } == 0x2000)
        told.state.withLock { $0.address = 0xffff }
        #expect(mover.attempt(isOn: true) == .done("on") && told.state.withLock { $0.address } == 0x2000)
        let other = Television(address: 0x2000, takesAddress: true)
        guard case .refused(let text) = power(other).attempt(isOn: false) else {
            Issue.record("it is told")
            return
        }
        #expect(text.contains("2.0.0.0") && text.contains("1.0.0.0") && other.state.withLock { $0.sent.isEmpty })
        let barred = TelevisionPower(place: { Self.here }, pause: .milliseconds(1)) { () throws(DeviceError) in
            throw DeviceError("open /dev/cec0", code: EACCES)
        }
        #expect(barred.attempt(isOn: false) == .again("cannot open /dev/cec0: Permission denied"))
        #expect(power(other, nil).attempt(isOn: false) == .again("the display is not known"))
        // A television in standby may look absent. If there is only one adapter, it wakes the television.
        let unseen = Television(address: 0xffff, connector: Self.here.connector)
        let nowhere = TelevisionPower(place: { nil }, pause: .milliseconds(1)) { [unseen] in [unseen] }
        #expect(nowhere.attempt(isOn: false) == .again("the display is not known"))
        #expect(unseen.state.withLock { $0.sent.isEmpty })
        #expect(nowhere.attempt(isOn: true) == .again("the display is not known"))
        #expect(unseen.state.withLock { $0.sent } == [[0xf0, 0x04]])
    }

    @Test("Of several adapters that of the display") func several() {
        let (a, b, c) = (
            Television(address: 0x1000, connector: .init(card: 0, id: 31)), Television(address: 0x2000, connector: .init(card: 0, id: 32)),
            Television(address: 0x1000)
        )
        func chosen(_ adapters: [Television], _ place: CECPlace) -> Television? {
            TelevisionPower.choose(adapters, for: place) as? Television
        }
        #expect(chosen([a, b, c], Self.here) === b && chosen([a, c], Self.here) === c && chosen([c], Self.here) === c)
        // Two televisions may report the same address. 0.0.0.0 is an HDMI input.
        #expect(chosen([c, Television(address: 0x1000)], Self.here) == nil && chosen([Television(address: 0), c], Self.here) === c)
        #expect(chosen([Television(address: 0)], Self.here) == nil)
        // Another connector's adapter.
        #expect(chosen([a], Self.here) == nil && chosen([], Self.here) == nil)
        let unknown = CECPlace(connector: .init(card: 1, id: 5), address: nil)
        #expect(chosen([c, Television(address: 0x2000)], unknown) == nil && chosen([c], unknown) === c)
    }

    @Test("The address in an EDID") func edid() {
        var edid = [UInt8](repeating: 0, count: 256)
        edid.replaceSubrange(0..<8, with: [0, 255, 255, 255, 255, 255, 255, 0])
        edid.replaceSubrange(128..<132, with: [2, 3, 18, 0])
        // Two video formats, then the HDMI block.
        edid.replaceSubrange(132..<135, with: [0x42, 16, 31])
        edid.replaceSubrange(135..<142, with: [0x66, 0x03, 0x0c, 0x00, 0x21, 0x00, 0x80])
        #expect(CECPlace.address(edid: edid) == 0x2100)
        edid[139] = 0xff
        edid[140] = 0xff
        #expect(CECPlace.address(edid: edid) == nil)
        #expect(CECPlace.address(edid: Array(edid.prefix(128))) == nil && CECPlace.address(edid: []) == nil)
        var random = Proof.Random()
        for _ in 0..<5000 {
            var bytes = edid
            for _ in 0..<8 { bytes[Int.random(in: 126..<256, using: &random)] = .random(in: 0...255, using: &random) }
            _ = CECPlace.address(edid: bytes)
        }
    }
}
