import Foundation

/// Lists with forbidden references: HLS, DASH, ffconcat, session descriptions and redirects, made of valid and hostile pieces.
enum ListText {
    static let kinds = ["m3u8", "mpd", "ffconcat", "sdp", "redirect"]

    /// Returns allowed and forbidden references for lists.
    ///
    /// `secret` is the path of a clip with a width of its own, which no list may show. `server` is the URL of the server of the list.
    private static func references(secret: String, server: String) -> [String] {
        let folder = (secret as NSString).deletingLastPathComponent
        return [
            "original.ts", "./original.ts", "original.mp4", "sub/original.ts", "\(server)/original.ts",
            "//\(server.dropFirst("http://".count))/original.ts", secret,
            "file:\(secret)", "file://\(secret)", "file:///\(secret)", "FILE://\(secret)", "file://localhost\(secret)",
            "../\((folder as NSString).lastPathComponent)/secret.ts",
            "crypto:\(secret)", "crypto+file:\(secret)", "crypto+crypto+file:\(secret)", "subfile,,start,0,end,0,,:\(secret)",
            "concat:\(secret)|\(secret)", "concatf:\(secret)",
            "cache:\(secret)", "async:file:\(secret)", "tee:\(secret)", "md5:\(secret)", "pipe:0", "fd:0", "unix:\(secret)",
            "data:video/mp2t;base64,R0BB", "gopher://127.0.0.1:1/x",
            "ftp://127.0.0.1:1/x", "tcp://127.0.0.1:1", "udp://127.0.0.1:1", "rtp://127.0.0.1:1", "/dev/zero", "/proc/self/mem", "file:",
            "", ":", "://", "\u{0}", "%2e%2e/\(secret)",
            "\(server)/redirect", "https://127.0.0.1:1/x.ts", "link.ts", secret + "?x=.ts", secret + "#.ts",
            String(repeating: "a/", count: 3000),
        ]
    }

    /// Returns a list of a kind. The random state decides its bytes.
    static func make(_ kind: String, secret: String, server: String, _ random: inout SplitMix64) -> [UInt8] {
        let pool = references(secret: secret, server: server)
        func reference() -> String { pool[random.below(pool.count)] }
        func number() -> String {
            ["1", "0", "-1", "9999999999", "9223372036854775807", "1e999", "nan", "0.5", "1:2", ""][random.below(10)]
        }
        var text: String
        switch kind {
        case "m3u8":
            text = "#EXTM3U\n"
            for _ in 0...random.below(8) {
                switch random.below(10) {
                case 0:
                    text +=
                        "#EXT-X-STREAM-INF:BANDWIDTH=\(number()),RESOLUTION=\(number())x\(number()),SUBTITLES=\"s\"\n\(reference())\n"
                case 9: text += "#EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID=\"s\",NAME=\"s\",URI=\"\(reference())\"\n"
                case 1: text += "#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"a\",NAME=\"a\",URI=\"\(reference())\"\n"
                case 2:
                    text += "#EXT-X-KEY:METHOD=\(random.below(2) == 0 ? "AES-128" : "SAMPLE-AES"),URI=\"\(reference())\",IV=0x\(number())\n"
                case 3: text += "#EXT-X-MAP:URI=\"\(reference())\",BYTERANGE=\"\(number())@\(number())\"\n"
                case 4: text += "#EXT-X-BYTERANGE:\(number())@\(number())\n"
                case 5: text += "#EXT-X-TARGETDURATION:\(number())\n#EXT-X-MEDIA-SEQUENCE:\(number())\n"
                default: text += "#EXTINF:\(number()),\n\(reference())\n"
                }
            }
            text += "#EXT-X-TARGETDURATION:1\n#EXTINF:1.0,\n\(reference())\n#EXT-X-ENDLIST\n"
        case "mpd":
            text =
                "<?xml version=\"1.0\"?><MPD xmlns=\"urn:mpeg:dash:schema:mpd:2011\" type=\"static\" mediaPresentationDuration=\"PT\(number())S\"><BaseURL>\(reference())</BaseURL><Period><AdaptationSet mimeType=\"video/mp4\"><Representation id=\"1\" bandwidth=\"\(number())\" width=\"\(number())\" height=\"\(number())\"><BaseURL>\(reference())</BaseURL><SegmentList duration=\"\(number())\"><Initialization sourceURL=\"\(reference())\"/><SegmentURL media=\"\(reference())\"/></SegmentList></Representation></AdaptationSet></Period></MPD>"
        case "ffconcat": text = "ffconcat version 1.0\nfile '\(reference())'\nduration \(number())\nfile \(reference())\n"
        case "sdp":
            text =
                "v=0\no=- 0 0 IN IP4 127.0.0.1\ns=\(reference())\nc=IN IP4 127.0.0.1\nt=0 0\na=control:\(reference())\nm=video \(number()) RTP/AVP 33\n"
        default: return Array("REDIRECT \(reference())".utf8)
        }
        var bytes = Array(text.utf8)
        // Damages some of them as well.
        if random.below(4) == 0, !bytes.isEmpty { bytes[random.below(bytes.count)] = UInt8(truncatingIfNeeded: random.below(256)) }
        if random.below(8) == 0 { bytes = Array(bytes.prefix(random.below(bytes.count + 1))) }
        return bytes
    }
}
