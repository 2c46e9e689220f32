import CKioskFFmpeg
import KioskVocabulary

/// The display geometry of a track's stored pictures, from the container and the headers. Drawing, reports, exports and previews all use
/// it.
///
/// **Shape of the pixels.** The container may give it (`pasp` and `tkhd` of MP4, DisplayWidth of Matroska). So may the codec's header and
/// each picture. They may disagree. The container comes first, since an author can correct it without encoding again. libavformat's
/// `av_guess_sample_aspect_ratio` uses the same order. Stills and covers always have square pixels: there the value is a print density.
///
/// **Orientation.** A picture's own comes before the track's.
///
/// **Crop.** ``apply(to:)`` cuts off the edges that the container excludes, so all later code sees a smaller picture. This works only in
/// ordinary memory.
struct TrackGeometry: Sendable {
    /// The rotation that makes a stored picture upright, if it has none of its own.
    let orientation: Orientation
    /// The visible part of the stored picture; nil for all of it.
    let crop: FileGeometry.Crop?
    /// Stored pixels across and down.
    private let stored: (width: Int, height: Int)
    /// The pixel shape from the container; nil if it gives none.
    private let shape: AVRational?
    private let isSquare: Bool
    /// The pixel shape from the codec's header.
    private let shapeOfCodec: AVRational

    /// Creates the geometry of a stream of an opened source.
    init(_ stream: UnsafeMutablePointer<AVStream>, of format: FormatContext) {
        let isCover = shim_stream_is_attached_picture(stream) != 0
        isSquare = format.isStill || format.isImage || isCover
        let ofFile = isSquare && !isCover ? format.geometry.orientation : nil
        orientation = shim_stream_display_matrix(stream).map(Orientation.init(displayMatrix:)) ?? ofFile ?? .up
        let (width, height) = (Int(stream.pointee.codecpar.pointee.width), Int(stream.pointee.codecpar.pointee.height))
        stored = (width, height)
        let place = format.streams(of: .video).firstIndex { $0 == stream }
        crop =
            isCover
            ? nil
            : format.geometry.crops.first {
                ($0.place.map { $0 == place } ?? ($0.id == Int(stream.pointee.id))) && $0.fits(width: width, height: height)
            }
        // libavformat relates the display shape to the whole stored picture.
        let ofPart = crop.flatMap { crop in
            crop.display.map { AVRational(num: Int32($0.width), den: Int32($0.height)) }.map { ratio -> AVRational in
                var shape = AVRational(num: 0, den: 1)
                av_reduce(
                    &shape.num, &shape.den, Int64(ratio.num) * Int64(height - crop.top - crop.bottom),
                    Int64(ratio.den) * Int64(width - crop.left - crop.right), 1 << 20)
                return shape
            }
        }
        let ratio = ofPart ?? stream.pointee.sample_aspect_ratio
        shape = ratio.isShape ? ratio : nil
        shapeOfCodec = stream.pointee.codecpar.pointee.sample_aspect_ratio
    }

    /// Returns the pixel shape of a picture with its own `ratio`; 0:1 if unknown.
    func shape(_ ratio: AVRational = AVRational(num: 0, den: 1)) -> AVRational {
        if isSquare { return AVRational(num: 1, den: 1) }
        return shape ?? [ratio, shapeOfCodec].first(where: \.isShape) ?? AVRational(num: 0, den: 1)
    }

    /// Pixels across and down of the visible part, before orientation.
    var size: (width: Int, height: Int) {
        guard let crop else { return stored }
        return (stored.width - crop.left - crop.right, stored.height - crop.top - crop.bottom)
    }

    /// Sets the pixel shape of a decoded picture, crops it, and returns its orientation. The corresponding C function is
    /// `av_frame_apply_cropping`.
    func apply(to frame: UnsafeMutablePointer<AVFrame>) -> Orientation {
        frame.pointee.sample_aspect_ratio = shape(frame.pointee.sample_aspect_ratio)
        // A decoder may halve the picture, and a stream may change its size.
        let (width, height) = (Int(frame.pointee.width), Int(frame.pointee.height))
        if let crop, width > 0, height > 0, frame.descriptor == nil, !frame.isVAAPI {
            let halved = (0...3).first { (stored.width + (1 << $0) - 1) >> $0 == width && (stored.height + (1 << $0) - 1) >> $0 == height }
            if let halved {
                frame.pointee.crop_left += crop.left >> halved
                frame.pointee.crop_top += crop.top >> halved
                frame.pointee.crop_right += crop.right >> halved
                frame.pointee.crop_bottom += crop.bottom >> halved
                av_frame_apply_cropping(frame, Int32(AV_FRAME_CROP_UNALIGNED))
            }
        }
        return shim_frame_display_matrix(frame).map(Orientation.init(displayMatrix:)) ?? orientation
    }
}

extension AVRational {
    fileprivate var isShape: Bool { num > 0 && den > 0 }

    /// Width of a pixel divided by its height; 1 if unknown.
    var pixelAspectRatio: Double { isShape ? av_q2d(self) : 1 }
}
