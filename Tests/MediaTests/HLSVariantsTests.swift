import KioskVocabulary
import Testing

@testable import KioskMedia

@Suite struct HLSVariantsTests {
    private let master = """
        #EXTM3U
        #EXT-X-VERSION:6
        #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="Deutsch, Ton 1",DEFAULT=YES,URI="audio/de.m3u8"
        #EXT-X-STREAM-INF:BANDWIDTH=800000,RESOLUTION=640x360,CODECS="avc1.4d401e,mp4a.40.2",AUDIO="a"
        360p.m3u8
        #EXT-X-STREAM-INF:BANDWIDTH=2500000,RESOLUTION=1280x720,AUDIO="a"
        720p.m3u8
        #EXT-X-STREAM-INF:BANDWIDTH=4500000,RESOLUTION=1280x720,AUDIO="a"
        720p-fine.m3u8
        #EXT-X-STREAM-INF:BANDWIDTH=7000000,RESOLUTION=1920x1080,AUDIO="a"
        /live/1080p.m3u8
        #EXT-X-STREAM-INF:BANDWIDTH=18000000,RESOLUTION=3840x2160,AUDIO="a"
        https://cdn.example.com/2160p.m3u8
        #EXT-X-I-FRAME-STREAM-INF:BANDWIDTH=100000,URI="iframes.m3u8"
        """

    private func choice(_ display: (Int, Int)?, _ throughput: Double?) throws -> Int? {
        let variants = try #require(HLSVariants(master))
        return variants.variants[variants.choice(display: display.map { ($0.0, $0.1) }, throughput: throughput)].height
    }

    @Test func aMasterListIsRead() throws {
        let variants = try #require(HLSVariants(master))
        #expect(variants.variants.map(\.height) == [360, 720, 720, 1080, 2160])
        #expect(variants.variants.map(\.bandwidth) == [800_000, 2_500_000, 4_500_000, 7_000_000, 18_000_000])
        #expect(HLSVariants("#EXTM3U\n#EXT-X-TARGETDURATION:6\n#EXTINF:6,\na.ts\n") == nil, "a list of parts")
        #expect(HLSVariants("") == nil && HLSVariants("ID3…") == nil)
    }

    @Test func noneIsLargerThanTheDisplay() throws {
        #expect(try choice((1280, 720), 1e9) == 720)
        #expect(try choice((1366, 768), 1e9) == 720)
        #expect(try choice((1080, 1920), 1e9) == 1080, "a display that stands upright")
        #expect(try choice((3840, 2160), 1e9) == 2160)
        #expect(try choice(nil, 1e9) == 2160)
        #expect(try choice((320, 240), 1e9) == 360, "the smallest there is")
    }

    @Test func noneTakesMoreThanTheLineCarries() throws {
        #expect(try choice((3840, 2160), 10_000_000) == 1080)
        #expect(try choice((3840, 2160), 4_000_000) == 720)
        #expect(try choice((3840, 2160), 100_000) == 360, "the least there is")
        #expect(try choice((3840, 2160), nil) == 720, "before it has been measured")
        let variants = try #require(HLSVariants(master))
        #expect(variants.choice(display: (1280, 720), throughput: 1e9) == 2, "the better of two of one size")
    }

    @Test func theListIsHandedOnWithOneVariantAndItsSound() throws {
        let variants = try #require(HLSVariants(master))
        let list = variants.list(with: 3) { HTTPAddress.resolve($0, against: "https://example.com/a/master.m3u8?token=1/2") }
        #expect(
            list == """
                #EXTM3U
                #EXT-X-VERSION:6
                #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="Deutsch, Ton 1",DEFAULT=YES,URI="https://example.com/a/audio/de.m3u8"
                #EXT-X-STREAM-INF:BANDWIDTH=7000000,RESOLUTION=1920x1080,AUDIO="a"
                https://example.com/live/1080p.m3u8

                """)
    }

    @Test(arguments: [
        ("b.m3u8", "http://h/a/m.m3u8", "http://h/a/b.m3u8"), ("/b.m3u8", "http://h:80/a/m.m3u8", "http://h:80/b.m3u8"),
        ("//c/b.m3u8", "https://h/a/m.m3u8", "https://c/b.m3u8"), ("b.m3u8", "http://h", "http://h/b.m3u8"),
        ("http://c/b.m3u8", "https://h/m", "http://c/b.m3u8"), ("b?x=1", "http://h/m.m3u8?u=/q/", "http://h/b?x=1"),
    ]) func addressesAreMadeWhole(_ reference: String, _ base: String, _ whole: String) {
        #expect(HTTPAddress.resolve(reference, against: base) == whole)
    }

    /// Numbers that kiosk multiplies and compares are bounded when it reads them.
    @Test(arguments: [
        "BANDWIDTH=1,RESOLUTION=9999999999x9999999999", "BANDWIDTH=1,RESOLUTION=9223372036854775807x9223372036854775807",
        "BANDWIDTH=1,RESOLUTION=-5x-9223372036854775808", "BANDWIDTH=nan,RESOLUTION=1x1", "BANDWIDTH=1e999,RESOLUTION=1x1",
    ]) func numbersOfAServerAreBounded(_ attributes: String) throws {
        let list = "#EXTM3U\n#EXT-X-STREAM-INF:\(attributes)\na.m3u8\n#EXT-X-STREAM-INF:BANDWIDTH=5,RESOLUTION=8x8\nb.m3u8\n"
        let variants = try #require(HLSVariants(list))
        for display in [nil, (1280, 720), (Int(UInt16.max), 1)] {
            for throughput in [nil, 0, 1e12] { #expect(0...1 ~= variants.choice(display: display, throughput: throughput)) }
        }
        #expect(variants.variants.allSatisfy { (0...1 << 16).contains($0.width ?? 0) && $0.bandwidth.isFinite })
    }

    @Test func addressesOfPartsAreMadeWhole() {
        let list = "#EXTM3U\r\n#EXT-X-MAP:URI=\"i.mp4\",BYTERANGE=\"1@0\"\n\n#EXTINF:1,\na.ts\n"
        #expect(
            HLSVariants.resolving(list) { "X/" + $0 }
                == "#EXTM3U\n#EXT-X-MAP:URI=\"X/i.mp4\",BYTERANGE=\"1@0\"\n\n#EXTINF:1,\nX/a.ts\n")
    }

    @Test(
        arguments: [
            ("#EXTINF:1,\na.ts\n", true, nil), ("#EXTINF:1,\na.ts\n", false, nil),
            ("#EXTINF:1,\n#EXT-X-KEY:METHOD=SAMPLE-AES\n#EXTINF:1,\na.ts\n", true, .encryptsSamples),
            ("#EXTINF:1,\na.ts\r#EXT-X-KEY:METHOD=SAMPLE-AES,URI=x\n", false, .encryptsSamples),
            ("#EXT-X-KEY:METHOD=AES-128,URI=\"k\"\n#EXTINF:1,\nSAMPLE-AES.ts\n", true, nil),
            ("#EXT-X-STREAM-INF:BANDWIDTH=1\na.m3u8\n", true, nil), ("#EXT-X-STREAM-INF:BANDWIDTH=1\na.m3u8\n", false, .isNested),
            ("#EXT-X-MEDIA:TYPE=AUDIO\n", false, .isNested), ("#EXT-X-MEDIA:TYPE=AUDIO\n#EXTINF:1,\na.ts\n", true, .isMixed),
            ("#EXT-X-MEDIA-SEQUENCE:1\n#EXTINF:1,\na.ts\n", true, nil), ("#EXT-X-TARGETDURATION:1\n", true, nil),
            ("#EXT-X-TARGETDURATION:1\n", false, .isEmpty), ("a.ts\n#EXTINF:1,\n", false, .isEmpty),
        ] as [(String, Bool, HLSFault?)])
    func faults(_ text: String, isFirst: Bool, fault: HLSFault?) {
        #expect(HLSFault(Array("#EXTM3U\n\(text)".utf8), isFirst: isFirst, mayBeEmpty: false) == fault)
        let isEmpty = fault == .isEmpty
        #expect(HLSFault(Array("#EXTM3U\n\(text)".utf8), isFirst: isFirst, mayBeEmpty: true) == (isEmpty ? nil : fault))
    }

    @Test func damagedListsDoNoHarm() {
        for length in stride(from: 0, to: master.count, by: 7) {
            let variants = HLSVariants(String(master.prefix(length)))
            if let variants { _ = variants.list(with: variants.choice(display: (0, 0), throughput: 0)) { $0 } }
        }
        #expect(HLSVariants("#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=x,RESOLUTION=axb\na\n")?.variants.first?.height == nil)
    }
}
