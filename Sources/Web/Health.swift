import KioskCommands
import KioskPlatform

/// `/healthz` and `/metrics`.
final class Health: Sendable {
    private let player: PlayerLink
    private let last = Monitor<(at: HostTime, isUp: Bool)?>(nil)

    init(_ player: PlayerLink) { self.player = player }

    /// Whether the player answers; it is asked once a second at most, since everybody may ask here.
    private var isPlayerUp: Bool {
        last.withLock { last in
            if let last, HostTime.now - last.at < .seconds(1) { return last.isUp }
            let isUp = (try? player.ask("status")) != nil
            last = (.now, isUp)
            return isUp
        }
    }

    func answer() -> HTTPResponse {
        let isUp = isPlayerUp
        return .json(isUp ? 200 : 503, .object(["ok": .bool(isUp), "player": .bool(isUp)]))
    }

    /// The player's metrics, and whether it answers.
    func metrics() -> HTTPResponse {
        let text = (try? player.ask("metrics"))?.answer["text"]?.text
        let up = "# HELP kiosk_up 1 if the player answers, else 0.\n# TYPE kiosk_up gauge\nkiosk_up \(text == nil ? 0 : 1)\n"
        return HTTPResponse(200, "text/plain; version=0.0.4; charset=utf-8", Array((up + (text ?? "")).utf8))
            .header("Cache-Control", "no-store")
    }
}
