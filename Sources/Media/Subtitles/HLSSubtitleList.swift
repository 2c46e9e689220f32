import KioskPlatform

/// A subtitle list of HLS: parts of WebVTT (RFC 8216). A pure value; its numbers are clamped.
struct HLSSubtitleList: Hashable, Sendable {
    /// A part of WebVTT.
    struct Part: Hashable, Sendable {
        /// The place in the stream, the same in each version of a live list.
        var number: Int
        /// The start from the beginning of the list, and the length.
        var start: MediaTime, duration: MediaTime
        /// The address as the list writes it.
        var address: String
        /// The byte range of the part; nil for the whole file.
        var range: Range<Int64>?

        var end: MediaTime { start + duration }
    }

    /// The reason that the parts cannot be read.
    enum Fault: String, Hashable, Sendable {
        case encrypted = "are encrypted"
        case notText = "come in pieces of MP4"
    }

    private(set) var parts: [Part] = []
    /// The longest part, and the time between reloads of a live list.
    private(set) var targetDuration = MediaTime.seconds(6)
    /// Whether no more parts will come.
    private(set) var hasEnded = false
    private(set) var fault: Fault?

    static let mostParts = 50_000
    private static let longestPart = MediaTime.seconds(86_400), longestTarget = 60

    /// Parses a list; nil if `text` is not one.
    init?(_ text: String) {
        var lines = text.split(omittingEmptySubsequences: true, whereSeparator: \.isNewline)[...]
        guard lines.popFirst()?.hasPrefix("#EXTM3U") == true else { return nil }
        var (number, start) = (0, MediaTime.zero)
        var duration: MediaTime?, range: Range<Int64>?, hasGap = false
        var lastRange: (address: String, end: Int64)?
        for line in lines {
            func value(of tag: String) -> Substring? { line.hasPrefix(tag) ? line.dropFirst(tag.count) : nil }
            if let text = value(of: "#EXTINF:") {
                let seconds = Double(text.prefix { $0 != "," }) ?? 0
                duration = seconds > 0 ? min(.seconds(min(seconds, Self.longestPart.seconds)), Self.longestPart) : .zero
            } else if let text = value(of: "#EXT-X-BYTERANGE:") {
                let numbers = text.split(separator: "@").map { Int64($0) ?? -1 }
                guard let count = numbers.first, count > 0 else { continue }
                let begin = numbers.count > 1 ? numbers[1] : lastRange?.end ?? 0
                let (end, overflows) = begin.addingReportingOverflow(count)
                range = begin >= 0 && !overflows ? begin..<end : nil
            } else if let text = value(of: "#EXT-X-TARGETDURATION:") {
                targetDuration = .seconds(Double(min(max(Int(text) ?? 6, 1), Self.longestTarget)))
            } else if let text = value(of: "#EXT-X-MEDIA-SEQUENCE:") {
                number = min(max(Int(text) ?? 0, 0), 1 << 53)
            } else if let text = value(of: "#EXT-X-KEY:") {
                if HLSVariants.attributes(text)["METHOD"] != "NONE" { fault = .encrypted }
            } else if line.hasPrefix("#EXT-X-MAP:") {
                fault = .notText
            } else if line.hasPrefix("#EXT-X-GAP") {
                hasGap = true
            } else if line.hasPrefix("#EXT-X-ENDLIST") {
                hasEnded = true
            } else if !line.hasPrefix("#"), let length = duration {
                let address = String(line)
                if !hasGap, parts.count < Self.mostParts {
                    parts.append(Part(number: number, start: start, duration: length, address: address, range: range))
                }
                if let range { lastRange = (address, range.upperBound) }
                number += 1
                start = start + length
                (duration, range, hasGap) = (nil, nil, false)
            }
        }
    }
}

/// The time map of a WebVTT part. It relates a time of the cues to one of the stream's clock
/// (`X-TIMESTAMP-MAP=LOCAL:00:00:00.000,MPEGTS:900000`, RFC 8216, 3.5).
struct WebVTTMap: Hashable, Sendable {
    /// The stream's clock at time zero of the cues, as ``StreamTicks``.
    var zero: StreamTicks

    /// Whether bytes are WebVTT, by the first word.
    static func begins(_ bytes: [UInt8]) -> Bool {
        bytes.starts(with: "WEBVTT".utf8) || bytes.starts(with: "\u{feff}WEBVTT".utf8)
    }

    /// Reads the map of a part; nil if it has none.
    init?(_ bytes: [UInt8]) {
        // The map is in the header, which ends with an empty line.
        let header = String(decoding: bytes.prefix(Self.longestHeader), as: UTF8.self)
        let lines = header.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
        for line in lines.prefix(while: { !$0.isEmpty }) where line.hasPrefix("X-TIMESTAMP-MAP=") {
            var local: MediaTime?, ticks: Int64?
            for part in line.dropFirst("X-TIMESTAMP-MAP=".count).split(separator: ",") {
                if part.hasPrefix("LOCAL:") { local = Self.time(part.dropFirst("LOCAL:".count)) }
                if part.hasPrefix("MPEGTS:") { ticks = Int64(part.dropFirst("MPEGTS:".count)) }
            }
            guard let local, let ticks, ticks >= 0 else { return nil }
            zero = StreamTicks(ticks % StreamTicks.turn) - local
            return
        }
        return nil
    }

    private static let longestHeader = 4096

    /// Returns the time of `00:01.500` or `01:00:01.500`; ignores the rest of the line.
    private static func time(_ text: Substring) -> MediaTime? {
        let parts = text.prefix { !$0.isWhitespace }.split(separator: ":", omittingEmptySubsequences: false)
        return MediaTime(clock: (parts.count == 2 ? ["0"] + parts : parts).joined(separator: ":"))
    }
}

/// A time of a transport stream's clock: 90 000 ticks a second, modulo 2³³ (ISO/IEC 13818-1, 2.4.2.2).
struct StreamTicks: Hashable, Sendable {
    /// 0 ..< ``turn``.
    let value: Int64
    static let turn: Int64 = 1 << 33

    init(_ ticks: Int64) { value = ((ticks % Self.turn) + Self.turn) % Self.turn }

    init(_ time: MediaTime) {
        let (seconds, rest) = time.nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
        self.init(seconds * 90_000 + (rest * 9 + (rest < 0 ? -50_000 : 50_000)) / 100_000)
    }

    static func + (ticks: Self, time: MediaTime) -> Self { Self(ticks.value + Self(time).value) }
    static func - (ticks: Self, time: MediaTime) -> Self { Self(ticks.value - Self(time).value) }

    /// Returns the time since another one, less than half a turn either way, to a microsecond.
    func since(_ other: Self) -> MediaTime {
        let ticks = Self(value - other.value).value
        return MediaTime(nanoseconds: (ticks < Self.turn / 2 ? ticks : ticks - Self.turn) * 100_000 / 9)
    }
}
