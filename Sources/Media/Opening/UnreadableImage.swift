import KioskPlatform
import KioskVocabulary

/// An undamaged image of a kind that FFmpeg does not decode: Debian 12's FFmpeg reads none of these.
package enum UnreadableImage: Hashable, Sendable, CaseIterable {
    /// The format of phone photographs: HEVC in a HEIF container.
    case heic
    case animatedWebP
    /// Large AVIF images consist of tiles.
    case tiledAVIF

    var text: String {
        switch self {
        case .heic: "is a HEIC photograph, which FFmpeg cannot read: convert it to JPEG (heif-convert IN.heic OUT.jpg)"
        case .animatedWebP:
            "is an animated WebP, which FFmpeg cannot read: export it as a video or a GIF (convert IN.webp OUT.gif)"
        case .tiledAVIF: "is an AVIF made of tiles, which FFmpeg cannot read: convert it to PNG (heif-convert IN.avif OUT.png)"
        }
    }

    /// Recognizes an image by its first bytes; nil if it is none of these.
    init?(_ bytes: [UInt8]) {
        func has(_ text: String, at place: Int) -> Bool { bytes.dropFirst(place).starts(with: text.utf8) }
        if has("RIFF", at: 0), has("WEBPVP8X", at: 8), bytes.count > 20, bytes[20] & 2 != 0 {
            self = .animatedWebP
            return
        }
        guard has("ftyp", at: 4), bytes.count > 16 else { return nil }
        let length = min(bytes.count, bytes[..<4].reduce(0) { $0 << 8 | Int($1) })
        let brands = ([8] + Array(stride(from: 16, to: length - 3, by: 4))).map { String(decoding: bytes[$0..<$0 + 4], as: UTF8.self) }
        if brands.contains(where: { ["heic", "heix", "heim", "heis", "hevc", "hevx"].contains($0) }) {
            self = .heic
        } else if brands.contains("avif"), bytes.indices.contains(where: { has("infe", at: $0) && has("grid", at: $0 + 12) }) {
            self = .tiledAVIF
        } else {
            return nil
        }
    }
}

extension MediaError {
    /// Returns the same error, or a more specific one if the source is a local file of a known, unreadable kind.
    func explained(_ interruption: Interruption) -> MediaError {
        switch reason {
        case .damaged, .nothingDecodes, .hasNoMedia, .notMedia, .nothingToPlay, .pictureTooLarge, .unsupportedCodec, .failed: break
        default: return self
        }
        if isURL(source) || interruption.cancelled { return self }
        interruption.allow(openingTimeLimit)
        guard let file = try? BlockFile(source, interruption: interruption), let bytes = file.bytes(at: 0, count: 4096),
            let kind = UnreadableImage(bytes)
        else { return self }
        return MediaError(source, .unreadableImage(kind))
    }
}
