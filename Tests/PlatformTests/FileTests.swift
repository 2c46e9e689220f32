import Foundation
import Testing

@testable import KioskPlatform

/// Tests of descriptors, atomic writes and folders.
@Suite final class FileTests {
    private let folder = NSTemporaryDirectory() + "kiosk-files-\(UUID().uuidString)"

    init() throws { try #require(mkdir(folder, 0o755) == 0) }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    private func path(_ name: String) -> String { folder + "/" + name }

    @Test("A descriptor is closed once, and leaves errno alone") func closing() throws {
        var raw: Int32 = -1
        do {
            guard let file = Descriptor(opening: "/dev/null", O_RDWR) else { throw SystemError() }
            raw = file.raw
            #expect(fcntl(raw, F_GETFD) == FD_CLOEXEC)
            errno = ENOTNAM
        }
        #expect(errno == ENOTNAM)
        #expect(fcntl(raw, F_GETFD) == -1 && errno == EBADF)
        #expect(Descriptor(opening: path("none")) == nil && SystemError() == SystemError(ENOENT))
        #expect("\(SystemError(ENOSPC))" == "No space left on device")
    }

    @Test("It reads to the end or the limit, and writes all of it") func readingAndWriting() throws {
        let bytes = (0..<200_000).map { UInt8(truncatingIfNeeded: $0) }
        do {
            guard let file = Descriptor(opening: path("a"), O_WRONLY | O_CREAT, mode: 0o600) else { throw SystemError() }
            #expect(bytes.withUnsafeBytes { file.write($0) })
            #expect(file.status?.st_size == 200_000 && file.status?.isFile == true)
        }
        #expect(SmallFile.bytes(path("a"), atMost: 1 << 20) == bytes)
        #expect(SmallFile.bytes(path("a"), atMost: 7) == Array(bytes.prefix(7)))
        #expect(SmallFile.bytes(folder) == nil && SystemError() == SystemError(EISDIR))
        guard let full = Descriptor(opening: "/dev/full", O_WRONLY) else { throw SystemError() }
        #expect(!bytes.withUnsafeBytes { full.write($0) } && SystemError() == SystemError(ENOSPC))
    }

    @Test("A file is there whole, with its mode, and no draft is left") func atomicFile() throws {
        #expect(AtomicFile.write(path("a"), "one", mode: 0o640, isSynced: true) == nil)
        #expect(SmallFile.text(path("a")) == "one")
        #expect(stat(at: path("a")).map { $0.st_mode & 0o777 } == 0o640)
        // A link has the draft's name, as a leftover of a power cut would. The write leaves the link's target unchanged.
        #expect(AtomicFile.write(path("b"), "b", mode: nil) == nil)
        try #require(symlink(path("b"), path("a.tmp")) == 0)
        #expect(AtomicFile.write(path("a"), "two", mode: 0o600) == nil)
        #expect(SmallFile.text(path("a")) == "two" && SmallFile.text(path("b")) == "b")
        #expect(AtomicFile.write(path("a"), "three", mode: 0o600, replaces: false) == SystemError(EEXIST))
        #expect(AtomicFile.write(path("c"), "new", mode: 0o600, replaces: false) == nil)
        #expect(AtomicFile.write(path("none/a"), "four", mode: 0o600) == SystemError(ENOENT))
        #expect(SmallFile.text(path("a")) == "two" && SmallFile.text(path("c")) == "new")
        #expect(Folder.names(in: folder).sorted() == ["a", "b", "c"])
    }

    @Test("A folder's names, what lies there, and links where they are not followed") func folders() throws {
        #expect(Folder.make(path("x/y")) == nil)
        for name in ["card0", "card10", "card2", "card", "x/clip"] { #expect(AtomicFile.write(path(name), "", mode: 0o600) == nil) }
        try #require(symlink("x", path("link")) == 0 && symlink("nowhere", path("loose")) == 0)
        #expect(Folder.numbers(of: "card", in: folder) == [0, 2, 10])
        #expect(Folder.entries(in: folder).filter { $0.status.isFolder }.map(\.name).sorted() == ["link", "x"])
        #expect(!Folder.entries(in: folder).contains { $0.name == "loose" })
        #expect(Folder(path("link"), followsLinks: false) == nil && Folder.names(in: path("link")).sorted() == ["clip", "y"])
        guard let opened = Folder(folder, followsLinks: false) else { throw SystemError() }
        #expect(Set(opened.read().filter(\.isLink).compactMap(\.name)) == ["link", "loose"])
        #expect(opened.status("link", followsLinks: false)?.isLink == true && opened.status("loose") == nil)
        #expect(Folder.make(path("card0/z")).map { $0.path == path("card0/z") && $0.error == SystemError(ENOTDIR) } == true)
        #expect(["/a/b", "/a", "a/b", "a"].map(Folder.of) == ["/a", "/", "a", "."])
    }

    @Test("A folder is made with its parents, from an absolute path and from a relative one") func makingFolders() {
        let up = String(repeating: "../", count: workingFolder.split(separator: "/").count)
        for made in [path("a/b"), up + path("c/d").dropFirst()] {
            #expect(Folder.make(made) == nil)
            #expect(access(made, X_OK) == 0, "\(made)")
        }
    }
}
