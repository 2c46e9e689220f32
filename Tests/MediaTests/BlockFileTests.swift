import Foundation
import KioskPlatform
import Testing

@testable import KioskMedia

@Suite struct BlockFileTests {
    private let path = NSTemporaryDirectory() + "kiosk-bounded-\(UUID().uuidString)"

    /// Bytes that differ from one place to the next, over several blocks.
    private let bytes = (0..<(3 * BlockFile.blockSize + 1234)).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }

    private func write(_ bytes: [UInt8]) throws { try Data(bytes).write(to: URL(fileURLWithPath: path)) }

    /// Returns up to `count` bytes from a place on, fewer at the end, as a demuxer requests them.
    private func read(_ file: BlockFile, _ count: Int, at place: Int = 0) -> [UInt8] { file.bytes(at: Int64(place), count: count) ?? [] }

    @Test func givesTheBytesOfEveryPlace() throws {
        try write(bytes)
        defer { unlink(path) }
        let file = try BlockFile(path, interruption: Interruption())
        #expect(file.size == Int64(bytes.count))
        #expect(read(file, bytes.count + 1) == bytes)
        // Within a block, across its end, beyond the end of the file.
        for place in [0, 5, 32_767, 32_768, 262_143, 262_144, 700_000, 100, bytes.count - 1, bytes.count, bytes.count + 50] {
            #expect(read(file, 1000, at: place) == Array(bytes.dropFirst(place).prefix(1000)), "at \(place)")
        }
        var byte: UInt8 = 0
        #expect(withUnsafeMutableBytes(of: &byte) { file.read(into: $0, at: -1) } == .failed(errno: EINVAL))
        #expect(file.bytes(at: -1, count: 1) == nil)
    }

    @Test func aFileThatGrowsIsReadOn() throws {
        try write(Array(bytes.prefix(1000)))
        defer { unlink(path) }
        let file = try BlockFile(path, interruption: Interruption())
        #expect(read(file, 2000) == Array(bytes.prefix(1000)))
        try write(bytes)
        #expect(try FileHandle(forReadingFrom: URL(fileURLWithPath: path)).readToEnd()?.count == bytes.count)
        #expect(read(file, 2000, at: 1000) == Array(bytes[1000..<3000]))
        #expect(file.size == Int64(bytes.count))
    }

    @Test func whatIsCancelledGivesNothingMore() throws {
        try write(bytes)
        defer { unlink(path) }
        let interruption = Interruption()
        let file = try BlockFile(path, interruption: interruption)
        #expect(read(file, 10).count == 10)
        interruption.cancel()
        #expect(read(file, 10, at: 500_000) == [])
        #expect(throws: FileFailure.self) { try BlockFile(path, interruption: interruption) }
    }

    @Test func whoWaitsIsToldOfCallsThatMayNotReturn() throws {
        try write(bytes)
        defer { unlink(path) }
        let told = Monitor<[Bool]>([])
        let interruption = Interruption()
        interruption.whenReading { isReading in told.withLock { $0.append(isReading) } }
        let file = try BlockFile(path, interruption: interruption)
        #expect(read(file, 100).count == 100 && read(file, 100, at: 100).count == 100)
        #expect(told.withLock { $0 } == [true, false])
        _ = read(file, bytes.count)
        #expect(told.withLock { $0.count } > 2)
    }

    @Test func whatIsNoRegularFileIsRefused() throws {
        #expect(mkfifo(path, 0o600) == 0)
        defer { unlink(path) }
        do {
            _ = try BlockFile(path, interruption: Interruption())
            Issue.record("it was opened")
        } catch FileFailure.notARegularFile {}
    }

    @Test("What the kernel makes up is no empty file that one could copy again") func ofTheKernel() {
        for path in ["/proc/self/mem", "/proc/self/status"] {
            do {
                _ = try BlockFile(path, interruption: Interruption())
                Issue.record("\(path) was opened")
            } catch FileFailure.notARegularFile {} catch { Issue.record("\(path): \(error)") }
        }
    }
}
