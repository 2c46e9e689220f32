import Glibc
import KioskCommands
import KioskPlatform
import Logging
import RemoteClient
import Synchronization

/// The state that the thread of a control socket shares with other threads.
final class ControlShared: Sendable {
    let wakeUp = WakeUp()
    private let state = Mutex((events: [(topic: ControlTopic, line: String)](), isObserved: false, isStopping: false))
    /// The most queued events; the thread is never that far behind.
    private static let mostEvents = 1000

    var isObserved: Bool { state.withLock { $0.isObserved } }
    func setObserved(_ isObserved: Bool) { state.withLock { $0.isObserved = isObserved } }

    var isStopping: Bool { state.withLock { $0.isStopping } }
    func stop() {
        state.withLock { $0.isStopping = true }
        wakeUp.wake()
    }

    func post(_ topic: ControlTopic, _ members: [String: JSONValue]) {
        let line = JSONValue.object(members.merging(["event": topic.rawValue.json]) { $1 }).line
        state.withLock { if $0.events.count < Self.mostEvents { $0.events.append((topic, line)) } }
        wakeUp.wake()
    }

    func takeEvents() -> [(topic: ControlTopic, line: String)] {
        state.withLock { state in
            defer { state.events.removeAll(keepingCapacity: true) }
            return state.events
        }
    }
}

/// The state that only the thread of a control socket uses: the listener and the clients.
///
/// It blocks only in poll(2). A client keeps the request that waits for its effect, and the thread checks it every ``effectCheck``.
/// Meanwhile the client's next lines wait, if necessary in the socket. While a client observes, the thread checks every ``look`` for
/// changes without events.
struct ControlServer: ~Copyable {
    private let listener: SharedDescriptor
    private let shared: ControlShared
    private let handler: ControlSocket.Handler
    private let changes: ControlSocket.Changes
    private var nextLook = HostTime.now
    private var clients: [ControlConnection] = []

    private static let mostClients = 16
    /// The interval of checks for an effect: shorter than a refresh period, so that the answer comes with the vblank that shows the effect.
    private static let effectCheck = MediaTime.milliseconds(5)
    private static let look = MediaTime.seconds(1)

    init(
        _ listener: SharedDescriptor, _ shared: ControlShared, changes: @escaping ControlSocket.Changes,
        _ handler: @escaping ControlSocket.Handler
    ) {
        (self.listener, self.shared, self.changes, self.handler) = (listener, shared, changes, handler)
    }

    /// Waits for an event and handles it.
    mutating func step() {
        var entries = [shared.wakeUp.pollDescriptor, pollfd(fd: listener.raw, events: Int16(POLLIN), revents: 0)]
        entries += clients.map { pollfd(fd: $0.descriptor, events: $0.awaited, revents: 0) }
        var deadline = clients.compactMap(\.deadline).min() ?? .now + .seconds(3600)
        if clients.contains(where: { $0.awaitsEffect }) { deadline = min(deadline, .now + Self.effectCheck) }
        if shared.isObserved { deadline = min(deadline, nextLook) }
        shared.wakeUp.wait(for: &entries, until: deadline)

        if shared.isObserved, HostTime.now >= nextLook {
            for (topic, members) in changes() { shared.post(topic, members) }
            nextLook = .now + Self.look
        }
        for event in shared.takeEvents() { for client in clients where client.topics.contains(event.topic) { client.send(event.line) } }
        for (client, entry) in zip(clients, entries.dropFirst(2)) { serve(client, entry.revents) }
        let count = clients.count
        clients.removeAll(where: \.isOver)
        if clients.count != count { shared.setObserved(clients.contains { !$0.topics.isEmpty }) }
        if entries[1].revents != 0 { accept() }
    }

    private mutating func accept() {
        guard let socket = Descriptor(accepting: listener.raw) else { return }
        let client = ControlConnection(socket)
        // A new client replaces the idle client that has been silent for longest.
        if clients.count >= Self.mostClients {
            let idle = clients.indices.filter { clients[$0].isIdle }.min { clients[$0].heardAt < clients[$1].heardAt }
            if let idle { clients.remove(at: idle) }
        }
        if clients.count < Self.mostClients { return clients.append(client) }
        client.send(ControlRefusal(code: "too-many-clients", message: "\(Self.mostClients) programs are connected: try again later").line)
    }

    /// Serves a client as far as possible; `happened` has its events from poll(2).
    private func serve(_ client: ControlConnection, _ happened: Int16) {
        client.flush()
        if happened & Int16(POLLIN) != 0 {
            client.receive()
        } else if happened & Int16(POLLHUP | POLLERR | POLLNVAL) != 0 {
            client.end()
        }
        client.checkEffect()
        while let line = client.nextLine() { answer(line, client) }
        client.checkLimits()
    }

    private func answer(_ line: String, _ client: ControlConnection) {
        do throws(ControlRefusal) {
            let request = try ControlRequest(line: line)
            if case .observe(let topics) = request.request { return observe(topics, request.id, client) }
            do throws(ControlRefusal) {
                switch try handler(request) {
                case .answer(let answer): client.send(answer, id: request.id)
                case .later(let check): client.wait(for: check, id: request.id)
                }
            } catch { throw error.answering(request.id) }
        } catch { client.send(error.line) }
    }

    private func observe(_ topics: [ControlTopic], _ id: JSONValue, _ client: ControlConnection) {
        client.topics = Set(topics)
        shared.setObserved(clients.contains { !$0.topics.isEmpty })
        client.send(ControlAnswer(["events": .array(topics.map { .string($0.rawValue) })]), id: id)
    }
}
