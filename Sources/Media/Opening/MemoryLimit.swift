import CKioskFFmpeg
import KioskPlatform

/// The most memory that a file may make the process use: a quarter of the machine's, or of the process' control group limit.
///
/// A header of a few bytes can request gigabytes. One item may use a quarter: the next one opens while it plays, and display, sound and
/// system need memory, too. The limit bounds an item's pictures (``PictureMemory``) and each FFmpeg allocation (a packet, a palette, an
/// attachment, an index).
package enum MemoryLimit {
    /// The bytes that one item's pictures may use on this machine during decoding and drawing.
    package static let ofItem = bytes(
        meminfo: SmallFile.text("/proc/meminfo"),
        // Version 2 as seen from inside a container, or from a service's own place in the tree; then version 1.
        controlGroups: (["/sys/fs/cgroup/memory.max"] + ownControlGroups + ["/sys/fs/cgroup/memory/memory.limit_in_bytes"]).map {
            SmallFile.text($0)
        })

    /// Returns a quarter of the smallest of MemTotal in /proc/meminfo and the control group limits; of 512 MB if none is known.
    static func bytes(meminfo: String?, controlGroups: [String?]) -> Int {
        let total = meminfo?.split(separator: "\n").first { $0.hasPrefix("MemTotal:") }?.split(separator: " ").dropFirst().first
        let memory = total.flatMap { Int($0) }.map { $0 << 10 }
        let limits = controlGroups.compactMap { $0.flatMap { Int($0.filter(\.isNumber)) } }.filter { $0 > 0 }
        return ([memory].compactMap { $0 } + limits).min().map { $0 / 4 } ?? 128 << 20
    }

    /// Returns the paths of `memory.max` of the process' control group and its parents.
    private static var ownControlGroups: [String] {
        let line = SmallFile.text("/proc/self/cgroup")?.split(separator: "\n").first { $0.hasPrefix("0::/") }
        var path = line?.dropFirst(4).split(separator: "/") ?? []
        var files: [String] = []
        while !path.isEmpty {
            files.append("/sys/fs/cgroup/\(path.joined(separator: "/"))/memory.max")
            path.removeLast()
        }
        return files
    }

    /// Makes libavutil refuse allocations above ``ofItem`` (at most 2 GB), for the whole process. The corresponding C function is
    /// `av_max_alloc`.
    static func boundAllocations() { _ = bound }
    private static let bound: Void = av_max_alloc(min(ofItem, Int(Int32.max)))
}

/// The memory of a track's pictures during decoding and drawing.
struct PictureMemory: Hashable {
    /// Stored pixels across and down.
    var width: Int, height: Int
    /// Bits per decoded pixel in all planes.
    var bitsPerPixel: Int
    /// Whether the display makes a copy of four bytes a pixel: for alpha, a palette, or pixels that share bytes.
    var isCopied: Bool
    /// Whether the decoder keeps all coefficients until the last one has come, at full size and two bytes each: progressive JPEG.
    var isProgressive: Bool
    /// The number of pictures that a decoder holds at once: one for each thread, the one being drawn, and reference pictures.
    var count: Int

    /// Creates the memory for a track from its header; 32 bits a pixel if the pixel format is unknown. A still is decoded once, whatever
    /// its codec could do.
    init(_ parameters: AVCodecParameters, isStill: Bool, threads: Int) {
        (width, height) = (Int(max(0, parameters.width)), Int(max(0, parameters.height)))
        let format = av_pix_fmt_desc_get(AVPixelFormat(rawValue: parameters.format))
        bitsPerPixel = format.map { max(1, Int(av_get_padded_bits_per_pixel($0))) } ?? 32
        let copied = UInt64(AV_PIX_FMT_FLAG_ALPHA | AV_PIX_FMT_FLAG_PAL | AV_PIX_FMT_FLAG_BITSTREAM)
        isCopied = format.map { $0.pointee.flags & copied != 0 } ?? true
        isProgressive = parameters.codec_id == AV_CODEC_ID_MJPEG && parameters.profile == FF_PROFILE_MJPEG_HUFFMAN_PROGRESSIVE_DCT
        let isIntraOnly = avcodec_descriptor_get(parameters.codec_id).map { $0.pointee.props & AV_CODEC_PROP_INTRA_ONLY != 0 } ?? false
        // The deinterlacer holds three and makes another.
        count = isStill ? 2 : max(1, threads) + (isIntraOnly ? 1 : 3) + (parameters.isInterlaced ? 4 : 0)
    }

    /// Creates the memory for pictures with these properties.
    init(width: Int, height: Int, bitsPerPixel: Int, isCopied: Bool = false, isProgressive: Bool = false, count: Int = 2) {
        (self.width, self.height, self.bitsPerPixel) = (width, height, bitsPerPixel)
        (self.isCopied, self.isProgressive, self.count) = (isCopied, isProgressive, count)
    }

    /// Returns the total bytes if both sides are halved `reduction` times.
    func bytes(reducedBy reduction: Int) -> Int { Int(saturating: Double(width) * Double(height) * bytesPerPixel(reducedBy: reduction)) }

    /// Returns how often both sides can be halved, at most `limit` times, without becoming smaller than `size` in either rotation.
    func reduction(to size: (width: Int, height: Int), atMost limit: Int) -> Int {
        let (short, long) = (min(size.width, size.height), max(size.width, size.height))
        return (0...limit).last { min(width, height) >> $0 >= short && max(width, height) >> $0 >= long } ?? 0
    }

    /// Returns the number of stored pixels that a picture of this kind may have within `bytes`.
    func pixels(within bytes: Int, reducedBy reduction: Int) -> Int { Int(saturating: Double(bytes) / bytesPerPixel(reducedBy: reduction)) }

    /// Returns the total bytes for each stored pixel.
    private func bytesPerPixel(reducedBy reduction: Int) -> Double {
        let stored = Double(bitsPerPixel) / 8
        let decoded = stored * Double(count) + (isCopied ? 4 : 0)
        return decoded / Double(1 << (2 * reduction)) + (isProgressive ? 2 * stored : 0)
    }
}
