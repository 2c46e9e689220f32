import KioskVocabulary

/// What a source may have opened besides itself, by where it comes from. A pure value; docs/streams.md has it as a table.
///
/// A list (HLS, DASH, a session description) names what is to be opened, and whoever writes one is not the person who wrote kiosk.conf. libavformat
/// asks two lists of protocols: that of the AVFormatContext, which demuxers hand on to what they open, and that of each AVIOContext. An empty
/// one (nil) allows everything, so ``protocols`` is set on every context before anything is opened. It also has to contain what protocols
/// need to work (https needs tls, that needs tcp). What a list may *name* is less, and ``allows(_:)`` is asked for each name that libavformat opens
/// through the context. DASH's demuxer opens its parts without asking, so local DASH is not played at all.
package struct SourceReach: Hashable, Sendable {
    /// Protocols that may be named.
    package var named: [String] = []
    /// Protocols that are needed to carry those.
    package var carriers: [String] = []
    /// The folder beneath which files may be named; nil where none may be.
    package var folder: String?
    /// Names of FFmpeg's demuxers that open more than the source itself.
    package var lists: [String] = []
    /// The scheme of a URL that is not played at all.
    package var refusedScheme: String?

    /// libavformat's `protocol_whitelist`. Never empty.
    var protocols: String { (named + carriers + ["data"]).joined(separator: ",") }

    /// Nothing besides itself.
    package init() {}

    private static let web = ["http", "https", "crypto", "data"], webCarriers = ["tls", "tcp", "httpproxy"]

    /// - Parameter isKept: whether it is a file in whose place something else was named, such as one of the cache's: its bytes are those of a
    ///   server, so it opens nothing else. Nor does what lies on a stick.
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
        // Of DASH ``FileInput`` says whether it is one.
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

    /// What is done with a name that is to be opened.
    enum Verdict: Hashable {
        /// It is not a file: libavformat opens it.
        case open
        /// A file beneath ``folder``, by its path in there.
        case file(String)
        case refused
    }

    /// Whether `name`, as libavformat would open it, may be opened by a source that names it. `protocolName` is what
    /// `avio_find_protocol_name` makes of it.
    func allows(_ name: String, protocolName: String) -> Verdict {
        guard named.contains(protocolName) else { return .refused }
        switch protocolName {
        case "file":
            guard let folder else { return .refused }
            let path = Self.path(of: name)
            let prefix = folder == "/" ? "/" : folder + "/"
            return path.hasPrefix(prefix) ? .file(String(path.dropFirst(prefix.count))) : .refused
        case "crypto":
            // `crypto+https://…`: what is encrypted has a name of its own. A file is opened by libavformat itself, which would follow a link out
            // of the folder.
            let inner = name.dropFirst("crypto+".count)
            return HTTPAddress(String(inner)) == nil ? .refused : .open
        // What libavformat would write into a request as further lines of it.
        default: return name.utf8.contains { $0 < 0x20 || $0 == 0x7F } ? .refused : .open
        }
    }

    /// What a list at `base`, a path or a URL, names by `reference`.
    static func resolve(_ reference: String, against base: String) -> String {
        if isURL(base) || isURL(reference) || reference.hasPrefix("/") { return HTTPAddress.resolve(reference, against: base) }
        return String(base[..<(base.lastIndex(of: "/").map { base.index(after: $0) } ?? base.startIndex)]) + reference
    }

    /// The path that libavformat's `file:` names.
    static func path(of name: String) -> String {
        let path = name.hasPrefix("file:") ? name.dropFirst(5) : name[...]
        guard path.hasPrefix("//") else { return String(path) }
        return "/" + path.drop { $0 == "/" }
    }
}
