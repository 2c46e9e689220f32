import Foundation
import KioskPlatform
import Testing

@testable import KioskConfiguration

/// Checks that excerpts of kiosk.conf in the documents are valid.
@Suite struct DocumentationTests {
    /// Returns the indented blocks of a document that begin with a table: excerpts of a kiosk.conf.
    private func excerpts(_ document: String, file: String = #filePath) throws -> [String] {
        let path = file.split(separator: "/").dropLast(3).reduce("") { $0 + "/" + $1 } + "/" + document
        let text = String(decoding: try #require(SmallFile.bytes(path, atMost: 1 << 20)), as: UTF8.self)
        var blocks: [[Substring]] = [[]]
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix("    ") { blocks[blocks.count - 1].append(line.dropFirst(4)) } else if !line.isEmpty { blocks.append([]) }
        }
        return blocks.filter { $0.first?.hasPrefix("[") == true }.map { $0.joined(separator: "\n") + "\n" }
    }

    @Test(arguments: [
        ("README.md", 1), ("docs/controls.md", 8), ("docs/cache.md", 1), ("docs/schedule.md", 2), ("docs/audio-session.md", 1),
        ("docs/streams.md", 1),
        ("docs/shelf.md", 1),
    ])
    func `excerpts of kiosk.conf are right`(
        document: String, least: Int
    ) throws {
        let excerpts = try excerpts(document)
        #expect(excerpts.count >= least)
        for excerpt in excerpts {
            let whole = excerpt.contains("[[playlist]]") ? excerpt : excerpt + "[[playlist]]\nsource = \"a.mp4\"\n"
            #expect(throws: Never.self, "\(excerpt)") { _ = try parsed(whole) }
        }
    }

    /// `make site` fails without it, but `make test` does not run `make site`.
    @Test func `every page has a place in the website`() throws {
        let root = #filePath.split(separator: "/").dropLast(3).reduce("") { $0 + "/" + $1 }
        let places = try #require(SmallFile.text("\(root)/Tools/site.yml", atMost: 1 << 16))
        let pages = try FileManager.default.contentsOfDirectory(atPath: "\(root)/docs").filter { $0.hasSuffix(".md") }
        #expect(pages.count > 30)
        for page in pages { #expect(places.contains(": docs/\(page)\n"), "\(page)") }
    }
}
