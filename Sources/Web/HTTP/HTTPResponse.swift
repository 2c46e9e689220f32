import KioskCommands
import KioskPlatform

/// An answer.
struct HTTPResponse: Sendable {
    enum Body: Sendable {
        case bytes([UInt8])
        /// Bytes that follow one another until the function returns; the connection ends with them.
        case stream(@Sendable (HTTPWriter) -> Void)
    }

    var status: Int
    var headers: [(name: String, value: String)] = []
    var body = Body.bytes([])
    /// Whether to close the connection after it.
    var isLast = false

    init(_ status: Int, _ type: String? = nil, _ bytes: [UInt8] = []) {
        self.status = status
        if let type { headers.append(("Content-Type", type)) }
        body = .bytes(bytes)
    }

    /// An answer of the API: a value as JSON, never kept by a cache.
    static func json(_ status: Int = 200, _ value: JSONValue) -> HTTPResponse {
        HTTPResponse(status, "application/json", Array((value.line + "\n").utf8)).header("Cache-Control", "no-store")
    }

    /// Server-sent events, which `body` sends.
    static func events(_ body: @escaping @Sendable (HTTPWriter) -> Void) -> HTTPResponse {
        var response = HTTPResponse(200, "text/event-stream")
        response.body = .stream(body)
        return response.header("Cache-Control", "no-store").header("X-Accel-Buffering", "no")
    }

    /// Returns this answer with a header more.
    func header(_ name: String, _ value: String) -> HTTPResponse {
        var response = self
        response.headers.append((name, value))
        return response
    }

    /// What every answer says to a browser: no script but the page's own files, nothing from elsewhere, no frame around it, no guess at types.
    private static let guards = [
        (
            "Content-Security-Policy",
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; manifest-src 'self'; "
                + "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
        ),
        ("X-Content-Type-Options", "nosniff"), ("X-Frame-Options", "DENY"), ("Referrer-Policy", "no-referrer"),
        ("Cross-Origin-Opener-Policy", "same-origin"), ("Cross-Origin-Resource-Policy", "same-origin"),
        ("Permissions-Policy", "camera=(), microphone=(), geolocation=()"),
    ]

    /// Returns the bytes before the body.
    func head(closes: Bool) -> [UInt8] {
        var text = "HTTP/1.1 \(status) \(Self.reasons[status] ?? "Status")\r\n"
        if case .bytes(let bytes) = body, status != 304 { text += "Content-Length: \(bytes.count)\r\n" }
        for (name, value) in headers + Self.guards { text += "\(name): \(value)\r\n" }
        return Array((text + "Connection: \(closes ? "close" : "keep-alive")\r\n\r\n").utf8)
    }

    private static let reasons = [
        200: "OK", 201: "Created", 204: "No Content", 304: "Not Modified", 400: "Bad Request", 401: "Unauthorized", 403: "Forbidden",
        404: "Not Found", 405: "Method Not Allowed", 408: "Request Timeout", 409: "Conflict", 411: "Length Required",
        412: "Precondition Failed", 413: "Content Too Large", 414: "URI Too Long", 415: "Unsupported Media Type", 417: "Expectation Failed",
        421: "Misdirected Request", 422: "Unprocessable Content", 429: "Too Many Requests", 431: "Request Header Fields Too Large",
        500: "Internal Server Error", 501: "Not Implemented", 502: "Bad Gateway", 503: "Service Unavailable", 504: "Gateway Timeout",
        507: "Insufficient Storage",
    ]
}
