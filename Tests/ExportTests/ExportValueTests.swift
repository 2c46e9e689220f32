import KioskPlayback
import Testing

@testable import KioskExportCore
@testable import KioskMedia

/// The pure values of an export.
@Suite struct ExportValueTests {
    // MARK: Ducking

    /// Returns the gains of `count` blocks, with sound in those of `loud`.
    private func gains(_ count: Int, loud: Range<Int>) -> [Float] {
        var ducking = Ducking()
        return (0..<count).map { block in
            ducking.next(isLoud: loud.overlaps(block..<(block + 1 + Ducking.lookAhead)))
        }
    }

    @Test func musicIsDownWhenSoundBeginsAndComesBackAfterIt() {
        let gains = gains(500, loud: 100..<200)
        #expect(gains[..<(100 - Ducking.lookAhead)].allSatisfy { $0 == 1 })
        #expect(gains[100..<(199 + Ducking.hold)].allSatisfy { abs($0 - Ducking.lowered) < 0.001 })
        #expect(gains[(200 + Ducking.hold + Ducking.release)...].allSatisfy { $0 > 0.999 })
        // No step is large enough to be heard.
        for (a, b) in zip(gains, gains.dropFirst()) { #expect(abs(b - a) < 0.09) }
    }

    @Test func aPauseBetweenWordsKeepsItDown() {
        var ducking = Ducking()
        for _ in 0..<100 { _ = ducking.next(isLoud: true) }
        for _ in 0..<(Ducking.hold - 1) { #expect(ducking.next(isLoud: false) < 0.21) }
        #expect(ducking.next(isLoud: true) < 0.21)
    }

    @Test func loudness() {
        #expect(!Ducking.isLoud([]))
        #expect(!Ducking.isLoud([Float](repeating: 0.003, count: 960)[...]))
        #expect(Ducking.isLoud([Float](repeating: 0.02, count: 960)[...]))
    }

    // MARK: Copying

    /// Returns groups of six pictures, a key frame first, in decoding order: I P B B P B. Each lasts 40 ticks.
    private func entries(groups: Int, open: Bool = false) -> [PictureSource.Entry] {
        (0..<groups * 6).map { index in
            let group = index / 6 * 6
            var shown = group + [0, 3, 1, 2, 5, 4][index % 6]
            // The key frame precedes in the file the last pictures of the group before it, which need it.
            if open, group > 0, index % 6 == 0 { shown = group }
            return PictureSource.Entry(pts: 1000 + Int64(shown) * 40, dts: 1000 + Int64(index - 1) * 40, isKey: index % 6 == 0)
        }
    }

    @Test func allOfAFile() throws {
        let range = try CopyRange(entries(groups: 3), start: 0, end: nil, frameDuration: 40)
        #expect(range.origin == 1000 && range.packets == 0..<18)
        // An end after the file's end is the file's end.
        #expect(try CopyRange(entries(groups: 3), start: 0, end: 18 * 40, frameDuration: 40) == range)
    }

    @Test func fromKeyFrameToKeyFrame() throws {
        let range = try CopyRange(entries(groups: 4), start: 240, end: 720, frameDuration: 40)
        #expect(range.packets == 6..<18 && range.times == 1240..<1720)
        // A key frame may be slightly off the requested time.
        #expect(try CopyRange(entries(groups: 4), start: 245, end: 715, frameDuration: 40) == range)
    }

    @Test func whatStandsInTheWay() {
        #expect(throws: CopyRange.Obstacles(all: [.beginning(nearest: 240)])) {
            try CopyRange(entries(groups: 4), start: 200, end: nil, frameDuration: 40)
        }
        #expect(throws: CopyRange.Obstacles(all: [.end(nearest: 480)])) {
            try CopyRange(entries(groups: 4), start: 0, end: 400, frameDuration: 40)
        }
        #expect(throws: CopyRange.Obstacles(all: [.noPackets])) { try CopyRange([], start: 0, end: nil, frameDuration: 40) }
        for (pts, dts) in [(Int64.max, Int64(0)), (.min, .min), (0, .max)] {
            let damaged = entries(groups: 1) + [.init(pts: pts, dts: dts, isKey: true)]
            #expect(throws: CopyRange.Obstacles(all: [.times])) { try CopyRange(damaged, start: 0, end: 400, frameDuration: 40) }
        }
        var edited = entries(groups: 2)
        for index in 0..<3 { edited[index].isDiscarded = true }
        #expect(throws: CopyRange.Obstacles(all: [.edited])) { try CopyRange(edited, start: 0, end: nil, frameDuration: 40) }
        // A picture that is shown before the key frame at the end, but follows it in the file.
        var open = entries(groups: 3)
        open.append(.init(pts: 1000 + 11 * 40 + 20, dts: 3000, isKey: false))
        #expect(throws: CopyRange.Obstacles(all: [.openEnd])) { try CopyRange(open, start: 0, end: 480, frameDuration: 40) }
    }

    @Test func bothEndsAreNamed() {
        #expect(throws: CopyRange.Obstacles(all: [.beginning(nearest: 240), .end(nearest: 480)])) {
            try CopyRange(entries(groups: 4), start: 200, end: 400, frameDuration: 40)
        }
    }

    // MARK: Cards

    @Test func bitmapsHaveWholeRowsFromBelow() {
        let surface = Surface(width: 3, height: 2, pixels: [0xff11_2233, 0xff00_0000, 0xff00_0000, 0xffaa_bbcc, 0xff00_0000, 0xff00_0000])
        let bytes = PictureFile.bitmap(surface)
        #expect(bytes.count == 54 + 2 * 12)
        #expect(bytes[54..<57] == [0xcc, 0xbb, 0xaa] && bytes[66..<69] == [0x33, 0x22, 0x11])
    }
}
