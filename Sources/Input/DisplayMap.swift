import KioskPlatform
import KioskVocabulary

/// The displays of touch screens, if there are several. A pure value.
package struct DisplayMap: Sendable {
    /// Touch screens by a part of their identity (``InputDevice/identity``), and the display of each: `[input] map`. The first match
    /// counts.
    package let entries: [(device: String, connector: DisplayConnector)]

    /// Creates a map; empty by default.
    package init(_ entries: [(device: String, connector: DisplayConnector)] = []) { self.entries = entries }

    /// Returns the display of a device: from this map, otherwise `output`, its udev property WL_OUTPUT. nil if neither has it.
    package func connector(of device: String, output: String?) -> DisplayConnector? {
        let name = device.lowercased()
        if let entry = entries.first(where: { name.contains($0.device.lowercased()) }) { return entry.connector }
        return output.flatMap(DisplayConnector.init)
    }

    /// Returns whether the device is for the display at `present`: it belongs to that display, or to none. Returns true while the display
    /// in use is unknown (nil).
    package func isOurs(_ device: String, output: String?, present: DisplayConnector?) -> Bool {
        guard let own = connector(of: device, output: output), let present else { return true }
        switch (own, present) {
        case (.named(let name, let card), .named(let presentName, let presentCard)):
            return name == presentName && (card == nil || presentCard == nil || card == presentCard)
        case (.automatic, _): return true
        default: return own == present
        }
    }
}
