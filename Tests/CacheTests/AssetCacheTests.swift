import Foundation
import Glibc
import KioskPlatform
import KioskVocabulary
import TestSupport
import Testing

@testable import Cache

/// Tests of the cache with a server and a folder.
@Suite(.blocking) struct AssetCacheTests {
    /// Settings with a long timeout: a server on a busy machine needs time for its handshake.
    static var patient: StreamSettings {
        var settings = StreamSettings()
        settings.timeout = .seconds(100)
        return settings
    }

    /// A temporary folder, and the caches opened on it.
    private final class Place {
        let folder = NSTemporaryDirectory() + "kiosk-cache-\(UUID().uuidString)"
        private let news = Monitor<[String]>([])
        private var caches: [AssetCache] = []

        /// Opens and starts a cache on the folder, as a player does when it starts.
        func open(
            _ sources: [String], limit: Int64 = 100_000_000, folder: String? = nil, stream: StreamSettings = AssetCacheTests.patient
        ) -> AssetCache {
            let cache = AssetCache(folder: folder ?? self.folder, limit: ByteCount(limit)) { [news] said in
                news.signal { list in
                    switch said {
                    case .note(let text): list.append(text)
                    case .problem(let text): list.append("! " + text)
                    }
                }
            }
            cache.start { sources.map { PlaylistItem(source: $0, stream: stream) } }
            caches.append(cache)
            return cache
        }

        var said: [String] { news.withLock { $0 } }
        /// Whether no cache holds the folder's lock.
        var isFree: Bool {
            switch FolderLock.take(folder) {
            case .some: true
            case .none: false
            }
        }
        var files: [String] { ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).sorted() }

        deinit {
            for cache in caches { cache.stop() }
            try? FileManager.default.removeItem(atPath: folder)
        }
    }

    private let content = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ ($0 >> 8)) }
    private func wait(_ seconds: Double = 120, _ condition: () -> Bool) -> Bool {
        let deadline = HostTime.now + .seconds(seconds)
        while HostTime.now < deadline {
            if condition() { return true }
            usleep(10_000)
        }
        return condition()
    }
    private func bytes(_ path: String?) -> [UInt8]? { path.flatMap { FileManager.default.contents(atPath: $0) }.map { [UInt8]($0) } }

    @Test func aFileIsFetchedOnceForTwoItemsAndStaysWhenTheServerIsGone() throws {
        let server = try FileServer(.init(content))
        let place = Place()
        let cache = place.open([server.url(), server.url()])
        #expect(cache.file(for: server.url()) == nil)
        #expect(wait { cache.file(for: server.url()) != nil }, "\(place.said)")
        #expect(bytes(cache.file(for: server.url())) == content && cache.file(for: server.url())?.hasSuffix(".mp4") == true)
        #expect(server.requests.count == 1)
        #expect(cache.contents.items.map(\.isComplete) == [true] && cache.contents.bytes == 300_000)
        cache.stop()
        server.stop()
        // Start again, without a network.
        let again = place.open([server.url()])
        #expect(wait { bytes(again.file(for: server.url())) == content })
        #expect(wait { place.said.contains { $0.hasPrefix("! ") && $0.hasSuffix("kiosk plays the kept copy") } })
        #expect(bytes(again.file(for: server.url())) == content)
    }

    @Test func aFileIsAskedForAsItsEntrySays() throws {
        let server = try FileServer(.init(content))
        server.change { $0.required = ("authorization", "Bearer 0123") }
        let place = Place()
        let refused = place.open([server.url()])
        #expect(wait { place.said.contains { $0.contains("401") } }, "\(place.said)")
        refused.stop()
        var stream = StreamSettings()
        // An entry cannot choose the range.
        stream.headers = ["Authorization: Bearer 0123", "Range: bytes=7-", "X-Sign: 12"]
        stream.userAgent = "sign 7"
        let cache = place.open([server.url()], stream: stream)
        #expect(wait { bytes(cache.file(for: server.url())) == content }, "\(place.said)")
        let headers = try #require(server.requests.last?.headers)
        #expect(headers["x-sign"] == "12" && headers["user-agent"] == "sign 7" && headers["range"] == nil, "\(headers)")
    }

    @Test func headersAreForTheServerOfTheEntryAlone() throws {
        let other = try FileServer(.init(content))
        let there = "http://localhost:\(other.port)/clip.mp4"
        let server = try FileServer(.init(content))
        server.change { behaviour in behaviour.redirects = { $0 == "/clip.mp4" ? there : nil } }
        let place = Place()
        var stream = AssetCacheTests.patient
        stream.headers = ["Authorization: Bearer 0123", "X-Api-Key: KEY"]
        let cache = place.open([server.url()], stream: stream)
        #expect(wait { bytes(cache.file(for: server.url())) == content }, "\(place.said)")
        #expect(server.requests.allSatisfy { $0.headers["x-api-key"] == "KEY" })
        #expect(
            !other.requests.isEmpty && other.requests.allSatisfy { $0.headers["x-api-key"] == nil && $0.headers["authorization"] == nil })
    }

    @Test(arguments: [
        "#EXTM3U\n#EXT-X-TARGETDURATION:6\n#EXTINF:6,\nfile:///etc/passwd\n", "<?xml version=\"1.0\"?><MPD></MPD>",
        "ffconcat version 1.0\nfile a\n",
    ])
    func aListIsNotKeptWhateverItIsCalled(text: String) throws {
        let server = try FileServer(.init(Array(text.utf8)))
        let place = Place()
        let cache = place.open([server.url()])
        #expect(wait { place.said.contains { $0.contains("the list of a stream") } }, "\(place.said)")
        #expect(cache.file(for: server.url()) == nil)
    }

    @Test func aServerMustShowWhoItIs() throws {
        let files = try FileServer(.init(content))
        let (good, wrong) = (try TLSServer(files, .good), try TLSServer(files, .otherName))
        let place = Place()
        var stream = AssetCacheTests.patient
        stream.certificateAuthorities = try TLSServer.authority()
        let cache = place.open([wrong.url(), good.url()], stream: stream)
        #expect(wait { bytes(cache.file(for: good.url())) == content }, "\(place.said)")
        #expect(place.said.contains { $0.hasPrefix("! cache: \(wrong.url())") } && cache.file(for: wrong.url()) == nil)
        cache.stop()
        let refused = Place(), unnamed = refused.open([good.url()])
        #expect(wait { refused.said.contains { $0.contains("certificate") } }, "\(refused.said)")
        #expect(unnamed.file(for: good.url()) == nil)
    }

    @Test func aServerThatSaysNothingIsGivenUpAfterTheTimeLimitOfTheEntry() throws {
        let server = try FileServer(.init(content))
        server.change { $0.delay = 200_000 }
        let place = Place()
        var stream = StreamSettings()
        stream.timeout = .seconds(1)
        let begin = HostTime.now
        let cache = place.open([server.url()], stream: stream)
        #expect(wait { !place.said.isEmpty } && HostTime.now - begin < .seconds(190), "\(place.said)")
        cache.stop()
    }

    @Test func aFolderBelongsToOneProcess() throws {
        let server = try FileServer(.init(content))
        let place = Place()
        let first = place.open([server.url()])
        #expect(wait { first.file(for: server.url()) != nil }, "\(place.said)")
        let second = place.open([server.url("other.mp4"), server.url()])
        #expect(wait { place.said.contains { $0.contains("another process uses \(place.folder)") } }, "\(place.said)")
        #expect(second.file(for: server.url()) == nil, "kiosk plays it over the network")
        #expect(!server.requests.contains { $0.path == "/other.mp4" })
        #expect(bytes(first.file(for: server.url())) == content, "the first one is not disturbed")
        // The second cache takes over when the first one has ended.
        first.stop()
        #expect(wait { bytes(second.file(for: server.url())) == content }, "\(place.said)")
        #expect(wait { second.file(for: server.url("other.mp4")) != nil }, "\(place.said)")
    }

    @Test func theFilesAreTheUsersOwn() throws {
        let server = try FileServer(.init(content))
        let place = Place()
        let cache = place.open([server.url()])
        #expect(wait { cache.file(for: server.url()) != nil })
        var status = stat()
        #expect(stat(place.folder, &status) == 0 && status.st_mode & 0o777 == 0o700)
        for name in place.files { #expect(stat(place.folder + "/" + name, &status) == 0 && status.st_mode & 0o777 == 0o600, "\(name)") }
        #expect(place.files.count == 2, "\(place.files)")
    }

    @Test func anotherContentTakesThePlaceOfTheOneBefore() throws {
        let server = try FileServer(.init(content))
        let place = Place()
        let first = place.open([server.url()])
        #expect(wait { first.file(for: server.url()) != nil })
        let path = try #require(first.file(for: server.url()))
        let playing = open(path, O_RDONLY)
        defer { close(playing) }
        first.stop()
        let other = Array(content.reversed())
        server.change { ($0.content, $0.tag) = (other, "\"two\"") }
        let second = place.open([server.url()])
        #expect(wait { bytes(second.file(for: server.url())) == other }, "\(place.said)")
        #expect(server.requests.last?.headers["if-none-match"] == "\"one\"")
        // An open descriptor still reads the old file to its end.
        var read = [UInt8](repeating: 0, count: content.count)
        #expect(pread(playing, &read, read.count, 0) == content.count && read == content)
        #expect(wait { place.files.count == 2 }, "\(place.files)")
    }

    @Test func whatHasNotChangedIsNotFetchedAgain() throws {
        for kind in 0..<3 {
            var behaviour = FileServer.Behaviour(content)
            if kind == 1 { (behaviour.tag, behaviour.modified) = (nil, "Sun, 06 Nov 1994 08:49:37 GMT") }
            if kind == 2 { behaviour.tag = nil }
            let server = try FileServer(behaviour)
            let place = Place()
            let first = place.open([server.url()])
            #expect(wait { first.file(for: server.url()) != nil })
            first.stop()
            let second = place.open([server.url()])
            #expect(wait { server.requests.count == 2 && server.requests[1].status != 0 })
            #expect(server.requests[1].sent == 0 && server.requests[1].status == (kind == 2 ? 200 : 304), "\(server.requests)")
            #expect(server.requests[1].method == (kind == 2 ? "HEAD" : "GET"))
            #expect(bytes(second.file(for: server.url())) == content)
        }
    }

    @Test func aConnectionThatIsCutIsGoneOnWith() throws {
        var behaviour = FileServer.Behaviour(content)
        behaviour.cutsAfter = 100_000
        let server = try FileServer(behaviour)
        let place = Place()
        let first = place.open([server.url()])
        #expect(wait { place.said.contains { $0.contains("broke off after 100 kB of 300 kB") } }, "\(place.said)")
        #expect(first.file(for: server.url()) == nil, "never half a file")
        #expect(first.contents.items.first?.bytes == 100_000)
        first.stop()
        usleep(500_000)  // two caches must not write into one folder
        // Another process resumes after the last byte that is sure to be on the disk.
        server.change { $0.cutsAfter = nil }
        let second = place.open([server.url()])
        #expect(wait { bytes(second.file(for: server.url())) == content }, "\(place.said)")
        #expect(server.requests.last?.headers["range"] == "bytes=100000-" && server.requests.last?.headers["if-range"] == "\"one\"")
        #expect(server.requests.last?.sent == 200_000)
    }

    @Test func aPartOfAnotherContentIsNotGoneOnWith() throws {
        var behaviour = FileServer.Behaviour(content)
        behaviour.cutsAfter = 100_000
        let server = try FileServer(behaviour)
        let place = Place()
        let first = place.open([server.url()])
        #expect(wait { place.said.contains { $0.contains("broke off") } })
        first.stop()
        let other = Array(content.reversed().prefix(250_000))
        server.change { ($0.content, $0.tag, $0.cutsAfter) = (other, "\"two\"", nil) }
        let second = place.open([server.url()])
        #expect(wait { bytes(second.file(for: server.url())) == other }, "\(place.said)")
    }

    @Test func aLengthThatIsWrongKeepsNothing() throws {
        var behaviour = FileServer.Behaviour(content)
        behaviour.lie = 5000
        let server = try FileServer(behaviour)
        let place = Place()
        let cache = place.open([server.url()])
        #expect(wait { place.said.contains { $0.contains("broke off after 300 kB of 305 kB") } }, "\(place.said)")
        #expect(cache.file(for: server.url()) == nil)
    }

    @Test func aStreamWithoutALengthIsNotKept() throws {
        var behaviour = FileServer.Behaviour(content)
        behaviour.tellsLength = false
        let server = try FileServer(behaviour)
        let place = Place()
        let cache = place.open([server.url()])
        #expect(
            wait { place.said.contains { $0.contains("does not say how long it is; kiosk plays it over the network") } }, "\(place.said)")
        #expect(cache.file(for: server.url()) == nil && place.files == [] && server.requests.count == 1)
    }

    @Test func theOldestGivesWayAndWhatIsListedDoesNot() throws {
        let server = try FileServer(.init(content))
        let place = Place()
        var cache = place.open([server.url("a.mp4"), server.url("b.mp4")], limit: 1_000_000)
        #expect(wait { cache.file(for: server.url("a.mp4")) != nil && cache.file(for: server.url("b.mp4")) != nil })
        cache.stop()
        // The cache records uses until it releases the folder.
        #expect(wait { place.isFree })
        // The cache evicts the least recently used file that is not on the list.
        let entry = place.folder + "/\(CacheKey(Path(server.url("a.mp4")))).entry"
        var old = [timespec(tv_sec: 1000, tv_nsec: 0), timespec(tv_sec: 1000, tv_nsec: 0)]
        #expect(utimensat(AT_FDCWD, entry, &old, 0) == 0)
        cache = place.open([server.url("c.mp4"), server.url("d.mp4")], limit: 1_000_000)
        #expect(wait { cache.file(for: server.url("c.mp4")) != nil && cache.file(for: server.url("d.mp4")) != nil }, "\(place.said)")
        #expect(cache.file(for: server.url("a.mp4")) == nil && cache.file(for: server.url("b.mp4")) != nil)
        cache.stop()
        let all = ["c", "d", "e", "f"].map { server.url("\($0).mp4") }
        cache = place.open(all, limit: 1_000_000)
        #expect(
            wait { place.said.contains { $0.contains("f.mp4: its 300 kB do not fit into the cache beside the others") } }, "\(place.said)")
        #expect(all.map { cache.file(for: $0) != nil } == [true, true, true, false])
        #expect(cache.contents.bytes <= 1_000_000)
    }

    @Test func whatCannotBePlayedIsFetchedAgain() throws {
        let server = try FileServer(.init(content))
        let place = Place()
        let cache = place.open([server.url()])
        #expect(wait { cache.file(for: server.url()) != nil })
        let path = try #require(cache.file(for: server.url()))
        // Truncated by hand: the cache notices the wrong length.
        #expect(truncate(path, 5000) == 0)
        #expect(wait { bytes(cache.file(for: server.url())) == content })
        // The length is right, but the content is not: the reader rejects the file.
        let kept = try #require(cache.file(for: server.url()))
        cache.reject(server.url(), at: kept)
        #expect(cache.file(for: server.url()) == nil)
        #expect(wait { bytes(cache.file(for: server.url())) == content })
        #expect(server.requests.count == 3)
        // A late rejection of the old file does not affect its replacement.
        cache.reject(server.url(), at: kept)
        #expect(bytes(cache.file(for: server.url())) == content)
        #expect(server.requests.count == 3)
    }

    @Test func rubbishInTheFolderIsRemovedAndForeignFilesAreNot() throws {
        let server = try FileServer(.init(content))
        let place = Place()
        try FileManager.default.createDirectory(atPath: place.folder, withIntermediateDirectories: true)
        let key = CacheKey(Path(server.url())).description
        for name in ["\(key).entry", "\(key)-12.mp4", "\(key).part", "\(key).entry.new", "film.mp4"] {
            _ = FileManager.default.createFile(atPath: place.folder + "/" + name, contents: Data("rubbish".utf8))
        }
        let cache = place.open([server.url()])
        #expect(wait { bytes(cache.file(for: server.url())) == content })
        #expect(place.files.count == 3 && place.files.contains("film.mp4"), "\(place.files)")
    }

    @Test func aFolderThatCannotBeWrittenIsNoFailure() throws {
        let server = try FileServer(.init(content))
        let place = Place()
        let cache = place.open([server.url()], folder: "/proc/kiosk-cache")
        #expect(
            wait { place.said.contains { $0.contains("cannot make the folder") && $0.hasSuffix("kiosk plays it over the network") } },
            "\(place.said)")
        #expect(cache.file(for: server.url()) == nil)
        #expect(place.said.count == 1, "said once")
    }

    /// The disk is a tmpfs of 1 MiB.
    @Test(.needs("root, to mount a disk", geteuid() == 0)) func aFullDiskIsNoFailure() throws {
        let server = try FileServer(.init(content + content + content + content))
        let place = Place()
        try FileManager.default.createDirectory(atPath: place.folder, withIntermediateDirectories: true)
        guard mount("tmpfs", place.folder, "tmpfs", 0, "size=1m") == 0 else {
            try Test.cancel("needs to mount a tmpfs: \(String(cString: strerror(errno)))")
        }
        defer { umount2(place.folder, Int32(MNT_DETACH)) }
        let cache = place.open([server.url("large.mp4"), server.url("small.mp4")])
        #expect(wait { place.said.contains { $0.contains("No space left on device: free some space") } }, "\(place.said)")
        #expect(cache.file(for: server.url("large.mp4")) == nil)
        server.change { [content] in $0.content = content }
        #expect(wait { cache.file(for: server.url("small.mp4")) != nil || !cache.contents.items.isEmpty })
        #expect(!place.files.contains { $0.hasSuffix(".part") }, "the room is given back: \(place.files)")
        cache.stop()
    }
}
