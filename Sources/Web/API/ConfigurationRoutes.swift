import KioskCommands
import KioskPlatform

/// kiosk.conf: reading, checking, writing, and going back.
enum ConfigurationRoutes {
    private static let textBody = JSONValue(
        #"{"type":"object","properties":{"text":{"type":"string"}},"required":["text"],"additionalProperties":false}"#)!
    private static let saveBody = JSONValue(
        #"{"type":"object","properties":{"text":{"type":"string"},"version":{"type":"string"}},"required":["text","version"],"#
            + #""additionalProperties":false}"#)!
    private static let versionBody = JSONValue(
        #"{"type":"object","properties":{"version":{"type":"string"}},"required":["version"],"additionalProperties":false}"#)!

    static func routes(_ file: ConfigurationFile) -> [Route] {
        [
            Route(.get, "configuration", "Read kiosk.conf, with its mistakes.", scope: .admin) { _ throws(APIError) in
                .json(200, try facts(file))
            },
            Route(.post, "configuration/check", "Report the mistakes in a text of kiosk.conf, and write nothing.", scope: .admin) {
                request throws(APIError) in
                let text = try text(request)
                return .json(200, .object(["complaints": ConfigurationFile.shown(file.complaints(about: text))]))
            }.with { ($0.body, $0.longestBody) = (textBody, 2 * ConfigurationFile.longest) },
            Route(
                .put, "configuration", "Replace kiosk.conf, which must still have the given version, by a text without mistakes.",
                scope: .admin
            ) {
                request throws(APIError) in
                let members = try request.object()
                guard let text = members["text"]?.text, let version = members["version"]?.text else {
                    throw APIError(400, "missing-parameter", "expected texts \"text\" and \"version\"")
                }
                try file.write(Array(text.utf8), over: version)
                return .json(200, try facts(file))
            }.with { ($0.body, $0.longestBody) = (saveBody, 2 * ConfigurationFile.longest) },
            Route(.get, "configuration/history", "List the earlier versions of kiosk.conf, the newest first.", scope: .admin) {
                _ throws(APIError) in
                let versions = file.versions.map { version in
                    JSONValue.object([
                        "version": version.version.json, "saved": date("%Y-%m-%dT%H:%M:%SZ", Int(version.saved), isUTC: true).json,
                    ])
                }
                return .json(200, .object(["history": .array(versions)]))
            },
            Route(.post, "configuration/restore", "Put an earlier version of kiosk.conf back.", scope: .admin) { request throws(APIError) in
                guard let version = try request.object()["version"]?.text else {
                    throw APIError(400, "missing-parameter", "expected a text \"version\"")
                }
                try file.restore(version)
                return .json(200, try facts(file))
            }.with { $0.body = versionBody },
        ]
    }

    private static func text(_ request: APIRequest) throws(APIError) -> [UInt8] {
        guard let text = try request.object()["text"]?.text else { throw APIError(400, "missing-parameter", "expected a text \"text\"") }
        return Array(text.utf8)
    }

    private static func facts(_ file: ConfigurationFile) throws(APIError) -> JSONValue {
        let text = try file.read()
        return .object([
            "text": String(decoding: text, as: UTF8.self).json, "version": ConfigurationFile.version(of: text).json, "path": file.path.json,
            "complaints": ConfigurationFile.shown(file.complaints(about: text)),
        ])
    }
}
