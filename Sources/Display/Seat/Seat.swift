import Glibc
import KioskPlatform
import KioskPlayback
import Logging

/// The resources that the outputs of the process share: the virtual terminal, hot-plug announcements, the graphics cards with their master,
/// and the reservations of CRTCs and connectors. One seat, any number of outputs.
///
/// The seat has no thread. Every output waits, on its presenter's thread, for the seat's descriptors (``descriptors``) beside its own. The
/// first thread to wake handles them (``attendTerminal(release:acquire:)``) and posts messages to all outputs, for their own threads. Flips
/// wait for none of this. A switch of virtual terminals ends after every output has done its part (``SeatSwitch``).
package final class Seat: @unchecked Sendable {
    // Sendable: the lock of `shared` protects everything that changes.

    /// An order to an output.
    enum Message { case leave, comeBack, look }

    /// The exclusive resources of an output: a connector of a card with its CRTC, or a framebuffer device.
    struct Reservation: Hashable {
        /// `/dev/dri/card0`, `/dev/fb0`.
        var device: String
        var connector: ConnectorID?
        var crtc: CRTCID?
    }

    private struct Member {
        var messages: [Message] = []
        var reservation: Reservation?
        let wake: @Sendable () -> Void
    }

    private struct HeldCard { weak var card: DRMCard? }

    private struct Shared {
        var switching = SeatSwitch()
        var members: [Int: Member] = [:]
        var lastMember = 0
        /// The outputs' cards, by path.
        var cards: [String: HeldCard] = [:]
        /// When to look again at a virtual terminal that another program has.
        var nextClaim: HostTime?
        var terminalWait = TerminalWait()
        var isInFront = true
        var observer: (@Sendable (Bool) -> Void)?
    }

    private let shared = Monitor(Shared())
    private var terminal: VirtualTerminal?
    private var monitor: HotplugMonitor?

    /// Creates a seat without a virtual terminal and without hot-plug, for an output in memory.
    init() {}

    /// Takes the virtual terminal: the one on standard input, else the one on the screen. Then listens for displays.
    package static func open() -> Seat {
        let seat = Seat()
        // Before kiosk opens any card: the guard process must not inherit one.
        if let (path, owner) = try? VirtualTerminal.look(), let owner {
            log.error(
                """
                \(path) is the screen of \(owner): kiosk does not take it from a program that draws on it. Start kiosk from a text console \
                (Ctrl+Alt+F3), or end that program (a desktop: systemctl stop display-manager); with --preview it plays in memory. \
                Waiting until the terminal is free
                """)
            seat.shared.withLock { $0.nextClaim = .now + TerminalWait.interval }
        } else {
            seat.takeTerminal()
        }
        let isInFront = seat.nextClaim == nil && seat.isActive != false
        seat.shared.withLock { $0.isInFront = isInFront }
        if !isInFront { seat.shared.withLock { $0.switching = SeatSwitch(isInFront: false) } }
        seat.monitor = HotplugMonitor.open(subsystems: ["drm", "graphics"])
        return seat
    }

    /// Whether kiosk's virtual terminal is on the screen; nil without one.
    private var isActive: Bool? { shared.withLock { _ in terminal?.isActive } }

    private func takeTerminal() {
        do throws(DeviceError) {
            var taken: VirtualTerminal? = try VirtualTerminal.take()
            shared.withLock { _ in terminal = taken.take() }
        } catch {
            log.notice(
                """
                no virtual terminal (cannot \(error)): the console may draw over the picture; \
                start kiosk from a text console, or by its service (TTYPath=)
                """)
        }
    }

    // MARK: Outputs

    /// Adds an output and returns its number. `wake` ends its wait for the seat's descriptors, after a message to it, or after another
    /// output has read one of its flips. Any thread may call `wake`.
    func add(wake: @escaping @Sendable () -> Void) -> Int {
        shared.withLock { shared in
            shared.lastMember += 1
            shared.members[shared.lastMember] = Member(wake: wake)
            return shared.lastMember
        }
    }

    /// Removes a closed output. After the last one, the virtual terminal goes back to the console.
    func remove(_ output: Int) {
        let isEmpty = shared.withLock { shared in
            shared.members[output] = nil
            return shared.members.isEmpty
        }
        if isEmpty {
            shared.withLock { _ in
                _ = monitor.take()
                _ = terminal.take()
            }
        } else {
            follow(shared.withLock { $0.switching.removed(output) })
        }
    }

    /// Returns the next message for an output.
    func nextMessage(for output: Int) -> Message? {
        shared.withLock { shared in
            guard shared.members[output]?.messages.isEmpty == false else { return nil }
            return shared.members[output]!.messages.removeFirst()
        }
    }

    /// Whether outputs may drive displays.
    var mayDrive: Bool { shared.withLock { $0.switching.mayDrive } }

    private func post(_ message: Message) {
        shared.withLock { shared in
            for output in shared.members.keys {
                shared.members[output]!.messages.append(message)
                shared.members[output]!.wake()
            }
        }
    }

    // MARK: The virtual terminal

    /// Calls `observer` with whether kiosk's virtual terminal is in front: at once, and on a presenter's thread at each switch away and
    /// back. Call it once, before the first picture.
    func observeTerminal(_ observer: @escaping @Sendable (Bool) -> Void) {
        let isInFront = shared.withLock { shared in
            shared.observer = observer
            return shared.isInFront
        }
        observer(isInFront)
    }

    /// The descriptors to wait for; nil for missing ones.
    var descriptors: (release: Int32?, acquire: Int32?, hotplug: Int32?) {
        shared.withLock { _ in (terminal?.releaseDescriptor, terminal?.acquireDescriptor, monitor?.descriptor) }
    }

    /// When to call ``claim(at:)``; nil if the virtual terminal is kiosk's, or if there is none.
    var nextClaim: HostTime? { shared.withLock { $0.nextClaim } }

    /// Takes the virtual terminal once no other program has it. No card is open until then.
    func claim(at now: HostTime) {
        let isDue = shared.withLock { shared in
            guard let next = shared.nextClaim, next <= now else { return false }
            shared.nextClaim = .now + TerminalWait.interval
            return true
        }
        guard isDue else { return }
        if let (path, owner) = try? VirtualTerminal.look(), !shared.withLock({ $0.terminalWait.saw(path, owner: owner) }) { return }
        shared.withLock { $0.nextClaim = nil }
        takeTerminal()
        // Otherwise the kernel reports when it comes to the screen.
        if isActive != false { switchTerminal(wantsOut: false, cameBack: true) }
    }

    /// Handles the virtual terminal's ready ``descriptors``.
    func attendTerminal(release: Bool, acquire: Bool) {
        // Ask both before following either.
        let (wantsOut, cameBack) = shared.withLock { _ in
            (release && terminal?.releaseWanted() == true, acquire && terminal?.hasComeBack() == true)
        }
        switchTerminal(wantsOut: wantsOut, cameBack: cameBack)
    }

    /// Handles announcements. `isBroken`: the descriptor is in error, as after an overflow of its queue, which counts as an announcement.
    func attendHotplug(isBroken: Bool) { if shared.withLock({ _ in monitor?.drain() == true }) || isBroken { post(.look) } }

    /// Handles the kernel's reports about the virtual terminal.
    func switchTerminal(wantsOut: Bool, cameBack: Bool) {
        follow(shared.withLock { $0.switching.told(wantsOut: wantsOut, cameBack: cameBack, outputs: Set($0.members.keys)) })
    }

    /// Records that an output has released its screen.
    func hasLeft(_ output: Int) { follow(shared.withLock { $0.switching.left(output) }) }

    /// Records that an output has looked for its display.
    func hasReturned(_ output: Int) { follow(shared.withLock { $0.switching.returned(output) }) }

    private func follow(_ actions: [SeatSwitch.Action]) {
        for action in actions {
            switch action {
            case .announce(let isInFront):
                if !isInFront { log.notice("leaving the screen to another virtual terminal") }
                let observer = shared.withLock { shared in
                    shared.isInFront = isInFront
                    return shared.observer
                }
                observer?(isInFront)
            case .leave: post(.leave)
            case .comeBack: post(.comeBack)
            case .release:
                // After that, kiosk must no longer restore the former content of the cards.
                for card in heldCards {
                    card.saved.withLock { $0 = [:] }
                    card.dropMaster()
                }
                shared.withLock { _ in terminal?.release() }
            // Where this already works: the kernel probes connectors only for the master.
            case .reacquire: for card in heldCards { try? card.becomeMaster() }
            }
        }
    }

    // MARK: Cards

    private var heldCards: [DRMCard] { shared.withLock { $0.cards.values.compactMap(\.card) } }

    /// Returns the card at a path if an output has it. A second descriptor would not be master.
    func heldCard(_ path: String) -> DRMCard? { shared.withLock { $0.cards[path]?.card } }

    /// Records an output's card, for as long as the output keeps the reference.
    func hold(_ card: DRMCard) { shared.withLock { $0.cards[card.path] = HeldCard(card: card) } }

    /// Replaces an output's reservation. Returns false if another output has the connector or the CRTC.
    func reserve(_ reservation: Reservation, for output: Int) -> Bool {
        shared.withLock { shared in
            for (other, member) in shared.members where other != output && member.reservation?.device == reservation.device {
                if member.reservation?.connector == reservation.connector || member.reservation?.crtc == reservation.crtc { return false }
            }
            shared.members[output]?.reservation = reservation
            return true
        }
    }

    /// Removes an output's reservation.
    func release(_ output: Int) { shared.withLock { $0.members[output]?.reservation = nil } }

    /// Returns the reservations of other outputs.
    func reservations(besides output: Int) -> [Reservation] {
        shared.withLock { shared in shared.members.filter { $0.key != output }.compactMap(\.value.reservation) }
    }
}
