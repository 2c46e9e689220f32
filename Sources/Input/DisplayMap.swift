import KioskPlatform
import KioskVocabulary

/// Which touch screen lies on which display, where there are several. A pure value.
package struct DisplayMap: Sendable {
    /// Touch screens by a part of their names or of what else tells them from others (``InputDevice/identity``), and the display of each:
    /// `[input] map`. The first that fits counts.
    package let entries: [(device: String, connector: DisplayConnector)]

    /// A map; by default one that says nothing.
    package init(_ entries: [(device: String, connector: DisplayConnector)] = []) { self.entries = entries }

    /// The display of a device: what this map says, else `output`, udev's property WL_OUTPUT of it. nil where nobody says anything.
    package func connector(of device: String, output: String?) -> DisplayConnector? {
        let name = device.lowercased()
        if let entry = entries.first(where: { name.contains($0.device.lowercased()) }) { return entry.connector }
        return output.flatMap(DisplayConnector.init)
    }

    /// Whether the device is for a display at `present`: it belongs to that, or to none. While it is not known which display is used (nil)
    /// nothing is left out.
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
