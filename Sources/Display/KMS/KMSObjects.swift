import CKioskDRM

/// The kernel's number for a KMS object with properties; 0 is none. Each kind has its own type, so that they cannot be confused.
protocol KMSObject: RawRepresentable<UInt32>, Hashable, Sendable {
    /// `DRM_MODE_OBJECT_PLANE` and so on.
    static var objectType: UInt32 { get }
    /// The name in messages: `plane`.
    static var kind: String { get }
}

/// A plane: one layer of a CRTC's output.
struct PlaneID: KMSObject {
    var rawValue: UInt32
    static var objectType: UInt32 { UInt32(DRM_MODE_OBJECT_PLANE) }
    static var kind: String { "plane" }
}

/// A CRTC: composes planes and sends them to connectors at the rate of a mode.
struct CRTCID: KMSObject {
    var rawValue: UInt32
    static var objectType: UInt32 { UInt32(DRM_MODE_OBJECT_CRTC) }
    static var kind: String { "CRTC" }
    /// The CRTC of a connector or plane that is off.
    static let none = CRTCID(rawValue: 0)
}

/// A connector: the socket of a display.
struct ConnectorID: KMSObject {
    var rawValue: UInt32
    static var objectType: UInt32 { UInt32(DRM_MODE_OBJECT_CONNECTOR) }
    static var kind: String { "connector" }
}

/// A framebuffer: memory with a size and a format, for a plane to show.
struct FramebufferID: Hashable, Sendable {
    var rawValue: UInt32
}

/// An encoder: connects a CRTC to a connector.
struct EncoderID: Hashable, Sendable {
    var rawValue: UInt32
    static let none = EncoderID(rawValue: 0)
}

/// A blob: the bytes of a property's value.
struct BlobID: Hashable, Sendable {
    var rawValue: UInt32
}

/// Memory of a card, numbered for one descriptor of the card (GEM); 0 is none.
struct GEMHandle: Hashable, Sendable {
    var rawValue: UInt32
    static let none = GEMHandle(rawValue: 0)
}

/// A property of objects of one kind, for requests. nil means that the object does not offer it.
struct PropertyID<Object: KMSObject>: Hashable, Sendable {
    var rawValue: UInt32
    /// `FB_ID`; for messages.
    var name: String
}
