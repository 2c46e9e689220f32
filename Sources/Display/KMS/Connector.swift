import CKioskDRM
import KioskMedia
import KioskVocabulary

/// A connector of a graphics card, and the display on it.
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
    /// The display's modes; empty while unknown.
    package var modes: [ConnectorMode]
    /// Whether it leads back into memory, not to a display.
    package var isWriteback: Bool
    /// Whether the display is none to look at from outside, but a headset. Property `non-desktop`.
    package var isNonDesktop = false
}

/// A connector with the data to drive it.
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
    /// Whether the kernel found that the link no longer carries the mode, and asks for a full modeset. Property `link-status`.
    var linkIsBad: Bool
    /// The clockwise rotation that makes a picture upright on a panel that is built in rotated. Property `panel orientation`.
    var panelRotation = Rotation.none
    /// The display's statements of its size, the best source first.
    var measures: [PhysicalMeasures] = []
    /// The CEC physical address of a device on this connector; nil if the display does not state it.
    var cecAddress: UInt16?

    /// Removes unwanted modes, unless all are unwanted.
    mutating func leaveOut(_ isUnwanted: (ConnectorMode) -> Bool) {
        let kept = connector.modes.indices.filter { !isUnwanted(connector.modes[$0]) }
        guard !kept.isEmpty else { return }
        timings = kept.map { timings[$0] }
        connector.modes = kept.map { connector.modes[$0] }
    }
}

extension Rotation {
    /// Creates the rotation that undoes a panel's mounting. The kernel's name tells which side of the panel is at the top of the case.
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
    /// The plausible refresh rates, in Hz.
    private static let refreshes = 1.0...1000

    /// Creates a mode from the kernel's timings.
    init(_ info: drmModeModeInfo) {
        let interlaced = info.flags & UInt32(DRM_MODE_FLAG_INTERLACE) != 0
        let doubled = info.flags & UInt32(DRM_MODE_FLAG_DBLSCAN) != 0
        let total = Double(info.htotal) * Double(info.vtotal) * (doubled ? 2 : 1) * Double(max(info.vscan, 1))
        var refresh = total > 0 ? Double(info.clock) * 1000 / total : 0
        if interlaced { refresh *= 2 }
        // An EDID may state anything, and this paces everything.
        if !Self.refreshes.contains(refresh) {
            refresh = min(max(Double(info.vrefresh), Self.refreshes.lowerBound), Self.refreshes.upperBound)
        }
        self.init(
            width: Int(info.hdisplay), height: Int(info.vdisplay), refresh: refresh,
            isPreferred: info.type & UInt32(DRM_MODE_TYPE_PREFERRED) != 0, isProgressive: !interlaced && !doubled)
    }
}
