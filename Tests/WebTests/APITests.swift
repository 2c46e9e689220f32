import Foundation
import Glibc
import KioskCommands
import KioskPlatform
import KioskVocabulary
import Remote
import Testing

@testable import KioskWeb

/// The commands, the page, events, the screen and the description, over HTTP.
@Suite struct APITests {
    @Test("A command is a POST with its parameters; those that report are a GET, too")
    func commands() throws {
        let stage = try WebStage()
        #expect(try stage.ask("POST", "/api/v1/seek", #"{"to":3}"#).status == 200)
        #expect(stage.requests == [.command(.player(.seekTo(.seconds(3))))])
        #expect(try stage.ask("GET", "/api/v1/status").json["state"]?.text == "playing")
        #expect(try stage.ask("GET", "/api/v1/tracks?item=2").status == 200)
        #expect(stage.requests.last == .tracks(of: .place(2)))
        #expect(try stage.ask("POST", "/api/v1/interruption/begin", #"{"by":"alarm"}"#).status == 200)
        #expect(try stage.ask("GET", "/api/v1/playlist").json["count"]?.integer == 1)
        #expect(try stage.ask("GET", "/api/v1/playlist/list").json["count"]?.integer == 1)
        #expect(try stage.ask("POST", "/api/v1/pause").status == 200)
        #expect(stage.requests.last == .command(.player(.pause)))
    }

    @Test(
        "A refusal has a status, a code and a message",
        arguments: [
            ("POST", "/api/v1/item", #"{"item":9}"#, 404, "no-such-item"), ("POST", "/api/v1/restart", "{}", 504, "not-yet"),
            ("POST", "/api/v1/seek", #"{"to":"x"}"#, 400, "invalid-parameter"), ("POST", "/api/v1/seek", "{}", 400, "missing-parameter"),
            ("POST", "/api/v1/seek", "[]", 400, "invalid-json"), ("POST", "/api/v1/seek", #"{"command":"quit"}"#, 400, "unknown-parameter"),
            ("GET", "/api/v1/pause", nil, 405, "wrong-method"), ("GET", "/api/v1/dance", nil, 404, "no-such-path"),
            ("GET", "/api/v1/status?x=1", nil, 400, "unknown-parameter"), ("POST", "/index.html", "{}", 405, "wrong-method"),
            ("GET", "/api/v1/events?watch=weather", nil, 400, "invalid-parameter"),
        ] as [(String, String, String?, Int, String)])
    func refusals(method: String, path: String, body: String?, status: Int, code: String) throws {
        let answer = try WebStage().ask(method, path, body)
        #expect(answer.status == status)
        #expect(answer.code == code)
        #expect(answer.json["error"]?["message"]?.text?.isEmpty == false)
    }

    @Test("Without a player the answer is 503, and health says so")
    func absence() throws {
        let stage = try WebStage()
        #expect(try stage.ask("GET", "/healthz").status == 200)
        stage.player.close()
        #expect(try stage.ask("GET", "/api/v1/status").code == "no-player")
        usleep(1_100_000)
        #expect(try stage.ask("GET", "/healthz").status == 503)
        #expect(try String(decoding: stage.ask("GET", "/metrics").body, as: UTF8.self).contains("kiosk_up 0\n"))
    }

    @Test("Metrics are the player's")
    func metrics() throws {
        let text = try String(decoding: WebStage().ask("GET", "/metrics").body, as: UTF8.self)
        #expect(text.contains("kiosk_up 1\n") && text.hasSuffix("kiosk_playing 1\n"))
    }

    @Test("The page has types, tags and a policy without scripts from elsewhere")
    func page() throws {
        let stage = try WebStage()
        let index = try stage.ask("GET", "/")
        #expect(index.status == 200 && index.headers["content-type"] == "text/html; charset=utf-8")
        let policy = index.headers["content-security-policy"] ?? ""
        #expect(policy.contains("default-src 'none'") && policy.contains("script-src 'self';") && !policy.contains("unsafe"))
        #expect(index.headers["x-content-type-options"] == "nosniff")
        let tag = try #require(index.headers["etag"])
        let again = try stage.ask("GET", "/index.html", headers: ["If-None-Match": tag])
        #expect(again.status == 304 && again.body.isEmpty)
        #expect(try stage.ask("HEAD", "/").body.isEmpty)
    }

    @Test("Every file of the page is in the program, as it is in its folder")
    func files() throws {
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().path + "/../../Sources/Web/Page"
        let stage = try WebStage()
        for name in try FileManager.default.contentsOfDirectory(atPath: folder) where !name.hasPrefix(".") {
            let answer = try stage.ask("GET", "/\(name)")
            #expect(
                answer.status == 200 && Data(answer.body) == FileManager.default.contents(atPath: folder + "/" + name), "Tools/web-page")
        }
    }

    @Test("Viewers share the screen: one picture a second at most, and none unasked")
    func screen() throws {
        let stage = try WebStage()
        #expect(stage.requests.isEmpty)
        let threads = (0..<8).map { _ in
            KioskPlatform.Thread("viewer") {
                let answer = try? stage.ask("GET", "/api/v1/screen")
                #expect(answer?.body == WebStage.picture && answer?.headers["content-type"] == "image/png")
            }
        }
        for thread in threads { thread.join() }
        #expect(stage.requests == [.screenshot])
        usleep(1_100_000)
        _ = try stage.ask("GET", "/api/v1/screen")
        #expect(stage.requests == [.screenshot, .screenshot])
    }

    @Test("Events come as they happen; listeners to the same share a connection, which ends with the last one")
    func events() throws {
        let stage = try WebStage()
        #expect(stage.server.hub.count == 0)
        var clients = try (0..<3).map { _ in try stage.connect() }
        for client in clients { client.send("GET /api/v1/events?watch=status,item HTTP/1.1\r\nHost: localhost\r\n\r\n") }
        for client in clients { #expect(client.until(#"data: {"connected":true}"#).contains("text/event-stream")) }
        #expect(stage.server.hub.count == 1)
        stage.player.publish(.status, ["state": "paused".json])
        for client in clients { #expect(client.until(#""state":"paused"}"#).contains("event: status\ndata: ")) }
        clients = []
        #expect(WebStage.eventually { stage.server.hub.count == 0 })
    }

    @Test("The description is OpenAPI 3.1, and has every command of the table")
    func description() throws {
        let document = try WebStage().ask("GET", "/api/v1/openapi.json")
        for entry in CommandTable.ofPrograms where entry.name != "observe" {
            let path = "/api/v1/" + entry.name.split(separator: " ").joined(separator: "/")
            let operation = document.json["paths"]?[path]?["post"]
            #expect(operation?["summary"]?.text == entry.summary)
            let properties = operation?["requestBody"]?["content"]?["application/json"]?["schema"]?["properties"]
            #expect(properties?.members.map(\.name) == entry.parameters.map(\.name).sorted(), "\(entry.name)")
        }
        let file = NSTemporaryDirectory() + "kiosk-openapi-\(getpid()).json"
        try Data(document.body).write(to: URL(fileURLWithPath: file))
        defer { try? FileManager.default.removeItem(atPath: file) }
        let program =
            "import json,sys\ntry:\n from openapi_spec_validator import validate\nexcept ImportError: sys.exit(77)\nvalidate(json.load(open(sys.argv[1])))"
        guard case .ended(let status, let output) = BoundedCommand.run(["python3", "-c", program, file], limit: .seconds(60)), status != 77
        else { return print("the description is not validated: pip install openapi-spec-validator") }
        #expect(status == 0, "\(output)")
    }

    @Test("A week of the schedule, with its commands")
    func schedule() throws {
        let stage = try WebStage()
        let text = try String(contentsOfFile: stage.folder + "/kiosk.conf", encoding: .utf8)
        try (text + "hours = \"08:00-18:00\"\n[[at]]\ntime = \"12:00\"\ndo = \"restart\"\n").write(
            toFile: stage.folder + "/kiosk.conf", atomically: true, encoding: .utf8)
        let week = try stage.ask("GET", "/api/v1/schedule").json
        guard case .array(let changes)? = week["changes"], case .array(let commands)? = week["commands"] else {
            Issue.record("there is no week: \(week.line)")
            return
        }
        #expect(week["constant"] == .bool(false))
        #expect(14...15 ~= changes.count && commands.count == 7, "\(changes.count) changes, \(commands.count) commands")
    }

    @Test("A line of the journal becomes an event with level and time, and without secrets")
    func journal() {
        let line = #"{"MESSAGE":"open https://u:pw@host/x failed","PRIORITY":"4","__REALTIME_TIMESTAMP":"1795960841000000"}"#
        let event = MachineRoutes.event(of: line)
        #expect(event?.contains(#""level":"warning""#) == true && event?.contains("2026-11-29T14:00:41Z") == true)
        #expect(event?.contains("pw") == false)
        #expect(MachineRoutes.event(of: "no journal") == nil)
    }
}
