import CKioskFFmpeg
import TestSupport
import Testing

@testable import KioskMedia

/// Decoders whose pictures are alike have memory in common.
@Suite struct DecoderMemoryTests {
    /// Where the luma of a picture is.
    private func address(_ frame: consuming TimedFrame) -> UInt { UInt(bitPattern: frame.intoFrame().av.pointee.data.0) }

    /// Addresses of the pictures of a reader, each given back before the next one.
    private func addresses(_ reader: inout MediaReader, _ count: Int = .max) -> Set<UInt> {
        var found: Set<UInt> = []
        for _ in 0..<count {
            guard let frame = reader.nextFrame() else { break }
            found.insert(address(frame))
        }
        return found
    }

    @Test func `the next item is decoded into what the one before it no longer needs`() throws {
        // A size that no other test has: tests run beside one another.
        let path = try Clips.numbered("memory", frames: 40, size: "352x206", sound: false)
        var first = try MediaReader.open(path, samples: nil)
        let used = addresses(&first)
        #expect(used.count < 20)
        // The first reader has come to its end, and is still open.
        var second = try MediaReader.open(path, samples: nil)
        #expect(addresses(&second, 4).isSubset(of: used))
        #expect(first.hasPicture, "open until here")
    }

    @Test func `pictures that are held are left alone, and other sizes have other memory`() throws {
        let path = try Clips.numbered("memory-held", frames: 40, size: "368x206", sound: false)
        let other = try Clips.numbered("memory-other", frames: 10, size: "528x310", sound: false)
        var first = try MediaReader.open(path, samples: nil)
        let frame = try #require(first.nextFrame()).intoFrame()
        let held = UInt(bitPattern: frame.av.pointee.data.0), number = burnedInNumber(frame)
        var second = try MediaReader.open(path, samples: nil)
        var third = try MediaReader.open(other, samples: nil)
        let used = addresses(&second).union(addresses(&third))
        #expect(!used.contains(held) && burnedInNumber(frame) == number)
        #expect(first.hasPicture, "open until here")
    }
}
