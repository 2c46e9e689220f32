import CKioskALSA
import Glibc
import KioskPlatform

// Finds the sound output that leads to the display. An HDMI or DisplayPort output has a control named ELD (EDID-like data), the sound part
// of the monitor's EDID. It is empty without a monitor, or with one that takes no sound. The kernel shows the display's EDID in
// /sys/class/drm. It has the same maker and model as the ELD: these match the two.

/// Identifies a monitor, by its EDID or by an ELD.
package struct MonitorIdentity: Hashable, Sendable {
    /// Bytes 8 to 11 of the EDID, the maker and the product code; nil if the driver omits them.
    package var model: [UInt8]?
    /// The monitor's name in the EDID; empty for none.
    package var name: String

    /// Creates an identity from its parts. A model of zeros counts as none; padding is removed from the name.
    package init(model: some Sequence<UInt8>, name: some Sequence<UInt8>) {
        let model = Array(model)
        self.model = model.contains { $0 != 0 } ? model : nil
        let text = String(decoding: name.prefix { $0 != 0 }.filter { $0 == 10 || 32...126 ~= $0 }, as: UTF8.self)
        self.name = String(text.split(separator: "\n").first ?? "").split(separator: " ").joined(separator: " ")
    }

    /// Reads an EDID; nil if the bytes are none.
    package init?(edid: [UInt8]) {
        guard edid.count >= 128, edid.starts(with: [0, 255, 255, 255, 255, 255, 255, 0]) else { return nil }
        // Four descriptors of 18 bytes; 0xFC is the name.
        let descriptors = stride(from: 54, to: 126, by: 18).map { edid[$0..<$0 + 18] }
        let name = descriptors.first { $0.starts(with: [0, 0, 0, 0xFC]) }?.dropFirst(5) ?? []
        self.init(model: edid[8..<12], name: name)
    }

    /// Reads an ELD (version 2, CEA-861-D, or 31, partly filled); nil if there is no monitor that takes sound.
    package init?(eld: [UInt8]) {
        guard eld.count >= 20, [2, 31].contains(eld[0] >> 3) else { return nil }
        let nameLength = Int(eld[4] & 0x1F)
        guard nameLength <= 16, eld.count >= 20 + nameLength else { return nil }
        self.init(model: eld[16..<20], name: eld[20..<20 + nameLength])
    }

    /// Returns the most channels of PCM that an ELD allows. Its short audio descriptors follow the name, three bytes each. Returns two if
    /// none of them is PCM, as every display with sound takes that. Returns nil if there is no monitor that takes sound.
    package static func channelCount(eld: [UInt8]) -> Int? {
        guard MonitorIdentity(eld: eld) != nil else { return nil }
        let begin = 20 + Int(eld[4] & 0x1F)
        let descriptors = stride(from: begin, to: begin + 3 * Int(eld[5] >> 4), by: 3).filter { $0 + 3 <= eld.count }
        let linear = descriptors.map { eld[$0] }.filter { $0 >> 3 & 0xF == 1 }
        return max(2, linear.map { Int($0 & 7) + 1 }.max() ?? 2)
    }

    /// Whether it identifies no monitor: some drivers fill in only the formats.
    var isAnonymous: Bool { model == nil && name.isEmpty }

    /// Returns whether the two are of one model. Two monitors of one model are indistinguishable.
    func isSame(as other: MonitorIdentity) -> Bool {
        if let model, let other = other.model { return model == other }
        return !name.isEmpty && name == other.name
    }
}

/// A connected display whose sound output is wanted.
package struct ConnectedDisplay: Hashable, Sendable {
    /// The kernel's name of its connector: `HDMI-A-1`.
    package var connector: String
    /// The monitor; nil if it has no EDID.
    package var monitor: MonitorIdentity?

    /// Creates a display from its parts.
    package init(connector: String, monitor: MonitorIdentity?) { (self.connector, self.monitor) = (connector, monitor) }

    /// Finds the display whose connector `name` begins with (`HDMI-A-1 1920x1080@60.00`, `card1:HDMI-A-1`), in /sys/class/drm. Returns all
    /// connected displays if no connector has that name (a framebuffer device; no display is active yet).
    package static func find(_ name: String?) -> [ConnectedDisplay] {
        var connectors: [(name: String, display: ConnectedDisplay)] = []
        for folder in Folder.names(in: "/sys/class/drm").sorted() where folder.hasPrefix("card") {
            guard let dash = folder.firstIndex(of: "-") else { continue }
            let path = "/sys/class/drm/" + folder
            guard SmallFile.text(path + "/status")?.hasPrefix("connected") == true else { continue }
            let connector = String(folder[folder.index(after: dash)...])
            let monitor = SmallFile.bytes(path + "/edid").flatMap(MonitorIdentity.init(edid:))
            connectors.append(("\(folder[..<dash]):\(connector)", ConnectedDisplay(connector: connector, monitor: monitor)))
        }
        let wanted = name?.split(separator: " ").first.map(String.init) ?? ""
        let named = connectors.filter { $0.display.connector == wanted || $0.name == wanted }
        return (named.isEmpty ? connectors : named).map(\.display)
    }

    fileprivate var carriesSound: Bool { connector.hasPrefix("HDMI") || connector.hasPrefix("DP") }
}

extension AudioCard {
    /// The connection of a playback device.
    package enum Output: Hashable, Sendable {
        /// No display, as far as is known: analog, S/PDIF, USB.
        case other
        /// An HDMI or DisplayPort connector, with its monitor; nil if there is none that takes sound.
        case display(MonitorIdentity?)

        /// The fitness of an output, best first.
        enum Standing: Int, Comparable {
            /// Its monitor is an active display.
            case active
            /// Its monitor may be active: the monitor or the display has no identity.
            case maybeActive
            case other
            /// It leads to another monitor.
            case otherDisplay
            /// It has no monitor.
            case noMonitor

            static func < (left: Standing, right: Standing) -> Bool { left.rawValue < right.rawValue }

            /// Whether this is the sound of an active display, which ranks above all others.
            var isDisplay: Bool { self <= .maybeActive }
        }

        /// Returns the fitness of this output if `displays` are active.
        func standing(among displays: [ConnectedDisplay]) -> Standing {
            switch self {
            case .other: .other
            case .display(nil): .noMonitor
            case .display(let monitor?):
                if displays.contains(where: { $0.monitor?.isSame(as: monitor) == true }) {
                    .active
                } else if displays.isEmpty || displays.contains(where: { $0.carriesSound && ($0.monitor == nil || monitor.isAnonymous) }) {
                    .maybeActive
                } else {
                    .otherDisplay
                }
            }
        }
    }

    /// Returns the monitors of a card from their ELDs, and the channels that each takes, by the number of their PCM. Empty for a card
    /// without HDMI.
    static func outputs(of control: OpaquePointer, among controls: [CardControl]) -> [Int: (output: Output, channelCount: Int?)] {
        var outputs: [Int: (Output, Int?)] = [:]
        for element in controls where element.interface == SND_CTL_ELEM_IFACE_PCM && element.name == "ELD" {
            let eld = element.bytes(control)
            outputs[element.device] = (.display(MonitorIdentity(eld: eld)), MonitorIdentity.channelCount(eld: eld))
        }
        return outputs
    }

    /// Returns the most channels that a connected display takes: on the card of this number, or without one on any card. Returns nil if
    /// there is no display. Reads only the ELDs of the cards.
    static func displayChannelCount(card wanted: Int? = nil) -> Int? {
        quietly {
            var counts: [Int] = []
            var index: Int32 = -1
            while snd_card_next(&index) == 0, index >= 0 {
                var control: OpaquePointer?
                guard wanted == nil || wanted == Int(index), snd_ctl_open(&control, "hw:\(index)", SND_CTL_READONLY) == 0, let control
                else { continue }
                defer { snd_ctl_close(control) }
                counts += outputs(of: control, among: CardControl.all(of: control)).values.compactMap(\.channelCount)
            }
            return counts.max()
        }
    }

    /// Returns the PCMs, one per line: the kernel's list, and again those that lead to the active display. If plugs are followed, also
    /// those with something plugged in. For ``CardWatch``: a monitor switched on later, or headphones, count as a card that comes.
    static func listing(_ displayName: String?, followsPlugs: Bool = false) -> String {
        var text = SmallFile.text("/proc/asound/pcm") ?? ""
        let displays = ConnectedDisplay.find(displayName)
        for card in all() {
            for device in card.devices {
                let hardware = Hardware(card: card.index, device: device.number)
                if device.output.standing(among: displays) == .active { text += "\n" + displayLine(hardware) }
                if followsPlugs, device.isPlugged == true { text += "\n" + plugLine(hardware) }
            }
        }
        return text
    }

    static func displayLine(_ hardware: Hardware) -> String { "\(hardware.card)-\(hardware.device) leads to the display: playback" }
    /// Returns the lines for the display and the plug of a PCM.
    static func plugs(of hardware: Hardware?) -> [String] { hardware.map { [displayLine($0), plugLine($0)] } ?? [] }
    static func plugLine(_ hardware: Hardware) -> String { "\(hardware.card)-\(hardware.device) has something plugged in: playback" }
}

/// A PCM of the kernel, by the numbers of card and device.
struct Hardware: Hashable {
    var card: Int
    var device: Int
}
