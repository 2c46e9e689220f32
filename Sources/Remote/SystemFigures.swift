import Glibc
import KioskPlatform

/// What the kernel says about the box: read from the files below `root`, which is empty for this machine.
enum SystemFigures {
    /// Of the hottest thermal zone, in degrees Celsius; nil where there is none.
    static func temperature(root: String = "") -> Double? {
        let folder = root + "/sys/class/thermal"
        return Folder.names(in: folder).filter { $0.hasPrefix("thermal_zone") }
            .compactMap { number("\(folder)/\($0)/temp").map { Double($0) / 1000 } }.max()
    }

    /// Bytes that are free on the root file system.
    static func freeSpace() -> Double? {
        statvfs(at: "/").map { Double($0.free) }
    }

    /// Whether a Raspberry Pi's firmware slows the processor down now: bits 0 to 3 of its `get_throttled` are too low a voltage, a capped
    /// frequency, throttling, and the soft limit of the temperature. nil where there is no such firmware.
    static func isThrottled(root: String = "") -> Bool? {
        SmallFile.word("\(root)/sys/devices/platform/soc/soc:firmware/get_throttled").flatMap { UInt($0, radix: 16) }.map { $0 & 0xF != 0 }
    }

    /// How often processor cores of x86 were slowed down by heat since the boot, those of all cores together; nil where none counts.
    static func throttleEvents(root: String = "") -> Double? {
        let folder = root + "/sys/devices/system/cpu"
        let counts = Folder.names(in: folder).compactMap { number("\(folder)/\($0)/thermal_throttle/core_throttle_count") }
        return counts.isEmpty ? nil : counts.reduce(0) { $0 + Double($1) }
    }

    private static func number(_ path: String) -> Int? { SmallFile.word(path).flatMap { Int($0) } }
}

/// How often the service has been started again: a number in the file `restarts` of the folder that systemd keeps for it while it is not
/// stopped (RuntimeDirectoryPreserve=restart, the environment's RUNTIME_DIRECTORY).
enum RestartCount {
    /// The number for this start, which is written down for the next; nil where there is no such folder, or it cannot be written to.
    static func next(in folder: String? = environment("RUNTIME_DIRECTORY")) -> Int? {
        // With several folders there are colons between them; ours is the first.
        guard let folder = folder?.split(separator: ":").first, folder.hasPrefix("/") else { return nil }
        let path = "\(folder)/restarts"
        let last = SmallFile.word(path).flatMap { Int($0) }
        let count = last.map { min(max(0, $0), .max - 1) + 1 } ?? 0
        return AtomicFile.write(path, "\(count)\n", mode: 0o640) == nil ? count : nil
    }
}
