import Glibc
import KioskCommands
import KioskPlatform
import RemoteClient
import Synchronization

/// An event of the player, or the news of its end.
struct PlayerEvent: Sendable {
    var kind: String
    var data: String
}

/// Somebody who listens to events.
final class Listener: Sendable {
    /// Woken by events.
    let wakeUp = WakeUp()
    private let events = Mutex<[PlayerEvent]>([])
    /// The most events that wait; the oldest are dropped.
    private static let most = 256

    func take() -> [PlayerEvent] {
        events.withLock { events in
            defer { events = [] }
            return events
        }
    }

    func add(_ event: PlayerEvent) {
        events.withLock { events in
            if events.count >= Self.most { events.removeFirst() }
            events.append(event)
        }
        wakeUp.wake()
    }
}

/// Events of the player: one connection for each set of topics that somebody listens to, and none otherwise.
final class EventHub: Sendable {
    private final class Channel: Sendable {
        let topics: Set<ControlTopic>
        let state = Monitor(State())

        struct State {
            var listeners: [Listener] = []
            var line: ControlLine?
            var isConnected: Bool?
            var isOver = false
        }

        init(_ topics: Set<ControlTopic>) { self.topics = topics }
    }

    private let path: String
    private let channels = Mutex<[Set<ControlTopic>: Channel]>([:])
    /// Each is a client of the player, which has room for 16.
    private static let mostChannels = 6
    private static let retry = MediaTime.seconds(2)

    init(_ path: String) { self.path = path }

    /// The connections now, for tests and figures.
    var count: Int { channels.withLock { $0.count } }

    /// Begins to listen to these topics.
    func listen(to topics: Set<ControlTopic>) throws(APIError) -> Listener {
        let listener = Listener()
        let (channel, isNew): (Channel, Bool) = try channels.withLock { channels throws(APIError) in
            if let channel = channels[topics] { return (channel, false) }
            guard channels.count < Self.mostChannels else {
                throw APIError(
                    503, "too-many-watches", "there are \(Self.mostChannels) different watches already: choose the topics of one of them")
            }
            let channel = Channel(topics)
            channels[topics] = channel
            return (channel, true)
        }
        channel.state.withLock { state in
            state.listeners.append(listener)
            if let isConnected = state.isConnected { listener.add(Self.news(isConnected)) }
        }
        if isNew { Thread("web events") { [self] in run(channel) }.detach() }
        return listener
    }

    /// Ends listening. The last one's connection ends, too.
    func end(_ listener: Listener, _ topics: Set<ControlTopic>) {
        channels.withLock { channels in
            guard let channel = channels[topics] else { return }
            channel.state.signal { state in
                state.listeners.removeAll { $0 === listener }
                guard state.listeners.isEmpty else { return }
                state.isOver = true
                state.line?.end()
                channels[topics] = nil
            }
        }
    }

    private static func news(_ isConnected: Bool) -> PlayerEvent {
        PlayerEvent(kind: "player", data: JSONValue.object(["connected": .bool(isConnected)]).line)
    }

    /// Passes events on until nobody listens.
    private func run(_ channel: Channel) {
        let request = JSONValue.object([
            "command": "observe".json, "events": channel.topics.map(\.rawValue).sorted().json,
        ]).line
        while !channel.state.withLock({ $0.isOver }) {
            do throws(ControlError) {
                let line = try ControlLine.open(path)
                let isOver = channel.state.withLock { state in
                    state.line = line
                    return state.isOver
                }
                if isOver { return }
                try line.send(request)
                guard JSONValue(try line.next(until: .now + .seconds(10)))?["ok"] == .bool(true) else {
                    throw ControlError("the player refuses to be observed")
                }
                tell(channel, isConnected: true)
                while true { pass(try line.next(until: nil), to: channel) }
            } catch {
                tell(channel, isConnected: false)
            }
            let _: Bool? = channel.state.wait(until: .now + Self.retry) { $0.isOver ? true : nil }
        }
    }

    private func pass(_ line: String, to channel: Channel) {
        guard let event = JSONValue(line), let kind = event["event"]?.text else { return }
        let listeners = channel.state.withLock { $0.listeners }
        for listener in listeners { listener.add(PlayerEvent(kind: kind, data: event.line)) }
    }

    private func tell(_ channel: Channel, isConnected: Bool) {
        channel.state.withLock { state in
            if state.isConnected == isConnected { return }
            state.isConnected = isConnected
            for listener in state.listeners { listener.add(Self.news(isConnected)) }
        }
    }
}
