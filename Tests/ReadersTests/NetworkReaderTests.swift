import CTestSupport
import Foundation
import KioskMedia
import KioskPlatform
import KioskReaderProtocol
import KioskVocabulary
import TestSupport
import Testing

@testable import KioskReaders

/// Network sources, read by processes that have only the network.
@Suite(.blocking, .needs("a build without sanitizers, whose threads keep it from forking", !test_is_sanitized()))
struct NetworkReaderTests {
    private static let stereo = AudioFormat(sampleRate: 48000, channelCount: 2)

    private func open(
        _ source: String, by readers: Readers = .shared, _ interruption: Interruption = Interruption(),
        _ change: (inout StreamSettings) -> Void = { _ in }
    ) throws -> ReaderClient {
        var settings = StreamSettings()
        change(&settings)
        var order = OpenOrder(.play, source, settings)
        (order.samples, order.threads, order.takesTime) = (Self.stereo, 2, true)
        return try ReaderClient(order, by: readers, interruption)
    }

    private func reason(_ body: () throws -> Void) -> MediaError.Reason? {
        let error = #expect(throws: MediaError.self) { try body() }
        return error?.reason
    }

    private func hasPicture(_ client: ReaderClient) -> Bool {
        let frame = client.nextFrame()
        return frame != nil
    }

    /// Returns the times of all pictures.
    private func times(_ next: () -> TimedFrame?) -> [MediaTime] {
        var times: [MediaTime] = []
        while let frame = next() { times.append(frame.time) }
        return times
    }

    /// Serves a clip as one file, and as a list of segments.
    private func server() throws -> FileServer {
        let clip = try Clips.numbered("network.mp4", frames: 150, extra: ["-g", "30", "-qp", "10"])
        _ = try Clips.make(
            "parts.m3u8",
            [
                "-i", clip, "-c", "copy", "-f", "hls", "-hls_time", "1", "-hls_playlist_type", "vod", "-hls_segment_filename",
                Clips.folder + "/parts-%d.ts",
            ])
        let server = try FileServer(.init { try? Clips.bytes($0 == "/clip.mp4" ? clip : Clips.folder + $0) })
        server.change { behaviour in behaviour.redirects = { $0 == "/moved" ? "/clip.mp4" : nil } }
        return server
    }

    @Test(arguments: ["clip.mp4", "parts.m3u8", "moved"]) func `a source is the same as without a reader`(_ name: String) throws {
        let server = try server()
        let url = server.url(name)
        var alone = try MediaReader.open(url, samples: Self.stereo, decoderThreads: 2)
        alone.takeTime()
        let client = try open(url)
        #expect(client.description == alone.description && !client.description.isLocal)
        #expect(client.selectedTracks == alone.selectedTracks && client.hasSound && alone.hasSound)
        let (one, other) = (times { client.nextFrame() }, times { alone.nextFrame() })
        #expect(one == other && one.count == 150, "\(one.count), \(other.count)")
        #expect(client.prematureEnd == nil && client.problems == alone.problems && client.death == nil)
        #expect(try client.seek(to: .seconds(3), precision: .exact) == alone.seek(to: .seconds(3), precision: .exact))
        #expect(times { client.nextFrame() } == times { alone.nextFrame() })
    }

    /// In an HLS list the demuxer seeks to the key frame after a time. Before the second key frame, the reader starts from the beginning.
    @Test(arguments: [true, false]) func `a list is moved about in before its second key frame`(_ isLocal: Bool) throws {
        let server = try server()
        let client = try open(isLocal ? Clips.folder + "/parts.m3u8" : server.url("parts.m3u8"))
        let all = times { client.nextFrame() }
        for seconds in [1.5, 0.5, 4.2, 0, 2.1] {
            let wanted = MediaTime.seconds(seconds)
            #expect(try client.seek(to: wanted, precision: .exact) == wanted)
            #expect(times { client.nextFrame() } == all.filter { $0 + .milliseconds(33) > wanted }, "\(seconds) s")
        }
    }

    @Test func `how fast a line is stays known when its reader has gone`() throws {
        let server = try server()
        #expect(Throughput.seen(of: server.url("parts.m3u8")) == nil)
        let client = try open(server.url("parts.m3u8"))
        while client.nextFrame() != nil {}
        #expect(Throughput.seen(of: server.url("parts.m3u8")) ?? 0 > 0)
    }

    @Test func `a proxy is asked, and known to what fetches`() throws {
        let clip = try Clips.bytes(Clips.numbered("network.mp4", frames: 150, extra: ["-g", "30", "-qp", "10"]))
        let proxy = try FileServer(.init(clip))
        // The zygote takes the environment that it has at its start.
        let readers = Readers(executable: Readers.shared.executable)
        setenv("http_proxy", "http://127.0.0.1:\(proxy.port)/", 1)
        defer { unsetenv("http_proxy") }
        #expect(hasPicture(try open("http://kiosk.invalid/clip.mp4", by: readers)))
        #expect(proxy.requests.first?.path.hasPrefix("http://kiosk.invalid") == true, "\(proxy.requests)")
    }

    @Test func `what is read of a file knows nothing of servers`() {
        var settings = StreamSettings()
        (settings.headers, settings.certificateAuthorities) = (["Authorization: Bearer 1"], "/etc/ssl/own.pem")
        #expect(OpenOrder(.play, "/clip.mp4", settings).settings.headers == [])
        #expect(OpenOrder(.play, "http://localhost/clip.mp4", settings, isKept: true).settings.certificateAuthorities == nil)
        #expect(OpenOrder(.play, "http://localhost/clip.mp4", settings).settings == settings)
        settings.mayNameNetwork = true
        #expect(OpenOrder(.play, "/list.m3u8", settings).settings == settings)
    }

    @Test func `names are looked up`() throws {
        let server = try server()
        #expect(hasPicture(try open("http://localhost:\(server.port)/clip.mp4")))
    }

    /// Nothing listens at its first address.
    @Test func `a host in .local is looked up by the player`() throws {
        let server = try server()
        let asked = Monitor<[String]>([])
        let readers = Readers(
            executable: Readers.shared.executable,
            lookUp: { name in
                asked.withLock { $0.append(name) }
                return name == "Camera.local" ? ["::1", "127.0.0.1"] : []
            })
        #expect(hasPicture(try open("http://Camera.local:\(server.port)/clip.mp4", by: readers)))
        // Each connection looks the name up again.
        #expect(Set(asked.withLock { $0 }) == ["Camera.local"])
        #expect(reason { _ = try open("http://nobody.local:\(server.port)/clip.mp4", by: readers) } != nil)
        #expect(hasPicture(try open("http://localhost:\(server.port)/clip.mp4", by: readers)))
        #expect(Set(asked.withLock { $0 }) == ["Camera.local", "nobody.local"])
    }

    @Test func `only hosts in .local are looked up for a reader`() {
        for name in ["camera.local", "CAMERA.Local.", "a.b.local", "xn--bcher-kva.local"] { #expect(HostNames.isLocal(name), "\(name)") }
        let others = ["", "local", ".local", "a..local", "camera.local.example.org", "a b.local", "a\n.local", "ü.local"]
        for name in others + [String(repeating: "a", count: 250) + ".local"] { #expect(!HostNames.isLocal(name), "\(name)") }
        #expect(HostNames.addresses(of: "localhost").contains("127.0.0.1") && HostNames.addresses(of: "kiosk.invalid") == [])
    }

    @Test func `a list in a folder has parts there and on a server`() throws {
        let server = try server()
        let folder = Clips.folder + "/mixed-list"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let part = try Clips.bytes(Clips.folder + "/parts-0.ts")
        try Data(part).write(to: URL(fileURLWithPath: folder + "/part.ts"))
        let text =
            "#EXTM3U\n#EXT-X-VERSION:3\n#EXT-X-TARGETDURATION:6\n#EXTINF:2.0,\npart.ts\n#EXTINF:2.0,\n\(server.url("parts-1.ts"))\n#EXT-X-ENDLIST\n"
        try Data(text.utf8).write(to: URL(fileURLWithPath: folder + "/list.m3u8"))
        func count(_ mayNameNetwork: Bool) throws -> Int {
            let client = try open(folder + "/list.m3u8") { $0.mayNameNetwork = mayNameNetwork }
            return times { client.nextFrame() }.count
        }
        let (alone, both) = (try count(false), try count(true))
        #expect(alone > 0 && both > alone, "\(alone), \(both)")
    }

    @Test func `a server shows who it is by the file that its item names`() throws {
        let files = try server()
        let secure = try TLSServer(files, .good)
        let authority = try TLSServer.authority()
        #expect(reason { _ = try open(secure.url()) } == .certificate)
        #expect(hasPicture(try open(secure.url()) { $0.certificateAuthorities = authority }))
    }

    @Test func `a server that gives nothing is given up, and so is what nobody wants`() throws {
        let server = try server()
        server.change { $0.delay = 60_000 }
        #expect(reason { _ = try open(server.url()) { $0.timeout = .seconds(1) } } == .timedOut(seconds: 1))
        let interruption = Interruption()
        Thread("impatient") {
            usleep(300_000)
            interruption.cancel()
        }.detach()
        let begin = HostTime.now
        #expect(reason { _ = try open(server.url(), interruption) { $0.timeout = .seconds(100) } } == .cancelled)
        #expect(HostTime.now - begin < .seconds(60))
    }

    /// The camera continues to send while no caller takes pictures.
    @Test func `a live stream is received ahead`() throws {
        let film = try Clips.make(
            "network.ts", ["-i", Clips.numbered("network.mp4", frames: 150, extra: ["-g", "30", "-qp", "10"]), "-c", "copy"])
        let server = try FileServer(.init(live: Clips.bytes(film)))
        let client = try open(server.url("camera"))
        #expect(client.description.duration == nil)
        _ = client.nextFrame()
        let deadline = HostTime.now + .seconds(120)
        while client.reception?.receivedUntil ?? .zero < .seconds(1), HostTime.now < deadline { usleep(10_000) }
        #expect(client.reception?.goal == .seconds(1) && client.loading(from: .zero).loaded(at: .now).until >= .seconds(1))
        #expect(client.catchUp() ?? .zero > .zero)
        #expect(hasPicture(client))
    }

    @Test(arguments: [
        ("crash", "its decoder crashed (SIGSEGV)"), ("open", "its decoder ended by itself"), ("fork", "its decoder was ended: it called"),
        ("kill", "its decoder was ended: it called kill"), ("connect-local", "its decoder ended by itself"),
    ]) func `what it decodes does no more than in a file`(_ deed: String, _ words: String) throws {
        let server = try FileServer(.init(Clips.bytes(try Hostile.clipThatBeginsWell(deed))))
        let client = try open(server.url(), by: Hostile.readers)
        let count = times { client.nextFrame() }.count
        // A decoder whose call is only refused decodes all pictures.
        let isEnded = client.death != nil
        #expect(isEnded ? 140...150 ~= count : count == 300, "\(count)")
        #expect(!isEnded || client.prematureEnd?.hasPrefix(words) == true, "\(client.prematureEnd ?? "")")
        #expect(isEnded == ["crash", "fork", "kill"].contains(deed), "\(client.prematureEnd ?? "")")
    }
}
