import CKioskDRM
import Glibc
import KioskMedia
import KioskPlatform
import KioskVocabulary

/// An open DRM card (`/dev/dri/card0`). All its objects keep a reference, so the descriptor closes last.
///
/// Any thread may call it: the kernel locks.
final class DRMCard: @unchecked Sendable {
    // Sendable: the descriptor is set once; the rest is constant or thread-safe.

    let path: String
    private(set) var descriptor: Descriptor
    let isAtomic: Bool
    /// Whether event timestamps are on CLOCK_MONOTONIC.
    let hasMonotonicTimestamps: Bool
    /// The flip events of its CRTCs.
    let events = CardEvents()
    /// The state of each CRTC before kiosk drove it.
    let saved = Monitor<[CRTCID: SavedPipe]>([:])

    /// The descriptions of its properties, by id (``PropertyTable``).
    let properties = Monitor<[UInt32: (name: String, property: Property)]>([:])

    /// Whether framebuffers may have a format modifier.
    let takesModifiers: Bool
    /// The kernel driver, such as `vc4`.
    let driver: String

    /// The shares of its outputs in the overlay planes.
    let planeShares = Monitor(PlaneShares())

    var fd: Int32 { descriptor.raw }
    /// `card0`.
    var name: String { path.split(separator: "/").last.map(String.init) ?? path }

    /// Opens a card that can scan out dumb buffers.
    static func open(_ path: String) throws(DeviceError) -> DRMCard {
        let descriptor = try Descriptor.open(path, O_RDWR | O_NONBLOCK)
        guard capability(DRM_CAP_DUMB_BUFFER, of: descriptor.raw) != 0 else {
            throw DeviceError("use \(path), which has no dumb buffers", code: EOPNOTSUPP)
        }
        drmSetClientCap(descriptor.raw, UInt64(DRM_CLIENT_CAP_UNIVERSAL_PLANES), 1)
        // For diagnosis, if the driver's atomic code is suspect: KIOSK_KMS=legacy uses the older calls.
        let wantsLegacy = environment("KIOSK_KMS") == "legacy"
        let isAtomic = !wantsLegacy && drmSetClientCap(descriptor.raw, UInt64(DRM_CLIENT_CAP_ATOMIC), 1) == 0
        let isMonotonic = capability(DRM_CAP_TIMESTAMP_MONOTONIC, of: descriptor.raw) != 0
        return DRMCard(path: path, descriptor: descriptor, isAtomic: isAtomic, hasMonotonicTimestamps: isMonotonic)
    }

    init(path: String, descriptor: consuming Descriptor, isAtomic: Bool, hasMonotonicTimestamps: Bool) {
        self.path = path
        takesModifiers = Self.capability(DRM_CAP_ADDFB2_MODIFIERS, of: descriptor.raw) == 1
        let version = drmGetVersion(descriptor.raw)
        driver = version?.pointee.name.map { String(cString: $0) } ?? "unknown"
        drmFreeVersion(version)
        self.descriptor = descriptor
        self.isAtomic = isAtomic
        self.hasMonotonicTimestamps = hasMonotonicTimestamps
    }

    /// Returns the value of a capability; 0 if the card does not know it. The corresponding C function is `drmGetCap`.
    private static func capability(_ capability: Int32, of descriptor: Int32) -> UInt64 {
        var value: UInt64 = 0
        return drmGetCap(descriptor, UInt64(capability), &value) == 0 ? value : 0
    }

    /// Returns the paths of all cards, in the order of their numbers; empty without `/dev/dri`.
    static func paths() -> [String] {
        Folder.numbers(of: "card", in: "/dev/dri").map { "/dev/dri/card\($0)" }
    }

    /// Takes the right to set modes; one master a card. The kernel grants it if there is no other master.
    func becomeMaster() throws(DeviceError) {
        guard !isMaster, drmSetMaster(fd) != 0 else { return }
        throw DeviceError("become master of \(path)")
    }

    /// Whether kiosk is the master.
    var isMaster: Bool { drmIsMaster(fd) != 0 }

    /// Lets another program set modes.
    func dropMaster() { drmDropMaster(fd) }

    /// Returns all CRTCs, in the order of `possible_crtcs` bits.
    func crtcs() -> [CRTCID] {
        guard let resources = drmModeGetResources(fd) else { return [] }
        defer { drmModeFreeResources(resources) }
        return UnsafeBufferPointer(start: resources.pointee.crtcs, count: Int(resources.pointee.count_crtcs)).map(CRTCID.init)
    }

    private func connectorIDs() -> [ConnectorID]? {
        guard let resources = drmModeGetResources(fd) else { return nil }
        defer { drmModeFreeResources(resources) }
        return UnsafeBufferPointer(start: resources.pointee.connectors, count: Int(resources.pointee.count_connectors)).map(
            ConnectorID.init)
    }

    /// Returns all connectors; nil if the card has gone or cannot set modes.
    ///
    /// `probing` asks the display itself. That can take a tenth of a second on real cables, and the kernel blocks flips meanwhile.
    /// Otherwise the kernel reports its present knowledge, and probes only connectors without a known display and mode.
    func connectors(probing: Bool) -> [ConnectorRecord]? {
        connectorIDs()?.compactMap { id in
            if !probing, let known = connector(id, probing: false), known.connector.status == .connected, !known.timings.isEmpty {
                return known
            }
            return connector(id, probing: true)
        }
    }

    /// Returns all connectors as the kernel knows them, without a probe.
    func knownConnectors() -> [ConnectorRecord] { (connectorIDs() ?? []).compactMap { connector($0, probing: false) } }

    /// Returns an encoder; nil if it has gone.
    func encoder(_ id: EncoderID) -> drmModeEncoder? {
        guard let encoder = drmModeGetEncoder(fd, id.rawValue) else { return nil }
        defer { drmModeFreeEncoder(encoder) }
        return encoder.pointee
    }

    /// Returns the current state of a CRTC; nil if it has gone.
    func crtc(_ id: CRTCID) -> drmModeCrtc? {
        guard let crtc = drmModeGetCrtc(fd, id.rawValue) else { return nil }
        defer { drmModeFreeCrtc(crtc) }
        return crtc.pointee
    }

    /// Returns one connector; nil if it has gone.
    func connector(_ id: ConnectorID, probing: Bool) -> ConnectorRecord? {
        guard let pointer = probing ? drmModeGetConnector(fd, id.rawValue) : drmModeGetConnectorCurrent(fd, id.rawValue) else { return nil }
        defer { drmModeFreeConnector(pointer) }
        let c = pointer.pointee
        let status: Connector.Status =
            switch c.connection {
            case DRM_MODE_CONNECTED: .connected
            case DRM_MODE_DISCONNECTED: .disconnected
            default: .unknown
            }
        let type = drmModeGetConnectorTypeName(c.connector_type).map { String(cString: $0) } ?? "Unknown"
        let timings = Array(UnsafeBufferPointer(start: c.modes, count: Int(c.count_modes)))
        let properties = PropertyTable(self, of: id)
        let edid = blob(properties.value("EDID"))
        let connector = Connector(
            name: "\(type)-\(c.connector_type_id)", status: status, modes: timings.map(ConnectorMode.init),
            isWriteback: c.connector_type == UInt32(DRM_MODE_CONNECTOR_WRITEBACK), isNonDesktop: properties.value("non-desktop") == 1)
        return ConnectorRecord(
            id: id, connector: connector, timings: timings,
            encoders: UnsafeBufferPointer(start: c.encoders, count: Int(c.count_encoders)).map(EncoderID.init),
            encoder: EncoderID(rawValue: c.encoder_id),
            hasEDID: (properties.value("EDID") ?? 0) != 0,
            linkIsBad: properties.value("link-status") == UInt64(DRM_MODE_LINK_STATUS_BAD),
            panelRotation: properties.choice("panel orientation").flatMap(Rotation.init(panelOrientation:)) ?? .none,
            measures: [
                edid.flatMap(PhysicalMeasures.init(edid:)),
                PhysicalMeasures(width: Double(c.mmWidth), height: Double(c.mmHeight)),
            ].compactMap { $0 }, cecAddress: edid.flatMap { CECPlace.address(edid: $0) })
    }

    /// Returns all planes.
    func planes() -> [PlaneRecord] {
        guard let resources = drmModeGetPlaneResources(fd) else { return [] }
        defer { drmModeFreePlaneResources(resources) }
        return UnsafeBufferPointer(start: resources.pointee.planes, count: Int(resources.pointee.count_planes)).compactMap { id in
            guard let plane = drmModeGetPlane(fd, id) else { return nil }
            defer { drmModeFreePlane(plane) }
            return PlaneRecord(self, plane.pointee)
        }
    }

    /// Returns the CRTC that a plane is on.
    func crtc(of plane: PlaneID) -> CRTCID {
        guard let record = drmModeGetPlane(fd, plane.rawValue) else { return .none }
        defer { drmModeFreePlane(record) }
        return CRTCID(rawValue: record.pointee.crtc_id)
    }

    /// The required size of pictures on cursor planes; 64 x 64 if the driver does not state it.
    var cursorSize: PlanePlanner.Size {
        func value(_ capability: Int32) -> Int {
            let value = Self.capability(capability, of: fd)
            return (1...UInt64(PlanePlanner.Size.mostCursor)).contains(value) ? Int(value) : 64
        }
        return PlanePlanner.Size(width: value(DRM_CAP_CURSOR_WIDTH), height: value(DRM_CAP_CURSOR_HEIGHT))
    }

    /// Returns the bytes of a blob; nil if there is none.
    func blob(_ id: UInt64?) -> [UInt8]? {
        guard let id, id != 0, let blob = drmModeGetPropertyBlob(fd, UInt32(truncatingIfNeeded: id)) else { return nil }
        defer { drmModeFreePropertyBlob(blob) }
        guard let data = blob.pointee.data else { return nil }
        return Array(UnsafeRawBufferPointer(start: data, count: Int(blob.pointee.length)))
    }
}
