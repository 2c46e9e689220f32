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

    /// Where nothing else is said: more than the jitter of a wireless network.
    package static let defaultLatency = MediaTime.seconds(1)
    /// More would need more memory than a small box has.
    package static let longestLatency = MediaTime.seconds(60)
    /// The shortest time limit: a resolver and a connection to another continent take as long.
    package static let shortestTimeout = MediaTime.seconds(1)

    /// The defaults.
    package init() {}
}
