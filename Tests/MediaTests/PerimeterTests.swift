import CKioskFFmpeg
import Foundation
import KioskPlatform
import KioskVocabulary
import TestSupport
import Testing

@testable import KioskMedia

/// Hostile servers, lists and files: kiosk opens the files they name only if docs/streams.md permits it. Each case has a counterpart that
/// plays: otherwise a case could pass because nothing plays. Serialized because DASH and rtsps cases share the requirements for servers'
/// certificates (TLSTerms).
@Suite(.serialized) struct PerimeterTests {
    /// A folder with two clips: a public one, and a secret one, 64 pixels wide.
    private final class Scene: Sendable {
        let folder = Clips.folder + "/perimeter-\(UUID().uuidString)"
        let piece: [UInt8]

        init() throws {
            piece = try Clips.bytes(
                Clips.make(
                    "perimeter-public.ts", ["-f", "lavfi", "-i", "testsrc2=s=128x72:r=25:d=1", "-c:v", "libx264", "-pix_fmt", "yuv420p"]))
            let secret = try Clips.bytes(
                Clips.make(
                    "perimeter-secret.ts", ["-f", "lavfi", "-i", "testsrc2=s=64x64:r=25:d=1", "-c:v", "libx264", "-pix_fmt", "yuv420p"]))
            for name in ["", "/lists", "/lists/parts", "/home"] {
                try FileManager.default.createDirectory(atPath: folder + name, withIntermediateDirectories: true)
            }
            try write("home/secret.ts", secret)
            try write("lists/parts/piece.ts", piece)
            try write("home/list.m3u8", Array(Self.list("secret.ts").utf8))
        }

        deinit { try? FileManager.default.removeItem(atPath: folder) }

        func write(_ name: String, _ bytes: [UInt8]) throws { try Data(bytes).write(to: URL(fileURLWithPath: folder + "/" + name)) }

        var secret: String { folder + "/home/secret.ts" }

        static func list(_ name: String) -> String {
            "#EXTM3U\n#EXT-X-VERSION:3\n#EXT-X-TARGETDURATION:6\n#EXT-X-MEDIA-SEQUENCE:0\n#EXTINF:1.0,\n\(name)\n#EXT-X-ENDLIST\n"
        }

        static func master(_ name: String) -> String {
            "#EXTM3U\n#EXT-X-VERSION:3\n#EXT-X-STREAM-INF:BANDWIDTH=100000,RESOLUTION=160x120\n\(name)\n"
        }

        static func dash(_ base: String) -> String {
            """
            <?xml version="1.0"?><MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static" mediaPresentationDuration="PT1S" \
            profiles="urn:mpeg:dash:profile:isoff-on-demand:2011"><Period><AdaptationSet mimeType="video/mp2t"><Representation id="1" \
            bandwidth="100000" width="64" height="64"><BaseURL>\(base)</BaseURL></Representation></AdaptationSet></Period></MPD>
            """
        }
    }

    /// Returns the width of a source's picture, or the error if the source cannot be opened.
    private func open(
        _ source: String, isKept: Bool = false, _ change: (inout StreamSettings) -> Void = { _ in }
    ) -> Result<Int, MediaError> {
        var settings = StreamSettings()
        settings.timeout = .seconds(60)
        change(&settings)
        return Result { () throws(MediaError) -> Int in
            let reader = try MediaReader.open(source, isKept: isKept, samples: nil, settings: settings)
            return reader.description.video?.width ?? 0
        }
    }

    private func reason(_ result: Result<Int, MediaError>) -> MediaError.Reason? {
        if case .failure(let error) = result { error.reason } else { nil }
    }

    // MARK: From the network

    @Test(
        "A list from a server reads no file",
        arguments: [
            "media-file.m3u8", "media-path.m3u8", "master-http.m3u8", "master-file.m3u8", "master-path.m3u8", "clip.mp4", "clip.ts",
            "dash.mpd", "dash-path.mpd",
            "concat.mp4", "concat.ffconcat", "redirect-file", "subfile.m3u8", "crypto.m3u8", "pipe.m3u8", "session.sdp", "key.m3u8",
            "map.m3u8",
        ])
    func network(name: String) throws {
        let scene = try Scene()
        let secret = scene.secret, other = scene.folder + "/home/list.m3u8", piece = scene.piece
        let server = try FileServer(
            .init { path in
                switch path {
                case "/piece.ts": piece
                case "/good.m3u8": Array(Scene.list("piece.ts").utf8)
                case "/good-master.m3u8": Array(Scene.master("good.m3u8").utf8)
                case "/media-file.m3u8", "/clip.mp4", "/clip.ts": Array(Scene.list("file://\(secret)").utf8)
                case "/media-path.m3u8": Array(Scene.list(secret).utf8)
                case "/master-http.m3u8": Array(Scene.master("media-file.m3u8").utf8)
                case "/master-file.m3u8": Array(Scene.master("file://\(other)").utf8)
                case "/master-path.m3u8": Array(Scene.master("file:\(other)").utf8)
                case "/dash.mpd": Array(Scene.dash("file://\(secret)").utf8)
                case "/dash-path.mpd": Array(Scene.dash("file:\(secret)").utf8)
                case "/concat.mp4", "/concat.ffconcat": Array("ffconcat version 1.0\nfile \(secret)\n".utf8)
                case "/subfile.m3u8": Array(Scene.list("subfile,,start,0,end,0,,:\(secret)").utf8)
                case "/crypto.m3u8": Array(Scene.list("crypto+file:\(secret)").utf8)
                case "/pipe.m3u8": Array(Scene.list("pipe:0").utf8)
                case "/session.sdp": Array("v=0\no=- 0 0 IN IP4 127.0.0.1\ns=x\nc=IN IP4 127.0.0.1\nt=0 0\nm=video 9 RTP/AVP 33\n".utf8)
                case "/key.m3u8":
                    Array(
                        Scene.list("piece.ts").replacingOccurrences(
                            of: "#EXTINF", with: "#EXT-X-KEY:METHOD=AES-128,URI=\"file:\(secret)\"\n#EXTINF"
                        ).utf8)
                case "/map.m3u8":
                    Array(
                        Scene.list("piece.ts").replacingOccurrences(of: "#EXTINF", with: "#EXT-X-MAP:URI=\"file:\(secret)\"\n#EXTINF").utf8)
                default: nil
                }
            })
        server.change { behaviour in
            behaviour.type = "application/octet-stream"
            behaviour.redirects = { $0 == "/redirect-file" ? "file://\(secret)" : nil }
        }
        let result = open(server.url(name))
        #expect((try? result.get()) != 64, "\(name) shows what nobody may see")
        // kiosk must not request the named file from the server either; but libavformat's DASH turns the name into such an address.
        #expect(name.hasPrefix("dash") || server.requests.allSatisfy { !$0.path.hasPrefix("/file:") }, "\(server.requests.map(\.path))")
        // A missing key or init section skips only the segments that need it.
        if !["key.m3u8", "map.m3u8"].contains(name) { #expect(reason(result) != nil, "\(name)") }
        for good in ["good.m3u8", "good-master.m3u8"] { #expect(throws: Never.self) { try open(server.url(good)).get() } }
    }

    @Test(
        "A name that no sign plays is refused before anything is opened",
        arguments: ["gopher://127.0.0.1:1/x", "ftp://127.0.0.1/x.mp4", "concat://a|b", "pipe://0", "smb://x/y", "mmsh://x/y"])
    func schemes(source: String) {
        guard case .protocolNotPlayed = reason(open(source)) else { return #expect(Bool(false), "\(source)") }
    }

    // MARK: From a folder

    @Test(
        "A list in a folder names files beneath that folder",
        arguments: [
            ("parts/piece.ts", true), ("./parts/../parts/piece.ts", true), ("parts/link-inside.ts", true), ("../home/secret.ts", false),
            ("parts/link.ts", false), ("parts/folder/secret.ts", false), ("SECRET", false), ("file://SECRET", false),
            ("http://127.0.0.1:PORT/piece.ts", false),
        ])
    func folder(name: String, plays: Bool) throws {
        let scene = try Scene()
        let piece = scene.piece
        let server = try FileServer(.init { $0 == "/piece.ts" ? piece : nil })
        try FileManager.default.createSymbolicLink(atPath: scene.folder + "/lists/parts/link.ts", withDestinationPath: scene.secret)
        try FileManager.default.createSymbolicLink(atPath: scene.folder + "/lists/parts/link-inside.ts", withDestinationPath: "piece.ts")
        try FileManager.default.createSymbolicLink(atPath: scene.folder + "/lists/parts/folder", withDestinationPath: "../../home")
        let name = name.replacingOccurrences(of: "SECRET", with: scene.secret).replacingOccurrences(of: "PORT", with: "\(server.port)")
        // The file name must not matter.
        for file in ["list.m3u8", "list.mp4"] {
            try scene.write("lists/" + file, Array(Scene.list(name).utf8))
            let result = open(scene.folder + "/lists/" + file)
            #expect((try? result.get()) != 64, "\(file): \(name) shows what nobody may see")
            // Newer versions of FFmpeg also check the file name.
            if file == "list.mp4" { continue }
            #expect((try? result.get()) == (plays ? 128 : nil), "\(name)")
            if !plays, case .namesWhatItMayNot = reason(result) {} else if !plays { #expect(Bool(false), "\(name): \(result)") }
        }
        if name.hasPrefix("http") { #expect(server.requests.isEmpty) }
        #expect(
            (try? open(scene.folder + "/lists/list.m3u8") { $0.mayNameNetwork = true }.get())
                == (plays || name.hasPrefix("http") ? 128 : nil))
    }

    @Test("A list in a folder is no local file where it names a server", arguments: [true, false]) func parts(areLocal: Bool) throws {
        let scene = try Scene()
        let piece = scene.piece
        let server = try FileServer(.init { $0 == "/piece.ts" ? piece : nil })
        try scene.write("lists/list.m3u8", Array(Scene.list(areLocal ? "parts/piece.ts" : server.url("piece.ts")).utf8))
        var settings = StreamSettings()
        settings.mayNameNetwork = true
        let reader = try MediaReader.open(scene.folder + "/lists/list.m3u8", samples: nil, settings: settings)
        #expect(reader.description.isLocal == areLocal && reader.description.isSeekable)
    }

    @Test(
        "FFmpeg’s own lists, DASH and SMIL in a folder are not played",
        arguments: ["concat.mp4", "dash.mpd", "dash.mp4", "smil.mp4", "session.mp4"])
    func foreignLists(name: String) throws {
        let scene = try Scene()
        try scene.write("lists/piece.ts", scene.piece)
        let text =
            switch name.prefix(4) {
            case "conc": "ffconcat version 1.0\nfile piece.ts\n"
            case "dash": Scene.dash("piece.ts")
            case "smil": "<smil><body><video src=\"piece.ts\"/></body></smil>"
            default: "v=0\no=- 0 0 IN IP4 127.0.0.1\ns=x\nc=IN IP4 127.0.0.1\nt=0 0\nm=video 5004 RTP/AVP 33\n"
            }
        try scene.write("lists/" + name, Array(text.utf8))
        switch reason(open(scene.folder + "/lists/" + name)) {
        case .formatNotPlayed(_, isList: true), .notMedia: break
        case let other: #expect(Bool(false), "\(name): \(String(describing: other))")
        }
    }

    @Test("A picture whose name is a pattern is itself") func sequences() throws {
        let scene = try Scene()
        let picture = try Clips.bytes(
            Clips.make("perimeter-still.png", ["-f", "lavfi", "-i", "testsrc2=s=32x32", "-frames:v", "1", "-update", "1"]))
        let secret = try Clips.bytes(
            Clips.make("perimeter-other.png", ["-f", "lavfi", "-i", "testsrc2=s=64x64", "-frames:v", "1", "-update", "1"]))
        for name in ["a%02d.png", "a*.png"] { try scene.write("lists/" + name, picture) }
        for name in ["a00.png", "a01.png", "ab.png"] { try scene.write("lists/" + name, secret) }
        for name in ["a%02d.png", "a*.png"] { #expect(try open(scene.folder + "/lists/" + name).get() == 32) }
    }

    @Test("A MOV’s references to other files stay closed") func references() throws {
        var mov: UnsafePointer<AVClass>? = try #require(av_find_input_format("mov")?.pointee.priv_class)
        let option = withUnsafeMutablePointer(to: &mov) { av_opt_find($0, "enable_drefs", nil, 0, AV_OPT_SEARCH_FAKE_OBJ) }
        #expect(try #require(option).pointee.default_val.i64 == 0)
    }

    // MARK: Cached files

    @Test("A file that is kept of a server is no list", arguments: ["x.mp4", "x.m3u8", "x.mpd"]) func kept(name: String) throws {
        let scene = try Scene()
        let text = name.hasSuffix("mpd") ? Scene.dash("parts/piece.ts") : Scene.list("parts/piece.ts")
        try scene.write("lists/" + name, Array(text.utf8))
        let reason = reason(open(scene.folder + "/lists/" + name, isKept: true))
        // FFmpeg 7 does not even recognise an HLS list if the file name does not fit.
        if reason != .notMedia {
            guard case .formatNotPlayed(_, isList: true) = reason else { return #expect(Bool(false), "\(String(describing: reason))") }
        }
        #expect(try open(scene.folder + "/lists/parts/piece.ts", isKept: true).get() == 128)
    }

    // MARK: Formats and codecs

    @Test("Containers and codecs that signs do not play are refused, and let in by name") func kinds() throws {
        let sound = try Clips.make("perimeter.au", ["-f", "lavfi", "-i", "sine=f=440:r=48000:d=1"])
        #expect(reason(open(sound)) == .formatNotPlayed("au", isList: false))
        #expect(throws: Never.self) {
            var settings = StreamSettings()
            settings.furtherFormats = ["au"]
            _ = try MediaReader.open(sound, samples: AudioFormat(sampleRate: 48000, channelCount: 2), settings: settings)
        }
        let clip = try Clips.make("perimeter-cinepak.mov", ["-f", "lavfi", "-i", "testsrc2=s=128x72:r=25:d=0.2", "-c:v", "cinepak"])
        #expect(reason(open(clip)) == .codecNotPlayed("cinepak"))
        #expect(try open(clip) { $0.furtherCodecs = ["cinepak"] }.get() == 128)
        let scene = try Scene()
        try scene.write(
            "lists/a.mp4",
            Array("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"64\" height=\"64\"><rect width=\"64\" height=\"64\"/></svg>".utf8))
        #expect(reason(open(scene.folder + "/lists/a.mp4")) != nil)
        // No key permits formats that open other files unchecked.
        try scene.write("lists/b.mp4", Array("ffconcat version 1.0\nfile parts/piece.ts\n".utf8))
        #expect(reason(open(scene.folder + "/lists/b.mp4") { $0.furtherFormats = ["concat"] }) != nil)
    }

    @Test("docs/formats.md names every container and codec that is played, and no other") func table() throws {
        let path = URL(fileURLWithPath: #filePath).deletingLastPathComponent().path + "/../../docs/formats.md"
        let rows = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").filter { $0.hasPrefix("| ") }
        let names = rows.flatMap { row in row.split(separator: "`").enumerated().filter { $0.offset % 2 == 1 }.map { String($0.element) } }
        #expect(Set(names) == Set(FormatWhitelist.formats + FormatWhitelist.codecs + ["pcm_*", "hls", "dash", "rtsp", "rtp", "sdp"]))
    }

    // MARK: Redirections

    @Test("Headers and a password go to the server that they are for") func redirectionToAnotherHost() throws {
        let clip = try Clips.bytes(Clips.numbered("perimeter.mp4", frames: 10))
        let other = try FileServer(.init(clip))
        let elsewhere = "http://localhost:\(other.port)/clip.mp4"
        let server = try FileServer(.init(clip))
        server.change { behaviour in
            behaviour.redirects = { path in path == "/away" ? elsewhere : path == "/here" ? "/clip.mp4" : nil }
        }
        let secrets: (inout StreamSettings) -> Void = { $0.headers = ["Authorization: Bearer SECRET", "X-Api-Key: KEY"] }
        #expect(try open(server.url("away"), secrets).get() == 320)
        #expect(server.requests.allSatisfy { $0.headers["authorization"] == "Bearer SECRET" && $0.headers["x-api-key"] == "KEY" })
        #expect(
            !other.requests.isEmpty && other.requests.allSatisfy { $0.headers["authorization"] == nil && $0.headers["x-api-key"] == nil })
        // A redirection to the same host keeps them.
        #expect(try open(server.url("here"), secrets).get() == 320)
        #expect(server.requests.allSatisfy { $0.headers["x-api-key"] == "KEY" })
    }

    @Test("The parts of a list get headers only from its own server") func partsElsewhere() throws {
        let scene = try Scene()
        let piece = scene.piece
        let other = try FileServer(.init { $0 == "/piece.ts" ? piece : nil })
        let there = "http://localhost:\(other.port)/piece.ts"
        let server = try FileServer(
            .init { path in
                path == "/piece.ts" ? piece : path == "/here.m3u8" ? Array(Scene.list("piece.ts").utf8) : Array(Scene.list(there).utf8)
            })
        for name in ["here.m3u8", "away.m3u8"] { #expect(try open(server.url(name)) { $0.headers = ["X-Api-Key: KEY"] }.get() == 128) }
        #expect(server.requests.contains { $0.path == "/piece.ts" } && server.requests.allSatisfy { $0.headers["x-api-key"] == "KEY" })
        #expect(!other.requests.isEmpty && other.requests.allSatisfy { $0.headers["x-api-key"] == nil })
    }

    /// libavformat ends the process on such a list: it initialises SAMPLE-AES only if the first segment is encrypted.
    @Test(
        "A list whose later parts are encrypted by SAMPLE-AES is refused",
        arguments: ["list.m3u8", "master.m3u8", "data.m3u8", "folder", "good"])
    func encryptedSamples(name: String) throws {
        let scene = try Scene()
        let piece = scene.piece
        let method = name == "good" ? "NONE" : "SAMPLE-AES"
        let list =
            "#EXTM3U\n#EXT-X-VERSION:3\n#EXT-X-TARGETDURATION:1\n#EXTINF:1.0,\nparts/piece.ts\n"
            + "#EXT-X-KEY:METHOD=\(method)\(name == "good" ? "" : ",URI=\"parts/piece.ts\"")\n#EXTINF:1.0,\nparts/piece.ts\n#EXT-X-ENDLIST\n"
        let server = try FileServer(
            .init { path in
                switch path {
                case "/master.m3u8": Array(Scene.master("list.m3u8").utf8)
                case "/data.m3u8":
                    Array(Scene.master("data:application/x-mpegurl;base64,\(Data(list.utf8).base64EncodedString())").utf8)
                case "/parts/piece.ts": piece
                default: Array(list.utf8)
                }
            })
        try scene.write("lists/list.m3u8", Array(list.utf8))
        let source = name == "folder" || name == "good" ? scene.folder + "/lists/list.m3u8" : server.url(name)
        var frames = 0
        let result = Result { () throws(MediaError) in
            var reader = try MediaReader.open(source, samples: nil)
            while reader.nextFrame() != nil { frames += 1 }
        }
        if name == "good" {
            #expect(frames == 50)
        } else if case .failure(let error) = result {
            #expect(error.reason == .encryptedSamples, "\(error)")
        } else {
            #expect(Bool(false), "\(frames) frames")
        }
    }

    /// libavformat reads such a list without having opened it, which ends the process.
    @Test("A list without parts beside one that has some is left out", arguments: ["http", "file"]) func emptyList(scheme: String) throws {
        let scene = try Scene()
        let piece = scene.piece
        let master =
            "#EXTM3U\n#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"a\",NAME=\"a\",DEFAULT=YES,URI=\"empty.m3u8\"\n"
            + "#EXT-X-STREAM-INF:BANDWIDTH=100000,AUDIO=\"a\"\nlist.m3u8\n"
        let files = [
            "master.m3u8": master, "empty.m3u8": "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXT-X-ENDLIST\n",
            "list.m3u8": Scene.list("parts/piece.ts"),
        ]
        let server = try FileServer(.init { $0 == "/parts/piece.ts" ? piece : files[String($0.dropFirst())].map { Array($0.utf8) } })
        for (name, text) in files { try scene.write("lists/" + name, Array(text.utf8)) }
        var reader = try MediaReader.open(
            scheme == "http" ? server.url("master.m3u8") : scene.folder + "/lists/master.m3u8", samples: nil)
        var frames = 0
        while reader.nextFrame() != nil { frames += 1 }
        #expect(frames == 25)
    }

    @Test("The parts of a list that a server leads to lie where that is") func redirectedList() throws {
        let scene = try Scene()
        let piece = scene.piece
        let server = try FileServer(
            .init { $0 == "/there/piece.ts" ? piece : $0 == "/there/list.m3u8" ? Array(Scene.list("piece.ts").utf8) : nil })
        server.change { behaviour in behaviour.redirects = { $0 == "/here/list.m3u8" ? "/there/list.m3u8" : nil } }
        #expect(try open(server.url("here/list.m3u8")).get() == 128)
    }

    @Test("A circle of redirections ends") func circle() throws {
        let server = try FileServer(.init([]))
        server.change { behaviour in behaviour.redirects = { _ in "/again" } }
        #expect(reason(open(server.url())) != nil)
        #expect(server.requests.count < 20)
    }

    // MARK: TLS

    @Test("A server must show who it is") func certificates() throws {
        let files = try FileServer(.init(Clips.bytes(Clips.numbered("perimeter.mp4", frames: 10))))
        let (good, wrong) = (try TLSServer(files, .good), try TLSServer(files, .otherName))
        let authority = try TLSServer.authority()
        let secret: (inout StreamSettings) -> Void = { $0.headers = ["Authorization: Bearer SECRET"] }
        #expect(reason(open(good.url(), secret)) == .certificate, "has an unknown signer")
        #expect(
            reason(
                open(wrong.url()) {
                    secret(&$0)
                    $0.certificateAuthorities = authority
                }) == .certificate, "it is for another name")
        #expect(files.requests.isEmpty, "nothing was asked of either")
        #expect(try open(good.url()) { $0.certificateAuthorities = authority }.get() == 320)
        #expect(try open(wrong.url()) { $0.verifiesTLS = false }.get() == 320)
    }

    @Test("The parts of a list are verified as it is", arguments: ["list.m3u8", "list.mpd"]) func partsByTLS(name: String) throws {
        let scene = try Scene()
        let piece = scene.piece
        let files = try FileServer(.init { $0 == "/piece.ts" ? piece : nil })
        let wrong = try TLSServer(files, .otherName)
        let there = wrong.url("piece.ts")
        let lists = try FileServer(.init { $0 == "/list.mpd" ? Array(Scene.dash(there).utf8) : Array(Scene.list(there).utf8) })
        lists.change { $0.type = "application/dash+xml" }
        let authority = try TLSServer.authority()
        #expect(reason(open(lists.url(name)) { $0.certificateAuthorities = authority }) != nil)
        #expect(files.requests.isEmpty)
    }

    @Test("rtsps is verified as its entry says, and so are the parts of DASH") func claimedTerms() throws {
        let scene = try Scene()
        let (files, server) = try terms(of: scene)
        let wrong = try TLSServer(files, .otherName)
        let authority = try TLSServer.authority()
        func asked(_ server: TLSServer, _ change: (inout StreamSettings) -> Void = { _ in }) -> Int {
            let before = files.requests.count
            // The server speaks no RTSP: only whether it got a request counts.
            _ = open(server.url("stream").replacingOccurrences(of: "https:", with: "rtsps:"), change)
            return files.requests.count - before
        }
        #expect(asked(server) == 0 && asked(wrong) == 0, "has an unknown signer")
        #expect(asked(server) { $0.certificateAuthorities = authority } > 0)
        #expect(asked(wrong) { $0.certificateAuthorities = authority } == 0, "it is for another name")
        #expect(asked(wrong) { $0.verifiesTLS = false } > 0)
        #expect(asked(server) == 0, "nothing is left of what others said")
        #expect(reason(open(server.url("list.mpd"))) == .certificate)
        #expect(try open(server.url("list.mpd")) { $0.certificateAuthorities = authority }.get() == 128)
        #expect(try open(server.url("list.mpd")) { $0.verifiesTLS = false }.get() == 128)
        #expect(reason(open(server.url("list.mpd"))) == .certificate)
    }

    @Test("What is open has its own terms, and nobody else has them") func termsBeside() throws {
        let scene = try Scene()
        let (files, server) = try terms(of: scene)
        let authority = try TLSServer.authority()
        var settings = StreamSettings()
        settings.certificateAuthorities = authority
        let reader = try MediaReader.open(server.url("list.mpd"), samples: nil, settings: settings)
        let asked = files.requests.count
        // kiosk passes the terms to an https connection with each request.
        #expect(reason(open(server.url("piece.ts"))) == .certificate)
        for source in [server.url("stream").replacingOccurrences(of: "https:", with: "rtsps:"), files.url("list.mpd")] {
            guard case .failed(let text) = reason(open(source)), text.contains("ca-file or tls-verify differ") else {
                return #expect(Bool(false), "\(source)")
            }
        }
        #expect(files.requests.count { $0.method == "OPTIONS" } == 0 && files.requests.count { $0.path == "/piece.ts" } <= asked)
        // Sources with equal terms can be open at the same time.
        #expect(try open(server.url("list.mpd")) { $0.certificateAuthorities = authority }.get() == 128)
        #expect(reader.description.video?.width == 128)
    }

    @Test("A list of DASH is one wherever it begins, and after a long preamble none") func preambles() throws {
        let scene = try Scene()
        let (files, _) = try terms(of: scene)
        let list = Scene.dash(files.url("piece.ts")).replacingOccurrences(of: "<?xml version=\"1.0\"?>", with: "")
        for (preamble, plays) in [
            ("\u{FEFF}", true), ("<!-- \(String(repeating: "x", count: 3000)) -->", true),
            ("<!-- \(String(repeating: "x", count: 5000)) -->", false),
        ] {
            let lists = try FileServer(.init { _ in Array("\(preamble)\(list)".utf8) })
            lists.change { $0.type = "application/dash+xml" }
            #expect((try? open(lists.url("list.mpd")).get()) == (plays ? 128 : nil), "\(preamble.count)")
        }
    }

    /// Returns servers of a DASH list and its segment, by HTTP and by TLS.
    private func terms(of scene: Scene) throws -> (FileServer, TLSServer) {
        let piece = scene.piece
        let files = try FileServer(.init { $0 == "/piece.ts" ? piece : nil })
        let server = try TLSServer(files, .good)
        let list = Array(Scene.dash(server.url("piece.ts")).utf8)
        files.change { behaviour in
            behaviour.files = { $0 == "/piece.ts" ? piece : $0 == "/list.mpd" ? list : nil }
            behaviour.type = "application/dash+xml"
        }
        return (files, server)
    }

    @Test("https does not lead to http") func downgrade() throws {
        let files = try FileServer(.init(Clips.bytes(Clips.numbered("perimeter.mp4", frames: 10))))
        let plain = files.url("clip.mp4")
        files.change { behaviour in behaviour.redirects = { $0 == "/down" ? plain : nil } }
        let server = try TLSServer(files, .good)
        let authority = try TLSServer.authority()
        #expect(reason(open(server.url("down")) { $0.certificateAuthorities = authority }) == .redirected(plain))
        #expect(files.requests.allSatisfy { $0.path == "/down" })
    }

    // MARK: Seeking

    @Test("HLS in pieces of MP4 has no other places, in pieces of TS it has", arguments: ["fmp4", "mpegts"]) func pieces(
        kind: String
    ) throws {
        let clip = try Clips.numbered("perimeter-long.mp4", frames: 90, extra: ["-g", "30"])
        let list = try Clips.make(
            "pieces-\(kind).m3u8",
            [
                "-i", clip, "-c", "copy", "-hls_time", "1", "-hls_playlist_type", "vod", "-hls_segment_type", kind,
                "-hls_fmp4_init_filename",
                "pieces-init.mp4", "-hls_segment_filename", Clips.folder + "/pieces-\(kind)-%d.\(kind == "fmp4" ? "m4s" : "ts")", "-f",
                "hls",
            ])
        var reader = try MediaReader.open(list, samples: nil)
        #expect(reader.description.isSeekable == (kind == "mpegts"))
        if kind == "mpegts" { #expect(try reader.seek(to: .seconds(2), precision: .exact) == .seconds(2)) }
    }

    @Test("What follows another header of pieces of MP4 is damaged, and that is said", arguments: [true, false]) func headers(
        isOther: Bool
    ) throws {
        for (name, size) in [("one", "160x90"), ("two", isOther ? "320x180" : "160x90")] {
            let clip = try Clips.numbered("headers-\(isOther)-\(name).mp4", frames: 60, size: size, extra: ["-g", "30"])
            _ = try Clips.make(
                "headers-\(isOther)-\(name).m3u8",
                [
                    "-i", clip, "-c", "copy", "-hls_time", "1", "-hls_playlist_type", "vod", "-hls_segment_type", "fmp4",
                    "-hls_fmp4_init_filename", "headers-\(isOther)-\(name)-init.mp4", "-hls_segment_filename",
                    Clips.folder + "/headers-\(isOther)-\(name)-%d.m4s", "-f", "hls",
                ])
        }
        // FFmpeg 7 writes the bit rate of each clip into its header, so copy the first header for the equal case.
        if !isOther { _ = try Clips.file("headers-false-two-init.mp4", Clips.bytes(Clips.folder + "/headers-false-one-init.mp4")) }
        var list = "#EXTM3U\n#EXT-X-VERSION:7\n#EXT-X-TARGETDURATION:1\n#EXT-X-PLAYLIST-TYPE:VOD\n"
        for name in ["one", "two"] {
            if name == "two" { list += "#EXT-X-DISCONTINUITY\n" }
            list += "#EXT-X-MAP:URI=\"headers-\(isOther)-\(name)-init.mp4\"\n"
            for part in 0..<2 { list += "#EXTINF:1.0,\nheaders-\(isOther)-\(name)-\(part).m4s\n" }
        }
        var reader = try MediaReader.open(
            Clips.file("headers-\(isOther).m3u8", Array((list + "#EXT-X-ENDLIST\n").utf8)), samples: nil)
        while reader.nextFrame() != nil {}
        let problems = reader.problems
        #expect(problems.contains { $0.contains("another header (EXT-X-MAP)") } == isOther, "\(problems)")
    }

    // MARK: Values

    @Test(
        "References are made whole",
        arguments: [
            ("b.ts", "http://h/a/b.ts"), ("/b.ts", "http://h/b.ts"), ("//o/b.ts", "http://o/b.ts"), ("?x=1", "http://h/a/l.m3u8?x=1"),
            ("b.ts?src=https://c/d", "http://h/a/b.ts?src=https://c/d"), ("https://o/b", "https://o/b"), ("data:,x", "data:,x"),
            ("../b.ts", "http://h/b.ts"), ("../../../b.ts", "http://h/b.ts"), ("./c/../b.ts?x=../y", "http://h/a/b.ts?x=../y"),
            ("c/..", "http://h/a/"), ("/x/./y/../b.ts", "http://h/x/b.ts"), ("..b/...", "http://h/a/..b/..."),
            ("a//b.ts", "http://h/a/a//b.ts"),
        ])
    func references(reference: String, whole: String) {
        #expect(HTTPAddress.resolve(reference, against: "http://h/a/l.m3u8?token=1/2") == whole)
    }

    @Test("Addresses are taken apart") func addresses() throws {
        let address = try #require(HTTPAddress("https://u:p@Example.com:8443/a/b?x=1#y"))
        #expect(
            address.host == "example.com" && address.port == 8443 && address.isSecure && address.userInformation == "u:p"
                && address.target == "/a/b?x=1")
        #expect(address.url == "https://u:p@example.com:8443/a/b?x=1")
        #expect(address.redirected(to: "/c")?.url == "https://u:p@example.com:8443/c", "the user goes along")
        #expect(address.redirected(to: "https://v:q@other/c")?.url == "https://other/c", "to nobody else")
        for location in ["http://example.com:8443/a", "file:///etc/passwd", "ftp://example.com/", "https://:1/", "/a\nX: y", "/a\rX: y"] {
            #expect(address.redirected(to: location) == nil, "\(location)")
        }
        #expect(
            HTTPAddress("http://[::1]/x")?.host == "[::1]" && HTTPAddress("http://[::1]:81")?.port == 81
                && HTTPAddress("http://a?b")?.target == "/?b")
        for text in ["ftp://a/b", "http://", "http://:80/", "http://a:99999/", "/srv/a", "https:/a"] {
            #expect(HTTPAddress(text) == nil, "\(text)")
        }
        func trusts(_ a: String, _ b: String) throws -> Bool { try #require(HTTPAddress(a)).trusts(#require(HTTPAddress(b))) }
        #expect(try trusts("http://a/x", "http://A:80/y") && trusts("http://a/x", "https://a/x"))
        #expect(try !trusts("https://a/x", "http://a/x") && !trusts("http://a/x", "http://b/x") && !trusts("http://a/x", "http://a:81/x"))
    }

    @Test("A redirection’s head is read") func redirectionHeads() {
        #expect(HTTPRedirect.location(inHead: "HTTP/1.1 302 Found\r\nServer: x\r\nlocation:  /a b\r\n\r\nLocation: no") == "/a b")
        for head in [
            "HTTP/1.1 200 OK\r\nLocation: /a\r\n\r\n", "HTTP/1.1 302 Found\r\n\r\nLocation: /a\r\n", "", "302",
            "HTTP/1.1 302 Found\r\nLocation:\r\n\r\n",
        ] {
            #expect(HTTPRedirect.location(inHead: head) == nil, "\(head)")
        }
    }
}
