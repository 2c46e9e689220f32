import KioskCommands
import KioskPlatform

/// What goes on while it is looked at: events, and the picture of the screen.
enum LiveRoutes {
    /// How often a silent stream says that it is still there.
    private static let heartbeat = MediaTime.seconds(15)

    static func routes(_ player: PlayerLink, _ hub: EventHub, _ screen: SharedScreen) -> [Route] {
        let names = ControlTopic.allCases.map(\.rawValue).joined(separator: ",")
        return [
            Route(.get, "events", "Events of the player as they happen, and `player` when it comes or goes.", scope: .view) {
                request throws(APIError) in
                let topics = try topics(request.head.queried("watch"))
                let listener = try hub.listen(to: topics)
                return .events { writer in
                    defer { hub.end(listener, topics) }
                    guard writer.write(": kiosk\n\n") else { return }
                    send(listener, writer)
                }
            }.with { route in
                route.queries = [
                    ("watch", #"{ "type": "string" }"#, "The topics, with commas between them: \(names). Without it all of them.")
                ]
                route.type = "text/event-stream"
            },
            Route(.get, "screen", "The screen as a PNG, a second old at most; viewers share it.", scope: .view) { _ throws(APIError) in
                HTTPResponse(200, "image/png", try screen.picture()).header("Cache-Control", "no-store")
            }.with { $0.type = "image/png" },
        ]
    }

    private static func topics(_ text: String?) throws(APIError) -> Set<ControlTopic> {
        guard let text, !text.isEmpty else { return Set(ControlTopic.allCases) }
        let words = text.split(separator: ",")
        let topics = words.compactMap { ControlTopic(rawValue: String($0)) }
        guard topics.count == words.count, !topics.isEmpty else {
            let names = ControlTopic.allCases.map(\.rawValue).joined(separator: ", ")
            throw APIError(400, "invalid-parameter", "watch: expected some of \(names)")
        }
        return Set(topics)
    }

    /// Sends events until the client goes.
    static func send(_ listener: Listener, _ writer: HTTPWriter) {
        var beat = HostTime.now + heartbeat
        while writer.wait(for: listener.wakeUp, until: beat) {
            let events = listener.take()
            if !events.isEmpty {
                let text = events.map { "event: \($0.kind)\ndata: \($0.data)\n\n" }.joined()
                guard writer.write(text) else { return }
                beat = .now + heartbeat
            } else if beat <= .now {
                guard writer.write(": kiosk\n\n") else { return }
                beat = .now + heartbeat
            }
        }
    }
}
