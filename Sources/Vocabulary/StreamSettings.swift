import KioskPlatform

/// How a source that comes over the network is fetched, and what is done when it stops. Files have no use for it.
package struct StreamSettings: Hashable, Sendable {
    /// How long the last frame of a live stream that has broken off or ended stands while it is opened again; then the next item follows.
    package var reconnect = MediaTime.seconds(10)
    /// How long a connection may give no data before it is taken to have broken off, and how long opening it may take.
    package var timeout = MediaTime.seconds(10)
    /// How far behind what has been received a live stream is played; nil is ``defaultLatency``, and for what comes over HTTP what the
    /// server has ready at the start.
    package var latency: MediaTime?
    /// Lines of an HTTP request, such as `Authorization: Bearer 0123`, in order.
    package var headers: [String] = []
    /// What an HTTP or RTSP server is told who asks.
    package var userAgent = "kiosk"
    /// The path of a file (PEM) with the authorities whose certificates are trusted; nil for the system's.
    package var certificateAuthorities: String?
    /// Whether a server that is spoken to by TLS must show that it is who it says.
    package var verifiesTLS = true
    /// Whether a list in a folder may name what lies on the network.
    package var mayNameNetwork = false
    /// FFmpeg's names of containers and codecs that are played beside those that always are.
    package var furtherFormats: [String] = [], furtherCodecs: [String] = []

    /// Where nothing else is said: more than the jitter of a wireless network.
    package static let defaultLatency = MediaTime.seconds(1)
    /// More would need more memory than a small box has.
    package static let longestLatency = MediaTime.seconds(60)
    /// The shortest time limit: a resolver and a connection to another continent take as long.
    package static let shortestTimeout = MediaTime.seconds(1)

    package init() {}

    /// The line of a request for one of ``headers``; nil where its name is none that HTTP allows (RFC 9110), or its text has more than one line.
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
