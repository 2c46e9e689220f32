import CKioskFFmpeg
import Glibc
import KioskPlatform
import Synchronization

// A process that decodes with hardware and has nothing else. Its sandbox is entered in two steps: files and limits first, then the devices are opened, whose
// drivers are loaded by that, then the filter of system calls, under which nothing can be loaded any more.

/// Decoders in other processes that have the same devices.
package struct DeviceNeighbours: Sendable {
    /// Whether any is in use, and how often one has come free.
    var isAnyInUse: @Sendable () -> Bool, releaseCount: @Sendable () -> UInt32
    /// Are told that one of this process is in use, and that it is not any more.
    var begin: @Sendable () -> Void, end: @Sendable () -> Void

    package init(
        isAnyInUse: @escaping @Sendable () -> Bool, releaseCount: @escaping @Sendable () -> UInt32, begin: @escaping @Sendable () -> Void,
        end: @escaping @Sendable () -> Void
    ) {
        (self.isAnyInUse, self.releaseCount, self.begin, self.end) = (isAnyInUse, releaseCount, begin, end)
    }

    /// Those of this process; nil where it has the devices alone.
    static var shared: DeviceNeighbours? { known.withLock { $0 } }
    /// Sets them. Before a decoder is opened.
    package static func set(_ neighbours: DeviceNeighbours) { known.withLock { $0 = neighbours } }
    private static let known = Mutex<DeviceNeighbours?>(nil)
}

extension DecoderWish {
    /// The device nodes that decoders of this wish open: those of graphics processors, of V4L2 with its media controllers, and what memory is shared by.
    package var deviceNodes: [String] {
        let numbered = [("video", "/dev"), ("media", "/dev")].flatMap { name, folder in
            Folder.numbers(of: name, in: folder).map { "\(folder)/\(name)\($0)" }
        }
        let heaps = Folder("/dev/dma_heap")?.read().compactMap { $0.name.map { "/dev/dma_heap/\($0)" } } ?? []
        return DecoderChoice.Nodes(device: device).render + numbered + heaps + ["/dev/udmabuf"]
    }

    /// Folders of drivers that the environment names. The corresponding variable is libva's `LIBVA_DRIVERS_PATH`.
    package static var driverFolders: [String] {
        getenv("LIBVA_DRIVERS_PATH").map { String(cString: $0).split(separator: ":").map(String.init) } ?? []
    }

    /// Opens the graphics processors that this wish may want, whose drivers have to be loaded while they can be. Blocks, for
    /// ``HardwareDevice/timeLimit`` each at most. The corresponding C function is `av_hwdevice_ctx_create`.
    ///
    /// - Returns: what those call themselves that have been opened: `/dev/dri/renderD128: …`.
    package func openDevices() -> [String] {
        DecoderChoice.Nodes(device: device).render.compactMap { node in
            (try? HardwareDevice.open(AV_HWDEVICE_TYPE_VAAPI, node: node)).map { "\(node): \($0.name)" }
        }
    }
}
