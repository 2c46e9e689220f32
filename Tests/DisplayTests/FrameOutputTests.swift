import CKioskFFmpeg
import Glibc
import KioskMedia
import KioskPlatform
import KioskPlayback
import KioskVocabulary
import Testing

@testable import KioskDisplayCore

/// Pictures for applications that draw themselves.
@Suite struct FrameOutputTests {
    private let output = FrameOutput(width: 64, height: 48, refresh: 100)

    private func prepare(_ frame: borrowing VideoFrame, at time: MediaTime = .zero) -> PreparedScene? {
        var scene = Scene()
        scene.itemTime = time
        scene.add(Layer(frame.shared()!, gravity: .resizeAspect))
        return if case .prepared(let prepared) = output.prepare(scene) { prepared } else { nil }
    }

    private func gray(_ y: Int) -> VideoFrame { Pictures.solid(y, 128, 128, 64, 48) }

    /// Returns the first byte of the picture at a time.
    private func luma(at time: HostTime) -> UInt8? {
        output.sample(at: time)?.sample.withPlane(0) { bytes, _ in bytes.unsafeLoad(as: UInt8.self) }
    }

    private func waitForFlip() -> Flip? {
        while true {
            switch output.wait(until: .now + .seconds(60)) {
            case .flipped(let flip): return flip
            case .deadline: return nil
            default: break
            }
        }
    }

    @Test("A picture is seen from its vblank on, and known before") func flips() throws {
        #expect(output.sample(at: .now) == nil)
        let prepared = (prepare(gray(50), at: .seconds(1)), prepare(gray(90), at: .seconds(2)))
        let (first, second) = (try #require(prepared.0), try #require(prepared.1))
        guard case .queued = output.commit(first, id: 1) else { return #expect(Bool(false), "it was not queued") }
        #expect(luma(at: .now + .seconds(1)) == 50)
        let flip = try #require(waitForFlip())
        #expect(flip.id == 1 && luma(at: flip.time) == 50)
        #expect(output.sample(at: flip.time)?.since == flip.time && output.sample(at: flip.time)?.sample.itemTime == .seconds(1))
        guard case .queued = output.commit(second, id: 2) else { return #expect(Bool(false), "it was not queued") }
        guard case .busy = output.commit(first, id: 3) else { return #expect(Bool(false), "one flip at a time") }
        #expect(luma(at: flip.time) == 50 && luma(at: .now + .seconds(1)) == 90)
        #expect(waitForFlip()?.id == 2 && luma(at: .now) == 90)
    }

    @Test("It takes three pictures, and gives back what is discarded") func slots() throws {
        let prepared = (0..<3).compactMap { prepare(gray(50 + $0)) }
        #expect(prepared.count == 3 && prepare(gray(60)) == nil)
        output.discard(prepared[1])
        #expect(prepare(gray(61)) != nil)
        output.playerEnded()
        #expect((0..<4).compactMap { prepare(gray(70 + $0)) }.count == 3, "a player that has ended keeps none")
        output.close()
        #expect(output.mode == nil && prepare(gray(80)) == nil)
    }

    @Test("The bare background has no picture") func background() throws {
        guard case .prepared(let prepared) = output.prepare(Scene()) else { return #expect(Bool(false), "it was not prepared") }
        _ = output.commit(prepared, id: 1)
        #expect(waitForFlip() != nil && output.sample(at: .now) == nil)
        #expect(try output.png().starts(with: [0x89, 0x50]))
    }

    @Test("A hardware decoder's picture is dmabufs, and memory on request") func surfaces() throws {
        let plain = Pictures.make(AV_PIX_FMT_NV12, 64, 48) { plane, x, y in plane == 0 ? 16 + 3 * x + y : 128 + (x & 1 == 0 ? x : -y) }
        let file = tmpfile()!
        defer { fclose(file) }
        let fd = fileno(file)
        let surface = Pictures.surface(like: plain, fd: fd)
        let sample = FrameSample(surface.shared()!, at: .zero, FrameConverter())
        #expect(
            sample.surface
                == [0, 64 * 48].map { offset in
                    .init(descriptor: fd, modifier: 0, size: 64 * 72, offset: offset, pitch: 64, format: 0x3231_564e)
                })
        let copy = FrameSample(plain.shared()!, at: .zero, FrameConverter())
        #expect(copy.surface.isEmpty && copy.pixelFormat == "nv12")
        for index in 0..<2 {
            #expect(sample.planes[index].rowBytes == 64 && sample.planes[index].rows == [48, 24][index])
            let (ours, theirs) = (rows(of: sample, index), rows(of: copy, index))
            #expect(ours == theirs && ours.count == [48, 24][index])
        }
        #expect(try sample.pixels(width: nil, height: nil).pixels == copy.pixels(width: nil, height: nil).pixels)
    }

    @Test("A surface that its driver does not let be read has no planes") func unreadable() throws {
        let plain = Pictures.solid(100, 128, 128, 64, 48, AV_PIX_FMT_NV12)
        let file = tmpfile()!
        let surface = Pictures.surface(like: plain, fd: fileno(file))
        fclose(file)
        let sample = FrameSample(surface.shared()!, at: .zero, FrameConverter())
        #expect(sample.planes.isEmpty && rows(of: sample, 0).isEmpty && sample.surface.count == 2)
        #expect(throws: PictureConverter.Refusal.unreadable) { try sample.pixels(width: nil, height: nil) }
    }

    private func rows(of sample: FrameSample, _ index: Int) -> [[UInt8]] {
        let rows = sample.withPlane(index) { bytes, plane in
            var rows = [[UInt8]](repeating: [], count: plane.rows)
            for row in 0..<plane.rows {
                for x in 0..<plane.rowBytes { rows[row].append(bytes.unsafeLoad(fromByteOffset: row * plane.stride + x, as: UInt8.self)) }
            }
            return rows
        }
        return rows ?? []
    }
}
