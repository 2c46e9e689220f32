import Glibc
import KioskPlatform
import KioskPlayback
import Logging

/// What the outputs of the process share: the virtual terminal, the announcements of hot-plug, the graphics cards with the right to drive
/// them (master), and who has which CRTC and connector. One seat, any number of outputs.
///
/// The seat has no thread. Every output waits, on its presenter's thread, for the seat's descriptors (``descriptors``) beside its own;
/// whoever is awake first sees to them (``attendTerminal(release:acquire:)``), and what the outputs are to do is posted to each, for its
/// own thread. Flips wait for none of this. A switch of virtual terminals ends when every output has done its part (``SeatSwitch``).
package final class Seat: @unchecked Sendable {
    // Sendable because everything that changes is touched with the lock of `shared` held.

    /// What an output is to do.
    enum Message { case leave, comeBack, look }

    /// What an output has to itself: a connector of a card and the CRTC that serves it, or a framebuffer device.
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
        /// The cards that outputs have, by their paths.
        var cards: [String: HeldCard] = [:]
        /// When a virtual terminal that is another program's is looked at again.
        var nextClaim: HostTime?
        var terminalWait = TerminalWait()
        var isInFront = true
        var observer: (@Sendable (Bool) -> Void)?
    }

    private let shared = Monitor(Shared())
    private var terminal: VirtualTerminal?
    private var monitor: HotplugMonitor?

    /// A seat without a virtual terminal and hot-plug, for an output in memory.
    init() {}

    /// Takes the virtual terminal: the one on standard input, else the one on the screen; and listens for displays.
    package static func open() -> Seat {
        let seat = Seat()
        // Before any card is opened: the guard process must not inherit one.
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

    /// Whether our virtual terminal is on the screen; nil without one.
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

    /// A new output's number. `wake` ends its wait for the seat's descriptors when something is posted to it, or one of its flips has been
    /// read by another one; from any thread.
    func add(wake: @escaping @Sendable () -> Void) -> Int {
        shared.withLock { shared in
            shared.lastMember += 1
            shared.members[shared.lastMember] = Member(wake: wake)
            return shared.lastMember
        }
    }

    /// An output has closed. With the last one the virtual terminal goes back to the console.
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

    /// The next thing that an output is to do.
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

    /// Calls `observer` with whether our virtual terminal is in front: at once, and on a presenter's thread at each switch to another one
    /// and back. To be called once, before anything is shown.
    func observeTerminal(_ observer: @escaping @Sendable (Bool) -> Void) {
        let isInFront = shared.withLock { shared in
            shared.observer = observer
            return shared.isInFront
        }
        observer(isInFront)
    }

    /// What to wait for; nil where there is none.
    var descriptors: (release: Int32?, acquire: Int32?, hotplug: Int32?) {
        shared.withLock { _ in (terminal?.releaseDescriptor, terminal?.acquireDescriptor, monitor?.descriptor) }
    }

    /// When ``claim(at:)`` is to be called; nil when the virtual terminal is ours, or there is none.
    var nextClaim: HostTime? { shared.withLock { $0.nextClaim } }

    /// Takes the virtual terminal once it is no longer another program's. No card is open until then.
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
        // Else the kernel says when it has come to the screen.
        if isActive != false { switchTerminal(wantsOut: false, cameBack: true) }
    }

    /// Sees to the virtual terminal, of which the ones of ``descriptors`` that are named are ready.
    func attendTerminal(release: Bool, acquire: Bool) {
        // Both are asked before either is followed.
        let (wantsOut, cameBack) = shared.withLock { _ in
            (release && terminal?.releaseWanted() == true, acquire && terminal?.hasComeBack() == true)
        }
        switchTerminal(wantsOut: wantsOut, cameBack: cameBack)
    }

    /// Sees to announcements; `isBroken` when their descriptor is in error: an overflow of the queue is as good as an announcement.
    func attendHotplug(isBroken: Bool) { if shared.withLock({ _ in monitor?.drain() == true }) || isBroken { post(.look) } }

    /// What the kernel has told of our virtual terminal.
    func switchTerminal(wantsOut: Bool, cameBack: Bool) {
        follow(shared.withLock { $0.switching.told(wantsOut: wantsOut, cameBack: cameBack, outputs: Set($0.members.keys)) })
    }

    /// An output has let go of its screen.
    func hasLeft(_ output: Int) { follow(shared.withLock { $0.switching.left(output) }) }

    /// An output has looked for its display.
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
                // What the cards showed before us is then no longer ours to put back.
                for card in heldCards {
                    card.saved.withLock { $0 = [:] }
                    card.dropMaster()
                }
                shared.withLock { _ in terminal?.release() }
            // Where that is possible already: connectors are probed for their master only.
            case .reacquire: for card in heldCards { try? card.becomeMaster() }
            }
        }
    }

    // MARK: Cards

    private var heldCards: [DRMCard] { shared.withLock { $0.cards.values.compactMap(\.card) } }

    /// The card at a path, if an output has it. Opened a second time it would not be ours to drive.
    func heldCard(_ path: String) -> DRMCard? { shared.withLock { $0.cards[path]?.card } }

    /// An output has a card now; for as long as it keeps the reference.
    func hold(_ card: DRMCard) { shared.withLock { $0.cards[card.path] = HeldCard(card: card) } }

    /// Gives an output what it asks for, instead of what it had; false when another one has it, or its CRTC.
    func reserve(_ reservation: Reservation, for output: Int) -> Bool {
        shared.withLock { shared in
            for (other, member) in shared.members where other != output && member.reservation?.device == reservation.device {
                if member.reservation?.connector == reservation.connector || member.reservation?.crtc == reservation.crtc { return false }
            }
            shared.members[output]?.reservation = reservation
            return true
        }
    }

    /// Takes back what an output has.
    func release(_ output: Int) { shared.withLock { $0.members[output]?.reservation = nil } }

    /// What other outputs have.
    func reservations(besides output: Int) -> [Reservation] {
        shared.withLock { shared in shared.members.filter { $0.key != output }.compactMap(\.value.reservation) }
    }
}
