import CKioskFFmpeg
import TestSupport
import Testing

@testable import KioskMedia

/// Decoders with the same kind of pictures share memory.
@Suite struct DecoderMemoryTests {
    private final class Held {
        let frame: VideoFrame
        init(_ frame: consuming VideoFrame) { self.frame = frame }
        var address: UInt { UInt(bitPattern: frame.av.pointee.data.0) }
    }

    /// Returns the address of a frame's luma.
    private func address(_ frame: consuming TimedFrame) -> UInt { UInt(bitPattern: frame.intoFrame().av.pointee.data.0) }

    /// Returns the addresses of a reader's frames; releases each frame before the next one.
    private func addresses(_ reader: inout MediaReader, _ count: Int = .max) -> Set<UInt> {
        var found: Set<UInt> = []
        for _ in 0..<count {
            guard let frame = reader.nextFrame() else { break }
            found.insert(address(frame))
        }
        return found
    }

    @Test func `the next item is decoded into what the one before it no longer needs`() throws {
        // A size that no other test uses: tests run in parallel.
        let path = try Clips.numbered("memory.mp4", frames: 40, size: "352x206", sound: false)
        var first = try MediaReader.open(path, samples: nil)
        // Holds as many frames as a queue, then releases them as if shown. The next item opens before this one has been read to its end.
        var queue: [Held] = []
        while queue.count < 12, let frame = first.nextFrame() { queue.append(Held(frame.intoFrame())) }
        let used = Set(queue.map(\.address))
        #expect(used.count == 12)
        queue.removeAll()
        var second = try MediaReader.open(path, samples: nil)
        #expect(addresses(&second, 4).isSubset(of: used))
        let isOpen = first.hasPicture
        #expect(isOpen)
    }

    @Test func `pictures that are held are left alone, and other sizes have other memory`() throws {
        let path = try Clips.numbered("memory-held.mp4", frames: 40, size: "368x206", sound: false)
        let other = try Clips.numbered("memory-other.mp4", frames: 10, size: "528x310", sound: false)
        var first = try MediaReader.open(path, samples: nil)
        guard let next = first.nextFrame() else { throw MediaError(path, .nothingDecodes) }
        let frame = next.intoFrame()
        let held = UInt(bitPattern: frame.av.pointee.data.0), number = burnedInNumber(frame)
        var second = try MediaReader.open(path, samples: nil)
        var third = try MediaReader.open(other, samples: nil)
        let used = addresses(&second).union(addresses(&third))
        #expect(!used.contains(held) && burnedInNumber(frame) == number)
        let isOpen = first.hasPicture
        #expect(isOpen)
    }
}
