import KioskPlatform
import KioskVocabulary
import Synchronization

/// The variants of an HLS master list, and the choice among them. A pure value.
///
/// libavformat probes every variant of a list, one after the other, and plays the largest. A small display decodes that for nothing, and
/// over a slow line it never arrives. So for a list from a server kiosk chooses one first: the largest that fits both the display and the
/// measured throughput. libavformat receives the list with only that variant, and with all `#EXT-X-MEDIA` entries except subtitles.
/// SubtitleFeed.swift reads those.
struct HLSVariants: Hashable, Sendable {
    struct Variant: Hashable, Sendable {
        /// Maximum bits a second, according to the list.
        var bandwidth: Double
        /// Pixels; nil if the list does not state them, and for sound alone.
        var width: Int?, height: Int?
        /// The group of its subtitles; nil for none.
        var subtitles: String?
        /// The variant's lines in the list: its tag and its address.
        fileprivate var lines: ClosedRange<Int>
    }

    /// Subtitles with a list of their own (`#EXT-X-MEDIA:TYPE=SUBTITLES`).
    struct Subtitles: Hashable, Sendable {
        /// The group by which variants refer to them.
        var group: String
        /// The address of their list.
        var address: String
        var language: LanguageCode?
        var name: String?
        var isDefault: Bool, isForced: Bool, isForHardOfHearing: Bool
    }

    private(set) var variants: [Variant] = []
    private var subtitles: [Subtitles] = []
    private let lines: [String]

    /// The share of a line's throughput that a variant may take.
    static let usableShare = 0.8
    /// The assumed throughput of a line before a measurement, in bits a second.
    static let assumedThroughput = 6_000_000.0
    static let longestList = 8 << 20
    private static let mostSubtitles = 64

    /// Parses a master list; nil if `text` is none.
    init?(_ text: String) {
        lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).map(String.init)
        guard lines.first?.hasPrefix("#EXTM3U") == true else { return nil }
        var tag: (index: Int, attributes: [String: String])?
        for (index, line) in lines.enumerated() {
            if let media = Self.media(line), let found = Subtitles(media), subtitles.count < Self.mostSubtitles {
                subtitles.append(found)
            } else if line.hasPrefix("#EXT-X-STREAM-INF:") {
                tag = (index, Self.attributes(line.dropFirst("#EXT-X-STREAM-INF:".count)))
            } else if let given = tag, !line.isEmpty, !line.hasPrefix("#") {
                let size = given.attributes["RESOLUTION"]?.split(separator: "x").compactMap { Int($0).map(Self.pixels) } ?? []
                let bandwidth = Double(given.attributes["BANDWIDTH"] ?? "") ?? 0
                variants.append(
                    Variant(
                        bandwidth: bandwidth.isFinite ? bandwidth : 0, width: size.count == 2 ? size[0] : nil,
                        height: size.count == 2 ? size[1] : nil, subtitles: given.attributes["SUBTITLES"], lines: given.index...index))
                tag = nil
            }
        }
        if variants.isEmpty { return nil }
    }

    /// Limits a picture side stated by a server: no decoder takes more, and the code multiplies two of them.
    private static func pixels(_ said: Int) -> Int { min(max(0, said), 1 << 16) }

    /// Parses `NAME=VALUE,NAME="VALUE"`; a comma in quotes separates nothing.
    static func attributes(_ text: Substring) -> [String: String] {
        var result: [String: String] = [:]
        var (name, value, isQuoted, isName) = ("", "", false, true)
        for character in String(text) + "," {
            switch character {
            case "\"": isQuoted.toggle()
            case "=" where isName: isName = false
            case "," where !isQuoted:
                result[name.filter { $0 != " " }] = value
                (name, value, isName) = ("", "", true)
            default: if isName { name.append(character) } else { value.append(character) }
            }
        }
        return result
    }

    /// Returns the index of the variant to play. `display` is its size in pixels (nil: any), `throughput` the measured bits a second of the
    /// line (nil: not measured).
    func choice(display: (width: Int, height: Int)?, throughput: Double?) -> Int {
        let withPicture = variants.indices.filter { variants[$0].height != nil }
        let all = withPicture.isEmpty ? Array(variants.indices) : withPicture
        var fitting = all
        if let display {
            // An upright display shows the same pictures.
            let (long, short) = (max(display.width, display.height), min(display.width, display.height))
            fitting = all.filter { index in
                guard let width = variants[index].width, let height = variants[index].height else { return true }
                return max(width, height) <= long + long / 20 && min(width, height) <= short + short / 20
            }
            if fitting.isEmpty { fitting = all.min { size($0) < size($1) }.map { [$0] } ?? all }
        }
        let limit = (throughput ?? Self.assumedThroughput) * Self.usableShare
        let carried = fitting.filter { variants[$0].bandwidth <= limit }
        let order: (Int, Int) -> Bool = { (size($0), variants[$0].bandwidth) < (size($1), variants[$1].bandwidth) }
        // If the line carries none, the least bit rate of those that fit: a smaller picture than necessary would not help.
        return carried.max(by: order) ?? fitting.min { variants[$0].bandwidth < variants[$1].bandwidth } ?? 0
    }

    private func size(_ index: Int) -> Int { (variants[index].width ?? 0) * (variants[index].height ?? 0) }

    /// Returns the list with one variant alone; `resolve` makes its addresses absolute.
    func list(with choice: Int, _ resolve: (String) -> String) -> String {
        var result: [String] = []
        for (index, line) in lines.enumerated() {
            if let variant = variants.firstIndex(where: { $0.lines.contains(index) }) {
                if variant != choice { continue }
                result.append(line.hasPrefix("#") || line.isEmpty ? line : resolve(line))
            } else if let media = Self.media(line) {
                // libavformat does not read these (SubtitleFeed.swift).
                if media["TYPE"] != "SUBTITLES" { result.append(Self.resolvingURI(line, resolve)) }
            } else if !line.hasPrefix("#EXT-X-I-FRAME-STREAM-INF") {
                result.append(line)
            }
        }
        return result.joined(separator: "\n") + "\n"
    }

    /// Returns the attributes of an `#EXT-X-MEDIA` line; nil for any other.
    private static func media(_ line: String) -> [String: String]? {
        let tag = "#EXT-X-MEDIA:"
        return line.hasPrefix(tag) ? attributes(line.dropFirst(tag.count)) : nil
    }

    /// Returns the subtitles of a variant, or of all variants (nil); `resolve` makes their addresses absolute.
    func subtitles(of choice: Int?, _ resolve: (String) -> String) -> [Subtitles] {
        let groups = Set((choice.map { [variants[$0]] } ?? variants).compactMap(\.subtitles))
        var addresses: Set<String> = []
        return subtitles.compactMap { found in
            guard groups.contains(found.group), addresses.insert(found.address).inserted else { return nil }
            var found = found
            found.address = resolve(found.address)
            return found
        }
    }

    /// Returns a list with all addresses made absolute by `resolve`.
    static func resolving(_ text: String, _ resolve: (String) -> String) -> String {
        text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).map { line in
            line.hasPrefix("#") ? resolvingURI(String(line), resolve) : line.isEmpty ? "" : resolve(String(line))
        }.joined(separator: "\n")
    }

    private static func resolvingURI(_ line: String, _ resolve: (String) -> String) -> String {
        guard let begin = line.firstRange(of: "URI=\""), let end = line[begin.upperBound...].firstIndex(of: "\"") else { return line }
        return line[..<begin.upperBound] + resolve(String(line[begin.upperBound..<end])) + line[end...]
    }
}

extension HLSVariants.Subtitles {
    /// Creates subtitles from the attributes of an `#EXT-X-MEDIA` (RFC 8216, 4.3.4.1); nil if it has none.
    init?(_ attributes: [String: String]) {
        guard attributes["TYPE"] == "SUBTITLES", let address = attributes["URI"], !address.isEmpty, let group = attributes["GROUP-ID"]
        else { return nil }
        let characteristics = attributes["CHARACTERISTICS"]?.split(separator: ",") ?? []
        self.init(
            group: group, address: address, language: attributes["LANGUAGE"].flatMap { LanguageCode($0) },
            name: attributes["NAME"]?.asTitle,
            isDefault: attributes["DEFAULT"] == "YES", isForced: attributes["FORCED"] == "YES",
            isForHardOfHearing: characteristics.contains {
                ["public.accessibility.transcribes-spoken-dialog", "public.accessibility.describes-music-and-sound"].contains($0)
            })
    }
}

/// A fault for which kiosk keeps an HLS list from libavformat. Some faults make libavformat end the process, and RFC 8216 requires clients
/// to refuse most. A pure value.
enum HLSFault: Hashable, Sendable {
    /// Parts are encrypted by SAMPLE-AES: libavformat handles that only if the first part is.
    case encryptsSamples
    /// The list has both parts and other lists.
    case isMixed
    /// A list within a list names further lists.
    case isNested
    /// A list within a list has no part: libavformat would read it without having opened it.
    case isEmpty

    /// Returns the fault of a list, read line by line as libavformat does; nil if it has none.
    ///
    /// - Parameters:
    ///   - isFirst: whether it is the source itself, not a list named by another.
    ///   - mayBeEmpty: whether it was read before, as a live stream's list.
    init?(_ text: [UInt8], isFirst: Bool, mayBeEmpty: Bool) {
        var (hasPart, hasList, isPart) = (false, false, false)
        for line in text.split(whereSeparator: { [0x0A, 0x0D, 0].contains($0) }) {
            if line.first != UInt8(ascii: "#") {
                if isPart { hasPart = true }
                continue
            }
            if line.starts(with: "#EXTINF:".utf8) { isPart = true }
            if line.starts(with: "#EXT-X-STREAM-INF:".utf8) || line.starts(with: "#EXT-X-MEDIA:".utf8) { hasList = true }
            if line.starts(with: "#EXT-X-KEY:".utf8), String(decoding: line, as: UTF8.self).firstRange(of: "SAMPLE-AES") != nil {
                self = .encryptsSamples
                return
            }
        }
        if hasList, isPart {
            self = .isMixed
        } else if hasList, !isFirst {
            self = .isNested
        } else if !hasPart, !hasList, !isFirst, !mayBeEmpty {
            self = .isEmpty
        } else {
            return nil
        }
    }

    /// Returns the error for a source that is such a list, or names one; nil if it plays without it.
    func reason(isFirst: Bool) -> MediaError.Reason? {
        switch self {
        case .encryptsSamples: .encryptedSamples
        case .isMixed, .isNested, .isEmpty: isFirst ? .mixedList : nil
        }
    }
}

/// The measured throughput of the lines to servers. A pure value.
package struct Throughput: Hashable, Sendable {
    /// Bits a second by server.
    private var servers: [String: Double] = [:]

    /// Smaller parts measure the latency of a request rather than the line.
    static let leastBytes: Int64 = 32 << 10
    private static let mostServers = 100

    /// Returns the measured throughput of a server; nil without a measurement.
    func of(_ server: String) -> Double? { servers[server] }

    /// Adds a measurement: `bytes` from `server` in `time`. A slower line counts sooner than a faster one.
    mutating func received(_ bytes: Int64, from server: String, in time: MediaTime) {
        guard bytes >= Self.leastBytes, time > .zero else { return }
        let rate = Double(bytes) * 8 / time.seconds
        set(of(server).map { $0 + (rate < $0 ? 0.7 : 0.3) * (rate - $0) } ?? rate, of: server)
    }

    private mutating func set(_ rate: Double, of server: String) {
        if servers.count >= Self.mostServers, servers[server] == nil { servers = [:] }
        servers[server] = rate
    }

    static func server(_ url: String) -> String {
        guard let scheme = url.firstRange(of: "://") else { return "" }
        return String(url[scheme.upperBound...].prefix { $0 != "/" && $0 != "?" })
    }

    static let seen = Mutex(Throughput())

    /// Returns the measured throughput of the server in a source's address.
    package static func seen(of source: String) -> Double? { seen.withLock { $0.of(server(source)) } }

    /// Stores a measurement by another process.
    package static func note(_ rate: Double, of source: String) { seen.withLock { $0.set(rate, of: server(source)) } }

    /// The plausible range, in bits a second.
    package static let plausible = 1.0...1e12
}
