import KioskPlatform
import KioskVocabulary
import Synchronization

/// The variants of an HLS master list, and which of them is played. A pure value.
///
/// libavformat probes every variant that a list names, one after the other, and plays the largest: on a small display that is decoded for
/// nothing, and on a slow line it never arrives. So one is chosen before: the largest that is no larger than the display, of those whose
/// bit rate the line has shown to carry. The list is handed on with that variant alone, and with the sound and the subtitles that belong
/// to it.
struct HLSVariants: Hashable, Sendable {
    struct Variant: Hashable, Sendable {
        /// Bits a second at most, as the list tells.
        var bandwidth: Double
        /// Pixels; nil where the list does not tell, and of sound alone.
        var width: Int?, height: Int?
        /// The group of its subtitles; nil where it has none.
        var subtitles: String?
        /// Lines of the list that are this variant's: its tag, and its address.
        fileprivate var lines: ClosedRange<Int>
    }

    /// Subtitles that have a list of their own (`#EXT-X-MEDIA:TYPE=SUBTITLES`).
    struct Subtitles: Hashable, Sendable {
        /// The variants that name it have them.
        var group: String
        /// Where their list is.
        var address: String
        var language: LanguageCode?
        var name: String?
        var isDefault: Bool, isForced: Bool, isForHardOfHearing: Bool
    }

    private(set) var variants: [Variant] = []
    private var subtitles: [Subtitles] = []
    private let lines: [String]

    /// The share of what a line carries that a variant may take.
    static let usableShare = 0.8
    /// Bits a second that a line is taken to carry before it has been measured.
    static let assumedThroughput = 6_000_000.0
    static let longestList = 8 << 20
    private static let mostSubtitles = 64

    /// nil where `text` is no master list.
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

    /// What a server may say of a side of a picture: more than that nobody decodes, and two of them are multiplied.
    private static func pixels(_ said: Int) -> Int { min(max(0, said), 1 << 16) }

    /// `NAME=VALUE,NAME="VALUE"`; a comma in quotes separates nothing.
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

    /// The index of the variant to be played on a display of so many pixels (nil: any), over a line that has carried `throughput` bits a
    /// second (nil: not measured).
    func choice(display: (width: Int, height: Int)?, throughput: Double?) -> Int {
        let withPicture = variants.indices.filter { variants[$0].height != nil }
        let all = withPicture.isEmpty ? Array(variants.indices) : withPicture
        var fitting = all
        if let display {
            // A display that stands upright shows the same pictures.
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
        // What the line does not carry is not made up for by a variant that is smaller than need be: of those too, the least.
        return carried.max(by: order) ?? fitting.min { variants[$0].bandwidth < variants[$1].bandwidth } ?? 0
    }

    private func size(_ index: Int) -> Int { (variants[index].width ?? 0) * (variants[index].height ?? 0) }

    /// The list with one variant alone; its addresses are made whole by `resolve`.
    func list(with choice: Int, _ resolve: (String) -> String) -> String {
        var result: [String] = []
        for (index, line) in lines.enumerated() {
            if let variant = variants.firstIndex(where: { $0.lines.contains(index) }) {
                if variant != choice { continue }
                result.append(line.hasPrefix("#") || line.isEmpty ? line : resolve(line))
            } else if let media = Self.media(line) {
                // libavformat does not read those (SubtitleFeed.swift).
                if media["TYPE"] != "SUBTITLES" { result.append(Self.resolvingURI(line, resolve)) }
            } else if !line.hasPrefix("#EXT-X-I-FRAME-STREAM-INF") {
                result.append(line)
            }
        }
        return result.joined(separator: "\n") + "\n"
    }

    /// The attributes of an `#EXT-X-MEDIA`; nil of any other line.
    private static func media(_ line: String) -> [String: String]? {
        let tag = "#EXT-X-MEDIA:"
        return line.hasPrefix(tag) ? attributes(line.dropFirst(tag.count)) : nil
    }

    /// The subtitles of a variant, or of all of them (nil), their addresses made whole by `resolve`.
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

    /// A list with all its addresses made whole by `resolve`.
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
    /// Those of an `#EXT-X-MEDIA`; nil where it is none of subtitles. The names are those of RFC 8216, 4.3.4.1.
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

/// What is wrong with a list of HLS, so that libavformat does not get it. It ends the process with some, and RFC 8216 has most of them refused. A pure value.
enum HLSFault: Hashable, Sendable {
    /// Parts are encrypted by SAMPLE-AES: libavformat is ready for that only where the first part is.
    case encryptsSamples
    /// It lists parts and other lists.
    case isMixed
    /// A list that another one names lists further ones.
    case isNested
    /// A list that another one names has no part: libavformat would read it without having opened it.
    case isEmpty

    /// That of a list, as libavformat reads its lines.
    ///
    /// - Parameters:
    ///   - isFirst: whether it is the source itself, not what another list names.
    ///   - mayBeEmpty: whether it has been read before, as that of a live stream.
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

    /// What is told of a source that is such a list, or names one; nil where it plays without that.
    func reason(isFirst: Bool) -> MediaError.Reason? {
        switch self {
        case .encryptsSamples: .encryptedSamples
        case .isMixed, .isNested, .isEmpty: isFirst ? .mixedList : nil
        }
    }
}

/// How many bits a second the lines to servers have carried, as far as that has been seen. A pure value.
package struct Throughput: Hashable, Sendable {
    /// Bits a second by server.
    private var servers: [String: Double] = [:]

    /// Less says more of how long a request takes than of the line.
    static let leastBytes: Int64 = 32 << 10
    private static let mostServers = 100

    /// What has been seen of a server; nil where nothing has.
    func of(_ server: String) -> Double? { servers[server] }

    /// A part of so many bytes has come from `server` in `time`. A slower line is believed sooner than a faster one.
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

    /// What has been seen of the server that a source is named by.
    package static func seen(of source: String) -> Double? { seen.withLock { $0.of(server(source)) } }

    /// Somebody else has seen so much of it.
    package static func note(_ rate: Double, of source: String) { seen.withLock { $0.set(rate, of: server(source)) } }

    /// Bits a second that any line carries.
    package static let plausible = 1.0...1e12
}
