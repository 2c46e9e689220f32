import KioskCommands
import KioskPlatform
import RemoteClient

/// The description of the API (OpenAPI 3.1), made from the routes, and so from the table of commands.
enum OpenAPI {
    static func document(_ routes: [Route]) -> JSONValue {
        var paths: [String: [String: JSONValue]] = [:]
        for route in routes { paths["/api/v1/\(route.pattern)", default: [:]][route.method.rawValue.lowercased()] = operation(route) }
        let error = JSONValue(
            #"{"type":"object","required":["error"],"properties":{"error":{"type":"object","required":["code","message"],"#
                + #""properties":{"code":{"type":"string"},"message":{"type":"string"}}}}}"#)!
        return .object([
            "openapi": "3.1.0".json,
            "info": .object([
                "title": "kiosk".json, "version": kioskVersion.json,
                "description": "The API of kiosk-web. The commands are those of the player's control socket.".json,
                "license": .object(["name": "Apache-2.0".json, "identifier": "Apache-2.0".json]),
            ]),
            "servers": .array([.object(["url": "/".json])]),
            "paths": .object(paths.mapValues { .object($0) }),
            "security": .array([.object(["bearer": .array([])]), .object(["session": .array([])])]),
            "components": .object([
                "schemas": .object(["Error": error]),
                "securitySchemes": .object([
                    "bearer": .object(["type": "http".json, "scheme": "bearer".json]),
                    "session": .object(["type": "apiKey".json, "in": "cookie".json, "name": Gate.cookie.json]),
                ]),
            ]),
        ])
    }

    private static func operation(_ route: Route) -> JSONValue {
        let parts = route.pattern.split(separator: "/")
        var parameters = parts.filter { $0.hasPrefix("{") }.map { part in
            JSONValue.object([
                "name": String(part.dropFirst().dropLast()).json, "in": "path".json, "required": .bool(true),
                "schema": .object(["type": "string".json]),
            ])
        }
        parameters += route.queries.map { query in
            .object([
                "name": query.name.json, "in": "query".json, "description": query.text.json,
                "schema": JSONValue(query.schema) ?? .object([:]),
            ])
        }
        if route.method == .patch {
            parameters.append(
                .object([
                    "name": "Upload-Offset".json, "in": "header".json, "required": .bool(true), "schema": .object(["type": "integer".json]),
                ]))
        }
        let content = JSONValue.object([
            route.type: route.type == "application/json" ? .object(["schema": route.answer]) : .object([:])
        ])
        let error = JSONValue(
            ##"{"description":"A refusal.","content":{"application/json":{"schema":{"$ref":"#/components/schemas/Error"}}}}"##)!
        var operation: [String: JSONValue] = [
            "operationId": ([route.method.rawValue.lowercased()] + parts.map { $0.filter { $0 != "{" && $0 != "}" } })
                .joined(separator: "-").json,
            "summary": route.summary.json, "tags": [String(parts[0])].json,
            "responses": .object(["200": .object(["description": "Done.".json, "content": content]), "default": error]),
        ]
        if !parameters.isEmpty { operation["parameters"] = .array(parameters) }
        if let body = route.body {
            operation["requestBody"] = .object(["content": .object(["application/json": .object(["schema": body])])])
        } else if route.method == .patch {
            operation["requestBody"] = .object(["content": .object(["application/octet-stream": .object([:])])])
        }
        if let scope = route.scope {
            operation["description"] = "Needs the scope \(scope.rawValue).".json
        } else {
            operation["security"] = .array([])
        }
        return .object(operation)
    }
}
