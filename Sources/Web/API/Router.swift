// The routes, and what is the same for all of them: rights, bodies, documentation.
import KioskCommands
import KioskPlatform

/// A request to a route, with the rights of its client.
struct APIRequest {
    var head: HTTPRequest
    var peer: HTTPPeer
    var caller: Caller
    let body: HTTPBody
    /// The values of the pattern's parts in braces.
    var values: [String: String] = [:]

    /// Reads the body as an object of JSON; an empty body is an empty object.
    func object() throws(APIError) -> [String: JSONValue] {
        guard let bytes = body.all() else { throw APIError(400, "incomplete", "the body is incomplete") }
        if bytes.isEmpty { return [:] }
        guard let type = head.header("content-type")?.lowercased(), type.hasPrefix("application/json") else {
            throw APIError(415, "not-json", "expected Content-Type: application/json")
        }
        guard let text = String(validating: bytes, as: UTF8.self), case .object(let members)? = JSONValue(text) else {
            throw APIError(400, "invalid-json", "expected an object of JSON")
        }
        return members
    }

    func require(_ scope: CommandScope) throws(APIError) {
        if caller.scopes.contains(scope) { return }
        if caller.scopes.isEmpty { throw APIError(401, "not-signed-in", "sign in, or send a token") }
        throw APIError(403, "not-allowed", "this token has no scope \(scope.rawValue)")
    }
}

/// A route, with its documentation.
struct Route: Sendable {
    typealias Handler = @Sendable (APIRequest) throws(APIError) -> HTTPResponse

    var method: HTTPMethod
    /// Below /api/v1: `files/{name}`.
    var pattern: String
    var summary: String
    /// The right that it needs; nil for none.
    var scope: CommandScope?
    var longestBody = 64 << 10
    /// The parameters of the query, with their schema.
    var queries: [(name: String, schema: String, text: String)] = []
    /// The schema of the body's members; nil without a body of JSON.
    var body: JSONValue?
    /// The type of the answer.
    var type = "application/json"
    /// The schema of an answer in JSON.
    var answer = JSONValue.object(["type": "object".json])
    var handler: Handler

    init(
        _ method: HTTPMethod, _ pattern: String, _ summary: String, scope: CommandScope?, _ handler: @escaping Handler
    ) {
        (self.method, self.pattern, self.summary, self.scope, self.handler) = (method, pattern, summary, scope, handler)
    }

    /// Returns this route with other properties.
    func with(_ change: (inout Route) -> Void) -> Route {
        var route = self
        change(&route)
        return route
    }

    /// Returns the values of the pattern's braces if the path fits.
    func match(_ path: ArraySlice<String>) -> [String: String]? {
        let parts = pattern.split(separator: "/")
        guard parts.count == path.count else { return nil }
        var values: [String: String] = [:]
        for (part, name) in zip(parts, path) {
            if part.hasPrefix("{") { values[String(part.dropFirst().dropLast())] = name } else if part != name { return nil }
        }
        return values
    }
}

/// All routes of the API.
struct Router: Sendable {
    private let routes: [Route]
    private let gate: Gate
    static let prefix = ["api", "v1"]

    init(_ routes: [Route], _ gate: Gate) { (self.routes, self.gate) = (routes, gate) }

    /// Answers a request to a path of the API.
    func answer(_ head: HTTPRequest, _ peer: HTTPPeer, _ body: HTTPBody) throws(APIError) -> HTTPResponse {
        let path = head.path.dropFirst(Self.prefix.count)
        let method: HTTPMethod = head.method == .head ? .get : head.method
        let matches = routes.compactMap { route in route.match(path).map { (route, $0) } }
        guard !matches.isEmpty else { throw APIError(404, "no-such-path", "there is no such path; GET /api/v1/openapi.json lists them") }
        guard let (route, values) = matches.first(where: { $0.0.method == method }) else {
            var error = APIError(405, "wrong-method", "this path has only \(matches.map(\.0.method.rawValue).joined(separator: ", "))")
            error.headers.append(("Allow", matches.map(\.0.method.rawValue).joined(separator: ", ")))
            throw error
        }
        let caller = try gate.admit(head, peer)
        let request = APIRequest(head: head, peer: peer, caller: caller, body: body, values: values)
        if let scope = route.scope {
            try request.require(scope)
            try gate.checkCSRF(head, caller)
        }
        guard head.length <= route.longestBody else {
            throw APIError(413, "too-long", "the body has \(route.longestBody) bytes at most")
        }
        return try route.handler(request)
    }
}
