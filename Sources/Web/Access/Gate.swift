// Decides which rights a request has. In this order:
//
// 1. Its Host has to be this machine: an address, localhost, its name, or one of `[web] hosts`. So a page that points its own name here (DNS
//    rebinding) gets 421.
// 2. A browser says where a request comes from (Origin, Sec-Fetch-Site): from elsewhere nothing of the API is open.
// 3. A bearer token has its scopes. A cookie has those of its session. Without a password, every client has all: then only this machine is
//    listened to.
// 4. A request that changes something, and that is not a program's with a token, brings the CSRF token along.
import Glibc
import KioskCommands
import KioskPlatform
import Synchronization

/// The rights of a request.
struct Caller: Hashable, Sendable {
    var scopes: Set<CommandScope> = []
    /// The name of its session; nil for a token, and without a password.
    var session: String?
    /// The token that its unsafe requests need; nil for a bearer.
    var csrf: String?

    static let nobody = Caller()
}

/// The rights of requests.
final class Gate: Sendable {
    private struct State {
        var credentials = Credentials()
        var version: [Int64] = []
        var sessions = Sessions()
        var limit = GuessLimit()
    }

    private let passwordFile: String
    private let hosts: Set<String>
    private let state: Mutex<State>
    /// One password at a time: each takes 16 MB.
    private let hashing = Mutex(())
    /// The CSRF token without a password.
    private let common = Secret.random()
    static let cookie = "kiosk-session"

    /// - Throws: ``WebError`` if the file of passwords has a mistake.
    init(passwordFile: String, hosts: [String]) throws(WebError) {
        self.passwordFile = passwordFile
        self.hosts = Set(hosts.map { $0.lowercased() })
        var first = State()
        first.credentials = try Credentials.read(passwordFile)
        first.version = Self.version(of: passwordFile)
        state = Mutex(first)
    }

    private static func version(of path: String) -> [Int64] {
        stat(at: path).map { [$0.modified, Int64($0.st_size), Int64(bitPattern: UInt64($0.st_ino))] } ?? []
    }

    /// The credentials, read again if the file has changed. A change ends all sessions. A file with a mistake lets nobody in.
    private var credentials: Credentials {
        let version = Self.version(of: passwordFile)
        return state.withLock { state in
            if version == state.version { return state.credentials }
            state.version = version
            do throws(WebError) { state.credentials = try Credentials.read(passwordFile) } catch {
                state.credentials = Credentials()
                state.credentials.password = "*"
            }
            state.sessions.endAll()
            return state.credentials
        }
    }

    /// Whether a password is set, and so required.
    var isPasswordRequired: Bool { credentials.password != nil }

    /// Returns the rights of a request to the API.
    ///
    /// - Throws: the refusal.
    func admit(_ request: HTTPRequest, _ peer: HTTPPeer, at now: HostTime = .now) throws(APIError) -> Caller {
        try checkOrigin(request)
        if let header = request.header("authorization") { return try admit(bearer: header, peer, now) }
        let credentials = credentials
        guard credentials.password != nil else {
            // Without a password kiosk-web listens on loopback only. A proxy could pass on others: it cannot know the token either.
            return Caller(scopes: Set(CommandScope.allCases), csrf: common)
        }
        guard let name = request.cookie(Self.cookie) else { return .nobody }
        guard let csrf = state.withLock({ $0.sessions.csrf(of: name, at: now) }) else { return .nobody }
        return Caller(scopes: Set(CommandScope.allCases), session: name, csrf: csrf)
    }

    private func admit(bearer header: String, _ peer: HTTPPeer, _ now: HostTime) throws(APIError) -> Caller {
        let words = header.split(separator: " ")
        guard words.count == 2, words[0].lowercased() == "bearer" else {
            throw APIError(401, "no-token", "expected Authorization: Bearer TOKEN")
        }
        // Nobody guesses 256 bits: a right token never waits for other people's guesses.
        guard let token = credentials.token(String(words[1])) else {
            try checkWait(peer, now)
            state.withLock { $0.limit.guessedWrong(peer, at: now) }
            throw APIError(401, "wrong-token", "there is no such token; kiosk web token makes one")
        }
        return Caller(scopes: token.scopes)
    }

    /// Refuses an unsafe request without the CSRF token of its session.
    func checkCSRF(_ request: HTTPRequest, _ caller: Caller) throws(APIError) {
        guard request.method.isUnsafe, let csrf = caller.csrf else { return }
        if let given = request.header("x-csrf-token"), Secret.isEqual(given, csrf) { return }
        // Not a browser: those name an origin with every unsafe request to another one, and send cookies by themselves.
        let isBrowser = ["origin", "sec-fetch-site", "referer", "cookie"].contains { request.header($0) != nil }
        if caller.session == nil, !isBrowser, request.header("x-csrf-token") == nil { return }
        throw APIError(403, "no-csrf-token", "expected the header X-CSRF-Token with \"csrf\" of GET /api/v1/session")
    }

    /// Refuses a request for another host.
    func checkHost(_ request: HTTPRequest) throws(APIError) {
        let name = Self.withoutPort(request.host)
        if Self.isOwn(name) || hosts.contains(name) { return }
        throw APIError(421, "wrong-host", "use the address of this machine, or its name; [web] hosts lists further names")
    }

    private func checkOrigin(_ request: HTTPRequest) throws(APIError) {
        if let site = request.header("sec-fetch-site"), site != "same-origin", site != "none" {
            throw APIError(403, "wrong-origin", "another page may not use the API")
        }
        guard let origin = request.header("origin") else { return }
        let parts = origin.split(separator: "://", maxSplits: 1)
        guard parts.count == 2, ["http", "https"].contains(parts[0]), parts[1].lowercased() == request.host.lowercased() else {
            throw APIError(403, "wrong-origin", "another page may not use the API")
        }
    }

    // MARK: Sessions

    /// Begins a session with a password, and returns it. Blocks for a tenth of a second.
    func begin(_ request: HTTPRequest, password: String, _ peer: HTTPPeer, at now: HostTime = .now) throws(APIError) -> Caller {
        try checkOrigin(request)
        let credentials = credentials
        guard credentials.password != nil else { return Caller(scopes: Set(CommandScope.allCases), csrf: common) }
        guard password.utf8.count <= 1024, !password.contains("\0") else { throw APIError(401, "wrong-password", "the password is wrong") }
        let isRight = try hashing.withLock { _ throws(APIError) in
            // The wait may have begun while another guess was looked at.
            try checkWait(peer, .now)
            let isRight = credentials.accepts(password: password)
            state.withLock { if isRight { $0.limit.guessedRight(peer) } else { $0.limit.guessedWrong(peer, at: .now) } }
            return isRight
        }
        guard isRight else { throw APIError(401, "wrong-password", "the password is wrong") }
        let (name, csrf) = (Secret.random(), Secret.random())
        state.withLock { state in
            if let former = request.cookie(Self.cookie) { state.sessions.end(former) }
            state.sessions.begin(name: name, csrf: csrf, at: now)
        }
        return Caller(scopes: Set(CommandScope.allCases), session: name, csrf: csrf)
    }

    func end(_ caller: Caller) { if let session = caller.session { state.withLock { $0.sessions.end(session) } } }

    private func checkWait(_ peer: HTTPPeer, _ now: HostTime) throws(APIError) {
        guard let seconds = state.withLock({ $0.limit.wait(peer, at: now) }) else { return }
        var error = APIError(429, "too-many-guesses", "too many wrong passwords or tokens: wait \(seconds) s")
        error.headers.append(("Retry-After", "\(seconds)"))
        throw error
    }

    // MARK: Hosts

    /// Returns the name in lower case, without the port; IPv6 addresses without their brackets.
    static func withoutPort(_ host: String) -> String {
        var host = host.lowercased()
        if let colon = host.lastIndex(of: ":"), host[colon...].dropFirst().allSatisfy({ $0.isASCII && $0.isNumber }),
            !host.hasPrefix("[") || host[..<colon].hasSuffix("]")
        {
            host = String(host[..<colon])
        }
        return host.hasPrefix("[") && host.hasSuffix("]") ? String(host.dropFirst().dropLast()) : host
    }

    /// Whether a name is an address, localhost, or the name of this machine, alone or in `.local`.
    static func isOwn(_ name: String, machine: String = machineName) -> Bool {
        var (four, six) = (in_addr(), in6_addr())
        if inet_pton(AF_INET, name, &four) == 1 || inet_pton(AF_INET6, name, &six) == 1 || name == "localhost" { return true }
        let machine = machine.lowercased()
        let short = machine.prefix { $0 != "." }
        return !machine.isEmpty && (name == machine || name == short || name == short + ".local")
    }

    private static let machineName: String = {
        var name = [CChar](repeating: 0, count: 256)
        return gethostname(&name, name.count - 1) == 0 ? name.text : ""
    }()
}
