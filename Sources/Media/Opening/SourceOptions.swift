import CKioskFFmpeg
import Glibc
import KioskPlatform
import KioskVocabulary

/// The options of libavformat's protocols and demuxers for a source, by their names.
///
/// libavformat ignores options that the source's protocol or demuxer does not know, so kiosk may set those of several protocols.
enum SourceOptions {
    /// The origin of a source.
    enum Kind: Hashable, Sendable {
        case file
        /// Fetched by HTTP: files, and the parts of HLS and DASH.
        case http
        /// Sent live: RTSP, RTP, UDP, SRT, RTMP and the streams of a session description (.sdp).
        case live
        case other
    }

    static func kind(of source: String) -> Kind {
        guard isURL(source) else { return isStream(source) ? .live : .file }
        switch source.prefix(while: { $0 != ":" }).lowercased() {
        case "http", "https": return .http
        case "rtsp", "rtsps", "rtp", "srtp", "udp", "udplite", "srt", "rist", "rtmp", "rtmps", "rtmpt", "rtmpts": return .live
        default: return .other
        }
    }

    static func options(for source: String, _ settings: StreamSettings) -> [(name: String, value: String)] {
        var options = [("pattern_type", "none")]  // `%` and `*` in a still's name are no patterns
        let kind = kind(of: source)
        if kind == .file { return options }
        options.append(("user_agent", settings.userAgent))
        options += tls(settings)
        let timeout = settings.timeout.nanoseconds / 1000
        switch kind {
        // ``FileInput`` adds the headers to each request.
        case .http: options += http(settings).filter { $0.name != "headers" }
        case .live:
            options += [
                ("rw_timeout", "\(timeout)"), ("timeout", "\(timeout)"),
                // TCP first, which no firewall stops; UDP if the camera refuses TCP, or the URL requests UDP (`?udp`).
                ("rtsp_transport", "udp+tcp"), ("rtsp_flags", "prefer_tcp"),
                // Too long a burst loses packets, not the stream.
                ("overrun_nonfatal", "1"), ("buffer_size", "\(4 << 20)"),
                // Each second of probing delays the first picture by one.
                ("analyzeduration", "2000000"),
            ]
            if source.lowercased().hasPrefix("srt:") {
                // SRT requests lost packets again within its own latency, a part of ours.
                let latency = (settings.latency ?? StreamSettings.defaultLatency).nanoseconds / 2000
                options += [("latency", "\(max(20_000, latency))"), ("connect_timeout", "\(timeout / 1000)")]
            }
        default: options.append(("rw_timeout", "\(timeout)"))
        }
        return options
    }

    /// Returns the options of every HTTP request, including those for the parts of a stream.
    static func http(_ settings: StreamSettings) -> [(name: String, value: String)] {
        var options = [
            ("rw_timeout", "\(settings.timeout.nanoseconds / 1000)"), ("user_agent", settings.userAgent),
            ("reconnect", "1"), ("reconnect_delay_max", "4"),
            // A live stream can be probed only as far as it was sent.
            ("analyzeduration", "2000000"),
            // A request for each part, to measure its speed.
            ("http_persistent", "0"),
            // ``FileInput`` follows redirections (``HTTPRedirect``).
            ("max_redirects", "0"),
        ]
        options += tls(settings)
        if !settings.headers.isEmpty { options.append(("headers", settings.headers.map { $0 + "\r\n" }.joined())) }
        return options
    }

    /// Returns the options of every TLS connection. They always name the authorities: no other connection uses the defaults of a claim
    /// (``TLSTerms``).
    private static func tls(_ settings: StreamSettings) -> [(name: String, value: String)] {
        var options = [("tls_verify", settings.verifiesTLS ? "1" : "0")]
        if let file = settings.certificateAuthorities ?? systemAuthorities { options.append(("ca_file", file)) }
        return options
    }

    /// The file that GnuTLS reads by default; nil if it is elsewhere.
    static let systemAuthorities: String? = {
        let file = "/etc/ssl/certs/ca-certificates.crt"
        return access(file, R_OK) == 0 ? file : nil
    }()
}
