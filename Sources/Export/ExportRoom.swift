import Configuration
import Glibc
import KioskMedia
import KioskPlatform
import KioskVocabulary

/// How much room a film takes at least, so that one that cannot fit is refused before hours of work. Nobody knows it before it is encoded: what is
/// reckoned here is less than any film of that length came to, and what is too much for the disk all the same ends with ``MovieError/Reason/noSpace``.
enum ExportRoom {
    /// Bits for each pixel that moves, at a quality of 20: films of still scenes take twice that, busy ones ten times.
    private static let bitsPerPixel = 0.008
    /// Bits a second of sound.
    private static let soundBitRate = 64_000.0
    /// What a file takes besides.
    private static let margin: Int64 = 1 << 20

    /// Bytes of a film in which pictures move for `moving` of its length.
    static func least(
        _ output: Arrangement.Output, size: PictureSize, rate: FrameRate, length: MediaTime, moving: MediaTime, hasSound: Bool
    ) -> Int64 {
        var bits = hasSound ? length.seconds * soundBitRate : 0
        if let bitRate = output.bitRate {
            bits += moving.seconds * Double(bitRate) * 0.5
        } else {
            var share = bitsPerPixel
            for _ in 0..<abs(output.quality - 20) / 6 { share = output.quality > 20 ? share / 2 : share * 2 }
            bits += moving.seconds * Double(size.width * size.height) * rate.hertz * share
        }
        return margin + Int64(saturating: bits / 8)
    }

    /// Bytes that there is room for in the folder of a file, for who writes it; nil where that cannot be told.
    static func free(for path: String) -> Int64? {
        let folder = path.lastIndex(of: "/").map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        return statvfs(at: folder)?.free
    }
}
