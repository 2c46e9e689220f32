import CTransfer

/// One request of HTTP, by libcurl. Blocks until it has ended; its closures are called meanwhile, on the same thread.
struct Transfer {
    var url: String
    var headers: [String] = []
    /// Whether only the head of the answer is wanted.
    var isHead = false

    /// How it ended.
    struct Outcome: Hashable {
        var head: ResponseHead
        /// Why it ended before its time; nil where it did not.
        var problem: String?
    }

    /// Connecting takes no longer than this, nor does a request for a head, or one that is answered without a body.
    static let connectLimit = 15_000
    /// A server that sends next to nothing for so many seconds is given up.
    static let stallLimit = 30

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

    /// Makes the request. `body` takes the bytes of the answer, with its head; false gives up. `goesOn` is asked about once a second; false gives
    /// up, too.
    func run(body: @escaping (ResponseHead, UnsafeRawBufferPointer) -> Bool, goesOn: @escaping () -> Bool) -> Outcome {
        let context = Context(body, goesOn)
        var handler = kiosk_transfer_handler(
            context: Unmanaged.passUnretained(context).toOpaque(),
            head: { user, line, length in
                let bytes = UnsafeRawBufferPointer(start: line, count: length)
                Unmanaged<Context>.fromOpaque(user!).takeUnretainedValue().head.add(line: String(decoding: bytes, as: UTF8.self))
            },
            body: { user, bytes, length in
                let context = Unmanaged<Context>.fromOpaque(user!).takeUnretainedValue()
                return context.body(context.head, UnsafeRawBufferPointer(start: bytes, count: length)) ? 1 : 0
            },
            goes_on: { user in Unmanaged<Context>.fromOpaque(user!).takeUnretainedValue().goesOn() ? 1 : 0 })
        var problem = [CChar](repeating: 0, count: 256)
        let status = withCStrings(headers) { lines in
            url.withCString { url in
                "kiosk".withCString { agent in
                    var request = kiosk_transfer_request(
                        url: url, headers: lines.baseAddress, header_count: Int32(lines.count), user_agent: agent, is_head: isHead ? 1 : 0,
                        connect_timeout_ms: Int32(Self.connectLimit), timeout_ms: isHead ? Int32(2 * Self.connectLimit) : 0,
                        stall_seconds: Int32(Self.stallLimit))
                    return withExtendedLifetime(context) { kiosk_transfer(&request, &handler, &problem) }
                }
            }
        }
        let text = String(decoding: problem.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
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
