import CKioskDRM
import Glibc

/// The way of a picture through a card: primary plane, CRTC, connector, mode. Driven by atomic commits (``AtomicPipe``) or, where the
/// driver has none, by the older calls (``LegacyPipe``). Presenter thread only.
protocol Pipe: AnyObject {
    /// Scans out `framebuffer` in the pipe's mode, whatever was there before. Blocks until it is done; reports no flip. With
    /// `retrainingLink` the link to the display is set up anew even in the same mode.
    func modeset(_ framebuffer: FramebufferID, retrainingLink: Bool) throws(DeviceError)
    /// Asks for `picture`, and with it for a change of what lies over it, from the next vblank on; an event with `id` will tell. Without one it
    /// blocks until that is on the screen.
    func flip(to picture: PipePicture, overlay: OverlayChange?, id: UInt64?) throws(DeviceError)
    /// Whether pictures are shown in this way now.
    func shows(_ arrangement: VideoArrangement) -> Bool
    /// Switches planes off, whatever it takes. Blocks.
    func hide(_ planes: [PlaneProperties]) throws(DeviceError)
    /// What shows pictures that are not converted, and drawn ones over them, in the mode that has been set; nil where that cannot be.
    /// `usesCursor`: a cursor plane is one of the screen's.
    func planes(usesCursor: Bool) -> KMSPlanes?
    /// Ends the signal: the display goes to sleep. A modeset has it back. Blocks.
    func turnOff() throws(DeviceError)
    /// Puts back what was there before the first modeset.
    func restore()
}

extension Pipe {
    func shows(_ arrangement: VideoArrangement) -> Bool { false }
}

/// A picture to be shown.
enum PipePicture {
    /// Converted: the primary plane shows it.
    case converted(FramebufferID)
    /// As it was decoded.
    case planes(VideoShow)

    /// What the primary plane shows.
    var primary: FramebufferID {
        switch self {
        case .converted(let framebuffer): framebuffer
        case .planes(let show): show.primaryFramebuffer
        }
    }
}

/// What a pipe runs through.
struct PipeRoute {
    var card: DRMCard
    var connector: ConnectorID
    /// `HDMI-A-1`.
    var connectorName: String
    var crtc: CRTCID
    /// The CRTC's bit in `possible_crtcs` masks.
    var crtcBit: UInt32
    var timing: drmModeModeInfo

    /// A CRTC for `record`: the one it is on, if no other connector is; else one that nobody uses; else any it can have. Never one of
    /// `reserved`, which other outputs of ours have.
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
    /// The CRTCs that the connector can be on, as bits.
    func possibleCRTCs(of card: DRMCard) -> UInt32 {
        encoders.compactMap(card.encoder).reduce(0) { $0 | $1.possible_crtcs }
    }
}

/// What a CRTC showed before we drove it.
struct SavedPipe {
    /// Framebuffer, offset and mode of the CRTC; what the older calls can put back.
    var crtc: drmModeCrtc?
    /// Every settable property of the CRTC, its planes and the connector; what an atomic commit can put back. The mode is kept
    /// by its contents in `crtc`, because the old blob dies with the old mode. The older calls put back those of the connector only.
    var properties: [AtomicRequest.Change] = []

    /// Keeps what ``ConnectorSettings`` are to change on a connector of `card`, unless that was kept before.
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
