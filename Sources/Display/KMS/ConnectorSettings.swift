import CKioskDRM
import Glibc
import Logging

/// Connector properties that other programs leave behind, and that change the picture or the sound. kiosk finds them by name, and sets them
/// to show the picture unchanged, edge to edge. Unlike colour tables, it restores them at the end: a user may have chosen them for this
/// display.
///
/// | property | neutral | else |
/// |---|---|---|
/// | `Broadcast RGB` | Automatic | wrong range: black is gray, or shadows are lost |
/// | `underscan`, its borders | off, 0 | a picture with a dark border |
/// | `left margin` … | from the kernel command line (`video=HDMI-A-1:…,margin_left=…`), else 0 | the same |
/// | `scaling mode` | Full aspect, if it is Full or Center | a small or distorted picture in a mode that is not the panel's |
/// | `max bpc` | at least 8 | bands in gradients |
/// | `content type` | No Data | the television processes the picture |
/// | `audio` | auto | no sound over HDMI |
///
/// kiosk keeps `scaling mode` None: the display then scales equally well, at the requested refresh. It also keeps a `max bpc` above 8.
struct ConnectorSettings {
    struct Assignment: Equatable {
        var property: PropertyID<ConnectorID>
        var value: UInt64
        /// The value before.
        var former: UInt64
    }

    private static let choices = [("Broadcast RGB", "Automatic"), ("underscan", "off"), ("content type", "No Data"), ("audio", "auto")]

    /// Returns the settings for a connector that offers `table`, without those that are neutral already. `commandLine` is the kernel's.
    /// Pure.
    static func neutral(_ table: PropertyTable<ConnectorID>, connector name: String, commandLine: String) -> [Assignment] {
        var wanted: [(name: String, value: UInt64)] = []
        for (name, choice) in choices {
            if let value = table[name]?.choices[choice] { wanted.append((name, value)) }
        }
        wanted += [("underscan hborder", 0), ("underscan vborder", 0)]
        let configured = configuredMargins(connector: name, commandLine)
        wanted += ["left", "right", "top", "bottom"].map { ("\($0) margin", configured[$0] ?? 0) }
        if let scaling = table["scaling mode"], let fitted = scaling.choices["Full aspect"],
            [scaling.choices["Full"], scaling.choices["Center"]].contains(scaling.value)
        {
            wanted.append(("scaling mode", fitted))
        }
        if let depth = table["max bpc"], depth.value < 8 { wanted.append(("max bpc", 8)) }
        return wanted.compactMap { name, value in
            guard let property = table[name], let id = table.id(name), !property.isImmutable else { return nil }
            let value = property.range.map { min(max(value, $0.lowerBound), $0.upperBound) } ?? value
            return value == property.value ? nil : Assignment(property: id, value: value, former: property.value)
        }
    }

    /// Returns the margins, by side, in the kernel's options for a connector: `video=NAME:1920x1080@60,margin_left=48,…`.
    static func configuredMargins(connector name: String, _ commandLine: String) -> [String: UInt64] {
        var found: [String: UInt64] = [:]
        for argument in commandLine.split(whereSeparator: \.isWhitespace) where argument.hasPrefix("video=\(name):") {
            for option in argument.split(separator: ",") where option.hasPrefix("margin_") {
                let parts = option.dropFirst("margin_".count).split(separator: "=")
                if parts.count == 2, let value = UInt64(parts[1]) { found[String(parts[0])] = value }
            }
        }
        return found
    }
}

/// The colour table of a CRTC that the older calls set, if it is no property. It outlives the colour tool that set it.
struct GammaRamp {
    /// Whether a table leaves colours unchanged. The kernel's first table ends at 0xff00, others at 0xffff. Pure.
    static func isLinear(_ table: [UInt16]) -> Bool {
        zip(table, linear(table.count)).allSatisfy { abs(Int($0) - Int($1)) <= 0x200 }
    }

    /// Returns a table that leaves colours unchanged.
    static func linear(_ count: Int) -> [UInt16] { (0..<count).map { UInt16($0 * 0xffff / max(count - 1, 1)) } }

    /// Makes the table of a CRTC linear, if it has one that is not. The corresponding C functions are `drmModeCrtcGetGamma` and
    /// `drmModeCrtcSetGamma`.
    static func reset(_ card: DRMCard, crtc id: CRTCID) {
        let count = Int(card.crtc(id)?.gamma_size ?? 0)
        guard (2...4096).contains(count) else { return }
        var (red, green, blue) = (linear(count), linear(count), linear(count))
        let linear = red
        guard drmModeCrtcGetGamma(card.fd, id.rawValue, UInt32(count), &red, &green, &blue) == 0 else { return }
        guard ![red, green, blue].allSatisfy(isLinear) else { return }
        (red, green, blue) = (linear, linear, linear)
        let status = drmModeCrtcSetGamma(card.fd, id.rawValue, UInt32(count), &red, &green, &blue)
        if status != 0 { log.debug("\(DeviceError("reset the colour table of \(card.path)", code: status))") }
    }
}
