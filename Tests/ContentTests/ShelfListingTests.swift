import Glibc
import KioskPlatform
import KioskVocabulary
import Testing

@testable import KioskContent

/// Real folders, with the kernel's change events.
@Suite(.serialized) struct ShelfListingTests {
    private final class Shelf: Sendable {
        let path: String
        let entries = Monitor<[ShelfEntry]>([])
        let listing: ShelfListing

        init(_ folders: [String], _ prepare: String) throws {
            let path = "/tmp/kiosk-shelf-\(UInt64.random(in: 0 ... .max))"
            self.path = path
            try #require(system("mkdir \(path) && cd \(path) && { \(prepare)\n }") == 0)
            let entries = entries
            listing = ShelfListing { new in entries.signal { $0 = new } }
            listing.setFolders(folders.map { path + "/" + $0 })
        }

        deinit {
            listing.stop()
            _ = system("rm -rf '\(path)'")
        }

        func run(_ line: String) { #expect(system("cd '\(path)' && { \(line)\n }") == 0) }

        func becomes(_ names: [String]) -> Bool {
            entries.wait(until: .now + .seconds(120)) { [path] entries in
                entries.map { String($0.source.dropFirst(path.count + 1)) } == names ? true : nil
            } ?? false
        }
    }

    @Test func `files of folders and theirs are listed in order, and what comes and goes is told`() throws {
        let shelf = try Shelf(
            ["b", "a", "a/deep"], "mkdir -p a/deep b; touch a/2.mp4 a/10.mp4 a/notes.txt a/deep/x.mp3 b/1.jpg a/.hidden.mp4")
        #expect(shelf.becomes(["b/1.jpg", "a/2.mp4", "a/10.mp4", "a/deep/x.mp3"]))
        let entries = shelf.entries.withLock { $0 }
        #expect(entries.map(\.kind) == [.image, .video, .video, .sound] && entries.map(\.title) == ["1", "2", "10", "x"])
        #expect(entries.map(\.folder) == ["b", "a", "a", "deep"] && entries.allSatisfy { $0.version != nil })
        shelf.run("mv a/10.mp4 b/; mkdir a/new; echo x > a/new/y.webm")
        #expect(shelf.becomes(["b/1.jpg", "b/10.mp4", "a/2.mp4", "a/deep/x.mp3", "a/new/y.webm"]))
        shelf.run("echo more > a/2.mp4; rm -r a/new b/1.jpg")
        #expect(shelf.becomes(["b/10.mp4", "a/2.mp4", "a/deep/x.mp3"]))
        shelf.listing.setFolders([shelf.path + "/b"])
        #expect(shelf.becomes(["b/10.mp4"]))
    }

    @Test func `a folder that is missing is waited for`() throws {
        let shelf = try Shelf(["late/inner"], "true")
        shelf.run("mkdir -p late/inner; touch late/inner/a.mp4")
        #expect(shelf.becomes(["late/inner/a.mp4"]))
    }

    /// The folders appear one after the other, parents first, at different moments of the scan.
    @Test func `folders that appear while they are looked for are found`() throws {
        let names = (0..<100).map { "\($0)" + String(repeating: "/late", count: 12) }
        let shelf = try Shelf(names, "seq 0 99 | xargs mkdir")
        for name in names {
            var folder = shelf.path
            for component in name.split(separator: "/") {
                folder += "/" + component
                mkdir(folder, 0o755)
            }
            let file = open(folder + "/a.mp4", O_WRONLY | O_CREAT | O_CLOEXEC, 0o644)
            #expect(file >= 0 && close(file) == 0)
        }
        #expect(shelf.becomes(names.map { $0 + "/a.mp4" }))
    }

    @Test func `many files are listed in the order of their numbers`() throws {
        let shelf = try Shelf(["many"], "mkdir many; cd many; seq -f 'clip %g.mp4' 1 2000 | xargs -d '\\n' touch")
        let all = shelf.entries.wait(until: .now + .seconds(120)) { entries in entries.count == 2000 ? entries : nil }
        #expect(all?.last?.name == "clip 2000.mp4" && all?.first?.name == "clip 1.mp4")
    }
}
