import CKioskFFmpeg
import Glibc
import KioskPlatform
import Synchronization

// A process that only decodes with hardware. It enters its sandbox in steps: first files and limits. Then it opens the devices, which loads
// their drivers. Last comes the filter of system calls, under which nothing can be loaded.

/// The decoders of other processes with the same devices.
package struct DeviceNeighbours: Sendable {
    /// Whether another process uses a decoder, and the number of times that one has become free.
    var isAnyInUse: @Sendable () -> Bool, releaseCount: @Sendable () -> UInt32
    /// Report that this process starts and ends using a decoder.
    var begin: @Sendable () -> Void, end: @Sendable () -> Void

    package init(
        isAnyInUse: @escaping @Sendable () -> Bool, releaseCount: @escaping @Sendable () -> UInt32, begin: @escaping @Sendable () -> Void,
        end: @escaping @Sendable () -> Void
    ) {
        (self.isAnyInUse, self.releaseCount, self.begin, self.end) = (isAnyInUse, releaseCount, begin, end)
    }

    /// The neighbours of this process; nil if it has the devices alone.
    static var shared: DeviceNeighbours? { known.withLock { $0 } }
    /// Sets the neighbours. Call it before a decoder opens.
    package static func set(_ neighbours: DeviceNeighbours) { known.withLock { $0 = neighbours } }
    private static let known = Mutex<DeviceNeighbours?>(nil)
}

extension DecoderWish {
    /// The device nodes that decoders of this wish open. They are graphics processors, V4L2 devices with their media controllers, and nodes
    /// for shared memory.
    package var deviceNodes: [String] {
        let numbered = [("video", "/dev"), ("media", "/dev")].flatMap { name, folder in
            Folder.numbers(of: name, in: folder).map { "\(folder)/\(name)\($0)" }
        }
        let heaps = Folder("/dev/dma_heap")?.read().compactMap { $0.name.map { "/dev/dma_heap/\($0)" } } ?? []
        return DecoderChoice.Nodes(device: device).render + numbered + heaps + ["/dev/udmabuf"]
    }

    /// The driver folders in the environment. The corresponding variable is libva's `LIBVA_DRIVERS_PATH`.
    package static var driverFolders: [String] {
        getenv("LIBVA_DRIVERS_PATH").map { String(cString: $0).split(separator: ":").map(String.init) } ?? []
    }

    /// Opens the graphics processors for this wish, to load their drivers while that is possible. Blocks for at most
    /// ``HardwareDevice/timeLimit`` each. The corresponding C function is `av_hwdevice_ctx_create`.
    ///
    /// - Returns: the names of the opened devices: `/dev/dri/renderD128: …`.
    package func openDevices() -> [String] {
        DecoderChoice.Nodes(device: device).render.compactMap { node in
            (try? HardwareDevice.open(AV_HWDEVICE_TYPE_VAAPI, node: node)).map { "\(node): \($0.name)" }
        }
    }
}
