import Foundation
import Glibc
import KioskPlatform
import KioskVocabulary
import Synchronization
import TestSupport
import Testing

@testable import KioskMedia

@Suite struct ThumbnailTests {
    private func path(_ name: String) throws -> String { try Clips.named(name) }

    @Test func `a clip has a picture in its own shape, a duration, and badges`() throws {
        let wide = try #require(Thumbnail.make(of: try path("a.mp4"), fitting: 320, 180))
        #expect(wide.facts.duration.map { abs($0.seconds - 5) < 0.1 } == true && !wide.facts.isPortrait && wide.facts.hasSound)
        #expect(wide.facts.problem == nil && wide.picture?.width == 320 && wide.picture?.height == 180)
        let turned = try #require(Thumbnail.make(of: try path("turned-90.mp4"), fitting: 320, 180))
        #expect(turned.facts.isPortrait)
        #expect(try #require(turned.picture).height > (try #require(turned.picture)).width)
    }

    @Test func `what cannot be played says why`() throws {
        let empty = try #require(Thumbnail.make(of: try path("empty.mp4"), fitting: 320, 180))
        #expect(empty.picture == nil && empty.facts.problem == MediaError.Reason.isEmpty.text)
        let missing = try #require(Thumbnail.make(of: "/nowhere/a.mp4", fitting: 320, 180))
        #expect(missing.facts.problem == MediaError.Reason.notFound.text)
        let interruption = Interruption()
        interruption.cancel()
        #expect(Thumbnail.make(of: try path("a.mp4"), fitting: 320, 180, interruption: interruption) == nil)
    }

    @Test func `a picture survives being a JPEG, and what is none is refused`() throws {
        let (width, height) = (96, 54)
        let pixels = (0..<width * height).map { UInt32(0xff00_0000) | UInt32($0 % width * 2) << 16 | UInt32($0 / width * 4) << 8 | 0x40 }
        let picture = SmallPicture(width: width, height: height, pixels: pixels)
        let jpeg = try #require(picture.jpeg())
        let back = try #require(SmallPicture(jpeg: jpeg))
        #expect((back.width, back.height) == (width, height))
        // JPEG halves the resolution of the colours, and estimates values at edges.
        var far = 0
        for (a, b) in zip(pixels, back.pixels) {
            for shift in [16, 8, 0] where abs(Int(a >> UInt32(shift) & 255) - Int(b >> UInt32(shift) & 255)) > 16 { far += 1 }
        }
        #expect(far * 20 < pixels.count * 3, "\(far) of \(pixels.count * 3) values are far from what they were")
        #expect(SmallPicture(jpeg: []) == nil && SmallPicture(jpeg: Array(repeating: 7, count: 500)) == nil)
    }
}

@Suite final class ThumbnailStoreTests {
    private let folder: String
    private let problems = Monitor<[String]>([])

    init() throws {
        var template = Array("/tmp/kiosk-thumbnails-XXXXXX".utf8CString)
        folder = String(cString: try #require(mkdtemp(&template)))
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    private func store(limit: Int = 1 << 20, in folder: String? = nil) -> ThumbnailStore {
        ThumbnailStore(folder: folder ?? self.folder + "/a/b", limit: limit) { [problems] problem in
            problems.withLock { $0.append(problem) }
        }
    }

    private func thumbnail(_ number: Int) -> Thumbnail {
        var facts = ClipFacts()
        (facts.title, facts.duration, facts.hasSound) = (number % 2 == 0 ? "Herbst \(number)" : nil, .seconds(Double(number)), true)
        let pixels = (0..<64 * 36).map { 0xff00_0000 | UInt32($0 * number) & 0xff_ffff }
        return Thumbnail(picture: SmallPicture(width: 64, height: 36, pixels: pixels), facts: facts)
    }

    private func version(_ number: Int, size: Int64 = 100) -> FileVersion {
        FileVersion(device: 1, inode: UInt64(number), size: size, modified: 5)
    }

    private var files: [String] {
        guard let list = opendir(folder + "/a/b") else { return [] }
        defer { closedir(list) }
        var names: [String] = []
        while let entry = readdir(list) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
            if !name.hasPrefix(".") { names.append(name) }
        }
        return names
    }

    @Test func `what was kept is found by another process, and not when the file is another`() {
        let first = store()
        first.keep(thumbnail(2), of: "/a.mp4", version(1), 64, 36)
        let again = store()
        let found = again.find("/a.mp4", version(1), 64, 36)
        #expect(found?.facts == thumbnail(2).facts && found?.picture?.width == 64)
        #expect(again.find("/a.mp4", version(1, size: 101), 64, 36) == nil)
        #expect(again.find("/b.mp4", version(1), 64, 36) == nil)
        #expect(again.find("/a.mp4", version(1), 128, 72) == nil)
    }

    @Test func `it stays within its limit, and what was used last stays`() {
        let store = store(limit: 20_000)
        for number in 1...60 {
            store.keep(thumbnail(number), of: "/\(number).mp4", version(number), 64, 36)
            #expect(store.find("/1.mp4", version(1), 64, 36) != nil, "it was used again and again")
            #expect(store.byteCount <= 20_000)
        }
        #expect(store.find("/60.mp4", version(60), 64, 36) != nil && store.find("/2.mp4", version(2), 64, 36) == nil)
        #expect(files.count > 2 && files.count < 59)
        // The next process counts the existing files.
        let next = self.store(limit: 20_000)
        _ = next.find("/60.mp4", version(60), 64, 36)
        #expect(next.byteCount == store.byteCount)
    }

    @Test func `what a power cut left of a file is no picture`() throws {
        store().keep(thumbnail(2), of: "/a.mp4", version(1), 64, 36)
        let path = folder + "/a/b/" + (try #require(files.first))
        var status = stat()
        try #require(stat(path, &status) == 0)
        for length in [0, 10, 48, Int(status.st_size) - 1] {
            store().keep(thumbnail(2), of: "/a.mp4", version(1), 64, 36)
            truncate(path, length)
            #expect(store().find("/a.mp4", version(1), 64, 36) == nil, "cut to \(length) bytes")
        }
        #expect(files.isEmpty)
    }

    @Test func `a folder that cannot be written to is no cache, and that is said once`() throws {
        // A file takes the place of the folder.
        fclose(fopen(folder + "/a", "w"))
        let store = store()
        for number in 1...10 {
            store.keep(thumbnail(number), of: "/\(number).mp4", version(number), 64, 36)
            #expect(store.find("/\(number).mp4", version(number), 64, 36) == nil)
        }
        #expect(problems.withLock { $0.count } == 1)
    }

    @Test func `what is wrong with a clip is not kept`() {
        var broken = thumbnail(2)
        broken.facts.problem = "its codec foo is not supported"
        store().keep(broken, of: "/a.mp4", version(1), 64, 36)
        #expect(files.isEmpty)
    }
}
