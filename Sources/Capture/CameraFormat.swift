import CKioskCapture
import CKioskFFmpeg
import KioskVocabulary

/// A format that a camera offers: pixel format, size and rate.
package struct CameraFormat: Hashable, Sendable {
    /// V4L2's FourCC, such as `YUYV` or `MJPG`.
    package var code: String
    /// Width and height in pixels.
    package var width: Int, height: Int
    /// The frame interval in seconds, as V4L2's fraction.
    package var numerator: UInt32, denominator: UInt32

    package var rate: Double { numerator == 0 ? 0 : Double(denominator) / Double(numerator) }

    /// `1280x720@30 MJPG`.
    package var description: String { "\(width)x\(height)@\(Self.text(rate)) \(code)" }

    static func text(_ rate: Double) -> String {
        let hundredths = (rate * 100).rounded() / 100
        return hundredths == hundredths.rounded() ? "\(Int(hundredths))" : "\(hundredths)"
    }
}

/// FFmpeg's equivalent of a V4L2 FourCC.
enum CameraPixels: Hashable {
    /// Raw pixels; with ``isSwapped`` the V plane precedes the U plane.
    case raw(AVPixelFormat, isSwapped: Bool)
    /// A stream of a codec.
    case coded(AVCodecID)

    private static let pixels = [
        "NV12": AV_PIX_FMT_NV12, "NV21": AV_PIX_FMT_NV21, "YU12": AV_PIX_FMT_YUV420P, "YV12": AV_PIX_FMT_YUV420P,
        "YUYV": AV_PIX_FMT_YUYV422, "UYVY": AV_PIX_FMT_UYVY422, "YVYU": AV_PIX_FMT_YVYU422, "422P": AV_PIX_FMT_YUV422P,
        "NV16": AV_PIX_FMT_NV16, "RGB3": AV_PIX_FMT_RGB24, "BGR3": AV_PIX_FMT_BGR24, "XR24": AV_PIX_FMT_BGR0, "BGR4": AV_PIX_FMT_BGR0,
        "GREY": AV_PIX_FMT_GRAY8,
    ]
    private static let codecs = [
        "MJPG": AV_CODEC_ID_MJPEG, "JPEG": AV_CODEC_ID_MJPEG, "H264": AV_CODEC_ID_H264, "HEVC": AV_CODEC_ID_HEVC,
    ]

    /// Returns nil for unknown formats, such as raw sensor data.
    init?(code: String) {
        let pixels = Self.pixels[code].map { Self.raw($0, isSwapped: code == "YV12") }
        guard let known = pixels ?? Self.codecs[code].map(Self.coded) else { return nil }
        self = known
    }

    /// The rank among formats of the same size and rate; the lowest is used. Formats without conversion come first, then those with a cheap
    /// conversion. JPEG follows, which is lossy and needs decoding, and then codecs with key frames.
    var cost: Int {
        switch self {
        case .raw(AV_PIX_FMT_YUV420P, _), .raw(AV_PIX_FMT_NV12, _), .raw(AV_PIX_FMT_NV21, _): 0
        case .raw(AV_PIX_FMT_YUYV422, _), .raw(AV_PIX_FMT_UYVY422, _), .raw(AV_PIX_FMT_YUV422P, _), .raw(AV_PIX_FMT_NV16, _): 1
        case .raw(AV_PIX_FMT_GRAY8, _): 5
        case .raw: 2
        case .coded(AV_CODEC_ID_MJPEG): 3
        case .coded: 4
        }
    }
}

extension CameraFormat {
    /// The default size and rate, which many cameras offer in full.
    static let usual = (width: 1280, height: 720, rate: 30.0)
    /// The least rate that a larger size may cost.
    static let slow = 24.0

    /// Returns the best of `offered` for `wanted`; nil if none matches, or none is readable.
    ///
    /// A given size must match exactly, a given rate to within a hundredth, for rates such as 29.97. The default size is the largest up to
    /// 1280x720 with a fluent rate; the default rate is 30 frames a second, or the nearest.
    static func choose(_ wanted: CameraMode, from offered: [CameraFormat]) -> CameraFormat? {
        var usable = offered.filter { CameraPixels(code: $0.code) != nil && $0.rate > 0 }
        if let width = wanted.width, let height = wanted.height { usable.removeAll { $0.width != width || $0.height != height } }
        if let rate = wanted.rate { usable.removeAll { abs($0.rate - rate) > rate / 100 } }
        func rank(_ format: CameraFormat) -> [Double] {
            let isTooLarge = format.width > usual.width || format.height > usual.height
            let area = Double(format.width) * Double(format.height)
            let rate = wanted.rate ?? usual.rate
            return [
                isTooLarge ? 1 : 0, wanted.rate == nil && format.rate < slow ? 1 : 0, isTooLarge ? area : -area, abs(format.rate - rate),
                Double(CameraPixels(code: format.code)?.cost ?? 9),
            ]
        }
        return usable.min { rank($0).lexicographicallyPrecedes(rank($1)) }
    }

    /// Returns `1280x720 at 30, 25; 640x480 at 60, 30`: the readable formats, the largest first.
    static func list(_ offered: [CameraFormat]) -> String {
        var rates: [[Int]: Set<String>] = [:]
        for format in offered where CameraPixels(code: format.code) != nil {
            rates[[format.width, format.height], default: []].insert(text(format.rate))
        }
        let sizes = rates.keys.sorted { Double($0[0]) * Double($0[1]) > Double($1[0]) * Double($1[1]) }
        return sizes.map { size in
            let sorted = (rates[size] ?? []).sorted { (Double($0) ?? 0) > (Double($1) ?? 0) }
            return "\(size[0])x\(size[1]) at \(sorted.joined(separator: ", "))"
        }.joined(separator: "; ")
    }
}

/// A query of a camera's formats. The corresponding C functions are the ioctls VIDIOC_ENUM_FMT, VIDIOC_ENUM_FRAMESIZES and
/// VIDIOC_ENUM_FRAMEINTERVALS.
struct CameraOffer {
    private let descriptor: Int32
    private let wanted: CameraMode

    /// Returns the formats. If the driver reports a range, these are the usual sizes and rates in it, and `wanted`.
    static func formats(_ descriptor: Int32, wanted: CameraMode) -> [CameraFormat] {
        CameraOffer(descriptor: descriptor, wanted: wanted).formats()
    }

    private func formats() -> [CameraFormat] {
        var found: [CameraFormat] = []
        for index in 0..<256 as Range<UInt32> {
            var description = v4l2_fmtdesc()
            (description.index, description.type) = (index, V4L2_BUF_TYPE_VIDEO_CAPTURE.rawValue)
            guard kiosk_video_call(descriptor, kVIDIOC_ENUM_FMT, &description) == 0 else { break }
            let code = FourCC.text(description.pixelformat)
            for (width, height) in sizes(description.pixelformat) {
                for (numerator, denominator) in rates(description.pixelformat, width, height) {
                    found.append(
                        CameraFormat(code: code, width: Int(width), height: Int(height), numerator: numerator, denominator: denominator))
                }
            }
        }
        return found
    }

    private func sizes(_ code: UInt32) -> [(UInt32, UInt32)] {
        var found: [(UInt32, UInt32)] = []
        for index in 0..<256 as Range<UInt32> {
            var size = v4l2_frmsizeenum()
            (size.index, size.pixel_format) = (index, code)
            guard kiosk_video_call(descriptor, kVIDIOC_ENUM_FRAMESIZES, &size) == 0 else { break }
            if size.type == V4L2_FRMSIZE_TYPE_DISCRETE.rawValue {
                found.append((size.discrete.width, size.discrete.height))
                continue
            }
            let range = size.stepwise
            var candidates: [(Int, Int)] = [(3840, 2160), (1920, 1080), (1280, 720), (640, 480), (320, 240)]
            if let width = wanted.width, let height = wanted.height { candidates.append((width, height)) }
            candidates.append((Int(range.max_width), Int(range.max_height)))
            for (width, height) in candidates
            where Self.fits(width, range.min_width, range.max_width, range.step_width)
                && Self.fits(height, range.min_height, range.max_height, range.step_height)
            {
                found.append((UInt32(width), UInt32(height)))
            }
            break
        }
        // Drivers without this call accept the requested size, or change it.
        if found.isEmpty {
            found.append((UInt32(wanted.width ?? CameraFormat.usual.width), UInt32(wanted.height ?? CameraFormat.usual.height)))
        }
        return found
    }

    private static func fits(_ length: Int, _ least: UInt32, _ most: UInt32, _ step: UInt32) -> Bool {
        length >= Int(least) && length <= Int(most) && (length - Int(least)) % max(1, Int(step)) == 0
    }

    private func rates(_ code: UInt32, _ width: UInt32, _ height: UInt32) -> [(UInt32, UInt32)] {
        var found: [(UInt32, UInt32)] = []
        for index in 0..<256 as Range<UInt32> {
            var interval = v4l2_frmivalenum()
            (interval.index, interval.pixel_format, interval.width, interval.height) = (index, code, width, height)
            guard kiosk_video_call(descriptor, kVIDIOC_ENUM_FRAMEINTERVALS, &interval) == 0 else { break }
            if interval.type == V4L2_FRMIVAL_TYPE_DISCRETE.rawValue {
                found.append((interval.discrete.numerator, interval.discrete.denominator))
                continue
            }
            func seconds(_ fraction: v4l2_fract) -> Double { Double(fraction.numerator) / Double(max(1, fraction.denominator)) }
            let (shortest, longest) = (seconds(interval.stepwise.min), seconds(interval.stepwise.max))
            let candidates = [wanted.rate.map { Int(($0 * 1000).rounded()) }, 60000, 30000, 25000, 15000, 5000].compactMap { $0 }
            for rate in candidates where 1000 / Double(rate) >= shortest - 1e-6 && 1000 / Double(rate) <= longest + 1e-6 {
                found.append((1000, UInt32(rate)))
            }
            break
        }
        if found.isEmpty { found.append((1000, UInt32(((wanted.rate ?? CameraFormat.usual.rate) * 1000).rounded()))) }
        return found
    }
}

/// Conversion of V4L2's FourCCs.
enum FourCC {
    static func text(_ code: UInt32) -> String {
        String(decoding: (0..<4).map { UInt8(truncatingIfNeeded: code >> (8 * $0)) & 0x7f }.filter { $0 >= 32 }, as: UTF8.self)
    }

    static func code(_ text: String) -> UInt32 {
        text.utf8.prefix(4).enumerated().reduce(0) { $0 | UInt32($1.element) << (8 * UInt32($1.offset)) }
    }
}
