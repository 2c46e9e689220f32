import CKioskFFmpeg
import KioskMedia
import KioskPlatform
import TestSupport
import Testing

@testable import KioskReaderProtocol

@Suite(.blocking) struct SurfaceCopyTests {
    /// Runs a reader that answers one request. An `answer` that writes nothing leaves the request open.
    private func copy(_ answer: @escaping @Sendable (ControlPage, UInt32) -> Void) throws -> Result<PictureRecord?, ReaderLie> {
        let pair = try Pair()
        let reader = Thread("reader") {
            while true {
                guard let (slot, number) = pair.reader.wantedCopy(until: .now + .seconds(1)) else { continue }
                if slot == 7 { answer(pair.reader, number) }
                return
            }
        }
        defer { _ = reader.join(until: .now + .seconds(60)) }
        return Result { () throws(ReaderLie) in try pair.player.copy(7, number: 1, until: .now + .milliseconds(500), Pair.rules) }
    }

    @Test func aPictureIsCopied() throws {
        let picture = Pair.picture(3, slot: 7)
        #expect(try copy { $0.answerCopy($1, picture) } == .success(picture))
        #expect(try copy { $0.answerCopy($1, nil) } == .success(nil))
        #expect(try copy { _, _ in } == .success(nil), "nobody waits for ever")
        #expect(try copy { $0.answerCopy($1 &+ 256, picture) } == .success(nil), "the answer to another question")
    }

    @Test func aCopyIsChecked() throws {
        var outside = Pair.picture(3, slot: 7)
        outside.offsets[0] = 1 << 30
        var surface = Pair.picture(3, slot: 7)
        surface.place = .surface
        for lie in [outside, surface] {
            guard case .failure = try copy({ $0.answerCopy($1, lie) }) else {
                Issue.record("\(lie) is taken")
                continue
            }
        }
    }

    @Test func oneAfterTheOther() throws {
        let pair = try Pair()
        #expect(pair.reader.wantedCopy(until: .now) == nil)
        let reader = Thread("reader") {
            for _ in 0..<100 {
                while true {
                    guard let (slot, answer) = pair.reader.wantedCopy(until: .now + .seconds(1)) else { continue }
                    pair.reader.answerCopy(answer, Pair.picture(slot, slot: slot))
                    break
                }
            }
        }
        for number in 0..<100 {
            let copy = try pair.player.copy(number % 64, number: UInt32(number + 1), until: .now + .seconds(60), Pair.rules)
            #expect(copy?.slot == number % 64)
        }
        #expect(reader.join(until: .now + .seconds(60)))
    }

    @Test func whoUsesDevicesIsKnownToTheOthers() throws {
        guard let file = DevicePage.makeFile() else { throw SystemError() }
        let (one, other) = (try #require(DevicePage(mapping: file.raw)), try #require(DevicePage(mapping: file.raw)))
        #expect(!one.isInUse(butBy: 0) && one.releaseCount == 0)
        one.begin(0)
        one.begin(0)
        #expect(other.isInUse(butBy: 1) && !one.isInUse(butBy: 0))
        one.end(0)
        #expect(other.isInUse(butBy: 1) && other.releaseCount == 1)
        other.clear(0)
        #expect(!other.isInUse(butBy: 1) && other.releaseCount == 2)
        other.clear(0)
        #expect(other.releaseCount == 2)
        for place in [Int.min, -1, DevicePage.mostReaders, .max] { other.clear(place) }
        guard let page = ControlPage.makeFile(ControlLayout(channelCount: 2)) else { throw SystemError() }
        #expect(DevicePage(mapping: page.raw) == nil)
    }
}
