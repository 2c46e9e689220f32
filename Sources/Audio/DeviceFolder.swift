import Glibc
import Platform

/// Notices that sound devices came or went, by the time of the last change of /dev/snd.
struct DeviceFolder {
    private var lastLook = HostTime.now
    private var change = Self.lastChange()

    static let interval = MediaTime.milliseconds(500)

    /// Whether any has since the last look; looks every ``interval``.
    mutating func hasChanged(at now: HostTime) -> Bool {
        guard now - lastLook >= Self.interval else { return false }
        lastLook = now
        let latest = Self.lastChange()
        defer { change = latest }
        return latest != change
    }

    private static func lastChange() -> Int64? {
        var status = stat()
        guard stat("/dev/snd", &status) == 0 else { return nil }
        return Int64(status.st_mtim.tv_sec) * 1_000_000_000 + Int64(status.st_mtim.tv_nsec)
    }
}
