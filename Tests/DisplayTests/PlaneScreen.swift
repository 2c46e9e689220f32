import CKioskDRM
import Glibc
import KioskMedia
import KioskPlatform
import KioskPlayback
import KioskVocabulary

@testable import KioskDisplayCore

/// Overlay planes in memory.
final class MemoryPlanes: OverlayHardware, @unchecked Sendable {
    // Sendable because a test calls it on one thread.
    let picture: PlanePlanner.Layer
    var planes: [PlaneRecord]
    var cursor: PlanePlanner.Size?
    /// Whether the driver refuses a frame.
    var refuses: (OverlayFrame) -> Bool = { _ in false }
    private(set) var asked = 0
    private(set) var made: [OverlayBuffer] = []
    private(set) var held: [UInt32] = []

    init(_ width: Int, _ height: Int, overlays: Int, cursor: PlanePlanner.Size? = nil) {
        picture = .converted(width: width, height: height)
        self.cursor = cursor
        planes = [PlanePlannerTests.plane(31, .primary, on: 7)]
        planes += (0..<overlays).map { PlanePlannerTests.plane(40 + UInt32($0), .overlay, [kDRM_FORMAT_ARGB8888]) }
        if cursor != nil { planes.append(PlanePlannerTests.plane(60, .cursor, [kDRM_FORMAT_ARGB8888])) }
    }

    func planner() -> PlanePlanner {
        PlanePlanner(
            planes, crtc: CRTCID(rawValue: 7), bit: 1, width: picture.destination.width, height: picture.destination.height, cursor: cursor)
    }
    func properties(of plane: PlaneID) -> PlaneProperties { PlaneProperties(PropertyTable([:]), of: plane) }
    func makeBuffer(width: Int, height: Int) -> OverlayBuffer {
        let memory = MemoryBuffer(width: width, height: height, format: .xrgb8888)
        memory.clear(to: 0x12_3456)
        let buffer = OverlayBuffer(
            pixels: memory.pixels, framebuffer: FramebufferID(rawValue: UInt32(made.count + 1)), owner: memory)
        made.append(buffer)
        return buffer
    }
    var serial: UInt64 = 0
    func test(_ frame: OverlayFrame) throws(DeviceError) {
        asked += 1
        if refuses(frame) { throw DeviceError("test", code: EINVAL) }
    }
    func hold(_ planes: [PlaneID]) { held = Set(planes.map(\.rawValue)).sorted() }
}

/// A screen with overlay planes. Its vblanks come when the test calls ``vblank()``. ``seen`` is the visible result.
final class PlaneScreen: Screen {
    let mode: DisplayMode
    let buffers: [ScanoutBuffer]
    let reportsVblank = true
    let descriptor: Int32? = nil
    var timer: HostTime? { report == nil ? nil : HostTime(nanoseconds: 0) }
    let panelRotation: Rotation
    var overlayPlanes: (any OverlayHardware)? { planes }
    let planes: MemoryPlanes?
    var videoPlanes: (any VideoHardware)? { video }
    let video: MemoryVideo?
    /// The answers to the next calls of `present`.
    var isBusy = false, refusesOverlays = false, refusesVideo = false
    /// Whether to keep no reference to the shown video, like a driver, which holds no decoder's memory. ``seen`` lacks it.
    var forgetsVideo = false
    private(set) var presented = 0
    private(set) var hidden: [UInt32] = []
    private(set) var shows: [OverlayFrame.Show] = []
    private var shownBuffer = 0
    private(set) var shownVideo: VideoShow?
    private var pending: (buffer: Int, video: VideoShow?, overlay: OverlayChange?, id: UInt64)?
    private var report: ScreenReport?

    init(
        _ width: Int = 64, _ height: Int = 36, format: ScanoutFormat = .xrgb8888, planes: MemoryPlanes? = nil, video: MemoryVideo? = nil,
        panelRotation: Rotation = .none
    ) {
        mode = DisplayMode(width: width, height: height, refreshPeriod: .milliseconds(10), name: "planes")
        buffers = (0..<bufferCount).map { _ in MemoryBuffer(width: width, height: height, format: format) }
        (self.planes, self.video, self.panelRotation) = (planes, video, panelRotation)
    }

    func present(_ buffer: Int, video: VideoShow?, overlay: OverlayChange?, id: UInt64, at now: HostTime) -> ScreenAnswer {
        if isBusy { return .busy }
        presented += 1
        if refusesVideo, video != nil { return .refusedVideo(DeviceError("flip", code: EINVAL)) }
        pending = (buffer, forgetsVideo ? nil : video, refusesOverlays ? nil : overlay, id)
        return refusesOverlays && overlay != nil ? .queuedWithoutOverlay(DeviceError("flip", code: EINVAL)) : .queued
    }

    /// The vblank that shows the presented picture.
    func vblank() {
        guard let pending = pending.take() else { return }
        (shownBuffer, shownVideo) = (pending.buffer, pending.video)
        if let overlay = pending.overlay {
            let gone = Set(overlay.hidden.map(\.id) + overlay.shows.map(\.plane.id))
            shows = shows.filter { !gone.contains($0.plane.id) } + overlay.shows
        }
        report = .flipped(Flip(id: pending.id, time: .now, sequence: 1))
    }

    func collect(at now: HostTime) -> ScreenReport? {
        defer { report = nil }
        return report
    }
    func hide(_ planes: [PlaneProperties]) {
        hidden += planes.map(\.id.rawValue)
        shows = shows.filter { show in !planes.contains { $0.id == show.plane.id } }
    }
    func restore() {}

    /// The visible pixels, as scanned out: the picture with the planes over it, 0xRRGGBB row by row.
    var seen: [UInt32] {
        let picture = picture
        return (0..<mode.height).flatMap { y in (0..<mode.width).map { seen($0, y, over: picture) } }
    }

    /// Returns the pixel of ``seen`` there.
    func seen(_ x: Int, _ y: Int) -> UInt32 { seen(x, y, over: picture) }

    /// The picture in the memory on the screen, as it is now.
    private var picture: ScreenPixels { ScreenPixels(shownVideo?.drawn(like: buffers[shownBuffer].pixels) ?? buffers[shownBuffer]) }

    private func seen(_ x: Int, _ y: Int, over picture: ScreenPixels) -> UInt32 {
        shows.reduce(picture[x, y]) { under, show in
            let place = show.place
            guard x >= place.x, x < place.x + place.width, y >= place.y, y < place.y + place.height else { return under }
            return mixed(show.buffer.pixels.address(x - place.x, y - place.y).load(as: UInt32.self), over: under)
        }
    }
}

/// Returns a premultiplied pixel over a colour, by the definition.
func mixed(_ over: UInt32, over under: UInt32) -> UInt32 {
    let alpha = Double(over >> 24)
    return [16, 8, 0].reduce(UInt32(0)) { sum, shift in
        let channel = Double(over >> shift & 255) + Double(under >> shift & 255) * (255 - alpha) / 255
        return sum | UInt32(min(channel.rounded(), 255)) << shift
    }
}

extension Surface {
    /// Creates a surface of one premultiplied colour.
    convenience init(_ pixel: UInt32, _ width: Int, _ height: Int) {
        self.init(width: width, height: height, pixels: Array(repeating: pixel, count: width * height))
    }

    /// Creates a surface with a pattern: each pixel differs from the next.
    convenience init(patternOf width: Int, _ height: Int) {
        self.init(
            width: width, height: height,
            pixels: (0..<width * height).map { index in
                let alpha = UInt32(index * 37 % 256)
                return alpha << 24 | (alpha * UInt32(index % width) / UInt32(width)) << 16 | (alpha / 2) << 8 | alpha * UInt32(index % 5)
                    / 5
            })
    }
}
