import Bed
import Testing

/// Returns a log at 60 Hz in which each number lasts for the given count of vblanks.
private func vblanks(_ runs: [(number: Int, vblanks: Int)], missing: Set<Int> = []) -> [Vblank] {
    let numbers = runs.flatMap { Array(repeating: $0.number, count: $0.vblanks) }
    return numbers.enumerated().filter { !missing.contains($0.offset) }.map {
        Vblank(sequence: 100 + $0.offset, time: .microseconds($0.offset * 16_667), number: $0.element)
    }
}

private func frames(_ runs: [(number: Int, vblanks: Int)], missing: Set<Int> = []) -> [ShownFrame] {
    ShownFrame.all(in: vblanks(runs, missing: missing)) { (1...5).contains($0) || (1001...1005).contains($0) }
}

private let clips = [NumberedClip("a", frames: 5, frameRate: 30), NumberedClip("b", frames: 5, from: 1001, frameRate: 30)]

private func seams(_ runs: [(number: Int, vblanks: Int)]) -> [Seam] { Seam.all(in: frames(runs), of: clips, refreshRate: 60) }

struct FrameTests {
    @Test func `runs of a number are frames, and other numbers the dark before them`() {
        let shown = frames([(0, 3), (1, 2), (2, 2), (777, 1), (2, 1)])
        #expect(shown.map(\.number) == [1, 2, 2])
        #expect(shown.map(\.vblanks) == [2, 2, 1])
        #expect(shown.map(\.vblanksBefore) == [3, 0, 1])
        #expect(shown[1].time == .microseconds(5 * 16_667))
    }

    @Test func `vblanks that the log lacks count for the frame before`() {
        #expect(frames([(1, 2), (2, 4), (3, 2)], missing: [3, 4]).map(\.vblanks) == [2, 4, 2])
    }
}

struct CadenceTests {
    @Test(arguments: [
        (30, 60.0, 2...2), (60, 60, 1...1), (24, 60, 2...3), (25, 60, 2...3), (50, 60, 1...2), (25, 50.03, 2...2), (30, 59.94, 2...2),
    ])
    func `the holds a frame may have`(rate: Double, refresh: Double, holds: ClosedRange<Int>) {
        #expect(Cadence(frameRate: rate, refreshRate: refresh).holds == holds)
    }

    @Test func `a frame that stands too long or too short is wrong`() {
        let cadence = Cadence(frameRate: 30, refreshRate: 60)
        #expect(cadence.wrongHolds(in: frames([(1, 2), (2, 2), (3, 2), (4, 2), (5, 2)])) == [])
        #expect(cadence.wrongHolds(in: frames([(1, 2), (2, 3), (3, 1), (4, 2), (5, 2)])).map(\.number) == [2, 3])
    }

    @Test func `the first and the last frame are not judged`() {
        #expect(Cadence(frameRate: 30, refreshRate: 60).wrongHolds(in: frames([(1, 9), (2, 2), (3, 7)])) == [])
    }

    @Test func `3, 2, 3, 2 is right where 3, 3, 2, 2 is not`() {
        let cadence = Cadence(frameRate: 24, refreshRate: 60)
        #expect(cadence.wrongHolds(in: frames([(1, 3), (2, 2), (3, 3), (4, 2), (5, 3)])) == [])
        #expect(cadence.wrongHolds(in: frames([(1, 3), (2, 2), (3, 2), (4, 3), (5, 3)])).map(\.number) == [3])
    }
}

struct SeamTests {
    @Test func `a clean seam, of one clip and of two`() throws {
        let same = try #require(seams([(3, 2), (4, 2), (5, 2), (1, 2), (2, 2)]).first)
        #expect(same.isClean && same.last.number == 5 && same.first.number == 1)
        let other = seams([(4, 2), (5, 2), (1001, 2), (1002, 2), (1003, 2), (1004, 2), (1005, 2), (1, 2), (2, 2)])
        #expect(other.count == 2 && other.allSatisfy(\.isClean))
    }

    @Test func `a last frame that stands too long makes the first one late`() {
        let seam = seams([(4, 2), (5, 5), (1, 2), (2, 2)])[0]
        #expect(seam.latePresents == 3 && !seam.isClean)
    }

    @Test func `dark vblanks between are late, too`() {
        let seam = seams([(4, 2), (5, 2), (0, 2), (1, 2), (2, 2)])[0]
        #expect(seam.darkVblanks == 2 && seam.latePresents == 2 && !seam.isClean)
    }

    @Test func `frames that are never shown are lost`() {
        let seam = seams([(3, 2), (4, 2), (3, 2), (4, 2)])[0]
        #expect(seam.lostFrames == 3 && !seam.isClean)
        #expect(seams([(4, 2), (5, 2), (1003, 2), (1004, 2)])[0].lostFrames == 2)
    }

    @Test func `a first frame that stands too long, or a last one too short, is not clean`() {
        #expect(!seams([(4, 2), (5, 2), (1, 3), (2, 2)])[0].isClean)
        #expect(!seams([(3, 2), (4, 2), (5, 1), (1, 2), (2, 2)])[0].isClean)
    }

    @Test func `a clip that goes on has no seam`() { #expect(seams([(1, 2), (2, 2), (4, 2), (5, 2)]) == []) }
}
