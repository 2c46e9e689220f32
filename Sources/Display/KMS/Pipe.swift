import CKioskDRM
import Glibc

/// The path of a picture through a card: primary plane, CRTC, connector, mode. Atomic commits drive it (``AtomicPipe``), or the older calls
/// if the driver has no atomic commits (``LegacyPipe``). Presenter thread only.
protocol Pipe: AnyObject {
    /// Scans out `framebuffer` in the pipe's mode, whatever was there before. Blocks until it is done; reports no flip. `retrainingLink`
    /// sets up the link to the display anew, even in the same mode.
    func modeset(_ framebuffer: FramebufferID, retrainingLink: Bool) throws(DeviceError)
    /// Shows `picture`, with the overlay's change, from the next vblank on. An event with `id` reports the flip. Without an `id` it blocks
    /// until the picture is on the screen.
    func flip(to picture: PipePicture, overlay: OverlayChange?, id: UInt64?) throws(DeviceError)
    /// Whether pictures are shown in this arrangement now.
    func shows(_ arrangement: VideoArrangement) -> Bool
    /// Switches planes off by any means. Blocks.
    func hide(_ planes: [PlaneProperties]) throws(DeviceError)
    /// Returns the planes for unconverted and drawn pictures, in the current mode; nil if that is impossible. `usesCursor`: one of them is
    /// a cursor plane.
    func planes(usesCursor: Bool) -> KMSPlanes?
    /// Ends the signal: the display goes to sleep. A modeset wakes it. Blocks.
    func turnOff() throws(DeviceError)
    /// Restores the state before the first modeset.
    func restore()
}

extension Pipe {
    func shows(_ arrangement: VideoArrangement) -> Bool { false }
}

/// A picture to show.
enum PipePicture {
    /// Converted: the primary plane shows it.
    case converted(FramebufferID)
    /// Decoded pictures on planes, not converted.
    case planes(VideoShow)

    /// The framebuffer on the primary plane.
    var primary: FramebufferID {
        switch self {
        case .converted(let framebuffer): framebuffer
        case .planes(let show): show.primaryFramebuffer
        }
    }
}

/// The objects that a pipe runs through.
struct PipeRoute {
    var card: DRMCard
    var connector: ConnectorID
    /// `HDMI-A-1`.
    var connectorName: String
    var crtc: CRTCID
    /// The CRTC's bit in `possible_crtcs` masks.
    var crtcBit: UInt32
    var timing: drmModeModeInfo

    /// Finds a CRTC for `record`: its current one if no other connector is on it, else an unused one, else any possible one. Never takes
    /// one of `reserved`, which belong to our other outputs.
    static func find(
        _ card: DRMCard, _ record: ConnectorRecord, mode: Int, besides reserved: Set<CRTCID> = []
    ) throws(DeviceError) -> PipeRoute {
        let crtcs = card.crtcs()
        let possible = record.possibleCRTCs(of: card)
        func crtc(_ record: ConnectorRecord) -> CRTCID? { card.encoder(record.encoder).map { CRTCID(rawValue: $0.crtc_id) } }
        let present = record.encoders.contains(record.encoder) ? crtc(record) ?? .none : .none
        let taken = Set(card.knownConnectors().filter { $0.id != record.id && $0.encoder != .none }.compactMap(crtc))
        let candidates = crtcs.indices.filter { possible & (1 << UInt32($0)) != 0 && !reserved.contains(crtcs[$0]) }
        let chosen =
            candidates.first { crtcs[$0] == present && !taken.contains(present) } ?? candidates.first { !taken.contains(crtcs[$0]) }
            ?? candidates.first
        guard let chosen else { throw DeviceError("find a CRTC for \(record.connector.name) on \(card.path)", code: ENODEV) }
        return PipeRoute(
            card: card, connector: record.id, connectorName: record.connector.name, crtc: crtcs[chosen], crtcBit: 1 << UInt32(chosen),
            timing: record.timings[mode])
    }
}

extension ConnectorRecord {
    /// Returns the CRTCs that the connector can be on, as bits.
    func possibleCRTCs(of card: DRMCard) -> UInt32 {
        encoders.compactMap(card.encoder).reduce(0) { $0 | $1.possible_crtcs }
    }
}

/// The state of a CRTC before kiosk drove it.
struct SavedPipe {
    /// Framebuffer, offset and mode of the CRTC, for the older calls.
    var crtc: drmModeCrtc?
    /// Every settable property of the CRTC, its planes and the connector, for an atomic commit. The mode is in `crtc` by its contents,
    /// because the old blob dies with the old mode. The older calls only restore the properties of the connector.
    var properties: [AtomicRequest.Change] = []

    /// Keeps the former values of `settings` on a connector, unless they were kept before.
    mutating func add(_ settings: [ConnectorSettings.Assignment], of connector: ConnectorID) {
        for setting in settings where !keeps(setting.property, of: connector) { keep(setting.property, of: connector, setting.former) }
    }

    /// Keeps a value of a property.
    mutating func keep<Object: KMSObject>(_ property: PropertyID<Object>, of object: Object, _ value: UInt64) {
        properties.append(AtomicRequest.Change(object, property, value))
    }

    /// Whether a value of a property is kept.
    func keeps<Object: KMSObject>(_ property: PropertyID<Object>, of object: Object) -> Bool {
        properties.contains { $0.object == object.rawValue && $0.property == property.rawValue }
    }
}
