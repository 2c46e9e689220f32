import Foundation
import Glibc
import KioskCommands
import KioskConfiguration
import KioskPlatform
import Testing

@testable import KioskWeb

/// Uploads, files and kiosk.conf.
@Suite struct ContentTests {
    private let clip = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 2) }
    /// A kiosk that refuses files which begin with `bad`, as `kiosk check` does.
    private static let kiosk = """
        for file; do :; done
        case $1 in
        check) head -c 3 "$file" | grep -q bad && { echo '   cannot be played: it has no picture'; exit 1; }; exit 0 ;;
        thumbnail) echo picture > "$file" ;;
        doctor) echo noise; echo '{"findings":[{"code":"clock","severity":"ok"}],"fixes":[]}'; exit 1 ;;
        esac
        """

    private func begin(_ stage: WebStage, _ name: String, _ bytes: Int, _ more: String = "") throws -> WebStage.Answer {
        try stage.ask("POST", "/api/v1/uploads", "{\"name\":\(name.json.line),\"bytes\":\(bytes)\(more)}")
    }

    private func send(_ stage: WebStage, _ id: String, at offset: Int, _ bytes: some Sequence<UInt8>) throws -> WebStage.Answer {
        try stage.ask("PATCH", "/api/v1/uploads/\(id)", headers: ["Upload-Offset": "\(offset)"], bytes: Array(bytes))
    }

    @Test("An upload goes on after a break where it stopped, also after a restart; nothing shows before it is complete")
    func resuming() throws {
        let stage = try WebStage(kiosk: Self.kiosk)
        let begun = try begin(stage, "new clip.mp4", clip.count)
        #expect(begun.status == 201)
        let id = try #require(begun.json["id"]?.text)
        #expect(try send(stage, id, at: 0, clip.prefix(30_000)).json["offset"]?.integer == 30_000)
        // The connection breaks in the middle of the next piece.
        var client: RawHTTP? = try stage.connect()
        client?.send("PATCH /api/v1/uploads/\(id) HTTP/1.1\r\nHost: localhost\r\nUpload-Offset: 30000\r\nContent-Length: 50000\r\n\r\n")
        client?.send(Array(clip[30_000..<40_000]))
        #expect(WebStage.eventually { (try? stage.ask("GET", "/api/v1/files").json["files"]) != nil })
        client = nil
        #expect(WebStage.eventually { (try? stage.ask("GET", "/api/v1/uploads/\(id)").json["offset"]?.integer) == 40_000 })
        #expect(try stage.ask("GET", "/api/v1/files").json["files"] == .array([]))
        let wrong = try send(stage, id, at: 0, clip.prefix(10))
        #expect(wrong.code == "wrong-offset" && wrong.json["error"]?["offset"]?.integer == 40_000)
        // Another kiosk-web on the same folder knows it from its note.
        let configuration = ConfigurationFile(stage.folder + "/kiosk.conf", history: "/nonexistent", .init()).current
        let other = FileRoutes(
            configuration: { configuration }, player: PlayerLink("/nonexistent"), kiosk: KioskProgram(path: nil), thumbnails: nil)
        #expect(try other.uploads.upload(id, in: ContentFolder(path: stage.content)).offset == 40_000)
        let done = try send(stage, id, at: 40_000, clip[40_000...])
        #expect(done.json["done"] == .bool(true) && done.json["file"]?["name"]?.text == "new clip.mp4")
        #expect(FileManager.default.contents(atPath: stage.content + "/new clip.mp4") == Data(clip))
        #expect(try FileManager.default.contentsOfDirectory(atPath: stage.content) == ["new clip.mp4"])
        #expect(stat(at: stage.content + "/new clip.mp4").map { $0.st_mode & 0o111 } == 0)
    }

    @Test("A file that cannot be played is refused with a command that converts it, and is gone")
    func refusal() throws {
        let stage = try WebStage(kiosk: Self.kiosk)
        let id = try #require(try begin(stage, "it's.mp4", 10).json["id"]?.text)
        let answer = try send(stage, id, at: 0, Array("bad-------".utf8))
        #expect(answer.status == 422 && answer.code == "not-playable")
        #expect(answer.json["error"]?["message"]?.text?.hasSuffix("it has no picture") == true)
        #expect(answer.json["error"]?["recipe"]?.text?.hasPrefix(#"ffmpeg -i 'it'\''s.mp4' "#) == true)
        #expect(try FileManager.default.contentsOfDirectory(atPath: stage.content).isEmpty)
        #expect(try stage.ask("GET", "/api/v1/uploads/\(id)").status == 404)
    }

    @Test(
        "A name that is no media file's is refused",
        arguments: [
            "", ".mp4", ".hidden.mp4", "../a.mp4", "a/b.mp4", "/etc/a.mp4", "a\\b.mp4", "a.sh", "a.php", "a", "-rf.mp4", "a.mp4\n",
            "a\u{0}.mp4",
            "a\u{202E}4pm.mp4", "a.mp4/", " a.mp4", String(repeating: "a", count: 200) + ".mp4", "a.html", "kiosk.conf",
        ])
    func names(name: String) throws {
        let stage = try WebStage(kiosk: Self.kiosk)
        #expect(try begin(stage, name, 10).status == 400)
        #expect(try FileManager.default.contentsOfDirectory(atPath: stage.content).isEmpty)
    }

    @Test("A name that is taken, a file without room, and too many uploads are refused at the beginning")
    func limits() throws {
        let stage = try WebStage(kiosk: Self.kiosk)
        try Data([1]).write(to: URL(fileURLWithPath: stage.content + "/a.mp4"))
        #expect(try begin(stage, "a.mp4", 10).code == "name-taken")
        #expect(try begin(stage, "a.mp4", 10, ",\"replace\":true").status == 201)
        #expect(try begin(stage, "b.mp4", 1 << 50).status == 507)
        #expect(try begin(stage, "b.mp4", 0).status == 400)
        for number in 0..<15 { #expect(try begin(stage, "\(number).mp4", 10).status == 201) }
        let last = try begin(stage, "x.mp4", 10)
        #expect(last.code == "too-many-uploads")
        let id = try #require(try FileManager.default.contentsOfDirectory(atPath: stage.content).first { $0.hasSuffix(".json") })
        let name = String(id.dropFirst(".kiosk-upload-".count).dropLast(".json".count))
        #expect(try stage.ask("DELETE", "/api/v1/uploads/\(name)").status == 200)
        #expect(try begin(stage, "x.mp4", 10).status == 201)
    }

    @Test("More bytes than announced are refused")
    func tooMuch() throws {
        let stage = try WebStage(kiosk: Self.kiosk)
        let id = try #require(try begin(stage, "a.mp4", 10).json["id"]?.text)
        #expect(try send(stage, id, at: 0, clip.prefix(11)).status == 413)
        #expect(try send(stage, id, at: 0, clip.prefix(10)).json["done"] == .bool(true))
    }

    @Test("Files are listed, renamed and deleted; links are none of them")
    func files() throws {
        let stage = try WebStage(kiosk: Self.kiosk)
        try Data(clip).write(to: URL(fileURLWithPath: stage.content + "/a.mp4"))
        try Data([1]).write(to: URL(fileURLWithPath: stage.content + "/notes.txt"))
        try FileManager.default.createSymbolicLink(atPath: stage.content + "/passwd.mp4", withDestinationPath: "/etc/passwd")
        let list = try stage.ask("GET", "/api/v1/files").json
        guard case .array(let files)? = list["files"] else {
            Issue.record("no files")
            return
        }
        #expect(files.map { $0["name"]?.text } == ["a.mp4"] && files[0]["playlist"] == .bool(true))
        #expect(files[0]["bytes"]?.integer == clip.count && list["root"]?.text == stage.content)
        #expect(try stage.ask("DELETE", "/api/v1/files/passwd.mp4").status == 404)
        #expect(try stage.ask("POST", "/api/v1/files/a.mp4", #"{"name":"../b.mp4"}"#).status == 400)
        #expect(try stage.ask("POST", "/api/v1/files/a.mp4", #"{"name":"passwd.mp4"}"#).code == "name-taken")
        #expect(try stage.ask("POST", "/api/v1/files/a.mp4", #"{"name":"ü b.mp4"}"#).json["name"]?.text == "ü b.mp4")
        #expect(try stage.ask("GET", "/api/v1/thumbnails/%C3%BC%20b.mp4").body == Array("picture\n".utf8))
        #expect(try stage.ask("DELETE", "/api/v1/files/%C3%BC%20b.mp4").status == 200)
        #expect(try Set(FileManager.default.contentsOfDirectory(atPath: stage.content)) == ["notes.txt", "passwd.mp4"])
    }

    @Test("A URL to fetch is one of http or https")
    func fetching() throws {
        let stage = try WebStage(kiosk: Self.kiosk)
        for url in ["file:///etc/passwd", "ftp://a/b.mp4", "/etc/passwd", "gopher://a/b.mp4"] {
            #expect(try stage.ask("POST", "/api/v1/fetch", "{\"url\":\"\(url)\"}").status == 400)
        }
        #expect(try stage.ask("POST", "/api/v1/fetch", #"{"url":"http://127.0.0.1:1/x.sh"}"#).code == "invalid-name")
    }

    @Test("The doctor's findings are those of kiosk doctor")
    func doctor() throws {
        let answer = try WebStage(kiosk: Self.kiosk).ask("GET", "/api/v1/doctor")
        guard case .array(let findings)? = answer.json["findings"] else {
            Issue.record("no findings: \(answer.json.line)")
            return
        }
        #expect(findings.map { $0["code"]?.text } == ["clock"])
    }

    @Test("kiosk.conf is replaced only by a text without mistakes, over the version that was read; each former one can come back")
    func configuration() throws {
        let stage = try WebStage()
        let read = try stage.ask("GET", "/api/v1/configuration").json
        let (text, version) = (try #require(read["text"]?.text), try #require(read["version"]?.text))
        #expect(read["complaints"] == .array([]))
        let checked = try stage.ask("POST", "/api/v1/configuration/check", "{\"text\":\((text + "[display]\nrotation = 45\n").json.line)}")
            .json
        guard case .array(let complaints)? = checked["complaints"], let complaint = complaints.first else {
            Issue.record("no complaint: \(checked.line)")
            return
        }
        #expect(complaint["line"]?.integer == text.split(separator: "\n").count + 2 && complaint["column"]?.integer == 12)
        #expect(complaint["message"]?.text?.contains("expected 0, 90, 180 or 270") == true)
        func put(_ text: String, _ version: String) throws -> WebStage.Answer {
            try stage.ask("PUT", "/api/v1/configuration", "{\"text\":\(text.json.line),\"version\":\"\(version)\"}")
        }
        #expect(try put("x = [\n", version).code == "invalid-configuration")
        #expect(try put(text, "0000").status == 412)
        chmod(stage.folder + "/kiosk.conf", 0o640)
        var (last, present) = (version, text)
        for number in 0..<12 {
            present = text + "# \(number)\n"
            let answer = try put(present, last)
            #expect(answer.status == 200)
            last = try #require(answer.json["version"]?.text)
        }
        #expect(try String(contentsOfFile: stage.folder + "/kiosk.conf", encoding: .utf8) == present)
        #expect(stat(at: stage.folder + "/kiosk.conf").map { $0.st_mode & 0o777 } == 0o640)
        guard case .array(let history)? = try stage.ask("GET", "/api/v1/configuration/history").json["history"] else {
            Issue.record("no history")
            return
        }
        #expect(history.count == 10)
        let former = try #require(history.last?["version"]?.text)
        #expect(try stage.ask("POST", "/api/v1/configuration/restore", "{\"version\":\"\(former)\"}").json["version"]?.text == former)
        #expect(try stage.ask("POST", "/api/v1/configuration/restore", #"{"version":"../../etc"}"#).status == 404)
    }
}
