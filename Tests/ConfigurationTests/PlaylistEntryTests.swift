import KioskPlatform
import KioskVocabulary
import Testing

@testable import KioskConfiguration

@Suite struct PlaylistTests {
    @Test("An entry says of the network what [network] does not") func network() throws {
        let configuration = try parsed(
            """
            [network]
            reconnect = 0
            timeout = 3
            headers = { Authorization = "Bearer 1" }
            [[playlist]]
            source = "rtsp://10.0.0.2/a"
            latency = 0.3
            user-agent = "sign/1"
            headers = { X-Screen = "lobby", X-Floor = "2" }
            [[playlist]]
            source = "b.mp4"
            """)
        let items = configuration.playlist.map { $0.resolved(source: $0.source.location, in: configuration).stream }
        var (first, second) = (StreamSettings(), StreamSettings())
        (first.reconnect, first.timeout, first.latency, first.userAgent) = (.zero, .seconds(3), .seconds(0.3), "sign/1")
        first.headers = ["X-Screen: lobby", "X-Floor: 2"]
        (second.reconnect, second.timeout, second.headers) = (.zero, .seconds(3), ["Authorization: Bearer 1"])
        #expect(items == [first, second])
    }

    @Test("An entry says whom it trusts and what it may name") func perimeter() throws {
        let configuration = try parsed(
            """
            [playback]
            more-formats = ["xm"]
            more-codecs = ["cinepak", "svq3"]
            [network]
            ca-file = "ca.pem"
            [[playlist]]
            source = "https://a/b.mp4"
            tls-verify = false
            allow-network = true
            [[playlist]]
            source = "b.mp4"
            """)
        let items = configuration.playlist.map { $0.resolved(source: $0.source.location, in: configuration).stream }
        #expect(items.map(\.certificateAuthorities) == ["/srv/signs/ca.pem", "/srv/signs/ca.pem"])
        #expect(items.map(\.verifiesTLS) == [false, true] && items.map(\.mayNameNetwork) == [true, false])
        #expect(items.allSatisfy { $0.furtherFormats == ["xm"] && $0.furtherCodecs == ["cinepak", "svq3"] })
        #expect(configuration.unverifiedSources == ["https://a/b.mp4"])
        #expect(configuration.item(of: "/c.xm").stream.furtherFormats == ["xm"])
    }

    @Test("Sources are absolute; ~ is a name like any other") func locations() {
        let rows = [
            ("a.mp4", "/srv/a.mp4"), ("./a/../b.mp4", "/srv/b.mp4"), ("../b.mp4", "/b.mp4"), ("/x//y.mp4", "/x/y.mp4"),
            ("~/a.mp4", "/srv/~/a.mp4"),
            ("media/", "/srv/media/"), ("/", "/"), (".", "/srv"), ("http://a/../b?c=/d", "http://a/../b?c=/d"), ("file:///x", "/x"),
            ("file:x.mp4", "/srv/x.mp4"), ("file://localhost/x%20y.mp4", "/x y.mp4"), ("FILE:/x", "/x"),
            ("file:///media/", "/media/"), ("file:///100%25.mp4", "/100%.mp4"), ("file:///x%00", "/x%00"), ("file:///x%FF", "/x%FF"),
            ("a:b.mp4", "/srv/a:b.mp4"), ("x/y://z", "/srv/x/y:/z"),
        ]
        for (text, location) in rows { #expect(PlaylistSource(text, relativeTo: "/srv").location == location) }
    }

    @Test func distances() {
        let rows = [
            ("", "", 0), ("a", "", 1), ("", "ab", 2), ("ab", "ba", 1), ("dispaly", "display", 1), ("kitten", "sitting", 3),
            ("abc", "abc", 0), ("ca", "abc", 3),
        ]
        for (a, b, distance) in rows { #expect(editDistance(Array(a), Array(b)) == distance, "\(a) \(b)") }
        #expect(suggestion(for: "edn", among: ["end", "start"]) == "end")
        #expect(suggestion(for: "and", among: ["end", "start"]) == "end")
        #expect(suggestion(for: "xyz", among: ["end", "start"]) == nil)
        #expect(suggestion(for: "rotate", among: ["rate", "rotation", "mode"]) == "rotation")
        #expect(suggestion(for: "image", among: ["image-duration"]) == "image-duration")
        #expect(suggestion(for: "playlist", among: ["playback"]) == nil)
        #expect(suggestion(for: "", among: ["end"]) == nil)
        #expect(suggestion(for: String(repeating: "x", count: 100_000), among: ["end"]) == nil)
    }
}
