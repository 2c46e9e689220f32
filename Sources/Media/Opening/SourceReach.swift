import KioskVocabulary

/// The names that a source may open besides itself, depending on its origin. A pure value; docs/streams.md has it as a table.
///
/// A list (HLS, DASH, a session description) names files and servers to open. Its author is not the author of kiosk.conf. libavformat
/// checks two lists of protocols: the AVFormatContext's, which demuxers pass on to anything they open, and each AVIOContext's. An empty
/// list (nil) allows everything, so kiosk sets ``protocols`` on every context before it opens anything. The list must also contain the
/// protocols that others need (https needs tls, that needs tcp). A list may *name* less: ``allows(_:protocolName:)`` judges each name that
/// libavformat opens through the context. DASH's demuxer opens its parts without that call, so kiosk does not play local DASH at all.
package struct SourceReach: Hashable, Sendable {
    /// The protocols that may be named.
    package var named: [String] = []
    /// The protocols needed to carry those.
    package var carriers: [String] = []
    /// The folder beneath which files may be named; nil for none.
    package var folder: String?
    /// The names of FFmpeg's demuxers that open more than the source itself.
    package var lists: [String] = []
    /// The scheme of a URL that kiosk does not play at all.
    package var refusedScheme: String?

    /// libavformat's `protocol_whitelist`. Never empty.
    var protocols: String { (named + carriers + ["data"]).joined(separator: ",") }

    /// Allows nothing besides the source itself.
    package init() {}

    private static let web = ["http", "https", "crypto", "data"], webCarriers = ["tls", "tcp", "httpproxy"]

    /// - Parameter isKept: whether it is a file that replaces another source, such as one in the cache. Its bytes come from a server, so it
    ///   opens nothing else. Nor does a file on a stick.
    package init(_ source: String, _ settings: StreamSettings, isKept: Bool = false) {
        if isKept || StickMounts.hold(source) { return }
        guard isURL(source) else {
            if isStream(source) {
                (named, lists) = (["rtp", "srtp", "udp"], ["sdp"])
            } else {
                reachFolder(of: source, settings)
            }
            return
        }
        let scheme = source.prefix { $0 != ":" }.lowercased()
        switch scheme {
        // ``FileInput`` finds out whether it is DASH.
        case "http", "https": (named, carriers, lists) = (Self.web, Self.webCarriers, ["hls"])
        case "rtsp": (named, carriers, lists) = (["rtsp", "rtp", "srtp", "udp"], ["tcp"], ["rtsp"])
        case "rtsps": (named, carriers, lists) = (["rtsps", "rtp", "srtp", "udp"], ["tls", "tcp", "httpproxy"], ["rtsp"])
        case "rtp", "srtp": (named, lists) = ([scheme, "rtp", "udp"], ["rtp"])
        case "udp", "udplite", "srt", "rist", "tcp": named = [scheme]
        case "rtmp": (named, carriers) = ([scheme], ["tcp"])
        case "rtmpt": (named, carriers) = ([scheme], ["ffrtmphttp", "http", "tcp"])
        case "rtmps": (named, carriers) = ([scheme], ["tls", "tcp", "httpproxy"])
        case "rtmpts": (named, carriers) = ([scheme], ["ffrtmphttp", "https", "tls", "tcp", "httpproxy"])
        default: refusedScheme = scheme
        }
    }

    private mutating func reachFolder(of path: String, _ settings: StreamSettings) {
        (named, lists) = (["file"], ["hls"])
        folder = path.lastIndex(of: "/").map { $0 == path.startIndex ? "/" : String(path[..<$0]) }
        if settings.mayNameNetwork { (named, carriers) = (["file"] + Self.web, Self.webCarriers) }
    }

    /// The decision about a name to open.
    enum Verdict: Hashable {
        /// Not a file: libavformat opens it.
        case open
        /// A file beneath ``folder``, by its path in there.
        case file(String)
        case refused
    }

    /// Decides whether a source that names `name` may open it. `name` is libavformat's spelling, `protocolName` the result of
    /// `avio_find_protocol_name`.
    func allows(_ name: String, protocolName: String) -> Verdict {
        guard named.contains(protocolName) else { return .refused }
        switch protocolName {
        case "file":
            guard let folder else { return .refused }
            let path = Self.path(of: name)
            let prefix = folder == "/" ? "/" : folder + "/"
            return path.hasPrefix(prefix) ? .file(String(path.dropFirst(prefix.count))) : .refused
        case "crypto":
            // `crypto+https://…`: the encrypted resource has a name of its own. libavformat would open a file itself, and follow a link out
            // of the folder.
            let inner = name.dropFirst("crypto+".count)
            return HTTPAddress(String(inner)) == nil ? .refused : .open
        // libavformat would write control characters into a request as further lines.
        default: return name.utf8.contains { $0 < 0x20 || $0 == 0x7F } ? .refused : .open
        }
    }

    /// Returns the path or URL for `reference` in a list at `base`, a path or a URL.
    static func resolve(_ reference: String, against base: String) -> String {
        if isURL(base) || isURL(reference) || reference.hasPrefix("/") { return HTTPAddress.resolve(reference, against: base) }
        return String(base[..<(base.lastIndex(of: "/").map { base.index(after: $0) } ?? base.startIndex)]) + reference
    }

    /// Returns the path of a name of libavformat's `file:` protocol.
    static func path(of name: String) -> String {
        let path = name.hasPrefix("file:") ? name.dropFirst(5) : name[...]
        guard path.hasPrefix("//") else { return String(path) }
        return "/" + path.drop { $0 == "/" }
    }
}
