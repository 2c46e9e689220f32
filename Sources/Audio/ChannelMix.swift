import CKioskALSA
import Glibc

/// The loudspeaker of a channel.
enum Speaker: CaseIterable, Hashable, Sendable {
    case frontLeft, frontRight, frontCentre, lowFrequency, backLeft, backRight, sideLeft, sideRight

    /// Returns the loudspeakers of rendered sound, in the order of FFmpeg's default layouts: stereo, 5.1 and 7.1.
    static func rendered(_ count: Int) -> [Self] { Array(allCases.prefix(count)) }

    /// Returns the loudspeakers of a card without a channel map, in ALSA's order (`surround51`, `surround71`). nil stands for a silent
    /// channel. Three channels are ALSA's `surround21`.
    static func standard(_ count: Int) -> [Self?] {
        if count == 3 { return [.frontLeft, .frontRight, .lowFrequency] }
        let order: [Self] = [.frontLeft, .frontRight, .backLeft, .backRight, .frontCentre, .lowFrequency]
        if count == 8 { return order + [.sideLeft, .sideRight] }
        return (0..<count).map { $0 < order.count ? order[$0] : nil }
    }

    /// Converts ALSA's number for a position, whose upper bits are flags.
    fileprivate init?(alsa position: UInt32) {
        // A number specific to the driver has another meaning.
        guard position & UInt32(SND_CHMAP_DRIVER_SPEC) == 0 else { return nil }
        switch Int(position & UInt32(SND_CHMAP_POSITION_MASK)) {
        case Int(SND_CHMAP_FL.rawValue): self = .frontLeft
        case Int(SND_CHMAP_FR.rawValue): self = .frontRight
        case Int(SND_CHMAP_FC.rawValue): self = .frontCentre
        case Int(SND_CHMAP_LFE.rawValue): self = .lowFrequency
        case Int(SND_CHMAP_RL.rawValue): self = .backLeft
        case Int(SND_CHMAP_RR.rawValue): self = .backRight
        case Int(SND_CHMAP_SL.rawValue): self = .sideLeft
        case Int(SND_CHMAP_SR.rawValue): self = .sideRight
        default: return nil
        }
    }

    /// Returns the loudspeakers of an open and configured card. Returns the standard ones if its map is missing, or has no front pair. The
    /// corresponding C function is `snd_pcm_get_chmap`.
    static func ofCard(_ handle: OpaquePointer, channelCount: Int) -> [Self?] {
        guard let map = quietly({ snd_pcm_get_chmap(handle) }) else { return standard(channelCount) }
        defer { free(map) }
        return ofCard((0..<map.pointee.channels).map { kiosk_channel_position(map, $0) }, channelCount: channelCount)
    }

    /// Returns the loudspeakers for a map of ALSA's numbers. A plugin that converts channels may return the map of the device behind it.
    static func ofCard(_ map: [UInt32], channelCount: Int) -> [Self?] {
        let speakers = map.map { Self(alsa: $0) }
        let isUsable = speakers.count == channelCount && speakers.contains(.frontLeft) && speakers.contains(.frontRight)
        return isUsable ? speakers : standard(channelCount)
    }
}

/// The mix of rendered channels into a card's channels: each to its own loudspeaker, or mixed down to those present. A pure value.
///
/// Without loudspeakers of their own, the centre, back and side channels go to the front pair at −3 dB each. The low frequencies are then
/// dropped, as in other players. Stereo stays unchanged, whatever the card has.
struct ChannelMix: Hashable, Sendable {
    /// A rendered channel that a channel of the card gets, with its gain.
    struct Source: Hashable, Sendable {
        var channel: Int
        var gain: Double
    }

    let renderedCount: Int
    /// The sources of each channel of the card; empty for silence.
    let sources: [[Source]]

    private static let minus3dB = 0.5.squareRoot()

    /// Creates the mix from this number of rendered channels to a card with these loudspeakers.
    init(from renderedCount: Int, to card: [Speaker?]) {
        self.renderedCount = renderedCount
        let rendered = Speaker.rendered(renderedCount)
        let present: Set<Speaker> = card.count == 1 ? [.frontLeft, .frontRight] : Set(card.compactMap(\.self))
        func feeds(_ speaker: Speaker) -> [Source] {
            rendered.enumerated().compactMap { channel, source in
                Self.gain(from: source, to: speaker, among: present, rendered: rendered).map { Source(channel: channel, gain: $0) }
            }
        }
        if card.count == 1 {
            // The mean of the front pair's feeds.
            var gains: [Int: Double] = [:]
            for source in feeds(.frontLeft) + feeds(.frontRight) { gains[source.channel, default: 0] += source.gain / 2 }
            sources = [gains.sorted { $0.key < $1.key }.map { Source(channel: $0.key, gain: $0.value) }]
        } else {
            sources = card.map { $0.map(feeds) ?? [] }
        }
    }

    /// Returns the gain from one loudspeaker's rendered channel to another loudspeaker, if `present` are there; nil for nothing.
    private static func gain(from source: Speaker, to target: Speaker, among present: Set<Speaker>, rendered: [Speaker]) -> Double? {
        if present.contains(source) { return source == target ? 1 : nil }
        // If both channels are rendered, they share the loudspeaker.
        func stands(in other: Speaker, orFront front: Speaker) -> Double? {
            if present.contains(other) { return target != other ? nil : rendered.contains(other) ? minus3dB : 1 }
            return target == front ? minus3dB : nil
        }
        return switch source {
        case .frontLeft, .frontRight, .lowFrequency: nil
        case .frontCentre: target == .frontLeft || target == .frontRight ? minus3dB : nil
        case .backLeft: stands(in: .sideLeft, orFront: .frontLeft)
        case .backRight: stands(in: .sideRight, orFront: .frontRight)
        case .sideLeft: stands(in: .backLeft, orFront: .frontLeft)
        case .sideRight: stands(in: .backRight, orFront: .frontRight)
        }
    }
}
