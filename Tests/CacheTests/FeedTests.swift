import Foundation
import KioskPlatform
import KioskVocabulary
import TestSupport
import Testing

@testable import Cache

/// Tests of news feeds: their titles, and their transfer.
@Suite(.blocking) struct FeedTests {
    private static func titles(_ text: String) -> [String] { FeedTitles.titles(in: Array(text.utf8)) }

    @Test func `the titles of RSS are those of its items`() {
        let text = """
            <?xml version="1.0" encoding="UTF-8"?>
            <rss version="2.0" xmlns:media="x"><channel><title>The paper</title><image><title>Logo</title></image>
            <!-- <item><title>No</title></item> -->
            <item><title>Museum &amp; café: caf&#233; &#x1F600; &lt;b&gt;open&lt;/b&gt;</title><media:title>No</media:title></item>
            <item><description><title>No</title></description><title><![CDATA[It's 3 < 4, <i>and</i> so
              on]]></title></item>
            <ITEM><TITLE lang="a>b">Loud</TITLE></ITEM>
            <item><title/><title>  </title></item>
            </channel></rss>
            """
        #expect(Self.titles(text) == ["Museum & café: café 😀 open", "It's 3 < 4, and so on", "Loud"])
    }

    @Test func `those of Atom are those of its entries`() {
        let text = """
            \u{feff}<feed xmlns="http://www.w3.org/2005/Atom"><title>Blog</title>
            <entry><title type="html">&lt;em&gt;New&lt;/em&gt; &amp;amp; improved</title><author><name>x</name></author></entry>
            <entry><title type="xhtml">plain</title><source><title>No</title></source></entry></feed>
            """
        #expect(Self.titles(text) == ["New & improved", "plain"])
        let latin =
            Array("<?xml version='1.0' encoding='ISO-8859-1'?><rss><channel><item><title>caf".utf8) + [0xE9] + Array("</title></item>".utf8)
        #expect(FeedTitles.titles(in: latin) == ["café"])
    }

    @Test func `what is damaged, hostile or no feed gives what there is of it, and ends`() {
        for text in [
            "", "<", "<>", "</", "<item", "<item><title>", "<![CDATA[", "<!--", "<a b='", "&", "<html><title>x</title></html>",
            "</item></item>",
        ] {
            #expect(Self.titles(text) == [], "\(text)")
        }
        #expect(Self.titles("<item><title>a&b &nope; &#xFFFFFFFF; &#xD800;</title>") == ["a&b &nope; &#xFFFFFFFF; &#xD800;"])
        #expect(Self.titles("<item><title>a\u{7}b\u{1b}[31m</title>") == ["ab[31m"])
        let entity = "<!DOCTYPE x [<!ENTITY a SYSTEM \"file:///etc/passwd\">]><item><title>&a;</title></item>"
        #expect(Self.titles(entity).allSatisfy { !$0.contains("root") })
        // One megabyte of each.
        for part in ["<item>", "<item><title>x</title></item>", "<![CDATA[x]]>", "<", "&", "<a \"", "x", "</title>"] {
            let titles = Self.titles("<item><title>" + String(repeating: part, count: (1 << 20) / part.utf8.count))
            #expect(titles.count <= 50 && titles.allSatisfy { $0.count <= 300 }, "\(part)")
        }
        var random = Proof.Random()
        let whole = Array("<rss><channel><item><title>a &amp; <![CDATA[b]]></title></item></channel></rss>".utf8)
        for _ in 0..<2000 {
            var bytes = whole
            for _ in 0..<Int.random(in: 1...6, using: &random) {
                bytes[Int.random(in: bytes.indices, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            _ = FeedTitles.titles(in: bytes)
        }
    }

    @Test func `it is fetched, and an answer that is none is told of once`() throws {
        let text = "<rss><channel><item><title>One</title></item><item><title>Two</title></item></channel></rss>"
        let server = try FileServer(.init(Array(text.utf8)))
        let news = Monitor<[FeedWatch.News]>([])
        let feed = FeedWatch(server.url("news.rss"), AssetCacheTests.patient)
        feed.start { said in news.signal { $0.append(said) } }
        defer { feed.stop() }
        _ = news.wait(until: .now + .seconds(120)) { $0.isEmpty ? nil : true }
        #expect(news.withLock { $0 } == [.titles(["One", "Two"])])

        let wrong = try FileServer(.init(Array("<html></html>".utf8)))
        let other = FeedWatch(wrong.url("news.rss"), AssetCacheTests.patient)
        let said = Monitor<[FeedWatch.News]>([])
        other.start { news in said.signal { $0.append(news) } }
        defer { other.stop() }
        _ = said.wait(until: .now + .seconds(120)) { $0.isEmpty ? nil : true }
        guard case .problem(let problem)? = said.withLock(\.first) else {
            Issue.record("nothing was said")
            return
        }
        #expect(problem.contains("no title in it"))
    }
}
