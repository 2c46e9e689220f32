import Glibc
import KioskPlatform
import KioskVocabulary
import SystemPackage
import Testing

@testable import KioskConfiguration
@testable import KioskContent

/// Real folders, with the kernel's change events. Files with "bad" in them count as unplayable.
@Suite(.serialized) struct WatchedFolderTests {
    final class Folder: Sendable {
        let path: String
        let expansion: PlaylistExpansion
        let news = Monitor<[PlaylistExpansion.News]>([])

        /// Plays the playlist `entries`, relative to a temporary folder. `prepare` first puts files into it.
        init(_ entries: String = "[[playlist]]\nsource = \"media\"\n", _ prepare: (String) throws -> Void) throws {
            let path = "/tmp/kiosk-watched-\(UInt64.random(in: 0 ... .max))"
            self.path = path
            try #require(mkdir(path, 0o755) == 0)
            try prepare(path)
            let configuration = try Configuration.parse(Array(entries.utf8), path: "kiosk.conf", folder: path)
            expansion = PlaylistExpansion(
                PlaylistExpansion.Plan(configuration, on: Set(configuration.entries.indices)), watch: FolderWatch(), date: { 0 }
            ) { item in
                let text = SmallFile.text(item.source, atMost: 100)
                return text.map { $0.contains("bad") ? "bad" : nil } ?? "gone"
            }
            let news = news
            expansion.start { item in news.signal { $0.append(item) } }
            try #require(expansion.waitForItems(within: .seconds(120)))
        }

        deinit {
            expansion.stop()
            _ = system("rm -rf '\(path)'")
        }

        func setConfiguration(_ text: String) throws {
            let configuration = try Configuration.parse(Array(text.utf8), path: "kiosk.conf", folder: path)
            expansion.setConfiguration(configuration, on: Set(configuration.entries.indices))
        }

        /// Runs shell commands in the folder.
        func run(_ line: String) { #expect(system("cd '\(path)' && { \(line)\n }") == 0) }

        /// The last list that the expansion has reported.
        var items: [PlaylistItem] {
            news.withLock { $0.reversed().lazy.compactMap { if case .items(let items, _) = $0 { items } else { nil } }.first ?? [] }
        }
        var names: [String] { items.map { String($0.source.dropFirst(path.count + 1)) } }
        var lists: Int { news.withLock { $0.count { if case .items = $0 { true } else { false } } } }

        /// Waits until the list has these names.
        func becomes(_ names: [String], within seconds: Double = 30) -> Bool {
            let deadline = HostTime.now + .seconds(seconds)
            while self.names != names {
                if HostTime.now > deadline { return false }
                usleep(20_000)
            }
            return true
        }
    }

    private func put(_ names: String...) -> (String) -> Void {
        { path in for name in names { #expect(system("cd '\(path)' && mkdir -p $(dirname \(name)) && echo \(name) > \(name)") == 0) } }
    }

    @Test func filesComeChangeAndGo() throws {
        let folder = try Folder(prepare: put("media/a.mp4"))
        #expect(folder.names == ["media/a.mp4"])
        folder.run("echo x > media/b.mp4")
        #expect(folder.becomes(["media/a.mp4", "media/b.mp4"]))
        let before = folder.items
        folder.run("echo new > media/.new && mv media/.new media/a.mp4")
        let deadline = HostTime.now + .seconds(30)
        // The file may leave the list for a moment.
        while folder.items.count != 2 || folder.items[0] == before[0], HostTime.now < deadline { usleep(20_000) }
        let items = folder.items
        try #require(items.count == 2)
        #expect(items[0] != before[0] && items[1] == before[1], "the same name and another content is another item")
        folder.run("rm media/a.mp4")
        #expect(folder.becomes(["media/b.mp4"]))
        folder.run(
            "echo x > media/c.mp4.part; echo x > media/._c.mp4; echo x > media/.DS_Store; echo bad > media/d.mp4; echo x > media/e.mp4")
        #expect(folder.becomes(["media/b.mp4", "media/e.mp4"]))
        #expect(folder.news.withLock { $0 }.contains(.note("\(folder.path)/media/d.mp4 is left out: bad")))
        // A finished copy gets its final name.
        folder.run("mv media/c.mp4.part media/c.mp4")
        #expect(folder.becomes(["media/b.mp4", "media/c.mp4", "media/e.mp4"]))
    }

    @Test func whatIsBeingWrittenIsNotPlayed() throws {
        let folder = try Folder(prepare: put("media/a.mp4", "media/b.mp4"))
        // A process keeps both open and writes now and then. One of them is on the list.
        folder.run(
            "(exec 3> media/c.mp4 4>> media/b.mp4; for n in 1 2 3 4 5 6; do echo x >&3; echo x >&4; sleep 0.5; done; echo bad >&3) &")
        #expect(folder.becomes(["media/a.mp4"]))
        #expect(folder.becomes(["media/a.mp4", "media/b.mp4"]))
        #expect(folder.lists == 3 && !folder.names.contains("media/c.mp4"))
    }

    @Test func foldersAreReplacedAndReturn() throws {
        let folder = try Folder(prepare: put("media/a.mp4", "other/b.mp4"))
        folder.run("mv media gone && mv other media")
        #expect(folder.becomes(["media/b.mp4"]))
        folder.run("echo x > media/c.mp4; echo x > gone/x.mp4")
        #expect(folder.becomes(["media/b.mp4", "media/c.mp4"]))
        folder.run("rm -r media")
        #expect(folder.becomes([]))
        folder.run("mkdir media && echo x > media/d.mp4")
        #expect(folder.becomes(["media/d.mp4"]))
    }

    @Test func aFolderThatIsALinkIsPointedElsewhere() throws {
        let folder = try Folder { path in
            put("one/a.mp4", "two/b.mp4")(path)
            #expect(symlink("one", path + "/media") == 0)
        }
        folder.run("ln -s two next && mv -T next media")
        #expect(folder.becomes(["media/b.mp4"]))
        folder.run("echo x > two/c.mp4")
        #expect(folder.becomes(["media/b.mp4", "media/c.mp4"]))
    }

    @Test func aLinkInTheMiddleOfThePathIsPointedElsewhere() throws {
        let folder = try Folder("[[playlist]]\nsource = \"current/media\"\n") { path in
            put("r1/media/a.mp4", "r2/media/b.mp4")(path)
            #expect(symlink("r1", path + "/one") == 0 && symlink("one", path + "/current") == 0)
        }
        #expect(folder.names == ["current/media/a.mp4"])
        folder.run("ln -sfn r2 next && mv -T next one")
        #expect(folder.becomes(["current/media/b.mp4"]))
        folder.run("ln -sfn r1 current")
        #expect(folder.becomes(["current/media/a.mp4"]))
        #expect(folder.news.withLock { !$0.contains(.items([], atOnce: false)) })
    }

    @Test func whatAFileThatIsALinkLeadsToIsWatched() throws {
        let folder = try Folder("[[playlist]]\nsource = \"media\"\n[[playlist]]\nsource = \"one.mp4\"\n") { path in
            put("store/a.mp4", "store/b.mp4", "media/z.mp4")(path)
            #expect(symlink("../store/a.mp4", path + "/media/a.mp4") == 0 && symlink("store/b.mp4", path + "/one.mp4") == 0)
        }
        #expect(folder.names == ["media/a.mp4", "media/z.mp4", "one.mp4"])
        for name in ["a", "b"] {
            let before = folder.items
            folder.run("echo new > store/new && mv store/new store/\(name).mp4")
            let deadline = HostTime.now + .seconds(50)
            while Set(folder.items).isSubset(of: before) || folder.items.count < 3, HostTime.now < deadline { usleep(20_000) }
            #expect(folder.names == ["media/a.mp4", "media/z.mp4", "one.mp4"] && folder.items != before, "less than a minute later")
        }
    }

    @Test func namesThatLookAlikeAreTwoFiles() throws {
        let folder = try Folder(prepare: put("media/a.mp4", "media/\u{FC}.mp4", "media/u\u{308}.mp4"))
        #expect(folder.items.count == 3)
        folder.run("rm media/\u{FC}.mp4")
        #expect(folder.becomes(["media/a.mp4", "media/u\u{308}.mp4"]))
        #expect(folder.items.last?.path == Path("\(folder.path)/media/u\u{308}.mp4"))
        folder.run("mv media/u\u{308}.mp4 media/\u{FC}.mp4")
        let deadline = HostTime.now + .seconds(30)
        while folder.items.last?.path != Path("\(folder.path)/media/\u{FC}.mp4"), HostTime.now < deadline { usleep(20_000) }
        #expect(folder.items.last?.path == Path("\(folder.path)/media/\u{FC}.mp4"))
    }

    @Test func whatIsCopiedOverInOneGoDoesNotLeave() throws {
        let folder = try Folder(prepare: put("media/a.mp4"))
        for _ in 0..<5 {
            let before = folder.items
            folder.run("echo new > media/a.mp4")
            let deadline = HostTime.now + .seconds(30)
            while folder.items == before, HostTime.now < deadline { usleep(20_000) }
        }
        #expect(folder.news.withLock { !$0.contains(.items([], atOnce: false)) })
    }

    @Test func foldersBelowAreWatchedToo() throws {
        let folder = try Folder("[[playlist]]\nsource = \"media\"\nrecursive = true\n", put("media/z.mp4", "media/b/1.mp4"))
        #expect(folder.names == ["media/z.mp4", "media/b/1.mp4"])
        folder.run("mkdir -p media/a/deep && echo x > media/a/deep/2.mp4")
        #expect(folder.becomes(["media/z.mp4", "media/a/deep/2.mp4", "media/b/1.mp4"]))
        folder.run("ln -s .. media/a/loop; rm -r media/b")
        #expect(folder.becomes(["media/z.mp4", "media/a/deep/2.mp4"]))
    }

    @Test func theLastOneIsReplacedWithoutAGap() throws {
        let folder = try Folder(prepare: put("media/a.mp4"))
        folder.run("echo x > media/.b && mv media/.b media/b.mp4 && rm media/a.mp4")
        #expect(folder.becomes(["media/b.mp4"]))
        #expect(folder.news.withLock { !$0.contains(.items([], atOnce: false)) })
    }

    @Test func patterns() throws {
        let folder = try Folder("[[playlist]]\nsource = \"v*/[a-c]?.mp4\"\n", put("v1/a1.mp4", "v1/d1.mp4", "v2/b1.mp4", "w/a1.mp4"))
        #expect(folder.names == ["v1/a1.mp4", "v2/b1.mp4"])
        folder.run("mkdir v3 && echo x > v3/c1.mp4 && echo x > v3/.a.mp4 && rm v1/a1.mp4")
        #expect(folder.becomes(["v2/b1.mp4", "v3/c1.mp4"]))
    }

    @Test func aListCountsWhenItIsComplete() throws {
        let folder = try Folder("[[playlist]]\nsource = \"list.m3u\"\n") { path in
            put("a.mp4", "b.mp4", "c.mp4")(path)
            #expect(system("cd '\(path)' && printf 'a.mp4\\nb.mp4\\n' > list.m3u") == 0)
        }
        #expect(folder.names == ["a.mp4", "b.mp4"])
        folder.run("(exec 3> list.m3u; for name in c.mp4 b.mp4 a.mp4; do echo $name >&3; sleep 0.5; done) &")
        #expect(folder.becomes(["c.mp4", "b.mp4", "a.mp4"]))
        #expect(folder.lists == 2, "half of it was never played")
        folder.run("printf 'b.mp4\\n' > new && mv new list.m3u")
        #expect(folder.becomes(["b.mp4"]))
    }

    @Test("Of what is on the highest program that has something is played, and one whose folder is empty gives way") func programs() throws
    {
        let program = "[[program]]\nname = \"p\"\npriority = %\n[[program.playlist]]\nsource = "
        let text =
            "[[playlist]]\nsource = \"media\"\n" + program.replacing("%", with: "1") + "\"other\"\n" + program.replacing("%", with: "2")
            + "\"late\"\n"
        let folder = try Folder(text) { path in
            put("media/a.mp4", "other/b.mp4")(path)
            try #require(mkdir(path + "/late", 0o755) == 0)
        }
        #expect(folder.names == ["other/b.mp4"])
        folder.expansion.setOn([0], atOnce: true)
        #expect(folder.becomes(["media/a.mp4"]))
        folder.expansion.setOn([0, 1, 2], atOnce: false)
        #expect(folder.becomes(["other/b.mp4"]))
        folder.run("echo x > late/c.mp4")
        #expect(folder.becomes(["late/c.mp4"]))
        folder.run("rm late/c.mp4")
        #expect(folder.becomes(["other/b.mp4"]))
        folder.expansion.setOn([], atOnce: false)
        #expect(folder.becomes([]))
        // A list takes effect at once only if the caller asked for that.
        let told = folder.news.withLock { $0.compactMap { if case .items(_, let atOnce) = $0 { atOnce } else { nil } } }
        #expect(told == [false, true, false, false, false, false])
    }

    @Test("An item with a weight comes as often, at even distances; the others stay where they are") func weights() {
        func items(_ weights: [Int]) -> [String] {
            ExpansionState.spread(weights.enumerated().map { (PlaylistItem(source: "/\($0)"), $1) }).map { String($0.source.dropFirst()) }
        }
        #expect(items([]) == [] && items([1, 1, 1]) == ["0", "1", "2"])
        #expect(items([2, 1, 1, 1]) == ["0", "1", "0", "2", "3"])
        #expect(items([1, 1, 3, 1, 1, 1]) == ["0", "2", "1", "2", "3", "4", "2", "5"])
        let many = items([100] + Array(repeating: 1, count: 99))
        #expect(many.count == 199 && many.count { $0 == "0" } == 100 && zip(many, many.dropFirst()).count { $0 == $1 } <= 2)
    }

    @Test func anotherConfigurationTakesOverWhenAllOfItIsKnown() throws {
        let folder = try Folder(prepare: put("media/a.mp4", "other/b.mp4", "other/c.mp4"))
        try folder.setConfiguration("[[playlist]]\nsource = \"other\"\n[[playlist]]\nsource = \"media/a.mp4\"\n")
        #expect(folder.becomes(["other/b.mp4", "other/c.mp4", "media/a.mp4"]))
        #expect(folder.lists == 2)
        folder.run("echo x > media/d.mp4; rm other/c.mp4")
        #expect(folder.becomes(["other/b.mp4", "media/a.mp4"]))
        #expect(folder.lists == 3)
    }
}

extension WatchedFolderTests.Folder {
    convenience init(prepare: (String) throws -> Void) throws { try self.init("[[playlist]]\nsource = \"media\"\n", prepare) }
}
