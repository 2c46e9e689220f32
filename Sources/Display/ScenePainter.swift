import Logging
import Media
import Playback

/// Paints a whole scene into one scan-out buffer, for the primary plane: what is done with every layer that no plane of its own shows.
///
/// One opaque picture, the usual case, is converted straight into the buffer. Anything else is put together in ordinary memory, the
/// rearmost layer first, and only the result is written to the buffer (``PixelBlend``). The memory for that is kept from the first such
/// scene on: to find it anew for each fade would cost the beginning of the fade some vblanks.
///
/// Not thread-safe; belongs to the compositor thread.
final class ScenePainter {
    /// One for each picture of a scene, the front one's first: their layouts differ, and would have to be set up anew for every frame.
    private var converters = [PictureConverter()]
    /// What has been put together so far, and the picture that comes over it.
    private var memory: (below: MemoryBuffer, over: MemoryBuffer)?
    /// Of the surfaces in the scene that was painted last.
    private var bitmaps: [SurfaceBitmap] = []
    /// What could not be drawn, so that it is logged once.
    private var refusals: Set<PictureConverter.Refusal> = []
    /// What lies over every scene.
    var overlay = Overlay()

    /// Paints `scene` on `background` where it names none itself, turned by `rotation`.
    func paint(_ scene: borrowing Scene, rotation: Rotation, background: UInt32, into buffer: ScanoutBuffer) {
        let background = scene.background ?? background
        let isOnePicture =
            scene.count == 1 && overlay.pictures.isEmpty
            && scene.withLayer(at: 0) { layer in
                switch layer.content {
                case .video: layer.alpha >= 1
                case .surface: false
                }
            }
        if scene.count == 0, overlay.pictures.isEmpty {
            buffer.clear(to: background)
        } else if isOnePicture {
            scene.withLayer(at: 0) { draw($0, by: converters[0], rotation: rotation, background: background, into: buffer) }
        } else {
            compose(scene, rotation: rotation, background: background, into: buffer)
        }
    }

    private func compose(_ scene: borrowing Scene, rotation: Rotation, background: UInt32, into buffer: ScanoutBuffer) {
        let (below, over) = memory(like: buffer.pixels)
        while converters.count < scene.count { converters.append(PictureConverter()) }
        var used: [SurfaceBitmap] = []
        // Whether the result has been written to the buffer already.
        var isDone = false
        buffer.layout = nil
        if scene.count == 0 { below.clear(to: background) }
        for index in 0..<scene.count {
            let isFront = index == scene.count - 1 && overlay.pictures.isEmpty
            scene.withLayer(at: index) { layer in
                switch layer.content {
                case .video:
                    let converter = converters[scene.count - 1 - index]
                    if index == 0, layer.alpha >= 1 {
                        draw(layer, by: converter, rotation: rotation, background: background, into: below)
                    } else {
                        if index == 0 { below.clear(to: background) }
                        draw(layer, by: converter, rotation: rotation, background: background, into: over)
                        if !isFront { below.layout = nil }
                        PixelBlend.mix(
                            over.pixels, over: below.pixels, share: layer.alpha, into: isFront ? buffer.pixels : below.pixels)
                        isDone = isFront
                    }
                case .surface(let surface, let destination):
                    if index == 0 { below.clear(to: background) }
                    let source = SurfaceBitmap.Source(
                        surface: surface, crop: layer.crop, destination: destination, turn: layer.rotation, rotation: rotation,
                        screenWidth: buffer.pixels.width, screenHeight: buffer.pixels.height)
                    guard let bitmap = bitmaps.first(where: { $0.source == source }) ?? SurfaceBitmap(source) else { return }
                    used.append(bitmap)
                    below.layout = nil
                    PixelBlend.draw(bitmap, alpha: layer.alpha, over: below.pixels)
                }
            }
        }
        for picture in overlay.pictures {
            let surface = picture.surface
            let place = PixelRectangle(x: picture.x, y: picture.y, width: surface.width, height: surface.height)
            let source = SurfaceBitmap.Source(
                surface: surface, crop: nil, destination: place, turn: .none, rotation: rotation, screenWidth: buffer.pixels.width,
                screenHeight: buffer.pixels.height)
            guard let bitmap = bitmaps.first(where: { $0.source == source }) ?? SurfaceBitmap(source) else { continue }
            used.append(bitmap)
            below.layout = nil
            PixelBlend.draw(bitmap, alpha: picture.alpha, over: below.pixels)
        }
        if !isDone { buffer.pixels.copyRows(of: below.pixels) }
        bitmaps = used
    }

    private func memory(like pixels: PixelMemory) -> (below: MemoryBuffer, over: MemoryBuffer) {
        if let memory, memory.below.pixels.hasShape(of: pixels) { return memory }
        func make() -> MemoryBuffer { MemoryBuffer(width: pixels.width, height: pixels.height, format: pixels.format) }
        let fresh = (below: make(), over: make())
        memory = fresh
        return fresh
    }

    /// Draws a layer that is a picture, and nothing else.
    private func draw(
        _ layer: borrowing Layer, by converter: PictureConverter, rotation: Rotation, background: UInt32, into buffer: ScanoutBuffer
    ) {
        switch layer.content {
        case .video(let video):
            do throws(PictureConverter.Refusal) {
                try converter.draw(
                    video.frame, crop: layer.crop, turn: layer.rotation, gravity: video.gravity, rotation: rotation,
                    background: background, into: buffer)
            } catch {
                buffer.clear(to: background)
                if refusals.count < 100, refusals.insert(error).inserted { log.error("picture left out: \(error)") }
            }
        case .surface: break
        }
    }
}
