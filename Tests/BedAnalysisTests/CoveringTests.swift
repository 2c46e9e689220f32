import Testing

@testable import Bed

struct CoveringTests {
    private let picture = Vblank.Plane(
        plane: 35, framebuffer: 1, format: "XR24", source: .init(x: 0, y: 0, width: 8, height: 8),
        destination: .init(x: 0, y: 0, width: 8, height: 8), rotation: 1)

    /// Returns a log with one vblank every 16 ms and these hashes.
    private func log(_ hashes: [UInt64]) -> [Vblank] {
        hashes.enumerated().map { Vblank(sequence: $0, time: .milliseconds($0 * 16), number: 1, hash: $1, planes: [picture]) }
    }

    @Test func `what was not seen before has something over it`() {
        let vblanks = log([1, 2, 3, 1, 2, 13, 11, 2, 3, 14])
        let bare = BarePictures(vblanks, in: .zero..<Duration.milliseconds(48))
        #expect(bare.covered(vblanks) == [.milliseconds(80)..<(.milliseconds(112)), .milliseconds(144)..<(.milliseconds(144))])
        #expect(bare.isBare(vblanks[4]) && !bare.isBare(vblanks[5]))
    }

    @Test func `another hash or another buffer is a change`() {
        var vblanks = log([1, 1, 1, 1, 1])
        vblanks[4].planes[0].framebuffer = 2
        #expect(record(vblanks).change(after: .milliseconds(20)) == .milliseconds(44))
        vblanks[3].hash = 2
        #expect(record(vblanks).change(after: .milliseconds(20)) == .milliseconds(28))
        #expect(record(log([1, 1])).change(after: .milliseconds(1)) == nil)
    }

    private func record(_ vblanks: [Vblank]) -> Record {
        Record(
            displays: [vblanks], sound: nil, log: [], events: [], usage: .init(cpu: .zero, peakMemory: 0, samples: []), status: 0,
            timeToEnd: nil, wasKilled: false, terminal: "", clips: [], screenshots: [:], outputs: [:], host: nil)
    }

    @Test func `a spread and its percentiles`() {
        let spread = Spread((1...200).map { .milliseconds($0) })
        #expect(spread.percentile(50) == .milliseconds(100) && spread.percentile(99) == .milliseconds(198))
        #expect(spread.most == .milliseconds(200) && spread.histogram(width: .milliseconds(100)) == [99, 100, 1])
        #expect(Spread([.milliseconds(7)]).percentile(99) == .milliseconds(7) && Spread([]).percentile(50) == .zero)
    }
}
