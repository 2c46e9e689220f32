import CKioskFFmpeg
import KioskVocabulary

extension VideoFrame {
    /// Returns the difference from another picture's samples; nil if its size or depth differs. The planes may have different layouts.
    package func difference(from other: borrowing VideoFrame) -> (greatest: Int, squares: Double, samples: Int, peak: Double)? {
        guard let mine = av_pix_fmt_desc_get(pixelFormat)?.pointee, let theirs = av_pix_fmt_desc_get(other.pixelFormat)?.pointee,
            width == other.width, height == other.height, mine.nb_components == theirs.nb_components,
            (mine.log2_chroma_w, mine.log2_chroma_h) == (theirs.log2_chroma_w, theirs.log2_chroma_h),
            mine.comp.0.depth == theirs.comp.0.depth
        else { return nil }
        var (greatest, squares, samples) = (0, 0, 0)
        for (index, (a, b)) in zip(Self.components(mine), Self.components(theirs)).enumerated() {
            let (across, down) = index == 0 ? (0, 0) : (Int(mine.log2_chroma_w), Int(mine.log2_chroma_h))
            guard let left = Samples(av, a), let right = Samples(other.av, b) else { return nil }
            let (columns, rows) = ((width + (1 << across) - 1) >> across, (height + (1 << down) - 1) >> down)
            for y in 0..<rows {
                for x in 0..<columns {
                    let apart = abs(left[x, y] - right[x, y])
                    greatest = max(greatest, apart)
                    squares += apart * apart
                }
            }
            samples += columns * rows
        }
        return (greatest, Double(squares), samples, Double(1 << mine.comp.0.depth - 1))
    }

    private static func components(_ description: AVPixFmtDescriptor) -> [AVComponentDescriptor] {
        Array([description.comp.0, description.comp.1, description.comp.2].prefix(Int(description.nb_components)))
    }

    /// The samples of one component, in any plane and order.
    private struct Samples {
        private let base: UnsafeMutablePointer<UInt8>
        private let stride: Int, step: Int, shift: Int, isWide: Bool

        init?(_ av: UnsafeMutablePointer<AVFrame>, _ component: AVComponentDescriptor) {
            let planes = [
                (av.pointee.data.0, av.pointee.linesize.0), (av.pointee.data.1, av.pointee.linesize.1),
                (av.pointee.data.2, av.pointee.linesize.2), (av.pointee.data.3, av.pointee.linesize.3),
            ]
            guard let data = planes[Int(component.plane)].0 else { return nil }
            (base, stride) = (data + Int(component.offset), Int(planes[Int(component.plane)].1))
            (step, shift, isWide) = (Int(component.step), Int(component.shift), component.depth > 8)
        }

        subscript(x: Int, y: Int) -> Int {
            let place = base + y * stride + x * step
            return (isWide ? Int(place[0]) | Int(place[1]) << 8 : Int(place[0])) >> shift
        }
    }
}

/// The version of the FFmpeg in use. The corresponding C function is `av_version_info`.
package var ffmpegVersion: String { String(cString: av_version_info()) }
