import CKioskFFmpeg
import Foundation
import KioskMedia
import KioskPlayback
import KioskVocabulary
import Testing

@testable import KioskDisplayCore

/// Compares the plane memory written by the paths `copy` and `scale` with the reference of ``PictureReferenceTests``: the part of the
/// picture, each of its samples, and its place on the screen.
@Suite struct PlaneReferenceTests {
    typealias Reference = PictureReferenceTests

    struct Case: CustomTestStringConvertible {
        var path: PicturePath, gravity: VideoGravity, rotation: Rotation
        var testDescription: String { "\(path.rawValue) \(gravity) \(rotation.rawValue)°" }
    }

    static let cases = [PicturePath.copy, .scale].flatMap { path in
        Reference.cases.map { Case(path: path, gravity: $0.gravity, rotation: $0.rotation) }
    }

    @Test(arguments: cases) func samples(_ test: Case) throws {
        // Every edge, also of the visible part, falls on a whole chroma sample.
        let (size, screen) = ((width: 160, height: 120), (width: 480, height: 240))
        let isTurned = test.rotation.swapsAxes
        let viewed = isTurned ? (Double(screen.height), Double(screen.width)) : (Double(screen.width), Double(screen.height))
        let area = Reference.place(test.gravity, (Double(size.width), Double(size.height)), viewed)
        // The visible part of the picture, and its size for the viewer.
        let seen = (x: max(-area.x, 0) / area.width, y: max(-area.y, 0) / area.height)
        let shown = (width: Int(min(area.width, viewed.0)), height: Int(min(area.height, viewed.1)))
        let matrix = Reference.matrices[1]
        for format in Reference.formats {
            for isFull in [false, true] {
                let frame = Reference.picture(format, size.width, size.height, matrix, isFull: isFull, Reference.colour)
                let found = PictureShape(
                    frame, crop: nil, own: .none, gravity: test.gravity, rotation: test.rotation, background: 0, screenWidth: screen.width,
                    screenHeight: screen.height)
                let shape = try #require(found)
                let candidates = PicturePlan(shape, [test.path], width: screen.width, height: screen.height).candidates
                for target in Set(candidates.compactMap(\.format)) {
                    let candidate = try #require(candidates.first { $0.format == target })
                    let name = "\(target) of \(String(cString: av_get_pix_fmt_name(format.0))) \(isFull ? "full" : "limited")"
                    #expect(candidate.layer.colour == ColourDescription(matrix: SWS_CS_ITU709, isFullRange: isFull))
                    let place = candidate.layer.destination
                    #expect(
                        (place.width, place.height) == (isTurned ? (shown.height, shown.width) : (shown.width, shown.height)), "\(name)")
                    #expect((2 * place.x, 2 * place.y) == (screen.width - place.width, screen.height - place.height), "\(name)")

                    let buffer = MemoryVideo.MemoryVideoBuffer(
                        target, candidate.width, candidate.height, forScaling: candidate.path == .scale)
                    var writer = VideoWriter()
                    try writer.write(frame, as: candidate, into: buffer)
                    #expect(buffer.isWhole, "\(name)")

                    let source = candidate.source
                    let part =
                        test.path == .copy
                        ? PixelRectangle(
                            x: Int(seen.x * Double(size.width)), y: Int(seen.y * Double(size.height)),
                            width: Int((1 - 2 * seen.x) * Double(size.width)), height: Int((1 - 2 * seen.y) * Double(size.height)))
                        : PixelRectangle(x: 0, y: 0, width: shown.width, height: shown.height)
                    #expect(source == part, "\(name)")
                    // Maps a place in the memory to one in the picture.
                    func colour(_ x: Double, _ y: Double) -> (y: Double, u: Double, v: Double) {
                        test.path == .copy
                            ? Reference.colour(x, y) : Reference.colour(seen.x + x * (1 - 2 * seen.x), seen.y + y * (1 - 2 * seen.y))
                    }
                    let off = farthest(buffer, candidate.width, candidate.height, isFull: isFull, colour)
                    // A copy is as exact as the picture. Scaling rounds twice more; 10 bits become 8 with dithering.
                    let most = test.path == .copy ? 0.5 : format.1 == 8 ? 1.5 : 2
                    #expect(off.worst <= most + 1e-6 && abs(off.mean) < 0.3, "\(name): \(off)")
                }
            }
        }
    }

    /// Returns the distance of the samples in a plane's memory from `colour`, in codes of their own depth.
    private func farthest(
        _ buffer: VideoBuffer, _ width: Int, _ height: Int, isFull: Bool, _ colour: (Double, Double) -> (y: Double, u: Double, v: Double)
    ) -> (worst: Double, mean: Double) {
        let layout = buffer.layout
        guard let description = av_pix_fmt_desc_get(layout.format.av)?.pointee else { return (.infinity, .infinity) }
        let components = [description.comp.0, description.comp.1, description.comp.2]
        var (worst, sum, count) = (0.0, 0.0, 0)
        for (index, component) in components.enumerated() {
            let across = index == 0 ? 1 : 1 << Int(description.log2_chroma_w), down = index == 0 ? 1 : 1 << Int(description.log2_chroma_h)
            let plane = Int(component.plane), scale = Double(1 << (Int(component.depth) - 8))
            for y in 0..<height / down {
                for x in 0..<width / across {
                    let address =
                        buffer.base + layout.offsets[plane] + y * layout.pitches[plane] + x * Int(component.step) + Int(component.offset)
                    let stored = component.depth > 8 ? Int(address.loadUnaligned(as: UInt16.self)) : Int(address.load(as: UInt8.self))
                    let c = colour((Double(x) + 0.5) * Double(across) / Double(width), (Double(y) + 0.5) * Double(down) / Double(height))
                    let wanted =
                        index == 0 ? (isFull ? 255 * c.y : 16 + 219 * c.y) : 128 + (isFull ? 255 : 224) * (index == 1 ? c.u : c.v)
                    let apart = Double(stored >> Int(component.shift)) - wanted * scale
                    worst = max(worst, abs(apart))
                    sum += apart
                    count += 1
                }
            }
        }
        return (worst, sum / Double(count))
    }
}
