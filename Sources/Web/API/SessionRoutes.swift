import KioskCommands

/// Signing in and out.
enum SessionRoutes {
    static func routes(_ gate: Gate, isSecure: Bool) -> [Route] {
        let attributes = "Path=/; HttpOnly; SameSite=Strict" + (isSecure ? "; Secure" : "")
        return routes(gate, attributes)
    }

    private static func routes(_ gate: Gate, _ attributes: String) -> [Route] {
        let answer = JSONValue(
            #"{"type":"object","properties":{"authenticated":{"type":"boolean"},"required":{"type":"boolean"},"#
                + #""scopes":{"type":"array","items":{"type":"string"}},"csrf":{"type":["string","null"]}}}"#)!
        return [
            Route(.get, "session", "Report the rights of this client, and the CSRF token.", scope: nil) { request throws(APIError) in
                .json(200, facts(request.caller, gate))
            }.with { $0.answer = answer },
            Route(.post, "session", "Sign in with the password.", scope: nil) { request throws(APIError) in
                guard let password = try request.object()["password"]?.text else {
                    throw APIError(400, "missing-parameter", "expected a text \"password\"")
                }
                let caller = try gate.begin(request.head, password: password, request.peer)
                let response = HTTPResponse.json(200, facts(caller, gate))
                guard let session = caller.session else { return response }
                return response.header("Set-Cookie", "\(Gate.cookie)=\(session); Max-Age=43200; \(attributes)")
            }.with { route in
                route.longestBody = 4096
                route.answer = answer
                route.body = JSONValue(#"{"type":"object","properties":{"password":{"type":"string"}},"required":["password"]}"#)
            },
            Route(.delete, "session", "Sign out.", scope: .view) { request throws(APIError) in
                gate.end(request.caller)
                return .json(200, facts(.nobody, gate)).header(
                    "Set-Cookie", "\(Gate.cookie)=; Max-Age=0; \(attributes)")
            }.with { $0.answer = answer },
        ]
    }

    private static func facts(_ caller: Caller, _ gate: Gate) -> JSONValue {
        .object([
            "authenticated": .bool(!caller.scopes.isEmpty), "required": .bool(gate.isPasswordRequired),
            "scopes": CommandScope.allCases.filter(caller.scopes.contains).map(\.rawValue).json, "csrf": caller.csrf.json,
        ])
    }
}
