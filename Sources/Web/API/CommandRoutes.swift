import KioskCommands

/// The commands of the table as routes: `POST /api/v1/playlist/append`, and `GET` for those that report.
enum CommandRoutes {
    /// The commands that have routes of their own kind: `events` observes.
    private static let others: Set<String> = ["observe"]

    static func routes(_ player: PlayerLink) -> [Route] {
        let entries = CommandTable.ofPrograms.filter { !others.contains($0.name) }
        return entries.flatMap { entry in
            let pattern = entry.name.split(separator: " ").joined(separator: "/")
            var routes = [post(entry, pattern, player)]
            if entry.reading != .never { routes.append(get(entry, pattern, player)) }
            // The table says `playlist` for `playlist list`, too.
            if CommandTable.named(pattern)?.name != entry.name, let short = entry.name.split(separator: " ").first.map(String.init),
                CommandTable.named(short)?.name == entry.name
            {
                routes.append(get(entry, short, player))
            }
            return routes
        }
    }

    private static func post(_ entry: CommandEntry, _ pattern: String, _ player: PlayerLink) -> Route {
        Route(.post, pattern, entry.summary, scope: .view) { request throws(APIError) in
            try answer(entry, try request.object(), request, player)
        }.with { route in
            route.scope = entry.scope == .view || entry.reading == .withoutParameters ? .view : entry.scope
            route.body = entry.schema
            describe(entry, &route)
        }
    }

    private static func get(_ entry: CommandEntry, _ pattern: String, _ player: PlayerLink) -> Route {
        let parameters = entry.reading == .always ? entry.parameters : []
        return Route(.get, pattern, entry.summary, scope: .view) { request throws(APIError) in
            var members: [String: JSONValue] = [:]
            for (name, word) in request.head.query {
                guard let parameter = parameters.first(where: { $0.name == name }) else {
                    throw APIError(400, "unknown-parameter", "GET \(pattern) has no parameter “\(name.prefix(40))”")
                }
                members[name] = parameter.member(word)
            }
            return try answer(entry, members, request, player)
        }.with { route in
            route.queries = parameters.map { ($0.name, "{ \($0.schema) }", $0.text) }
            describe(entry, &route)
        }
    }

    private static func describe(_ entry: CommandEntry, _ route: inout Route) {
        if entry.hasPicture { route.type = "image/*" }
        let members = entry.answer.members.map { ($0.name, JSONValue.object(["description": $0.text.json])) }
        route.answer = .object([
            "type": "object".json, "description": "Answered \(entry.effect).".json,
            "properties": .object(Dictionary(members) { $1 }),
        ])
    }

    private static func answer(
        _ entry: CommandEntry, _ members: [String: JSONValue], _ request: APIRequest, _ player: PlayerLink
    ) throws(APIError) -> HTTPResponse {
        for name in ["command", "id"] where members[name] != nil {
            throw APIError(400, "unknown-parameter", "\(entry.name) has no parameter “\(name)”")
        }
        if entry.reading != .withoutParameters || !members.isEmpty { try request.require(entry.scope) }
        for parameter in entry.parameters where members[parameter.name] != nil {
            if let scope = parameter.scope { try request.require(scope) }
        }
        let (answer, attachment) = try player.ask(entry.name, members)
        guard let attachment else { return .json(200, answer) }
        let type =
            attachment.starts(with: [0x89, 0x50, 0x4E, 0x47]) ? "image/png" : attachment.starts(with: [0xFF, 0xD8]) ? "image/jpeg" : nil
        return HTTPResponse(200, type ?? "application/octet-stream", attachment).header("Cache-Control", "no-store")
    }
}

extension CommandEntry {
    /// Whether its answer brings a picture.
    fileprivate var hasPicture: Bool { answer.members.contains { $0.name == "format" } }

    /// The JSON Schema of a request's members.
    fileprivate var schema: JSONValue {
        let properties = parameters.map { parameter -> (String, JSONValue) in
            guard case .object(var members)? = JSONValue("{ \(parameter.schema) }") else { preconditionFailure(parameter.schema) }
            members["description"] = parameter.text.json
            return (parameter.name, .object(members))
        }
        var schema: [String: JSONValue] = [
            "type": "object".json, "properties": .object(Dictionary(properties) { $1 }), "additionalProperties": .bool(false),
        ]
        let required = parameters.filter(\.isRequired).map(\.name)
        if !required.isEmpty { schema["required"] = required.json }
        if !oneOf.isEmpty { schema["oneOf"] = .array(oneOf.map { .object(["required": [$0].json]) }) }
        return .object(schema)
    }
}
