import KioskCommands

/// A refusal of the API: `{"error":{"code":"no-such-item","message":"…"}}`.
struct APIError: Error, Sendable {
    var status: Int
    /// A code for programs: one word with hyphens.
    var code: String
    /// A message for people.
    var message: String
    /// Further members of `error`.
    var members: [String: JSONValue] = [:]
    var headers: [(name: String, value: String)] = []

    init(_ status: Int, _ code: String, _ message: String, _ members: [String: JSONValue] = [:]) {
        (self.status, self.code, self.message, self.members) = (status, code, message, members)
    }

    /// A refusal of the player.
    init(player error: JSONValue?) {
        let code = error?["code"]?.text ?? "refused"
        self.init(Self.status(of: code), code, error?["message"]?.text ?? "the player refuses")
    }

    /// The HTTP status of a player's code.
    static func status(of code: String) -> Int {
        switch code {
        case "not-yet": 504
        case "superseded": 409
        case _ where code.hasPrefix("no-such-") || code == "unknown-command": 404
        case _ where code.hasPrefix("invalid-") || code.hasPrefix("missing-") || code == "unknown-parameter": 400
        default: 409
        }
    }

    var response: HTTPResponse {
        let error = JSONValue.object(members.merging(["code": code.json, "message": message.json]) { $1 })
        var response = HTTPResponse.json(status, .object(["error": error]))
        response.headers += headers
        return response
    }
}
