import CTransfer
import KioskPlatform
import KioskVocabulary

/// One HTTP request by libcurl. Blocks until its end, and calls its closures meanwhile, on the same thread.
struct Transfer {
    var url: String
    /// The cache's own headers.
    var headers: [String] = []
    /// Further headers, the User-Agent and the timeout, as for playback of the URL.
    var settings = StreamSettings()
    /// Whether to request only the head.
    var isHead = false

    /// The result of a request.
    struct Outcome: Hashable {
        var head: ResponseHead
        /// Why it ended early; nil if it did not.
        var problem: String?
    }

    /// Returns all headers of a request, including those of the settings if the server is the trusted one. Only the cache may set ranges
    /// and conditions.
    private func lines(isTrusted: Bool) -> [String] {
        headers
            + (isTrusted ? settings.headers : []).filter { line in
                let name = line.prefix { $0 != ":" }.lowercased()
                return name != "range" && !name.hasPrefix("if-")
            }
    }

    /// The complaint if libcurl is missing. Debian 13 has its package under this name, too.
    static let absence = "libcurl is not installed (apt install libcurl3-gnutls)"

    /// Whether libcurl is installed.
    static var isAvailable: Bool { kiosk_transfer_is_available() != 0 }

    /// The context of the C callbacks.
    private final class Context {
        var head = ResponseHead()
        var body: (ResponseHead, UnsafeRawBufferPointer) -> Bool
        var goesOn: () -> Bool
        init(_ body: @escaping (ResponseHead, UnsafeRawBufferPointer) -> Bool, _ goesOn: @escaping () -> Bool) {
            (self.body, self.goesOn) = (body, goesOn)
        }
    }

    /// libcurl's `CURLE_PEER_FAILED_VERIFICATION`.
    private static let peerFailedVerification: Int32 = 60

    /// The most redirections to follow.
    private static let mostRedirections = 5

    /// Makes the request and follows redirections, but never from https to http. Only the first server gets ``StreamSettings/headers``.
    /// `body` takes the bytes of the answer, with its head; it returns false to cancel. The transfer calls `goesOn` about once a second;
    /// false cancels, too.
    func run(body: @escaping (ResponseHead, UnsafeRawBufferPointer) -> Bool, goesOn: @escaping () -> Bool) -> Outcome {
        var address = url
        for _ in 0...Self.mostRedirections {
            let server = HTTPAddress(address)
            let isTrusted = server.flatMap { server in HTTPAddress(url).map { $0.trusts(server) } } ?? false
            let outcome = request(address, isTrusted: isTrusted, body: body, goesOn: goesOn)
            guard let location = outcome.head.location, let server else { return outcome }
            guard let next = server.redirected(to: location) else {
                let there = HTTPAddress.resolve(location, against: server.url).withoutCredentials
                return Outcome(head: ResponseHead(), problem: "the server redirects to \(there), which kiosk does not follow")
            }
            address = next.url
        }
        return Outcome(head: ResponseHead(), problem: "the server redirects more than \(Self.mostRedirections) times")
    }

    private func request(
        _ address: String, isTrusted: Bool, body: @escaping (ResponseHead, UnsafeRawBufferPointer) -> Bool, goesOn: @escaping () -> Bool
    ) -> Outcome {
        let context = Context(body, goesOn)
        var handler = kiosk_transfer_handler(
            context: Unmanaged.passUnretained(context).toOpaque(),
            head: { user, line, length in
                let bytes = UnsafeRawBufferPointer(start: line, count: length)
                Unmanaged<Context>.fromOpaque(user!).takeUnretainedValue().head.add(line: String(decoding: bytes, as: UTF8.self))
            },
            body: { user, bytes, length in
                let context = Unmanaged<Context>.fromOpaque(user!).takeUnretainedValue()
                // The body of a redirection is for people.
                if context.head.location != nil { return 0 }
                return context.body(context.head, UnsafeRawBufferPointer(start: bytes, count: length)) ? 1 : 0
            },
            goes_on: { user in Unmanaged<Context>.fromOpaque(user!).takeUnretainedValue().goesOn() ? 1 : 0 })
        var problem = [CChar](repeating: 0, count: 256)
        // One text more: there may be no CA file.
        let status = withCStrings(lines(isTrusted: isTrusted) + [settings.certificateAuthorities ?? ""]) { texts in
            let lines = UnsafeBufferPointer(rebasing: texts.dropLast())
            return address.withCString { url in
                settings.userAgent.withCString { agent in
                    let limit = Int32(clamping: settings.timeout.nanoseconds / 1_000_000)
                    var request = kiosk_transfer_request(
                        url: url, headers: lines.baseAddress, header_count: Int32(lines.count), user_agent: agent,
                        ca_file: settings.certificateAuthorities == nil ? nil : texts[texts.count - 1],
                        verifies: settings.verifiesTLS ? 1 : 0,
                        is_head: isHead ? 1 : 0,
                        connect_timeout_ms: limit, timeout_ms: isHead ? Int32(clamping: 2 * Int64(limit)) : 0,
                        stall_seconds: Int32(clamping: (settings.timeout.nanoseconds + 999_999_999) / 1_000_000_000))
                    return withExtendedLifetime(context) { kiosk_transfer(&request, &handler, &problem) }
                }
            }
        }
        let text =
            status == Self.peerFailedVerification
            ? "its server’s certificate cannot be verified: name its authority in ca-file"
            : problem.text
        return Outcome(head: context.head, problem: status == 0 ? nil : text)
    }
}

/// Calls `body` with the texts as C strings.
private func withCStrings<Result>(_ texts: [String], _ body: (UnsafeBufferPointer<UnsafePointer<CChar>>) -> Result) -> Result {
    func step(_ rest: ArraySlice<String>, _ found: [UnsafePointer<CChar>]) -> Result {
        guard let text = rest.first else { return found.withUnsafeBufferPointer(body) }
        return text.withCString { step(rest.dropFirst(), found + [$0]) }
    }
    return step(texts[...], [])
}
