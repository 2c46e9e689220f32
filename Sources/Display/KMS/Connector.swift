import CKioskDRM
import KioskMedia
import KioskVocabulary

/// A socket on a graphics card, and what is plugged into it.
package struct Connector: Hashable, Sendable {
    /// Whether there is a display.
    package enum Status: String, Sendable {
        case connected
        case disconnected
        /// The hardware cannot tell.
        case unknown
    }

    /// The kernel's name, as in `/sys/class/drm`: `HDMI-A-1`.
    package var name: String
    /// Whether there is a display.
    package var status: Status
    /// What the display can show; empty while it is not known.
    package var modes: [ConnectorMode]
    /// Leads back into memory, not to a display.
    package var isWriteback: Bool
    /// What is plugged in says that it is no screen for people to look at from outside: a headset. Property `non-desktop`.
    package var isNonDesktop = false
}

/// A connector with what is needed to drive it.
struct ConnectorRecord {
    var id: ConnectorID
    var connector: Connector
    /// In the order of `connector.modes`.
    var timings: [drmModeModeInfo]
    var encoders: [EncoderID]
    /// The encoder in use, or none.
    var encoder: EncoderID
    /// Whether the display has identified itself.
    var hasEDID: Bool
    /// The kernel found that the link to the display no longer carries its mode, and asks for a full modeset.
    var linkIsBad: Bool
    /// The clockwise rotation that makes a picture stand upright on a panel that is built in rotated. Property `panel orientation`.
    var panelRotation = Rotation.none
    /// What the display says it measures, the best source first.
    var measures: [PhysicalMeasures] = []
    /// Where whoever is plugged in there is, for HDMI-CEC; nil where the display does not say.
    var cecAddress: UInt16?

    /// Forgets modes, unless that were all of them.
    mutating func leaveOut(_ isUnwanted: (ConnectorMode) -> Bool) {
        let kept = connector.modes.indices.filter { !isUnwanted(connector.modes[$0]) }
        guard !kept.isEmpty else { return }
        timings = kept.map { timings[$0] }
        connector.modes = kept.map { connector.modes[$0] }
    }
}

extension Rotation {
    /// What undoes a panel's mounting, by the names that the kernel has for it: the side of the panel that is at the top of the case.
    init?(panelOrientation: String) {
        switch panelOrientation {
        case "Normal": self = .none
        case "Upside Down": self = .clockwise180
        case "Left Side Up": self = .clockwise270
        case "Right Side Up": self = .clockwise90
        default: return nil
        }
    }
}

extension ConnectorMode {
    /// Pictures a second that a display may say it shows.
    private static let refreshes = 1.0...1000

    /// From the kernel's timings.
    init(_ info: drmModeModeInfo) {
        let interlaced = info.flags & UInt32(DRM_MODE_FLAG_INTERLACE) != 0
        let doubled = info.flags & UInt32(DRM_MODE_FLAG_DBLSCAN) != 0
        let total = Double(info.htotal) * Double(info.vtotal) * (doubled ? 2 : 1) * Double(max(info.vscan, 1))
        var refresh = total > 0 ? Double(info.clock) * 1000 / total : 0
        if interlaced { refresh *= 2 }
        // A display's EDID may say anything, and everything is paced by this.
        if !Self.refreshes.contains(refresh) {
            refresh = min(max(Double(info.vrefresh), Self.refreshes.lowerBound), Self.refreshes.upperBound)
        }
        self.init(
            width: Int(info.hdisplay), height: Int(info.vdisplay), refresh: refresh,
            isPreferred: info.type & UInt32(DRM_MODE_TYPE_PREFERRED) != 0, isProgressive: !interlaced && !doubled)
    }
}
