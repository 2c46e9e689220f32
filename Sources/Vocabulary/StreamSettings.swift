import KioskPlatform

/// How to fetch a source over the network, and when to retry. Files ignore it.
package struct StreamSettings: Hashable, Sendable {
    /// How long the last frame of a lost or ended live stream stays while kiosk opens it again; then the next item follows.
    package var reconnect = MediaTime.seconds(10)
    /// How long a connection may give no data before it counts as lost, and how long opening it may take.
    package var timeout = MediaTime.seconds(10)
    /// The delay of a live stream behind its newest received part. nil is ``defaultLatency``, and for HTTP the amount that the server has
    /// ready at the start.
    package var latency: MediaTime?
    /// How much of a fetched file to receive ahead; nil is ``defaultForwardBuffer``. ``forwardBuffers`` and the memory limit it.
    package var forwardBuffer: MediaTime?
    /// Lines of an HTTP request, such as `Authorization: Bearer 0123`, in order.
    package var headers: [String] = []
    /// The User-Agent sent to HTTP and RTSP servers.
    package var userAgent = "kiosk"
    /// The path of a PEM file with the trusted certificate authorities; nil for the system's.
    package var certificateAuthorities: String?
    /// Whether a server must prove its identity by a TLS certificate.
    package var verifiesTLS = true
    /// Whether a list in a folder may name sources on the network.
    package var mayNameNetwork = false
    /// FFmpeg's names of containers and codecs to play beside the built-in ones.
    package var furtherFormats: [String] = [], furtherCodecs: [String] = []

    /// The default delay: more than the jitter of a wireless network.
    package static let defaultLatency = MediaTime.seconds(1)
    /// A longer delay needs more memory than a small machine has.
    package static let longestLatency = MediaTime.seconds(60)
    /// The default amount to receive ahead.
    package static let defaultForwardBuffer = MediaTime.seconds(30)
    /// Less than two seconds does not bridge a gap, and more than ten minutes is a download.
    package static let forwardBuffers = MediaTime.seconds(2)...MediaTime.seconds(600)
    /// The shortest time limit: a name lookup and a connection to another continent take that long.
    package static let shortestTimeout = MediaTime.seconds(1)

    package init() {}

    /// Returns the request line of a header; nil if HTTP does not allow its name (RFC 9110), or if its value has control characters or is
    /// too long.
    package static func header(_ name: String, _ text: String) -> String? {
        guard 1...200 ~= name.utf8.count, name.utf8.allSatisfy(isTokenByte), text.utf8.count <= 8000,
            !text.unicodeScalars.contains(where: { $0.properties.generalCategory == .control })
        else { return nil }
        return "\(name): \(text)"
    }

    private static func isTokenByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
        default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
    }
}
