import Foundation
import Glibc
import KioskCommands
import KioskPlatform
import KioskVocabulary
import Testing

@testable import KioskWeb

/// Who may do what: passwords, sessions, tokens, and requests of other pages.
@Suite struct AccessTests {
    private static let password = "correct horse"

    /// Signs in; returns the cookie and the CSRF token.
    private func signIn(_ stage: WebStage, cookie: String? = nil) throws -> (cookie: String, csrf: String) {
        let headers = cookie.map { ["Cookie": $0] } ?? [:]
        let answer = try stage.ask("POST", "/api/v1/session", #"{"password":"\#(Self.password)"}"#, headers: headers)
        let set = try #require(answer.headers["set-cookie"])
        #expect(set.contains("HttpOnly") && set.contains("SameSite=Strict") && set.contains("Max-Age="))
        return (String(set.prefix { $0 != ";" }), try #require(answer.json["csrf"]?.text))
    }

    @Test("With a password nothing is open but the page and the sign-in")
    func closed() throws {
        let stage = try WebStage(password: Self.password)
        for path in ["status", "screen", "events", "files", "configuration", "doctor", "log", "schedule", "cover"] {
            #expect(try stage.ask("GET", "/api/v1/\(path)").status == 401, "\(path)")
        }
        #expect(try stage.ask("POST", "/api/v1/pause", "{}").status == 401)
        #expect(try stage.ask("GET", "/metrics").status == 401)
        #expect(try stage.ask("GET", "/").status == 200)
        let session = try stage.ask("GET", "/api/v1/session").json
        #expect(session["authenticated"] == .bool(false) && session["required"] == .bool(true) && session["csrf"] == .null)
        #expect(stage.requests.isEmpty)
    }

    @Test("A session needs the password, and its CSRF token for changes; it ends with signing out")
    func session() throws {
        let stage = try WebStage(password: Self.password)
        let (cookie, csrf) = try signIn(stage)
        #expect(try stage.ask("GET", "/api/v1/status", headers: ["Cookie": cookie]).status == 200)
        #expect(try stage.ask("POST", "/api/v1/pause", "{}", headers: ["Cookie": cookie]).code == "no-csrf-token")
        #expect(try stage.ask("POST", "/api/v1/pause", "{}", headers: ["Cookie": cookie, "X-CSRF-Token": "x"]).code == "no-csrf-token")
        let right = ["Cookie": cookie, "X-CSRF-Token": csrf]
        #expect(try stage.ask("POST", "/api/v1/pause", "{}", headers: right).status == 200)
        #expect(try stage.ask("DELETE", "/api/v1/session", headers: right).status == 200)
        #expect(try stage.ask("GET", "/api/v1/status", headers: ["Cookie": cookie]).status == 401)
    }

    @Test("A session gets a new name, whatever name the browser brings")
    func fixation() throws {
        let stage = try WebStage(password: Self.password)
        let planted = "\(Gate.cookie)=\(String(repeating: "a", count: 64))"
        let (cookie, _) = try signIn(stage, cookie: planted)
        #expect(cookie != planted)
        #expect(try stage.ask("GET", "/api/v1/status", headers: ["Cookie": planted]).status == 401)
        let (second, _) = try signIn(stage, cookie: cookie)
        #expect(second != cookie)
        #expect(try stage.ask("GET", "/api/v1/status", headers: ["Cookie": cookie]).status == 401)
    }

    @Test("Another password ends all sessions, and a broken file lets nobody in")
    func change() throws {
        let stage = try WebStage(password: Self.password)
        let (cookie, _) = try signIn(stage)
        var other = Credentials()
        other.password = try Credentials.hash("battery staple")
        try other.write(stage.folder + "/password")
        #expect(try stage.ask("GET", "/api/v1/status", headers: ["Cookie": cookie]).status == 401)
        try "nonsense\n".write(toFile: stage.folder + "/password", atomically: true, encoding: .utf8)
        #expect(try stage.ask("GET", "/api/v1/status").status == 401)
        #expect(try stage.ask("POST", "/api/v1/session", #"{"password":"battery staple"}"#).status == 401)
    }

    @Test("A token has its scopes and no others")
    func scopes() throws {
        let secret = Secret.random()
        let stage = try WebStage(password: Self.password, token: ("wall", [.view], secret))
        let bearer = ["Authorization": "Bearer \(secret)"]
        #expect(try stage.ask("GET", "/api/v1/status", headers: bearer).status == 200)
        #expect(try stage.ask("GET", "/api/v1/display", headers: bearer).status == 200)
        #expect(try stage.ask("POST", "/api/v1/display", "{}", headers: bearer).status == 200)
        #expect(try stage.ask("GET", "/metrics", headers: bearer).status == 200)
        for (method, path, body) in [
            ("POST", "pause", "{}"), ("POST", "display", #"{"to":"off"}"#), ("POST", "playlist/append", #"{"sources":["/a.mp4"]}"#),
            ("POST", "reload", "{}"), ("GET", "configuration", nil), ("GET", "log", nil),
            ("POST", "uploads", #"{"name":"a.mp4","bytes":1}"#),
            ("DELETE", "files/a.mp4", nil),
        ] as [(String, String, String?)] {
            #expect(try stage.ask(method, "/api/v1/\(path)", body, headers: bearer).code == "not-allowed", "\(path)")
        }
        #expect(try stage.ask("GET", "/api/v1/status", headers: ["Authorization": "Bearer x"]).code == "wrong-token")
    }

    @Test("A source of one's own needs the right to content, too")
    func parameterScope() throws {
        let secret = Secret.random()
        let stage = try WebStage(password: Self.password, token: ("remote", [.control], secret))
        let bearer = ["Authorization": "Bearer \(secret)"]
        #expect(try stage.ask("POST", "/api/v1/play", "{}", headers: bearer).status == 200)
        #expect(try stage.ask("POST", "/api/v1/play", #"{"source":"/etc/x.mp4"}"#, headers: bearer).code == "not-allowed")
    }

    @Test("Other machines are listened to only with a password")
    func listening() throws {
        do throws(WebError) {
            do { _ = try WebStage(listen: "0.0.0.0") } catch let error as WebError { throw error } catch { Issue.record("\(error)") }
            Issue.record("it listens")
        } catch { #expect(error.description.contains("kiosk web password")) }
        #expect(try WebStage(password: Self.password, listen: "0.0.0.0").ask("GET", "/").status == 200)
    }

    @Test("A file of passwords that everybody may read is refused")
    func mode() throws {
        let stage = try WebStage(password: Self.password)
        chmod(stage.folder + "/password", 0o644)
        #expect(throws: WebError.self) { try Credentials.read(stage.folder + "/password") }
    }

    @Test("Credentials are read as they are written; the password is a hash of yescrypt")
    func credentials() throws {
        var credentials = Credentials()
        credentials.password = try Credentials.hash(Self.password)
        let secret = try credentials.addToken("wall", [.view, .control])
        #expect(credentials.password?.hasPrefix("$y$") == true)
        let read = try Credentials(text: credentials.text)
        #expect(read == credentials)
        #expect(read.accepts(password: Self.password) && !read.accepts(password: "correct hors"))
        #expect(read.token(secret)?.scopes == [.view, .control] && read.token("x") == nil)
        #expect(throws: WebError.self) { try credentials.addToken("wall", [.view]) }
        #expect(throws: WebError.self) { try credentials.addToken("a b", [.view]) }
        #expect(!credentials.text.contains(secret))
    }

    @Test("SHA-256 is that of the standard")
    func digest() {
        #expect(SHA256.hexadecimal("".utf8) == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
        #expect(SHA256.hexadecimal("abc".utf8) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
        #expect(
            SHA256.hexadecimal([UInt8](repeating: 0x61, count: 1_000_000))
                == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0")
    }

    @Test("Sessions end after two idle hours, and after twelve hours in any case")
    func expiry() {
        var sessions = Sessions()
        let start = HostTime.now
        sessions.begin(name: "a", csrf: "c", at: start)
        for hour in 1...11 { #expect(sessions.csrf(of: "a", at: start + .seconds(Double(hour) * 3600)) == "c") }
        #expect(sessions.csrf(of: "a", at: start + .seconds(12 * 3600)) == nil)
        sessions.begin(name: "b", csrf: "c", at: start)
        #expect(sessions.csrf(of: "b", at: start + .seconds(2 * 3600)) == nil)
        for number in 0..<100 { sessions.begin(name: "\(number)", csrf: "c", at: start + .milliseconds(Int64(number))) }
        #expect(sessions.csrf(of: "0", at: start + .seconds(1)) == nil && sessions.csrf(of: "99", at: start + .seconds(1)) == "c")
    }

    @Test("Wrong guesses wait twice as long each time; other addresses do not wait with them")
    func guesses() {
        var limit = GuessLimit()
        let (one, other) = (HTTPPeer(bytes: [10, 0, 0, 1]), HTTPPeer(bytes: [10, 0, 0, 2]))
        var now = HostTime.now
        var waits: [Int] = []
        for _ in 0..<14 {
            limit.guessedWrong(one, at: now)
            let wait = limit.wait(one, at: now) ?? 0
            waits.append(wait)
            now = now + .seconds(Double(wait))
        }
        #expect(waits == [0, 0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900])
        #expect(limit.wait(other, at: now) == nil)
        limit.guessedRight(one)
        #expect(limit.wait(one, at: now) == nil)
    }

    @Test("All addresses together have sixty wrong guesses, and then one a minute")
    func manyAddresses() {
        var limit = GuessLimit()
        let now = HostTime.now
        for number in 0..<60 { limit.guessedWrong(HTTPPeer(bytes: [10, 0, 1, UInt8(number)]), at: now) }
        let fresh = HTTPPeer(bytes: [10, 0, 2, 1])
        #expect(limit.wait(fresh, at: now) == 60)
        #expect(limit.wait(fresh, at: now + .seconds(61)) == nil)
    }
}
