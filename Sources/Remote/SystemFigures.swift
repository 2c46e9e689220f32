import Glibc
import KioskPlatform

/// The kernel's figures about the machine, from the files below `root`, which is empty for this machine.
enum SystemFigures {
    /// Returns the temperature of the hottest thermal zone, in degrees Celsius; nil if there is none.
    static func temperature(root: String = "") -> Double? {
        let folder = root + "/sys/class/thermal"
        return Folder.names(in: folder).filter { $0.hasPrefix("thermal_zone") }
            .compactMap { number("\(folder)/\($0)/temp").map { Double($0) / 1000 } }.max()
    }

    /// Returns the free bytes on the root file system.
    static func freeSpace() -> Double? {
        statvfs(at: "/").map { Double($0.free) }
    }

    /// Returns whether a Raspberry Pi's firmware throttles the processor now. Bits 0 to 3 of its `get_throttled` are under-voltage, a
    /// capped frequency, throttling, and the soft temperature limit. nil without such firmware.
    static func isThrottled(root: String = "") -> Bool? {
        SmallFile.word("\(root)/sys/devices/platform/soc/soc:firmware/get_throttled").flatMap { UInt($0, radix: 16) }.map { $0 & 0xF != 0 }
    }

    /// Returns how often heat has throttled x86 processor cores since the boot, summed over all cores; nil without counters.
    static func throttleEvents(root: String = "") -> Double? {
        let folder = root + "/sys/devices/system/cpu"
        let counts = Folder.names(in: folder).compactMap { number("\(folder)/\($0)/thermal_throttle/core_throttle_count") }
        return counts.isEmpty ? nil : counts.reduce(0) { $0 + Double($1) }
    }

    private static func number(_ path: String) -> Int? { SmallFile.word(path).flatMap { Int($0) } }
}

/// The number of restarts of the service: in the file `restarts` of the folder that systemd keeps until the service is stopped
/// (RuntimeDirectoryPreserve=restart, the environment's RUNTIME_DIRECTORY).
enum RestartCount {
    /// Returns the number for this start, and stores it for the next; nil if there is no such folder, or it is not writable.
    static func next(in folder: String? = environment("RUNTIME_DIRECTORY")) -> Int? {
        // Colons separate several folders; the first is kiosk's.
        guard let folder = folder?.split(separator: ":").first, folder.hasPrefix("/") else { return nil }
        let path = "\(folder)/restarts"
        let last = SmallFile.word(path).flatMap { Int($0) }
        let count = last.map { min(max(0, $0), .max - 1) + 1 } ?? 0
        return AtomicFile.write(path, "\(count)\n", mode: 0o640) == nil ? count : nil
    }
}
