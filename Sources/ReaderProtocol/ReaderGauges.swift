import KioskMedia
import KioskPlatform

typealias GaugeWords = InlineArray<8, UInt64>

/// The state that a reader shows at any time, even while it waits. The player clamps it, and uses it for bars and for the pace of live
/// streams.
package struct ReaderGauges: Hashable, Sendable {
    /// The available part of the source.
    package var loaded: LoadedMedia
    /// The received part of a live stream.
    package var reception: Reception?
    /// Item time at which the sound read so far ends.
    package var soundEnd: MediaTime?

    package init(_ loaded: LoadedMedia) { self.loaded = loaded }

    /// The optional values that are present.
    private struct Presence: OptionSet {
        let rawValue: UInt64
        static let isWhole = Presence(rawValue: 1), speed = Presence(rawValue: 2), goal = Presence(rawValue: 4)
        static let reception = Presence(rawValue: 8), soundEnd = Presence(rawValue: 16)
    }

    fileprivate var words: GaugeWords {
        var presence: Presence = []
        if loaded.isWhole { presence.insert(.isWhole) }
        if loaded.speed != nil { presence.insert(.speed) }
        if loaded.goal != nil { presence.insert(.goal) }
        if reception != nil { presence.insert(.reception) }
        if soundEnd != nil { presence.insert(.soundEnd) }
        func bits(_ time: MediaTime?) -> UInt64 { UInt64(bitPattern: time?.nanoseconds ?? 0) }
        return [
            presence.rawValue, bits(loaded.until), (loaded.speed ?? 0).bitPattern, bits(loaded.goal), bits(reception?.receivedUntil),
            bits(reception?.goal), UInt64(clamping: reception?.gaps ?? 0), bits(soundEnd),
        ]
    }

    fileprivate init(_ words: GaugeWords) {
        let presence = Presence(rawValue: words[0])
        func time(_ bits: UInt64) -> MediaTime {
            min(max(MediaTime(nanoseconds: Int64(bitPattern: bits)), -MediaTime.longestPlausible), MediaTime.longestPlausible)
        }
        let speed = Double(bitPattern: words[2])
        loaded = LoadedMedia(
            until: time(words[1]), isWhole: presence.contains(.isWhole),
            speed: presence.contains(.speed) ? (speed.isFinite ? min(max(speed, 0), 1e6) : 0) : nil,
            goal: presence.contains(.goal) ? max(time(words[3]), .zero) : nil)
        if presence.contains(.reception) {
            reception = Reception(
                receivedUntil: time(words[4]), goal: max(time(words[5]), .zero), gaps: Int(clamping: min(words[6], 1 << 32)))
        }
        if presence.contains(.soundEnd) { soundEnd = time(words[7]) }
    }
}

extension ControlPage {
    /// The gauges that the reader shows; nil if it changes them all the time, which no honest reader does.
    package var gauges: ReaderGauges? {
        for _ in 0..<16 { if let words = gaugeWords() { return ReaderGauges(words) } }
        return nil
    }

    /// Shows new gauges. For one thread of the reader.
    package func show(_ gauges: ReaderGauges) {
        writeGaugeWords(gauges.words)
        showGaugeWords()
    }
}
