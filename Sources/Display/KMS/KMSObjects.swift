import CKioskDRM

/// The kernel's number for an object of a card that has properties; 0 is no object. One type for each kind, so that none is taken for another.
protocol KMSObject: RawRepresentable<UInt32>, Hashable, Sendable {
    /// `DRM_MODE_OBJECT_PLANE` and so on.
    static var objectType: UInt32 { get }
    /// What it is called in a message: `plane`.
    static var kind: String { get }
}

/// A plane: one layer of what a CRTC scans out.
struct PlaneID: KMSObject {
    var rawValue: UInt32
    static var objectType: UInt32 { UInt32(DRM_MODE_OBJECT_PLANE) }
    static var kind: String { "plane" }
}

/// A CRTC: puts planes together and sends them to connectors at the rate of a mode.
struct CRTCID: KMSObject {
    var rawValue: UInt32
    static var objectType: UInt32 { UInt32(DRM_MODE_OBJECT_CRTC) }
    static var kind: String { "CRTC" }
    /// What a connector or a plane that is off is on.
    static let none = CRTCID(rawValue: 0)
}

/// A connector: the socket of a display.
struct ConnectorID: KMSObject {
    var rawValue: UInt32
    static var objectType: UInt32 { UInt32(DRM_MODE_OBJECT_CONNECTOR) }
    static var kind: String { "connector" }
}

/// A framebuffer: memory with a size and a format, which a plane can show.
struct FramebufferID: Hashable, Sendable {
    var rawValue: UInt32
}

/// An encoder: what brings a CRTC to a connector.
struct EncoderID: Hashable, Sendable {
    var rawValue: UInt32
    static let none = EncoderID(rawValue: 0)
}

/// A blob: bytes that are the value of a property.
struct BlobID: Hashable, Sendable {
    var rawValue: UInt32
}

/// Memory of a card, as one descriptor of the card has it (GEM); 0 is none.
struct GEMHandle: Hashable, Sendable {
    var rawValue: UInt32
    static let none = GEMHandle(rawValue: 0)
}

/// A property of objects of one kind, as a request names it. That an object does not offer one is told by nil.
struct PropertyID<Object: KMSObject>: Hashable, Sendable {
    var rawValue: UInt32
    /// `FB_ID`; for messages.
    var name: String
}
