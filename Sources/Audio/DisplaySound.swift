import CALSA
import Glibc
import Platform

// Which sound output leads to the display. An HDMI or DisplayPort output has a control named ELD (EDID-like data): what the monitor on it says
// of itself, as far as it concerns sound; empty while there is no monitor, or none that takes sound. The monitor's maker and model stand in it as
// in the display's EDID, which the kernel shows in /sys/class/drm: so the two are matched.

/// Which monitor it is, by its EDID or by an ELD.
public struct MonitorIdentity: Hashable, Sendable {
    /// Bytes 8 to 11 of the EDID, the maker and the product code; nil where the driver leaves them out.
    public var model: [UInt8]?
    /// The name it gives itself; empty for none.
    public var name: String

    /// From its parts. A model of zeros is none, and a name is what is left without padding.
    public init(model: some Sequence<UInt8>, name: some Sequence<UInt8>) {
        let model = Array(model)
        self.model = model.contains { $0 != 0 } ? model : nil
        let text = String(decoding: name.prefix { $0 != 0 }.filter { $0 == 10 || 32...126 ~= $0 }, as: UTF8.self)
        self.name = String(text.split(separator: "\n").first ?? "").split(separator: " ").joined(separator: " ")
    }

    /// From an EDID; nil when it is none.
    public init?(edid: [UInt8]) {
        guard edid.count >= 128, edid.starts(with: [0, 255, 255, 255, 255, 255, 255, 0]) else { return nil }
        // Four descriptors of 18 bytes; 0xFC is the name.
        let descriptors = stride(from: 54, to: 126, by: 18).map { edid[$0..<$0 + 18] }
        let name = descriptors.first { $0.starts(with: [0, 0, 0, 0xFC]) }?.dropFirst(5) ?? []
        self.init(model: edid[8..<12], name: name)
    }

    /// From an ELD (version 2, CEA-861-D, or 31, partly filled); nil when there is no monitor that takes sound.
    public init?(eld: [UInt8]) {
        guard eld.count >= 20, [2, 31].contains(eld[0] >> 3) else { return nil }
        let nameLength = Int(eld[4] & 0x1F)
        guard nameLength <= 16, eld.count >= 20 + nameLength else { return nil }
        self.init(model: eld[16..<20], name: eld[20..<20 + nameLength])
    }

    /// Whether there is nothing to know it by: some drivers fill in nothing but the formats.
    var isAnonymous: Bool { model == nil && name.isEmpty }

    /// Whether the two are of one kind. Two monitors of one model are not told apart.
    func isSame(as other: MonitorIdentity) -> Bool {
        if let model, let other = other.model { return model == other }
        return !name.isEmpty && name == other.name
    }
}

/// A display whose sound is looked for.
public struct LitDisplay: Hashable, Sendable {
    /// The kernel's name of its connector: `HDMI-A-1`.
    public var connector: String
    /// nil when it has no EDID.
    public var monitor: MonitorIdentity?

    /// A display from its parts.
    public init(connector: String, monitor: MonitorIdentity?) { (self.connector, self.monitor) = (connector, monitor) }

    /// The display that `name` begins with (`HDMI-A-1 1920x1080@60.00`, `card1:HDMI-A-1`), read from /sys/class/drm. Where no connector has that
    /// name (a framebuffer device; no display is lit yet), all that have a display.
    public static func find(_ name: String?) -> [LitDisplay] {
        var connectors: [(name: String, display: LitDisplay)] = []
        for folder in folders() {
            guard let dash = folder.firstIndex(of: "-") else { continue }
            let path = "/sys/class/drm/" + folder
            guard ProcFile.read(path + "/status")?.hasPrefix("connected") == true else { continue }
            let connector = String(folder[folder.index(after: dash)...])
            let monitor = ProcFile.bytes(path + "/edid").flatMap(MonitorIdentity.init(edid:))
            connectors.append(("\(folder[..<dash]):\(connector)", LitDisplay(connector: connector, monitor: monitor)))
        }
        let wanted = name?.split(separator: " ").first.map(String.init) ?? ""
        let named = connectors.filter { $0.display.connector == wanted || $0.name == wanted }
        return (named.isEmpty ? connectors : named).map(\.display)
    }

    private static func folders() -> [String] {
        guard let directory = opendir("/sys/class/drm") else { return [] }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name.hasPrefix("card"), name.contains("-") { names.append(name) }
        }
        return names.sorted()
    }

    /// Whether its connector is of a kind that carries sound.
    fileprivate var carriesSound: Bool { connector.hasPrefix("HDMI") || connector.hasPrefix("DP") }
}

extension AudioCard {
    /// Where a playback device leads.
    public enum Output: Hashable, Sendable {
        /// To no display, as far as can be known: analog, S/PDIF, USB.
        case other
        /// To an HDMI or DisplayPort connector, and the monitor there that takes sound; nil when there is none.
        case display(MonitorIdentity?)

        /// How well it fits, best first.
        enum Standing: Int, Comparable {
            /// The monitor on it is the lit display.
            case lit
            /// It may be: either cannot be told by what is known of it.
            case maybeLit
            case other
            /// Another monitor.
            case otherDisplay
            /// No monitor.
            case dark

            static func < (left: Standing, right: Standing) -> Bool { left.rawValue < right.rawValue }

            /// Whether this is the sound of the display, which is played to before all else.
            var isDisplay: Bool { self <= .maybeLit }
        }

        func standing(among displays: [LitDisplay]) -> Standing {
            switch self {
            case .other: .other
            case .display(nil): .dark
            case .display(let monitor?):
                if displays.contains(where: { $0.monitor?.isSame(as: monitor) == true }) {
                    .lit
                } else if displays.isEmpty || displays.contains(where: { $0.carriesSound && ($0.monitor == nil || monitor.isAnonymous) }) {
                    .maybeLit
                } else {
                    .otherDisplay
                }
            }
        }
    }

    /// The ELDs of a card, by the number of the PCM they belong to; empty for a card without HDMI.
    static func outputs(of control: OpaquePointer) -> [Int: Output] {
        var list: OpaquePointer?
        snd_ctl_elem_list_malloc(&list)
        defer { snd_ctl_elem_list_free(list) }
        guard snd_ctl_elem_list(control, list) == 0 else { return [:] }
        let count = snd_ctl_elem_list_get_count(list)
        guard count > 0, snd_ctl_elem_list_alloc_space(list, count) == 0 else { return [:] }
        defer { snd_ctl_elem_list_free_space(list) }
        guard snd_ctl_elem_list(control, list) == 0 else { return [:] }

        var outputs: [Int: Output] = [:]
        for index in 0..<snd_ctl_elem_list_get_used(list)
        where snd_ctl_elem_list_get_interface(list, index) == SND_CTL_ELEM_IFACE_PCM
            && snd_ctl_elem_list_get_name(list, index).map({ String(cString: $0) }) == "ELD"
        {
            let eld = read(control, snd_ctl_elem_list_get_numid(list, index))
            outputs[Int(snd_ctl_elem_list_get_device(list, index))] = .display(MonitorIdentity(eld: eld))
        }
        return outputs
    }

    /// The value of a control of bytes; none when it cannot be read, or has none now.
    private static func read(_ control: OpaquePointer, _ number: UInt32) -> [UInt8] {
        var (info, value): (OpaquePointer?, OpaquePointer?)
        snd_ctl_elem_info_malloc(&info)
        snd_ctl_elem_value_malloc(&value)
        defer {
            snd_ctl_elem_info_free(info)
            snd_ctl_elem_value_free(value)
        }
        snd_ctl_elem_info_set_numid(info, number)
        guard snd_ctl_elem_info(control, info) == 0, snd_ctl_elem_info_get_type(info) == SND_CTL_ELEM_TYPE_BYTES else { return [] }
        snd_ctl_elem_value_set_numid(value, number)
        guard snd_ctl_elem_read(control, value) == 0 else { return [] }
        return (0..<min(512, snd_ctl_elem_info_get_count(info))).map { snd_ctl_elem_value_get_byte(value, $0) }
    }

    /// The PCMs there are, a line each: the kernel's list, and those that lead to the lit display once more. For ``CardWatch``: a monitor that is
    /// switched on later is a card that comes.
    static func listing(_ displayName: String?) -> String {
        var text = ProcFile.read("/proc/asound/pcm") ?? ""
        let displays = LitDisplay.find(displayName)
        for card in all() {
            for device in card.devices where device.output.standing(among: displays) == .lit {
                text += "\n" + displayLine(Hardware(card: card.index, device: device.number))
            }
        }
        return text
    }

    static func displayLine(_ hardware: Hardware) -> String { "\(hardware.card)-\(hardware.device) leads to the display: playback" }
}

/// A PCM of the kernel, by its numbers.
struct Hardware: Hashable {
    var card: Int
    var device: Int
}
