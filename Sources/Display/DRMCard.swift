import CDRM
import Glibc
import Media

/// An open DRM card (`/dev/dri/card0`). Referenced by everything that lives in it, so that the descriptor closes last.
///
/// Its calls may come from any thread (the kernel locks); `saved` belongs to the presenter thread.
final class DRMCard: @unchecked Sendable {
    // Sendable because the descriptor is set once and `saved` is touched by the presenter thread alone.

    let path: String
    private(set) var descriptor: Descriptor
    let isAtomic: Bool
    /// Whether event timestamps are on CLOCK_MONOTONIC.
    let hasMonotonicTimestamps: Bool
    /// What every CRTC showed before we drove it.
    var saved: [UInt32: SavedPipe] = [:]

    var fd: Int32 { descriptor.raw }
    /// `card0`.
    var name: String { path.split(separator: "/").last.map(String.init) ?? path }

    /// Opens a card that can scan out dumb buffers.
    static func open(_ path: String) throws(DeviceError) -> DRMCard {
        let descriptor = try Descriptor.open(path, O_RDWR | O_NONBLOCK)
        var value: UInt64 = 0
        guard drmGetCap(descriptor.raw, UInt64(DRM_CAP_DUMB_BUFFER), &value) == 0, value != 0 else {
            throw DeviceError("use \(path), which has no dumb buffers", code: EOPNOTSUPP)
        }
        drmSetClientCap(descriptor.raw, UInt64(DRM_CLIENT_CAP_UNIVERSAL_PLANES), 1)
        // A diagnosis aid, for drivers whose atomic code is suspected: KIOSK_KMS=legacy takes the older calls.
        let wantsLegacy = getenv("KIOSK_KMS").map { String(cString: $0) } == "legacy"
        let isAtomic = !wantsLegacy && drmSetClientCap(descriptor.raw, UInt64(DRM_CLIENT_CAP_ATOMIC), 1) == 0
        let isMonotonic = drmGetCap(descriptor.raw, UInt64(DRM_CAP_TIMESTAMP_MONOTONIC), &value) == 0 && value != 0
        return DRMCard(path: path, descriptor: descriptor, isAtomic: isAtomic, hasMonotonicTimestamps: isMonotonic)
    }

    init(path: String, descriptor: consuming Descriptor, isAtomic: Bool, hasMonotonicTimestamps: Bool) {
        self.path = path
        self.descriptor = descriptor
        self.isAtomic = isAtomic
        self.hasMonotonicTimestamps = hasMonotonicTimestamps
    }

    /// The paths of all cards, in the order of their numbers; empty where there is no `/dev/dri`.
    static func paths() -> [String] {
        guard let directory = opendir("/dev/dri") else { return [] }
        defer { closedir(directory) }
        var numbers: [Int] = []
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name.hasPrefix("card"), let number = Int(name.dropFirst(4)) { numbers.append(number) }
        }
        return numbers.sorted().map { "/dev/dri/card\($0)" }
    }

    /// The right to set modes: there is one master a card. Ours for the asking when nobody has it.
    func becomeMaster() throws(DeviceError) {
        guard !isMaster, drmSetMaster(fd) != 0 else { return }
        throw DeviceError("become master of \(path)")
    }

    /// Whether we have that right.
    var isMaster: Bool { drmIsMaster(fd) != 0 }

    /// Lets another program set modes.
    func dropMaster() { drmDropMaster(fd) }

    /// All CRTCs, in the order that `possible_crtcs` bits refer to.
    func crtcs() -> [UInt32] {
        guard let resources = drmModeGetResources(fd) else { return [] }
        defer { drmModeFreeResources(resources) }
        return Array(UnsafeBufferPointer(start: resources.pointee.crtcs, count: Int(resources.pointee.count_crtcs)))
    }

    /// All connectors; nil when the card has gone or cannot set modes at all.
    ///
    /// Asking the display itself (`probing`) can take a tenth of a second on real cables, in which the kernel lets no flip through. Without it the kernel
    /// answers with what it knows, and is made to probe only connectors on which it knows of nothing to drive.
    func connectors(probing: Bool) -> [ConnectorRecord]? {
        guard let resources = drmModeGetResources(fd) else { return nil }
        defer { drmModeFreeResources(resources) }
        return UnsafeBufferPointer(start: resources.pointee.connectors, count: Int(resources.pointee.count_connectors))
            .compactMap { id in
                if !probing, let known = connector(id, probing: false), known.connector.status == .connected, !known.timings.isEmpty {
                    return known
                }
                return connector(id, probing: true)
            }
    }

    /// All connectors as the kernel knows them, none probed.
    func knownConnectors() -> [ConnectorRecord] {
        guard let resources = drmModeGetResources(fd) else { return [] }
        defer { drmModeFreeResources(resources) }
        return UnsafeBufferPointer(start: resources.pointee.connectors, count: Int(resources.pointee.count_connectors))
            .compactMap { connector($0, probing: false) }
    }

    /// One connector; nil when it has gone.
    func connector(_ id: UInt32, probing: Bool) -> ConnectorRecord? {
        guard let pointer = probing ? drmModeGetConnector(fd, id) : drmModeGetConnectorCurrent(fd, id) else { return nil }
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
        let properties = PropertyTable(self, object: id, type: UInt32(DRM_MODE_OBJECT_CONNECTOR))
        let connector = Connector(
            name: "\(type)-\(c.connector_type_id)", status: status, modes: timings.map(ConnectorMode.init),
            isWriteback: c.connector_type == UInt32(DRM_MODE_CONNECTOR_WRITEBACK), isNonDesktop: properties.value("non-desktop") == 1)
        return ConnectorRecord(
            id: id, connector: connector, timings: timings,
            encoders: Array(UnsafeBufferPointer(start: c.encoders, count: Int(c.count_encoders))), encoder: c.encoder_id,
            hasEDID: (properties.value("EDID") ?? 0) != 0,
            linkIsBad: properties.value("link-status") == UInt64(DRM_MODE_LINK_STATUS_BAD),
            panelTurn: properties.choice("panel orientation").flatMap(Rotation.init(panelOrientation:)) ?? .none)
    }

    /// All planes.
    func planes() -> [PlaneRecord] {
        guard let resources = drmModeGetPlaneResources(fd) else { return [] }
        defer { drmModeFreePlaneResources(resources) }
        return UnsafeBufferPointer(start: resources.pointee.planes, count: Int(resources.pointee.count_planes)).compactMap { id in
            guard let plane = drmModeGetPlane(fd, id) else { return nil }
            defer { drmModeFreePlane(plane) }
            let properties = PropertyTable(self, object: id, type: UInt32(DRM_MODE_OBJECT_PLANE))
            return PlaneRecord(
                id: id, type: properties.value("type") ?? UInt64(DRM_PLANE_TYPE_OVERLAY), possibleCRTCs: plane.pointee.possible_crtcs,
                crtc: plane.pointee.crtc_id, framebuffer: plane.pointee.fb_id,
                formats: Array(UnsafeBufferPointer(start: plane.pointee.formats, count: Int(plane.pointee.count_formats))))
        }
    }
}

/// A plane as the kernel describes it.
struct PlaneRecord {
    var id: UInt32
    /// `DRM_PLANE_TYPE_PRIMARY` and so on.
    var type: UInt64
    /// Bit n: can be on the n-th CRTC.
    var possibleCRTCs: UInt32
    /// The CRTC it is on now, 0 for none; likewise its framebuffer.
    var crtc: UInt32
    var framebuffer: UInt32
    var formats: [UInt32]
}

/// The properties of one KMS object: their ids by name, resolved once, and their values at that time.
struct PropertyTable {
    /// A property that the object offers.
    struct Property {
        var id: UInt32
        var value: UInt64
        /// The values by their names; empty unless it is an enumeration.
        var choices: [String: UInt64] = [:]
        /// The least and the greatest value; nil unless it is a number.
        var range: ClosedRange<UInt64>?
        /// Only the kernel changes it.
        var isImmutable = false
    }

    private var entries: [String: Property] = [:]

    init(_ entries: [String: Property]) { self.entries = entries }

    init(_ card: DRMCard, object: UInt32, type: UInt32) {
        guard let properties = drmModeObjectGetProperties(card.fd, object, type) else { return }
        defer { drmModeFreeObjectProperties(properties) }
        for index in 0..<Int(properties.pointee.count_props) {
            guard let property = drmModeGetProperty(card.fd, properties.pointee.props[index]) else { continue }
            defer { drmModeFreeProperty(property) }
            let name = withUnsafePointer(to: &property.pointee.name) {
                $0.withMemoryRebound(to: CChar.self, capacity: Int(DRM_PROP_NAME_LEN)) { String(cString: $0) }
            }
            entries[name] = Property(property.pointee, value: properties.pointee.prop_values[index])
        }
    }

    /// The property's id; 0 when the object does not offer it.
    func id(_ name: String) -> UInt32 { entries[name]?.id ?? 0 }
    /// The property's value when the table was read; nil when the object does not offer it.
    func value(_ name: String) -> UInt64? { entries[name]?.value }
    /// All that is known of the property; nil when the object does not offer it.
    subscript(_ name: String) -> Property? { entries[name] }
    /// The name of an enumeration's value; nil when the object does not offer it.
    func choice(_ name: String) -> String? {
        entries[name].flatMap { property in property.choices.first { $0.value == property.value }?.key }
    }
}

extension PropertyTable.Property {
    /// From the kernel's description.
    init(_ property: drmModePropertyRes, value: UInt64) {
        self.init(id: property.prop_id, value: value, isImmutable: property.flags & UInt32(DRM_MODE_PROP_IMMUTABLE) != 0)
        if property.flags & UInt32(DRM_MODE_PROP_ENUM) != 0, let enums = property.enums {
            for choice in UnsafeBufferPointer(start: enums, count: Int(property.count_enums)) {
                let name = withUnsafePointer(to: choice.name) {
                    $0.withMemoryRebound(to: CChar.self, capacity: Int(DRM_PROP_NAME_LEN)) { String(cString: $0) }
                }
                choices[name] = choice.value
            }
        }
        if property.flags & UInt32(DRM_MODE_PROP_RANGE) != 0, let values = property.values, property.count_values >= 2,
            values[0] <= values[1]
        {
            range = values[0]...values[1]
        }
    }
}
