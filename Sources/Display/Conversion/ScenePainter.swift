import KioskMedia
import KioskPlayback
import KioskVocabulary
import Logging

/// Paints a whole scene into one scan-out buffer, for the primary plane, if planes cannot show its layers.
///
/// It converts one opaque picture, the usual case, straight into the buffer. Any other scene is composed in ordinary memory, the rearmost
/// layer first, and only the result goes to the buffer (``PixelBlend``). The memory for that is kept from the first such scene on: a new
/// allocation for each fade would cost the beginning of the fade some vblanks.
///
/// An overlay without a plane is drawn over the result row by row, on the way to the buffer (``ScanoutWriter``). One opaque picture is then
/// converted into ordinary memory, too. Without an overlay this costs nothing.
///
/// Not thread-safe; belongs to the compositor thread.
final class ScenePainter {
    /// A converter for each picture of a scene, the front one's first. Their layouts differ, and one converter would set up anew for every
    /// frame.
    private var converters = [PictureConverter()]
    /// The composition so far, and the next picture over it.
    private var memory: (below: MemoryBuffer, over: MemoryBuffer)?
    /// The logged refusals, so that each is logged once.
    private var refusals: Set<PictureConverter.Refusal> = []
    /// The region for the pictures of the current scene.
    private var region = Region.full
    /// Room for a row of the screen.
    private var line: MemoryBuffer?

    /// Paints `scene` with its pictures in `region`, rotated by `rotation`, and `overlay` on top. The scene's own background takes
    /// precedence over `background`.
    func paint(
        _ scene: borrowing Scene, rotation: Rotation, region: Region = .full, background: UInt32, under overlay: PlacedOverlay? = nil,
        into buffer: ScanoutBuffer
    ) {
        self.region = region
        let background = scene.background ?? background
        let writer = overlay.flatMap { $0.pictures.isEmpty ? nil : self.writer(to: buffer.pixels, over: $0) }
        let isOnePicture = scene.count == 1 && scene.withLayer(at: 0) { $0.alpha >= 1 }
        // An overlay that covers everything makes the picture below unnecessary.
        if scene.count == 0 || writer != nil && overlay?.fillsScreen == true {
            clear(buffer, to: background, by: writer)
        } else if isOnePicture {
            scene.withLayer(at: 0) { draw($0, by: converters[0], rotation: rotation, background: background, into: buffer, by: writer) }
        } else {
            compose(scene, rotation: rotation, background: background, into: buffer, by: writer)
        }
    }

    private func writer(to pixels: PixelMemory, over overlay: PlacedOverlay) -> ScanoutWriter {
        if line?.pixels.width != pixels.width || line?.pixels.format != pixels.format {
            line = MemoryBuffer(width: pixels.width, height: 1, format: pixels.format)
        }
        return ScanoutWriter(target: pixels, overlay: overlay, line: line!.pixels.base)
    }

    private func clear(_ buffer: ScanoutBuffer, to background: UInt32, by writer: ScanoutWriter?) {
        guard let writer else { return buffer.clear(to: background) }
        buffer.layout = nil
        writer.fill(with: background)
    }

    private func compose(
        _ scene: borrowing Scene, rotation: Rotation, background: UInt32, into buffer: ScanoutBuffer, by writer: ScanoutWriter?
    ) {
        let (below, over) = memory(like: buffer.pixels)
        while converters.count < scene.count { converters.append(PictureConverter()) }
        buffer.layout = nil
        for index in 0..<scene.count {
            scene.withLayer(at: index) { layer in
                let converter = converters[scene.count - 1 - index]
                if index == 0, layer.alpha >= 1 {
                    return draw(layer, by: converter, rotation: rotation, background: background, into: below)
                }
                if index == 0 { below.clear(to: background) }
                draw(layer, by: converter, rotation: rotation, background: background, into: over)
                let isResult = index == scene.count - 1 && writer == nil
                // Mixing in place damages it, so the next scene must draw it whole.
                if !isResult { below.layout = nil }
                PixelBlend.mix(over.pixels, over: below.pixels, share: layer.alpha, into: isResult ? buffer.pixels : below.pixels)
            }
        }
        if let writer {
            let rows = below.pixels
            for y in 0..<rows.height { writer.write(rows.address(0, y), x: 0, y: y, count: rows.width) }
        }
    }

    private func memory(like pixels: PixelMemory) -> (below: MemoryBuffer, over: MemoryBuffer) {
        if let memory, memory.below.pixels.hasShape(of: pixels) { return memory }
        func make() -> MemoryBuffer { MemoryBuffer(width: pixels.width, height: pixels.height, format: pixels.format) }
        let fresh = (below: make(), over: make())
        memory = fresh
        return fresh
    }

    private func draw(
        _ layer: borrowing Layer, by converter: PictureConverter, rotation: Rotation, background: UInt32, into buffer: ScanoutBuffer,
        by writer: ScanoutWriter? = nil
    ) {
        do throws(PictureConverter.Refusal) {
            try converter.draw(
                layer.frame, crop: layer.crop, own: layer.rotation, gravity: layer.gravity, region: region, rotation: rotation,
                background: background, into: buffer, by: writer)
        } catch {
            clear(buffer, to: background, by: writer)
            if refusals.count < 100, refusals.insert(error).inserted { log.error("picture left out: \(error)") }
        }
    }
}
