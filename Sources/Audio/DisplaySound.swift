import CKioskALSA
import Glibc
import KioskPlatform

// Which sound output leads to the display. An HDMI or DisplayPort output has a control named ELD (EDID-like data): the part of the
// monitor's EDID that concerns sound; empty while there is no monitor, or none that takes sound. Maker and model of the monitor are the
// same in the ELD and in the display's EDID, which the kernel shows in /sys/class/drm: the two are matched by them.

/// Identifies a monitor, by its EDID or by an ELD.
package struct MonitorIdentity: Hashable, Sendable {
    /// Bytes 8 to 11 of the EDID, the maker and the product code; nil where the driver leaves them out.
    package var model: [UInt8]?
    /// The monitor's name in the EDID; empty for none.
    package var name: String

    /// From its parts. A model of zeros is none; padding is taken off the name.
    package init(model: some Sequence<UInt8>, name: some Sequence<UInt8>) {
        let model = Array(model)
        self.model = model.contains { $0 != 0 } ? model : nil
        let text = String(decoding: name.prefix { $0 != 0 }.filter { $0 == 10 || 32...126 ~= $0 }, as: UTF8.self)
        self.name = String(text.split(separator: "\n").first ?? "").split(separator: " ").joined(separator: " ")
    }

    /// From an EDID; nil when it is none.
    package init?(edid: [UInt8]) {
        guard edid.count >= 128, edid.starts(with: [0, 255, 255, 255, 255, 255, 255, 0]) else { return nil }
        // Four descriptors of 18 bytes; 0xFC is the name.
        let descriptors = stride(from: 54, to: 126, by: 18).map { edid[$0..<$0 + 18] }
        let name = descriptors.first { $0.starts(with: [0, 0, 0, 0xFC]) }?.dropFirst(5) ?? []
        self.init(model: edid[8..<12], name: name)
    }

    /// From an ELD (version 2, CEA-861-D, or 31, partly filled); nil when there is no monitor that takes sound.
    package init?(eld: [UInt8]) {
        guard eld.count >= 20, [2, 31].contains(eld[0] >> 3) else { return nil }
        let nameLength = Int(eld[4] & 0x1F)
        guard nameLength <= 16, eld.count >= 20 + nameLength else { return nil }
        self.init(model: eld[16..<20], name: eld[20..<20 + nameLength])
    }

    /// The most channels of PCM that an ELD allows: those of its short audio descriptors, which follow the name, three bytes each. Two where there
    /// is none of PCM, as every display with sound takes that; nil when there is no monitor that takes sound.
    package static func channelCount(eld: [UInt8]) -> Int? {
        guard MonitorIdentity(eld: eld) != nil else { return nil }
        let begin = 20 + Int(eld[4] & 0x1F)
        let descriptors = stride(from: begin, to: begin + 3 * Int(eld[5] >> 4), by: 3).filter { $0 + 3 <= eld.count }
        let linear = descriptors.map { eld[$0] }.filter { $0 >> 3 & 0xF == 1 }
        return max(2, linear.map { Int($0 & 7) + 1 }.max() ?? 2)
    }

    /// Whether it identifies no monitor: some drivers fill in nothing but the formats.
    var isAnonymous: Bool { model == nil && name.isEmpty }

    /// Whether the two are of one model. Two monitors of one model cannot be told apart.
    func isSame(as other: MonitorIdentity) -> Bool {
        if let model, let other = other.model { return model == other }
        return !name.isEmpty && name == other.name
    }
}

/// A connected display, whose sound output is searched for.
package struct ConnectedDisplay: Hashable, Sendable {
    /// The kernel's name of its connector: `HDMI-A-1`.
    package var connector: String
    /// nil when it has no EDID.
    package var monitor: MonitorIdentity?

    /// A display from its parts.
    package init(connector: String, monitor: MonitorIdentity?) { (self.connector, self.monitor) = (connector, monitor) }

    /// The display whose connector `name` begins with (`HDMI-A-1 1920x1080@60.00`, `card1:HDMI-A-1`), read from /sys/class/drm. All
    /// connected displays where no connector has that name (a framebuffer device; no display is active yet).
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
    /// What a playback device is connected to.
    package enum Output: Hashable, Sendable {
        /// No display, as far as is known: analog, S/PDIF, USB.
        case other
        /// An HDMI or DisplayPort connector, and its monitor; nil when there is none that takes sound.
        case display(MonitorIdentity?)

        /// How well it fits, best first.
        enum Standing: Int, Comparable {
            /// The monitor on it is an active display.
            case active
            /// It may be: the monitor or the display has nothing to identify it.
            case maybeActive
            case other
            /// Another monitor.
            case otherDisplay
            /// No monitor.
            case noMonitor

            static func < (left: Standing, right: Standing) -> Bool { left.rawValue < right.rawValue }

            /// Whether this is the sound of an active display, which is preferred to all others.
            var isDisplay: Bool { self <= .maybeActive }
        }

        /// How well it fits where `displays` are active.
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

    /// The monitors of a card by their ELDs, by the number of the PCM that each belongs to, and how many channels each takes; empty for a card
    /// without HDMI.
    static func outputs(of control: OpaquePointer, among controls: [CardControl]) -> [Int: (output: Output, channelCount: Int?)] {
        var outputs: [Int: (Output, Int?)] = [:]
        for element in controls where element.interface == SND_CTL_ELEM_IFACE_PCM && element.name == "ELD" {
            let eld = element.bytes(control)
            outputs[element.device] = (.display(MonitorIdentity(eld: eld)), MonitorIdentity.channelCount(eld: eld))
        }
        return outputs
    }

    /// The most channels that a connected display takes, of those on the card of this number or, without one, on any; nil for no display. Reads
    /// nothing of a card but its ELDs.
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

    /// The PCMs, a line each: the kernel's list, and once more those that lead to the active display and, where plugs are followed, those that
    /// something is plugged into. For ``CardWatch``: a monitor that is switched on later, or headphones, are a card that comes.
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
    /// The lines of a PCM that say what it leads to.
    static func plugs(of hardware: Hardware?) -> [String] { hardware.map { [displayLine($0), plugLine($0)] } ?? [] }
    static func plugLine(_ hardware: Hardware) -> String { "\(hardware.card)-\(hardware.device) has something plugged in: playback" }
}

/// A PCM of the kernel, by the numbers of card and device.
struct Hardware: Hashable {
    var card: Int
    var device: Int
}
