import CTransfer
import KioskPlatform
import KioskVocabulary

/// One request of HTTP, by libcurl. Blocks until it has ended; its closures are called meanwhile, on the same thread.
struct Transfer {
    var url: String
    /// Those that the cache itself needs.
    var headers: [String] = []
    /// Further headers, who asks, and how long a connection may give nothing, as it would be if it were played from there.
    var settings = StreamSettings()
    /// Whether only the head of the answer is wanted.
    var isHead = false

    /// How it ended.
    struct Outcome: Hashable {
        var head: ResponseHead
        /// Why it ended before its time; nil where it did not.
        var problem: String?
    }

    /// All headers of a request; those of the settings where it goes to whom they are meant for. What decides which part of the file is sent, and
    /// whether it is, is the cache's business.
    private func lines(isTrusted: Bool) -> [String] {
        headers
            + (isTrusted ? settings.headers : []).filter { line in
                let name = line.prefix { $0 != ":" }.lowercased()
                return name != "range" && !name.hasPrefix("if-")
            }
    }

    /// Whether there is a libcurl.
    static var isAvailable: Bool { kiosk_transfer_is_available() != 0 }

    /// What the callbacks of C are given.
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

    /// No more redirections than this are followed.
    private static let mostRedirections = 5

    /// Makes the request, and follows where the server leads: never from https to http, and with ``StreamSettings/headers`` for the first server alone. `body` takes the bytes of the answer, with its head; false gives up. `goesOn` is asked about once a second; false gives
    /// up, too.
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
                // What a redirection says besides is for people.
                if context.head.location != nil { return 0 }
                return context.body(context.head, UnsafeRawBufferPointer(start: bytes, count: length)) ? 1 : 0
            },
            goes_on: { user in Unmanaged<Context>.fromOpaque(user!).takeUnretainedValue().goesOn() ? 1 : 0 })
        var problem = [CChar](repeating: 0, count: 256)
        // One more, as there may be no file of authorities.
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
