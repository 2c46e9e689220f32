import Glibc
import KioskPlatform
import Logging
import Synchronization

/// Puts a television into standby and wakes it, by HDMI-CEC. Its only thread, `cec`, exists during an order, so that nothing waits for a
/// driver that hangs.
///
/// kiosk tries an order for ``limit``. A television in deep sleep does not answer at once. An adapter knows its position (its *physical
/// address*) only after it has read the display's EDID. If it does not know and its address is settable, kiosk sets the address of the
/// display's EDID. kiosk leaves an adapter alone that is at another display's address. The order ends when the television reports the
/// wanted state, or when it takes the order and reports nothing.
package final class TelevisionPower: Sendable {
    private struct State {
        /// The wanted state, and the number of orders so far.
        var isOn = true
        var orders = 0
        var isRunning = false
        var isStopping = false
        /// Whether to leave a television that is on unchanged, with its present input.
        var ifAsleep = false
        /// The address that kiosk set last.
        var told: UInt16 = 0xffff
    }

    private let state = Monitor(State())
    private let place: @Sendable () -> CECPlace?
    /// Throws if there are adapters and kiosk can use none of them.
    private let open: @Sendable () throws(DeviceError) -> [any CECBus]
    private let pause: MediaTime

    /// How long kiosk tries an order.
    static let limit = MediaTime.seconds(20)

    /// Controls the television at `place`, which is nil while the display is unknown.
    package convenience init(place: @escaping @Sendable () -> CECPlace?) {
        self.init(place: place, pause: .seconds(1)) { () throws(DeviceError) in
            var adapters: [any CECBus] = [], failure: DeviceError?
            for number in Folder.numbers(of: "cec", in: "/dev") {
                do throws(DeviceError) { adapters.append(try CECAdapter("/dev/cec\(number)")) } catch { failure = failure ?? error }
            }
            if let failure, adapters.isEmpty { throw failure }
            return adapters
        }
    }

    /// Uses other adapters, and another pause between tries.
    init(
        place: @escaping @Sendable () -> CECPlace?, pause: MediaTime, open: @escaping @Sendable () throws(DeviceError) -> [any CECBus]
    ) {
        (self.place, self.open, self.pause) = (place, open, pause)
    }

    /// Switches the television on or into standby. Returns at once; the log has the result. `ifAsleep`: a television that is on keeps its
    /// present input.
    package func set(isOn: Bool, ifAsleep: Bool = false) {
        let starts = state.signal { state -> Bool in
            if state.isStopping || state.isOn == isOn && state.orders > 0 { return false }
            (state.isOn, state.ifAsleep, state.orders) = (isOn, ifAsleep, state.orders + 1)
            defer { state.isRunning = true }
            return !state.isRunning
        }
        if starts { Thread("cec") { [self] in run() }.detach() }
    }

    /// Whether no order is in progress.
    var isAtRest: Bool { state.withLock { !$0.isRunning } }

    /// Sends nothing more; does not wait.
    package func stop() { state.signal { $0.isStopping = true } }

    private func run() {
        while true {
            let (isOn, ifAsleep, orders) = state.withLock { ($0.isOn, $0.ifAsleep, $0.orders) }
            var deadline = HostTime.now + Self.limit
            var outcome = "there is no CEC adapter of this display (/dev/cec*)"
            var isDone = false
            while !isDone, HostTime.now < deadline {
                // A display that is not there yet may be a television that is asleep, or slow.
                if isOn, place() == nil { deadline = .now + Self.limit }
                switch attempt(isOn: isOn, ifAsleep: ifAsleep) {
                case .done(let text): (outcome, isDone) = (text, true)
                case .refused(let text): (outcome, isDone) = (text, true)
                case .again(let text): outcome = text
                }
                if isDone { break }
                let changed = state.wait(until: .now + pause) { $0.isStopping || $0.orders != orders ? true : nil }
                if changed == true { break }
            }
            let next = state.withLock { state -> Bool in
                let goesOn = !state.isStopping && state.orders != orders
                if !goesOn { state.isRunning = false }
                return goesOn
            }
            if !next {
                log.notice("television: \(outcome)")
                return
            }
        }
    }

    enum Attempt: Equatable {
        case done(String)
        /// Do not retry.
        case refused(String)
        case again(String)
    }

    private static let (standby, imageViewOn, activeSource): (UInt8, UInt8, UInt8) = (0x36, 0x04, 0x82)
    private static let (askPower, tellPower): (UInt8, UInt8) = (0x8f, 0x90)

    /// Makes one attempt.
    func attempt(isOn: Bool, ifAsleep: Bool = false) -> Attempt {
        do throws(DeviceError) {
            let adapters = try open()
            guard let place = place() else {
                if isOn, adapters.count == 1, try adapters[0].address() == 0xffff { _ = wake(adapters[0]) }
                return .again("the display is not known")
            }
            guard let bus = Self.choose(adapters, for: place) else {
                return .again(
                    adapters.isEmpty
                        ? "there is no CEC adapter (/dev/cec*)" : "none of several CEC adapters is known to be that of this display")
            }
            var address = try bus.address()
            // A USB adapter keeps its address if someone plugs the cable into another input of the television.
            if bus.takesAddress, let told = place.address, address != told, [0xffff, state.withLock { $0.told }].contains(address) {
                try bus.setAddress(told)
                state.withLock { $0.told = told }
                address = try bus.address()
            }
            if address == 0xffff {
                // Many televisions in standby look unplugged, so the adapter has no address. The kernel sends this one message all the
                // same.
                let isTold = isOn && bus.connector == place.connector && wake(bus)
                return .again(
                    "its adapter does not know where it is plugged in" + (isTold ? "; kiosk has told the television to switch on" : ""))
            }
            if let told = place.address, told != address {
                return .refused(
                    "its adapter is at \(Self.shown(address)), and this display at \(Self.shown(told)): it is another display's")
            }
            let own = try bus.claim() << 4
            if isOn, ifAsleep, let power = try? bus.send([own, Self.askPower], reply: Self.tellPower), [0, 2].contains(power) {
                return .done("on")
            }
            if isOn {
                _ = try bus.send([own, Self.imageViewOn], reply: nil)
                _ = try bus.send([own | 15, Self.activeSource, UInt8(address >> 8), UInt8(address & 255)], reply: nil)
            } else {
                _ = try bus.send([own, Self.standby], reply: nil)
            }
            // 0 on, 1 standby, 2 switching on, 3 going to standby.
            guard let power = try? bus.send([own, Self.askPower], reply: Self.tellPower) else {
                return .done(isOn ? "told to switch on" : "told to go to standby")
            }
            let isThere = isOn ? [0, 2].contains(power) : [1, 3].contains(power)
            return isThere ? .done(isOn ? "on" : "in standby") : .again(isOn ? "it stays in standby" : "it stays on")
        } catch { return .again("cannot \(error)") }
    }

    /// Tells the television to switch on, from the unregistered address (15). Returns whether it acknowledged.
    private func wake(_ bus: any CECBus) -> Bool {
        // The kernel sends nothing until a program has asked for a logical address. It has none to give here, so this fails.
        _ = try? bus.claim()
        return (try? bus.send([0xf0, Self.imageViewOn], reply: nil)) != nil
    }

    /// Returns the adapter of a display: the one that the kernel names, else the one with the display's address, else the only one.
    ///
    /// Two televisions give the same address to their first inputs: two adapters with that address are ambiguous, so it returns nil. An
    /// adapter at 0.0.0.0 belongs to an HDMI input.
    static func choose(_ adapters: [any CECBus], for place: CECPlace) -> (any CECBus)? {
        if let known = adapters.first(where: { $0.connector == place.connector }) { return known }
        let outputs = adapters.filter { (try? $0.address()) != 0 }
        let others = outputs.filter { $0.connector == nil }
        if let address = place.address {
            let same = others.filter { (try? $0.address()) == address }
            if !same.isEmpty { return same.count == 1 ? same[0] : nil }
        }
        return outputs.count == 1 ? others.first : nil
    }

    private static func shown(_ address: UInt16) -> String {
        [12, 8, 4, 0].map { String(address >> $0 & 15, radix: 16) }.joined(separator: ".")
    }
}
