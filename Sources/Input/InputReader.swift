import Glibc
import Logging
import Platform
import Synchronization
import Vocabulary

let log = Logger(label: "input")

/// Reads every keyboard, remote, touch screen and mouse, as they come and go, and hands on what happens on them.
///
/// One thread, `input`, waits for all of them. Devices that are of use are grabbed, so that their keys do not reach a shell
/// underneath. /dev/input is looked at when udev or the kernel announces a change, and every two seconds.
package final class InputReader: Sendable {
    /// Receives an event. Called on the input thread; returns at once.
    package typealias Handler = @Sendable (InputEvent) -> Void

    private let keys: Set<KeyCode>
    private let grabs: Bool
    private let usesTouch: Bool
    private let control = Control()

    /// What the input thread shares with the others.
    fileprivate final class Control: Sendable {
        let wakeUp = WakeUp()
        let isActive = Atomic(true)
        let isStopped = Atomic(false)
        let rotation = Atomic(Rotation.none.rawValue)
        let thread = Mutex<Thread?>(nil)
    }

    /// A reader.
    ///
    /// - Parameters:
    ///   - keys: the keys of interest. A device that has none of them, no touch panel and no mouse button is not used. Of a device that is
    ///     used every key is handed on.
    ///   - grabs: whether to keep the devices' events from other programs.
    ///   - usesTouch: whether to hand on contacts.
    package init(keys: Set<KeyCode>, grabs: Bool = true, usesTouch: Bool = true) {
        self.keys = keys
        self.grabs = grabs
        self.usesTouch = usesTouch
    }

    /// Begins to read. Called once.
    package func start(_ handler: @escaping Handler) {
        let (keys, grabs, usesTouch, control) = (keys, grabs, usesTouch, control)
        control.thread.withLock {
            precondition($0 == nil, "an input reader is started once")
            $0 = Thread("input") {
                var loop = InputLoop(keys: keys, grabs: grabs, usesTouch: usesTouch, control: control, handler: handler)
                loop.run()
            }
        }
    }

    /// The clockwise turn of the picture on the panel, with which touch turns; none to begin with. From any thread.
    package func setRotation(_ rotation: Rotation) { control.rotation.store(rotation.rawValue, ordering: .releasing) }

    /// Whether the devices are ours: false while another virtual terminal is in front; then they are let go, contacts are cancelled, keys
    /// released, and nothing more is handed on. True to begin with. From any thread.
    package func setActive(_ isActive: Bool) {
        control.isActive.store(isActive, ordering: .releasing)
        control.wakeUp.wake()
    }

    /// Ends the reading and lets the devices go. Blocks until the input thread has ended; nothing is handed on afterwards.
    package func stop() {
        control.isStopped.store(true, ordering: .releasing)
        control.wakeUp.wake()
        let thread = control.thread.withLock { $0.take() }
        thread?.join()
    }
}

/// A device in use, and what has been told of it.
private final class Source {
    private(set) var device: EvdevDevice?
    let descriptor: Int32
    let abilities: DeviceAbilities
    var state: DeviceState
    /// Whether the device is to be grabbed and is.
    var isGrabbed = false
    let node: InputFolder.Node

    init(_ device: consuming EvdevDevice, node: InputFolder.Node, id: DeviceID) {
        descriptor = device.descriptor
        abilities = device.abilities
        self.device = consume device
        self.node = node
        state = DeviceState(device: id)
    }

    /// Ends what is under way, as events are missing at `time`.
    func cancel(at time: HostTime, keepingHeldKeys: Bool = false) -> [InputEvent] {
        let touching = device!.contacts()
        return state.cancel(touching: touching, isStillHeld: { keepingHeldKeys && device!.isHeld($0) }, at: time)
    }
}

/// All that the input thread knows.
private struct InputLoop: ~Copyable {
    private let keys: Set<KeyCode>
    private let grabs: Bool
    private let usesTouch: Bool
    private let control: InputReader.Control
    private let handler: InputReader.Handler

    private var monitor = HotplugMonitor.open(subsystems: ["input"])
    private var sources: [Source] = []
    /// Nodes that are open, or of no use.
    private var settled: Set<InputFolder.Node> = []
    /// Nodes that did not open: since when, and whether that has been said.
    private var refusals: [InputFolder.Node: (since: HostTime, isTold: Bool)] = [:]
    private var nextLook = HostTime.now
    private var isActive = true

    static let lookInterval = MediaTime.milliseconds(2000)
    /// How long a node may refuse before somebody is told.
    private static let refusalTimeout = MediaTime.seconds(3)

    init(
        keys: Set<KeyCode>, grabs: Bool, usesTouch: Bool, control: InputReader.Control, handler: @escaping InputReader.Handler
    ) {
        self.keys = keys
        self.grabs = grabs
        self.usesTouch = usesTouch
        self.control = control
        self.handler = handler
    }

    mutating func run() {
        while !control.isStopped.load(ordering: .acquiring) {
            let isActive = control.isActive.load(ordering: .acquiring)
            if isActive != self.isActive { activate(isActive) }
            if HostTime.now >= nextLook { look() }
            var descriptors = [control.wakeUp.pollDescriptor, pollfd(fd: monitor?.descriptor ?? -1, events: Int16(POLLIN), revents: 0)]
            descriptors += sources.map { pollfd(fd: $0.descriptor, events: Int16(POLLIN), revents: 0) }
            control.wakeUp.wait(for: &descriptors, until: nextLook)
            if descriptors[1].revents != 0, monitor?.drain() == true { nextLook = .now }
            let ready = zip(sources, descriptors.dropFirst(2)).filter { $0.1.revents != 0 }.map(\.0)
            for source in ready { read(source) }
        }
    }

    /// Looks for nodes that are new.
    private mutating func look() {
        nextLook = .now + Self.lookInterval
        let nodes = InputFolder.nodes()
        settled.formIntersection(nodes)
        refusals = refusals.filter { nodes.contains($0.key) }
        for node in nodes where !settled.contains(node) && !sources.contains(where: { $0.node.path == node.path }) { open(node) }
        if isActive { for source in sources where !source.isGrabbed { grab(source) } }
    }

    private mutating func open(_ node: InputFolder.Node) {
        do throws(EvdevDevice.OpenError) {
            let device = try EvdevDevice.open(node.path, keys: keys)
            settled.insert(node)
            refusals[node] = nil
            guard device.abilities.isUsed else { return }
            log.info("\(device.path) \(device.name): \(device.abilities)")
            let taken = Set(sources.map(\.state.device))
            let id = (0...sources.count).lazy.map(DeviceID.init).first { !taken.contains($0) }!
            sources.append(Source(device, node: node, id: id))
        } catch {
            // A node exists before udev has given it its permissions, on a slow machine for some seconds.
            let refusal = refusals[node] ?? (since: .now, isTold: false)
            let isLasting = HostTime.now - refusal.since >= Self.refusalTimeout
            if isLasting, !refusal.isTold { log.warning("\(error)") }
            refusals[node] = (refusal.since, refusal.isTold || isLasting)
        }
    }

    private func grab(_ source: Source) {
        guard grabs, source.abilities.isGrabbed else { return source.isGrabbed = true }
        source.isGrabbed = source.device!.grab(true)
        if !source.isGrabbed { log.debug("\(source.node.path) is grabbed by another program; its events do not arrive") }
    }

    private mutating func activate(_ isActive: Bool) {
        self.isActive = isActive
        for source in sources {
            // While another terminal was in front nothing was told, so that this tells nothing then; what touches now is left out until it
            // is lifted.
            source.cancel(at: .now).forEach(handler)
            if isActive {
                grab(source)
            } else {
                if grabs, source.abilities.isGrabbed { _ = source.device!.grab(false) }
                source.isGrabbed = false
            }
        }
    }

    private mutating func read(_ source: Source) {
        do throws(EvdevDevice.OpenError) {
            while let event = try source.device!.next() {
                if isActive { translate(event, source).forEach(handler) }
            }
        } catch {
            log.info("\(source.node.path) is gone")
            source.state.cancel(touching: [], at: .now).forEach(handler)
            sources.removeAll { $0 === source }
            settled.remove(source.node)
            nextLook = .now
        }
    }

    private func translate(_ event: EvdevDevice.Event, _ source: Source) -> [InputEvent] {
        switch event {
        case .key(let key, let phase, let time):
            let modifiers = source.device!.modifiers()
            return source.state.key(key, phase, modifiers: modifiers, at: time).map { [$0] } ?? []
        case .report(let time):
            guard usesTouch, source.abilities.contacts != .none else { return [] }
            let panel = source.device!.contacts()
            let rotation = Rotation(rawValue: control.rotation.load(ordering: .acquiring)) ?? .none
            return source.state.report(source.abilities.isDirect ? panel.map { $0.upright(rotation) } : panel, at: time)
        case .lost(let time):
            return source.cancel(at: time, keepingHeldKeys: true)
        }
    }
}
