import CKioskFFmpeg
import Glibc
import KioskPlatform
import KioskVocabulary

/// What libavformat is told about a source before it opens it: options of its protocols and demuxers, by their names.
///
/// Options that the protocol or demuxer of a source does not know are left over and ignored, so those of several protocols may be given.
enum SourceOptions {
    /// Where a source comes from.
    enum Kind: Hashable, Sendable {
        case file
        /// Fetched by HTTP: files, and what HLS and DASH list.
        case http
        /// Sent as it is made: RTSP, RTP, UDP, SRT, RTMP and what a session description (.sdp) names.
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
        var options = [("pattern_type", "none")]  // `%` and `*` in the name of a still are no patterns
        let kind = kind(of: source)
        if kind == .file { return options }
        options.append(("user_agent", settings.userAgent))
        options += tls(settings)
        let timeout = settings.timeout.nanoseconds / 1000
        switch kind {
        // Its requests are made with them one by one, by ``FileInput``.
        case .http: options += http(settings).filter { $0.name != "headers" }
        case .live:
            options += [
                ("rw_timeout", "\(timeout)"), ("timeout", "\(timeout)"),
                // TCP first, which no firewall stops; UDP where the camera refuses that, or the URL asks for it (`?udp`).
                ("rtsp_transport", "udp+tcp"), ("rtsp_flags", "prefer_tcp"),
                // A burst that is too long loses packets and not the stream.
                ("overrun_nonfatal", "1"), ("buffer_size", "\(4 << 20)"),
                // Each second of probing is one that the first picture is late.
                ("analyzeduration", "2000000"),
            ]
            if source.lowercased().hasPrefix("srt:") {
                // SRT asks for lost packets again within its own latency, which is a part of ours.
                let latency = (settings.latency ?? StreamSettings.defaultLatency).nanoseconds / 2000
                options += [("latency", "\(max(20_000, latency))"), ("connect_timeout", "\(timeout / 1000)")]
            }
        default: options.append(("rw_timeout", "\(timeout)"))
        }
        return options
    }

    /// What every request by HTTP is made with, those for the parts of a stream included.
    static func http(_ settings: StreamSettings) -> [(name: String, value: String)] {
        var options = [
            ("rw_timeout", "\(settings.timeout.nanoseconds / 1000)"), ("user_agent", settings.userAgent),
            ("reconnect", "1"), ("reconnect_delay_max", "4"),
            // A live stream has no more to be probed than has been sent.
            ("analyzeduration", "2000000"),
            // Each part by a request of its own, so that its speed can be measured.
            ("http_persistent", "0"),
            // Who is sent elsewhere is asked first (``HTTPRedirect``).
            ("max_redirects", "0"),
        ]
        options += tls(settings)
        if !settings.headers.isEmpty { options.append(("headers", settings.headers.map { $0 + "\r\n" }.joined())) }
        return options
    }

    /// What every connection by TLS is made with. The authorities are always named, so that the defaults of a claim (``TLSTerms``) are nobody else's.
    private static func tls(_ settings: StreamSettings) -> [(name: String, value: String)] {
        var options = [("tls_verify", settings.verifiesTLS ? "1" : "0")]
        if let file = settings.certificateAuthorities ?? systemAuthorities { options.append(("ca_file", file)) }
        return options
    }

    /// What GnuTLS reads where no file is named; nil where it is elsewhere.
    static let systemAuthorities: String? = {
        let file = "/etc/ssl/certs/ca-certificates.crt"
        return access(file, R_OK) == 0 ? file : nil
    }()
}
