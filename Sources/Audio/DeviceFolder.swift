import Glibc
import KioskPlatform

/// Notices that sound devices came or went, by the modification time of /dev/snd.
struct DeviceFolder {
    private var lastReading = HostTime.now
    private var change = Self.lastChange()

    static let interval = MediaTime.milliseconds(500)

    /// Whether any has since the last reading; reads every ``interval``.
    mutating func hasChanged(at now: HostTime) -> Bool {
        guard now - lastReading >= Self.interval else { return false }
        lastReading = now
        let latest = Self.lastChange()
        defer { change = latest }
        return latest != change
    }

    private static func lastChange() -> Int64? { stat(at: "/dev/snd")?.modified }
}
