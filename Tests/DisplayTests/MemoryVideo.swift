import CKioskDRM
import CKioskFFmpeg
import Glibc
import KioskMedia
import KioskPlatform
import KioskPlayback
import KioskVocabulary

@testable import KioskDisplayCore

/// Video planes in memory.
final class MemoryVideo: VideoHardware, @unchecked Sendable {
    // Sendable because a test calls it on one thread, except for makeBuffer, which decoders also call. A lock protects its buffers.
    let width: Int, height: Int
    var driver = "memory"
    var planes: [PlaneRecord]
    /// Whether the driver refuses a picture.
    var refuses: (VideoShow) -> Bool = { _ in false }
    /// The bytes added to the requested distance between rows.
    var gap = 0
    /// Whether allocations fail.
    var isOutOfMemory = false
    private(set) var asked = 0
    private var buffers: [VideoBuffer] = []
    private let lock = Monitor(false)
    var made: [VideoBuffer] { lock.withLock { _ in buffers } }
    private(set) var backgrounds: [UInt32] = []
    private(set) var imported = 0
    private(set) var shown: [VideoArrangement?] = []
    private(set) var former: [UInt32] = []

    init(_ width: Int = 64, _ height: Int = 36, primary: [String] = ["YU12"], overlays: [[String]] = []) {
        (self.width, self.height) = (width, height)
        let everything = Orientation.all
        planes = [
            PlanePlannerTests.plane(31, .primary, [kDRM_FORMAT_XRGB8888] + primary.map(PlanePlannerTests.fourcc), on: 7) {
                $0.orientations = everything
            }
        ]
        for (index, formats) in overlays.enumerated() {
            planes.append(
                PlanePlannerTests.plane(40 + UInt32(index), .overlay, formats.map(PlanePlannerTests.fourcc)) {
                    $0.orientations = everything
                })
        }
    }

    func planner(besides taken: [PlaneID]) -> PlanePlanner {
        let free = planes.filter { !taken.contains($0.id) }
        let planner = PlanePlanner(free, crtc: CRTCID(rawValue: 7), bit: 1, width: width, height: height)
        return taken.isEmpty ? planner : planner.beneath(planes.filter { taken.contains($0.id) })
    }
    func properties(of plane: PlaneID) -> PlaneProperties { PlaneProperties(PropertyTable([:]), of: plane) }
    func makeBuffer(_ format: VideoFormat, width: Int, height: Int, forScaling: Bool) throws(DeviceError) -> VideoBuffer {
        if isOutOfMemory { throw DeviceError("make a buffer", code: ENOMEM) }
        let pitch = VideoLayout.rowBytes(format, width: width, forScaling: forScaling) + gap
        return lock.withLock { _ in
            let number = UInt32(100 + buffers.count)
            let buffer = MemoryVideoBuffer(format, width, height, forScaling: forScaling, number: number, pitch: pitch)
            buffers.append(buffer)
            return buffer
        }
    }
    func makeBackground(_ colour: UInt32) -> HeldFramebuffer {
        backgrounds.append(colour)
        return HeldFramebuffer(id: FramebufferID(rawValue: UInt32(200 + backgrounds.count)))
    }
    func importSurface(_ frame: borrowing VideoFrame) throws(DeviceError) -> HeldFramebuffer {
        imported += 1
        return HeldFramebuffer(id: FramebufferID(rawValue: UInt32(300 + imported)))
    }
    func test(_ show: VideoShow) throws(DeviceError) {
        asked += 1
        if refuses(show) { throw DeviceError("test", code: EINVAL) }
    }
    func shows(_ arrangement: VideoArrangement?, besides former: [PlaneID]) {
        shown.append(arrangement)
        self.former = former.map(\.rawValue)
    }

    /// A video buffer in ordinary memory, followed by guard bytes.
    final class MemoryVideoBuffer: VideoBuffer, @unchecked Sendable {
        // Sendable for the reason given at VideoBuffer; it adds no mutable state.
        private let byteCount: Int
        static let guardBytes = 64

        init(_ format: VideoFormat, _ width: Int, _ height: Int, forScaling: Bool, number: UInt32 = 1, pitch: Int? = nil) {
            let pitch = pitch ?? VideoLayout.rowBytes(format, width: width, forScaling: forScaling)
            let layout = VideoLayout(format, width: width, height: height, pitch: pitch)
            byteCount = layout.rows * pitch
            let base = UnsafeMutableRawPointer.allocate(byteCount: byteCount + Self.guardBytes, alignment: 64)
            memset(base, 0x5a, byteCount + Self.guardBytes)
            super.init(layout: layout, base: base, framebuffer: FramebufferID(rawValue: number))
        }

        deinit { base.deallocate() }

        /// Whether the guard bytes are unchanged.
        var isWhole: Bool { (0..<Self.guardBytes).allSatisfy { base.load(fromByteOffset: byteCount + $0, as: UInt8.self) == 0x5a } }
    }
}

extension Orientation {
    /// Every rotation, mirrored and not.
    static var all: Set<Orientation> {
        Set(Rotation.allCases.flatMap { [Orientation(rotation: $0), Orientation(rotation: $0, isMirrored: true)] })
    }
}
