import Glibc
import KioskPlatform
import KioskVocabulary
import Logging
import Synchronization

let log = Logger(label: "input")

/// Reads every keyboard, remote, touch screen and mouse, as they come and go, and hands on their events.
///
/// One thread, `input`, waits for all of them. It grabs the devices that it uses, so their keys do not reach a shell underneath. It looks
/// at /dev/input when udev or the kernel announces a change, and every two seconds.
package final class InputReader: Sendable {
    /// Receives an event. Called on the input thread; returns at once.
    package typealias Handler = @Sendable (InputEvent) -> Void

    /// Selects the devices to read, and how.
    package struct Options: Sendable {
        /// The keys of interest. The reader does not use a device without any of them, a touch panel or a mouse button. It hands on every
        /// key of a device that it uses.
        package var keys: Set<KeyCode>
        /// Whether to grab the devices, which keeps their events from other programs.
        package var grabs = true
        /// Whether to hand on contacts.
        package var usesTouch = true
        /// The devices that act, by their names. The reader grabs and reads the others too, but hands on none of their events.
        package var lock = InputLock()
        /// The displays of the touch screens.
        package var map = DisplayMap()
        /// Whether to correct positions by the devices' calibration.
        package var isCalibrated = true

        /// Creates options for these keys.
        package init(keys: Set<KeyCode>) { self.keys = keys }
    }

    private let options: Options
    private let display: @Sendable () -> DisplayConnector?
    private let control = Control()

    /// The state that the input thread shares with the others.
    fileprivate final class Control: Sendable {
        let wakeUp = WakeUp()
        let isActive = Atomic(true)
        let isStopped = Atomic(false)
        /// Whether ``stop()`` has given up waiting for the thread.
        let isLeftBehind = Atomic(false)
        let rotation = Atomic(Rotation.none.rawValue)
        /// The number of open devices.
        let openCount = Atomic(0)
        let thread = Mutex<Thread?>(nil)
        let names = Mutex<[DeviceID: (name: String, place: String)]>([:])
    }

    /// Creates a reader. `display` returns the display in use, if known; it is called on the input thread.
    package init(_ options: Options, display: @escaping @Sendable () -> DisplayConnector? = { nil }) {
        (self.options, self.display) = (options, display)
    }

    /// Whether any device that is used is open. From any thread.
    package var hasDevices: Bool { control.openCount.load(ordering: .relaxed) > 0 }

    /// Starts to read. Call once.
    package func start(_ handler: InputHandler) {
        let (options, display, control) = (options, display, control)
        control.thread.withLock {
            precondition($0 == nil, "an input reader is started once")
            $0 = Thread("input") {
                var loop = InputLoop(options, display: display, control: control, handler: handler)
                loop.run()
            }
        }
    }

    /// Starts to read, for a handler without deadlines. Call once.
    package func start(_ handler: @escaping Handler) { start(InputHandler(handle: handler)) }

    /// Returns the name of a device that has sent an event, and its place on the bus. Returns nil if the number was never used. From any
    /// thread.
    package func name(of device: DeviceID) -> (name: String, place: String)? { control.names.withLock { $0[device] } }

    /// Sets the clockwise rotation of the picture on the panel; touch positions rotate with it. Initially none. From any thread.
    package func setRotation(_ rotation: Rotation) { control.rotation.store(rotation.rawValue, ordering: .releasing) }

    /// Sets whether the devices are ours: false while another virtual terminal is in front. The reader then releases the devices, cancels
    /// contacts, releases keys and hands on nothing more. Initially true. From any thread.
    package func setActive(_ isActive: Bool) {
        control.isActive.store(isActive, ordering: .releasing)
        control.wakeUp.wake()
    }

    /// Ends the reading, cancels contacts, releases keys and releases the devices. Waits for the end of the input thread, two seconds at
    /// most: a device, or the display callback, may hang. The reader hands on nothing afterwards.
    package func stop() {
        control.isStopped.store(true, ordering: .releasing)
        control.wakeUp.wake()
        guard let thread = control.thread.withLock({ $0.take() }), !thread.join(until: .now + Self.longestStop) else { return }
        control.isLeftBehind.store(true, ordering: .releasing)
    }

    private static let longestStop = MediaTime.seconds(2)
}

/// A device in use, and its reported state.
private final class Source {
    fileprivate(set) var device: EvdevDevice?
    let descriptor: Int32
    let abilities: DeviceAbilities
    let name: String, identity: String
    /// The display of the device, according to udev.
    let output: String?
    var state: DeviceState
    /// Whether the device is grabbed, if it is to be grabbed.
    var isGrabbed = false
    /// Whether its contacts are for the display in use.
    var isOurs = true
    /// Whether its events are handed on.
    let isAllowed: Bool
    let node: InputFolder.Node

    init(_ device: consuming EvdevDevice, output: String?, isAllowed: Bool, node: InputFolder.Node, id: DeviceID) {
        (descriptor, abilities, name, identity) = (device.descriptor, device.abilities, device.name, device.identity)
        self.device = consume device
        (self.output, self.isAllowed, self.node) = (output, isAllowed, node)
        state = DeviceState(device: id, hasGhosts: abilities.hasGhosts)
    }

    /// Cancels contacts and releases keys, because events are missing at `time`.
    func cancel(at time: HostTime, keepingHeldKeys: Bool = false) -> [InputEvent] {
        state.cancel(touching: device!.contacts(), isStillHeld: { keepingHeldKeys && device!.isHeld($0) }, at: time)
    }
}

/// The state of the input thread.
private struct InputLoop: ~Copyable {
    private let options: InputReader.Options
    private let display: @Sendable () -> DisplayConnector?
    private let control: InputReader.Control
    private let handler: InputHandler

    private var monitor = HotplugMonitor.open(subsystems: ["input"])
    private var sources: [Source] = [] { didSet { control.openCount.store(sources.count, ordering: .relaxed) } }
    /// Nodes that are open, or of no use.
    private var settled: Set<InputFolder.Node> = []
    /// Nodes that did not open: since when, and whether the log has said so.
    private var refusals: [InputFolder.Node: (since: HostTime, isTold: Bool)] = [:]
    private var nextLook = HostTime.now
    private var isActive = true

    static let lookInterval = MediaTime.milliseconds(2000)
    /// How long a node may refuse before the log says so.
    private static let refusalTimeout = MediaTime.seconds(3)

    init(
        _ options: InputReader.Options, display: @escaping @Sendable () -> DisplayConnector?, control: InputReader.Control,
        handler: InputHandler
    ) {
        (self.options, self.display, self.control, self.handler) = (options, display, control, handler)
    }

    mutating func run() {
        while !control.isStopped.load(ordering: .acquiring) {
            let isActive = control.isActive.load(ordering: .acquiring)
            if isActive != self.isActive { activate(isActive) }
            if HostTime.now >= nextLook {
                look()
                StartTrace.reached(.listening)
            }
            var descriptors = [control.wakeUp.pollDescriptor, pollfd(fd: monitor?.descriptor ?? -1, events: Int16(POLLIN), revents: 0)]
            descriptors += sources.map { pollfd(fd: $0.descriptor, events: Int16(POLLIN), revents: 0) }
            control.wakeUp.wait(for: &descriptors, until: min(nextLook, deadline() ?? nextLook))
            if descriptors[1].revents != 0, monitor?.drain() == true { nextLook = .now }
            let ready = zip(sources, descriptors.dropFirst(2)).filter { $0.1.revents != 0 }.map(\.0)
            let now = HostTime.now
            let isDue = deadline().map { $0 <= now } ?? false
            // Events before a deadline come first: reads all events up to now, then handles the deadline.
            for source in isDue ? sources : ready { read(source) }
            if isDue { expire(at: now) }
        }
        if control.isLeftBehind.load(ordering: .acquiring) { return }
        for source in sources { source.cancel(at: .now).forEach(handler.handle) }
    }

    /// The time of the next work without an event.
    private func deadline() -> HostTime? { ([handler.nextDeadline()] + sources.map(\.state.nextDeadline)).compactMap { $0 }.min() }

    private func expire(at now: HostTime) {
        for source in sources { source.state.expire(at: now).forEach(handler.handle) }
        if let deadline = handler.nextDeadline(), deadline <= now { handler.expire(now) }
    }

    /// Looks for new nodes.
    private mutating func look() {
        nextLook = .now + Self.lookInterval
        let nodes = InputFolder.nodes()
        settled.formIntersection(nodes)
        refusals = refusals.filter { nodes.contains($0.key) }
        for node in nodes where !settled.contains(node) && !sources.contains(where: { $0.node.path == node.path }) { open(node) }
        if isActive { for source in sources where !source.isGrabbed { grab(source) } }
        let present = display()
        for source in sources where source.abilities.isDirect { choose(source, present) }
    }

    /// Decides whether a device's contacts are for the display in use.
    private func choose(_ source: Source, _ present: DisplayConnector?) {
        let isOurs = options.map.isOurs(source.identity, output: source.output, present: present)
        if isOurs == source.isOurs { return }
        if !isOurs { source.cancel(at: .now, keepingHeldKeys: true).forEach(handler.handle) }
        source.isOurs = isOurs
        let place = isOurs ? "the display that is used" : "another display: kiosk ignores its touches"
        log.info("\(source.node.path) \(source.name) lies on \(place)")
    }

    private mutating func open(_ node: InputFolder.Node) {
        guard let properties = properties(node) else { return }
        do throws(EvdevDevice.OpenError) {
            var device = try EvdevDevice.open(node.path, keys: options.keys)
            settled.insert(node)
            refusals[node] = nil
            guard device.abilities.isUsed else { return }
            let isAllowed = options.lock.allows(device.lockDevice)
            if options.isCalibrated { device.calibrate(by: properties) }
            let isLocked = isAllowed ? "" : "; locked: [input] allow lists other devices"
            log.info("\(device.path) \(device.name): \(device.abilities)\(isLocked)")
            let taken = Set(sources.map(\.state.device))
            let id = (0...sources.count).lazy.map(DeviceID.init).first { !taken.contains($0) }!
            let name = (device.name, device.place)
            control.names.withLock { $0[id] = name }
            sources.append(
                Source(device, output: properties[EvdevDevice.outputProperty], isAllowed: isAllowed, node: node, id: id))
        } catch {
            // A node exists before udev has set its permissions; on a slow machine for some seconds.
            let refusal = refusals[node] ?? (since: .now, isTold: false)
            let isLasting = HostTime.now - refusal.since >= Self.refusalTimeout
            if isLasting, !refusal.isTold { log.warning("\(error)") }
            refusals[node] = (refusal.since, refusal.isTold || isLasting)
        }
    }

    /// Returns udev's properties of a node; nil while udev has not processed it and may still do so.
    private mutating func properties(_ node: InputFolder.Node) -> [String: String]? {
        if let properties = DeviceProperties.of(node.path, names: EvdevDevice.propertyNames) { return properties }
        let refusal = refusals[node] ?? (since: .now, isTold: false)
        refusals[node] = refusal
        return HostTime.now - refusal.since < Self.refusalTimeout ? nil : [:]
    }

    private func grab(_ source: Source) {
        guard options.grabs, source.abilities.isGrabbed else { return source.isGrabbed = true }
        source.isGrabbed = source.device!.grab(true)
        if !source.isGrabbed { log.debug("\(source.node.path) is grabbed by another program; its events do not arrive") }
    }

    private mutating func activate(_ isActive: Bool) {
        self.isActive = isActive
        for source in sources {
            // Hands on nothing on the way back: no events were handed on while another terminal was in front. Contacts that touch now are
            // ignored until they are lifted.
            source.cancel(at: .now).forEach(handler.handle)
            if isActive {
                grab(source)
            } else {
                if options.grabs, source.abilities.isGrabbed { _ = source.device!.grab(false) }
                source.isGrabbed = false
            }
        }
    }

    private mutating func read(_ source: Source) {
        do throws(EvdevDevice.OpenError) {
            while let event = try source.device!.next() {
                if isActive { translate(event, source).forEach(handler.handle) }
            }
        } catch {
            log.info("\(source.node.path) is gone")
            source.state.cancel(touching: [], at: .now).forEach(handler.handle)
            sources.removeAll { $0 === source }
            settled.remove(source.node)
            nextLook = .now
        }
    }

    private func translate(_ event: EvdevDevice.Event, _ source: Source) -> [InputEvent] {
        guard source.isAllowed else { return [] }
        let takesContacts = options.usesTouch && source.isOurs && source.abilities.contacts != .none
        let rotation = Rotation(rawValue: control.rotation.load(ordering: .acquiring)) ?? .none
        return source.state.events(for: event, of: source.device!, takesContacts: takesContacts, rotation: rotation)
    }
}
