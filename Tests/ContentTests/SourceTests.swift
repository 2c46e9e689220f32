import Glibc
import KioskPlatform
import KioskVocabulary
import SystemPackage
import TestSupport
import Testing

@testable import KioskConfiguration
@testable import KioskContent

/// A temporary folder for a test.
struct Scratch: ~Copyable {
    let path: String

    init() throws {
        path = "/tmp/kiosk-configuration-\(UInt64.random(in: 0 ... .max))"
        try #require(mkdir(path, 0o755) == 0)
    }

    func file(_ name: String, _ content: [UInt8] = []) throws {
        var folder = path
        for part in name.split(separator: "/").dropLast() {
            folder += "/" + part
            mkdir(folder, 0o755)
        }
        let file = try FileDescriptor.open(
            FilePath("\(path)/\(name)"), .writeOnly, options: [.create, .truncate], permissions: .ownerReadWrite)
        try file.closeAfter { _ = try file.writeAll(content) }
    }

    func file(_ name: String, _ text: String) throws { try file(name, Array(text.utf8)) }

    /// Expands the source `text` in this folder. The results leave out the folder's path.
    func expand(_ text: String) -> (sources: [String], problems: [String]) {
        let expansion = PlaylistSource(text, relativeTo: path).expand()
        func short(_ text: String) -> String {
            var text = text
            while let range = text.firstRange(of: path + "/") { text.removeSubrange(range) }
            return text
        }
        return (expansion.sources.map { short($0.source) }, expansion.problems.map(short))
    }

    deinit { _ = system("rm -rf '\(path)'") }
}

/// Folders and lists that strangers have made.
@Suite struct ForeignFolderTests {
    @Test("On a stick links are not followed, and what is no file is not listed") func links() throws {
        let scratch = try Scratch()
        let other = try Scratch()
        try scratch.file("a.mp4")
        try scratch.file("b/c.mp4")
        try other.file("secret.mp4")
        symlink("\(other.path)/secret.mp4", "\(scratch.path)/link.mp4")
        symlink(other.path, "\(scratch.path)/linked")
        symlink("/dev/zero", "\(scratch.path)/b/zero.mp4")
        mkfifo("\(scratch.path)/fifo.mp4", 0o600)
        let source = PlaylistSource("\(scratch.path)/", relativeTo: "/")
        let followed = source.expand(isRecursive: true, followsLinks: true)
        #expect(followed.sources.count == 4, "\(followed.sources)")
        #expect(
            followed.problems == [
                "folder \(scratch.path): \(scratch.path)/fifo.mp4 is left out (FIFO or device), and 1 more"
            ])
        let expansion = source.expand(isRecursive: true, followsLinks: false)
        #expect(expansion.sources.map(\.source) == ["\(scratch.path)/a.mp4", "\(scratch.path)/b/c.mp4"])
        #expect(
            expansion.problems == [
                "folder \(scratch.path): \(scratch.path)/fifo.mp4 is left out (link, FIFO or device), and 3 more"
            ])
        let pattern = PlaylistSource("*.mp4", relativeTo: scratch.path).expand()
        #expect(pattern.sources.count == 2 && pattern.problems.count == 1, "\(pattern.problems)")
        #expect(expansion.folders.keys.allSatisfy { !$0.string.contains("linked") }, "it is not watched either")
    }

    @Test("Folders that are too deep are left out with a word") func depth() throws {
        let scratch = try Scratch()
        let folders = (1...18).map { "\($0)" }
        for count in 15...18 { try scratch.file(folders.prefix(count).joined(separator: "/") + "/a.mp4") }
        let expansion = PlaylistSource("\(scratch.path)/", relativeTo: "/").expand(isRecursive: true)
        #expect(expansion.sources.count == 2)
        let first = folders.prefix(17).joined(separator: "/")
        #expect(
            expansion.problems == ["folder \(scratch.path): \(scratch.path)/\(first) is left out (more than 16 folders deep)"])
    }

    @Test("What lies beneath the mounts is on a stick") func places() {
        for path in ["/run/kiosk-usb", "/run/kiosk-usb/", "/run/kiosk-usb/sda1/a.mp4"] { #expect(StickMounts.hold(path), "\(path)") }
        for path in ["/run/kiosk-usb2/a.mp4", "/run", "/media/run/kiosk-usb/a.mp4", "run/kiosk-usb/a"] {
            #expect(!StickMounts.hold(path), "\(path)")
        }
    }

    @Test("A list that names one folder again and again looks into it once, and is cut") func manyTimes() throws {
        let scratch = try Scratch()
        for number in 0..<300 { try scratch.file("folder/\(number).png") }
        try scratch.file("list.m3u", String(repeating: "folder\n", count: 3000))
        let expansion = PlaylistSource("list.m3u", relativeTo: scratch.path).expand()
        #expect(expansion.sources.count == SourceExpansion.most)
        #expect(expansion.problems.count == 1 && expansion.problems[0].hasSuffix("more than 50000 files; the rest is left out"))
        #expect(expansion.sources[300].source == expansion.sources[0].source)
    }
}

@Suite struct SourceTests {
    @Test("A folder is its media files in natural order, and nothing else") func folder() throws {
        let scratch = try Scratch()
        let names = [
            "10.mp4", "9.MP4", "a.png", "B.wav", "b 2.mkv", "b 10.mkv", ".hidden.mp4", "._9.mp4", "notes.txt", "list.m3u", "thumbs.db",
            "mp4",
        ]
        for name in names { try scratch.file("media/" + name) }
        for name in ["deeper/11.mp4", "System Volume Information/IndexerVolumeGuid.mp4", "folder.mp4/x.mp4"] {
            try scratch.file("media/" + name)
        }
        let expected = ["9.MP4", "10.mp4", "a.png", "b 2.mkv", "b 10.mkv", "B.wav"].map { "media/" + $0 }
        #expect(scratch.expand("media").sources == expected)
        #expect(scratch.expand("media/").sources == expected)
        #expect(scratch.expand("media").problems.isEmpty)
    }

    @Test("What is missing: a file stays an item, a folder or a list is nothing and a problem") func missing() throws {
        let scratch = try Scratch()
        try scratch.file("empty/readme.txt")
        let rows: [(String, [String], [String])] = [
            ("gone.mp4", ["gone.mp4"], []), ("usb/gone.odd", ["usb/gone.odd"], []),
            ("usb", [], ["folder usb: No such file or directory"]), ("usb.d/", [], ["folder usb.d/: No such file or directory"]),
            ("gone.m3u", [], ["list gone.m3u: No such file or directory"]),
            ("gone.M3U8", [], ["list gone.M3U8: No such file or directory"]),
            ("empty", [], ["folder empty: no video, sound or image file in it"]),
        ]
        for (text, sources, problems) in rows {
            let expansion = scratch.expand(text)
            #expect(expansion.sources == sources && expansion.problems == problems, "\(text): \(expansion)")
        }
    }

    @Test("A name that is not UTF-8 is left out, and said") func foreignName() throws {
        let scratch = try Scratch()
        try scratch.file("media/a.mp4")
        let name: [CChar] = Array("\(scratch.path)/media/".utf8CString.dropLast()) + [-4] + Array(".mp4".utf8CString)
        let file = open(name, O_CREAT | O_WRONLY, 0o644)
        try #require(file >= 0)
        close(file)
        let expansion = scratch.expand("media")
        #expect(expansion.sources == ["media/a.mp4"])
        #expect(expansion.problems == ["folder media: 1 file name is not UTF-8; rename it so that kiosk plays it"])
    }

    @Test("A list is its entries; folders in it are followed, lists are not") func list() throws {
        let scratch = try Scratch()
        try scratch.file("media/2.mp4")
        try scratch.file("media/1.mp4")
        try scratch.file(
            "lists/all.m3u", "#EXTM3U\n#EXTINF:12,One\n../media/2.mp4\n\n../media\nhttp://host/x.m3u8\nself.m3u\nall.m3u\nlive.m3u8\n")
        try scratch.file("lists/live.m3u8", "#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXTINF:4,\npiece1.ts\n")
        let expansion = scratch.expand("lists/all.m3u")
        #expect(expansion.sources == ["media/2.mp4", "media/1.mp4", "media/2.mp4", "http://host/x.m3u8", "lists/live.m3u8"])
        #expect(
            expansion.problems == [
                "list lists/self.m3u: No such file or directory",
                "list lists/all.m3u: named in another list; kiosk does not follow it",
            ])
        #expect(scratch.expand("lists/live.m3u8").sources == ["lists/live.m3u8"])
        try scratch.file("none.m3u", "# nothing\n")
        #expect(scratch.expand("none.m3u").problems == ["list none.m3u: no entry in it"])
        try scratch.file("huge.m3u", [UInt8](repeating: UInt8(ascii: "a"), count: M3U.longestText + 1))
        #expect(scratch.expand("huge.m3u").problems == ["list huge.m3u: longer than 4194304 bytes"])
        try scratch.file("folder.m3u/a.mp4")
        #expect(scratch.expand("folder.m3u").sources == ["folder.m3u/a.mp4"])
    }

    @Test("Lists of other programs: a file's URL, percent escapes, backslashes, Latin-1") func foreignLists() throws {
        let scratch = try Scratch()
        for name in ["My videos/Clip 1 \u{E9}.mp4", "100%25.mp4", "a\\b.mp4", "a/b.mp4", "sub/c d.mp4"] { try scratch.file(name) }
        let rows = [
            ("My%20videos/Clip%201%20%C3%A9.mp4", "My videos/Clip 1 \u{E9}.mp4"), ("100%25.mp4", "100%25.mp4"), ("a\\b.mp4", "a\\b.mp4"),
            ("sub\\c d.mp4", "sub/c d.mp4"), (".\\sub\\c%20d.mp4", "sub/c d.mp4"), ("gone%20too.mp4", "gone%20too.mp4"),
            ("file://\(scratch.path)/sub/c%20d.mp4", "sub/c d.mp4"), ("file://localhost\(scratch.path)/a/b.mp4", "a/b.mp4"),
        ]
        try scratch.file("list.m3u", rows.map { $0.0 }.joined(separator: "\r\n"))
        #expect(scratch.expand("list.m3u").sources == rows.map { $0.1 })
        let latin = "My videos/Clip 1 \u{E9}.mp4\nno\u{E9}.mp4".unicodeScalars.map { UInt8($0.value) }
        try scratch.file("latin.m3u", latin)
        let expansion = scratch.expand("latin.m3u")
        #expect(expansion.sources == ["My videos/Clip 1 \u{E9}.mp4"])
        #expect(expansion.problems == ["list latin.m3u, line 2: not UTF-8 text, and no such file; save the list in the encoding UTF-8"])
    }

    @Test("What network storage keeps for itself is left out, and brackets in a name are no pattern") func namesOfShares() throws {
        let scratch = try Scratch()
        for name in [
            "n/a.mp4", "n/@eaDir/a.mp4/THUMB_XL.jpg", "n/#recycle/x.mp4", "n/@Recycle/x.mp4", "n/#snapshot/x.mp4", "n/RECYCLER/x.mp4",
            "[2026] Expo/b.mp4", "2 Expo/c.mp4", "n/[1] d.mp4",
        ] { try scratch.file(name) }
        #expect(
            PlaylistSource("n", relativeTo: scratch.path).expand(isRecursive: true).sources.map(\.source)
                == ["[1] d.mp4", "a.mp4"].map { "\(scratch.path)/n/\($0)" })
        #expect(scratch.expand("[2026] Expo/*.mp4").sources == ["2 Expo/c.mp4", "[2026] Expo/b.mp4"])
        #expect(scratch.expand("n/[1]*.mp4").sources == ["n/[1] d.mp4"])
        #expect(["a.jfif", "b.M2T", "c.3g2", "d.m4b"].allSatisfy(PlaylistSource.isMedia))
    }

    @Test("Every link on the way to a source is looked at") func links() throws {
        let scratch = try Scratch()
        try scratch.file("r1/media/a.mp4")
        #expect(symlink("r1", scratch.path + "/now") == 0 && symlink("\(scratch.path)/now/media/a.mp4", scratch.path + "/link.mp4") == 0)
        let expansion = PlaylistSource("link.mp4", relativeTo: scratch.path).expand()
        let folder = Path(scratch.path)
        #expect(expansion.folders[folder] == .only(["link.mp4", "now"]))
        #expect(expansion.folders[folder.appending("r1/media")] == .only(["a.mp4"]))
        #expect(expansion.links == [folder.appending("link.mp4"): folder.appending("now/media/a.mp4"), folder.appending("now"): "r1"])
        #expect(expansion.names == [folder.appending("r1/media/a.mp4"): folder.appending("link.mp4")])
        // A circle of links leads nowhere.
        #expect(symlink("circle", scratch.path + "/circle") == 0)
        #expect(PlaylistSource("circle/a.mp4", relativeTo: scratch.path).expand().sources.map(\.version) == [nil])
    }

    @Test func listText() {
        func entries(_ text: String) -> [M3U.Entry] { M3U(Array(text.utf8)).entries }
        #expect(entries("\u{FEFF}a.mp4\r\n# x\r\n\r\n  b c.mp4 \t\r\nd.mp4") == ["a.mp4", "b c.mp4", "d.mp4"])
        #expect(entries("a\rb\r") == ["a", "b"])
        #expect(entries("") == [] && entries("\n\n") == [])
        #expect(M3U(Array("#EXTM3U\r\n#EXT-X-VERSION:3\r\nx.ts".utf8)).isHLS)
        #expect(!M3U(Array("#EXTM3U\n#EXTINF:3,#EXT-X-\nx.ts".utf8)).isHLS)
        let odd = M3U(Array("a\r\n".utf8) + [0x62, 0xFC, 0x0D, 0x0A] + Array("\n# x\nc\0d\ne".utf8))
        #expect(odd.entries == ["a", M3U.Entry("bü", foreignLine: 2), "e"])
        #expect(odd.unreadableLines == [5])
        for isLittle in [true, false] {
            let units = "\u{FEFF}#EXTM3U\r\nGrüße/1.mp4\r\n\u{1F3AC}.mp4".utf16
            let bytes = units.flatMap { isLittle ? [UInt8($0 & 0xFF), UInt8($0 >> 8)] : [UInt8($0 >> 8), UInt8($0 & 0xFF)] }
            #expect(M3U(bytes).entries == ["Grüße/1.mp4", "\u{1F3AC}.mp4"])
        }
        #expect(M3U([0xFF, 0xFE, 0x61]).entries.isEmpty, "half a unit")
    }

    @Test("The playlist of a file is resolved against its defaults, entry by entry") func resolution() throws {
        let scratch = try Scratch()
        try scratch.file("media/2.mp4")
        try scratch.file("media/1.mp4")
        for name in ["10.txt", "2.txt", ".hidden", "folder/3.mp4"] { try scratch.file("media/" + name) }
        try scratch.file(
            "kiosk.conf",
            """
            [display]
            gravity = "fill"
            [[playlist]]
            source = "media"
            repeat = 2
            [[playlist]]
            source = "usb"
            [[playlist]]
            source = "still.png"
            gravity = "fit"
            duration = 5
            """)
        let (items, problems, folders) = try Configuration.load(scratch.path + "/kiosk.conf").expandPlaylist()
        #expect(
            items == [
                PlaylistItem(source: scratch.path + "/media/1.mp4", gravity: .resizeAspectFill, repeatCount: 2),
                PlaylistItem(source: scratch.path + "/media/2.mp4", gravity: .resizeAspectFill, repeatCount: 2),
                PlaylistItem(source: scratch.path + "/still.png", gravity: .resizeAspect, duration: .seconds(5)),
            ])
        #expect(problems == ["folder \(scratch.path)/usb: No such file or directory"])
        #expect(folders == [scratch.path + "/media"])
        #expect(PlaylistSource.filesLeftOut(of: folders) == [scratch.path + "/media/2.txt", scratch.path + "/media/10.txt"])
    }
}

@Suite struct OrderTests {
    @Test("Names come in the order people expect") func natural() {
        let ordered = [
            "", " 1", "01", "1", "1a", "2", "2.mp4", "9", "10", "10.mp4", "99999999999999999999998", "99999999999999999999999",
            "A", "a", "a1", "a1b", "a2", "a10", "a10b", "B", "Z", "é",
        ]
        #expect(ordered.shuffled().sorted(by: naturallyPrecedes) == ordered)
        #expect(["clip 10", "Clip 9", "clip 1"].sorted(by: naturallyPrecedes) == ["clip 1", "Clip 9", "clip 10"])
    }

    @Test("It is a total order") func total() {
        var random = Proof.Random(seed: 3)
        let names = (0..<60).map { _ in
            String((0..<Int.random(in: 0...4, using: &random)).map { _ in "01aAb2.".randomElement(using: &random)! })
        }
        for a in names {
            for b in names {
                #expect(naturallyPrecedes(a, b) != naturallyPrecedes(b, a) || a == b, "\(a) \(b)")
                for c in names where naturallyPrecedes(a, b) && naturallyPrecedes(b, c) {
                    #expect(naturallyPrecedes(a, c), "\(a) \(b) \(c)")
                }
            }
        }
    }
}
