import Foundation
import Synchronization
import Testing

@testable import KioskContent

/// Two temporary folders: one is the stick, the other the box.
@Suite final class FolderCopyTests {
    private let folder = NSTemporaryDirectory() + "kiosk-copy-\(UUID().uuidString)"
    private var stick: String { folder + "/stick" }
    private var box: String { folder + "/box/usb" }

    init() throws {
        try FileManager.default.createDirectory(atPath: stick + "/b", withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    private func write(_ name: String, _ count: Int, _ byte: UInt8 = 1) throws -> FolderCopy.File {
        let path = stick + "/" + name
        try Data(repeating: byte, count: count).write(to: URL(fileURLWithPath: path))
        try FileManager.default.setAttributes([.modificationDate: Date(timeIntervalSince1970: 1_600_000_000)], ofItemAtPath: path)
        return FolderCopy.File(path: name, size: Int64(count), modified: 1_600_000_000_000_000_000)
    }

    private func tree(_ path: String) -> [String] { (FileManager.default.subpaths(atPath: path) ?? []).sorted() }

    @Test func allOfItTakesTheOtherFoldersPlace() throws {
        let files = try [write("a.mp4", 3 << 20, 7), write("b/c.mp4", 10)]
        let told = Mutex<[Int]>([])
        try FolderCopy(root: stick, files: files).copy(to: box, reserve: 0) { percent in
            told.withLock { $0.append(percent) }
            return true
        }
        #expect(tree(box) == ["a.mp4", "b", "b/c.mp4"] && tree(folder + "/box") == ["usb"] + tree(box).map { "usb/" + $0 })
        #expect(FileManager.default.contents(atPath: box + "/a.mp4") == Data(repeating: 7, count: 3 << 20))
        let date = try FileManager.default.attributesOfItem(atPath: box + "/a.mp4")[.modificationDate] as? Date
        #expect(date == Date(timeIntervalSince1970: 1_600_000_000))
        #expect(told.withLock { $0 == $0.sorted() && $0.last == 100 && $0.count >= 4 })
        // Another stick replaces all files of the one before.
        try FolderCopy(root: stick, files: [write("d.mp4", 5)]).copy(to: box, reserve: 0) { _ in true }
        #expect(tree(folder + "/box") == ["usb", "usb/d.mp4"])
    }

    @Test func whatFailsChangesNothing() throws {
        let file = try write("a.mp4", 4 << 20)
        try FolderCopy(root: stick, files: [write("old.mp4", 5)]).copy(to: box, reserve: 0) { _ in true }
        func fails(_ files: [FolderCopy.File], _ words: String, goesOn: Bool = true) {
            let error = #expect(throws: FolderCopyError.self) {
                try FolderCopy(root: stick, files: files).copy(to: box, reserve: 0) { _ in goesOn }
            }
            #expect(error?.description.contains(words) == true, "\(String(describing: error))")
            #expect(tree(folder + "/box") == ["usb", "usb/old.mp4"])
        }
        // The stick was pulled out after the first file; a file changed; the copy was cancelled; the files need too much room.
        fails(
            [file, .init(path: "gone.mp4", size: 1, modified: 0)],
            "read gone.mp4: No such file or directory; check that the stick is still plugged in")
        fails([.init(path: "a.mp4", size: 1, modified: 0)], "a.mp4 changed during the copy")
        fails([file], "it was cancelled", goesOn: false)
        fails([.init(path: "a.mp4", size: .max, modified: 0), file], "do not fit into")
    }

    /// A hostile stick. It has links to a file elsewhere, to that file's folder and to an endless device, and a FIFO without a writer. Some
    /// paths lead out of the stick.
    @Test func onlyFilesThatLieThereAreCopied() throws {
        let secret = folder + "/secret.mp4"
        try Data("secret".utf8).write(to: URL(fileURLWithPath: secret))
        try FolderCopy(root: stick, files: [write("old.mp4", 5)]).copy(to: box, reserve: 0) { _ in true }
        symlink(secret, stick + "/link.mp4")
        symlink(folder, stick + "/linked")
        symlink("/dev/zero", stick + "/zero.mp4")
        mkfifo(stick + "/fifo.mp4", 0o600)
        for path in ["link.mp4", "linked/secret.mp4", "zero.mp4", "fifo.mp4", "../secret.mp4", "b/../../secret.mp4", "b"] {
            let error = #expect(throws: FolderCopyError.self) {
                try FolderCopy(root: stick, files: [.init(path: path, size: 6, modified: 0)]).copy(to: box, reserve: 0) { _ in true }
            }
            #expect(
                error?.description.contains("kiosk copies only files that lie on the stick") == true,
                "\(path): \(String(describing: error))")
            #expect(tree(folder + "/box") == ["usb", "usb/old.mp4"], "\(path)")
        }
    }

    /// Subtitles come along with their clip, and are not probed as clips.
    @Test func subtitlesComeAlong() throws {
        let clips = try [write("a.mp4", 1), write("b/c.mkv", 2)]
        let beside = try [write("a.de.srt", 3), write("a.VTT", 4), write("b/c.ass", 5)]
        for other in ["d.srt", "c.srt", "a.txt", "amp4.srt", ".a.srt", "b/a.srt"] { _ = try write(other, 1) }
        try FileManager.default.createSymbolicLink(atPath: stick + "/a.en.srt", withDestinationPath: "/etc/passwd")
        let plan = FolderCopy(of: stick)
        #expect(Set(plan.files) == Set(clips + beside) && !plan.isAlready(in: box))
        let error = #expect(throws: FolderCopyError.self) {
            try plan.copy(to: box, reserve: 0, check: { _ in "it is damaged" }) { _ in true }
        }
        #expect(error?.description == "none of its 2 files can be played: a.mp4: it is damaged")
        try plan.copy(to: box, reserve: 0, check: { $0.hasSuffix(".mp4") || $0.hasSuffix(".mkv") ? nil : "it was tried" }) { _ in true }
        #expect(tree(box) == ["a.VTT", "a.de.srt", "a.mp4", "b", "b/c.ass", "b/c.mkv"] && plan.isAlready(in: box))
    }

    /// The copy leaves out files that cannot be opened, and lists them. If no file is left, the old copy stays.
    @Test func whatIsOfNoUseIsLeftOut() throws {
        try FolderCopy(root: stick, files: [write("old.mp4", 5)]).copy(to: box, reserve: 0) { _ in true }
        let files = try [write("a.mp4", 1), write("b/bad\n1.mp4", 2), write("c.mp4", 3)]
        func check(_ path: String) -> String? { path.hasSuffix("/old.mp4") ? nil : path.contains("bad") ? "it is damaged" : nil }
        let copy = FolderCopy(root: stick, files: files)
        let error = #expect(throws: FolderCopyError.self) {
            try copy.copy(to: box, reserve: 0, check: { _ in "it is damaged" }) { _ in true }
        }
        #expect(error?.description == "none of its 3 files can be played: a.mp4: it is damaged")
        #expect(tree(folder + "/box") == ["usb", "usb/old.mp4"] && FolderCopy.leftOut(of: box).isEmpty)
        let leftOut = try copy.copy(to: box, reserve: 0, check: check) { _ in true }
        #expect(leftOut == [.init(file: files[1], problem: "it is damaged")])
        #expect(tree(box) == [".left-out", "a.mp4", "b", "c.mp4"] && FolderCopy.leftOut(of: box) == [files[1]])
        // The file may have any content.
        try Data([0, 0, 0xFF, 0x31]).write(to: URL(fileURLWithPath: box + "/.left-out"))
        #expect(FolderCopy.leftOut(of: box).isEmpty && FolderCopy.leftOut(of: folder + "/none").isEmpty)
    }

    @Test func theRoomThatIsLeft() {
        let copy = FolderCopy(root: "/", files: [.init(path: "a", size: 60, modified: 0), .init(path: "b", size: 40, modified: 0)])
        #expect(copy.refusal(free: 110, reserve: 10) == nil && copy.refusal(free: 109, reserve: 10) != nil)
        #expect(copy.refusal(free: -5, reserve: 10) != nil)
        #expect(FolderCopy(root: "/", files: []).refusal(free: 0, reserve: 10) == nil)
    }

    @Test func foldersOfTheSameFileSystemAreNoMounts() {
        #expect(FolderCopy.mounts(in: folder).isEmpty && FolderCopy.mounts(in: folder + "/none").isEmpty)
        #expect(FolderCopy.mounts(in: "/").contains { $0.path.hasSuffix("/proc") })
    }
}
