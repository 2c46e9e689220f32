import CKioskFFmpeg
import Glibc
import KioskPlatform
import KioskVocabulary

/// The beginning of a file, decoded by hardware and by software, and how far the pictures differ: for `kiosk devices --test`.
package struct DecoderTrial: Sendable {
    /// What decoded: `vaapi (…)`; `software` where no device took it.
    package private(set) var decoder = ""
    /// Pictures that were decoded and, of these, compared.
    package private(set) var decoded = 0, compared = 0
    /// Time for a picture, on average, and of the slowest but the first, in which the device is opened.
    package private(set) var hardwareTime = MediaTime.zero, softwareTime = MediaTime.zero, worst = MediaTime.zero
    /// The greatest difference of a sample, and the peak signal-to-noise ratio in dB of all; nil where nothing could be compared, and for equal
    /// pictures.
    package private(set) var difference: Int?, ratio: Double?
    /// The surfaces: `NV12, modifier 0x0, 1 object`, and how many different ones came.
    package private(set) var surface: String?, surfaces = 0
    /// What went wrong.
    package private(set) var problems: [String] = []

    /// Pictures at most, and seconds at most.
    package static let mostPictures = 100, timeLimit = MediaTime.seconds(10)

    /// Decodes the beginning of `source` twice, with `device` or the first that takes it. Blocks, a little longer than ``timeLimit`` at most.
    package static func run(_ source: String, device: String? = nil) -> DecoderTrial {
        var trial = DecoderTrial()
        do throws(MediaError) { try trial.decode(source, device) } catch { trial.problems.append(error.reason.text) }
        return trial
    }

    private mutating func decode(_ source: String, _ device: String?) throws(MediaError) {
        let begin = HostTime.now
        var hardware = try MediaReader.open(source, samples: nil, decoder: DecoderWish(.hardware, device: device))
        decoder = hardware.decoder
        if decoder == DecoderSetting.software.rawValue {
            problems = hardware.problems
            return
        }
        var software = try MediaReader.open(source, samples: nil)
        var (squares, samples, peak) = (0.0, 0, 255.0)
        var inodes: Set<UInt64> = []
        var times = (hardware: MediaTime.zero, software: MediaTime.zero)
        while decoded < Self.mostPictures, HostTime.now - begin < Self.timeLimit {
            let start = HostTime.now
            guard let drawn = hardware.nextFrame() else { break }
            let half = HostTime.now
            guard let expected = software.nextFrame() else { break }
            times.hardware += half - start
            times.software += HostTime.now - half
            if decoded > 0 { worst = max(worst, half - start) }
            decoded += 1
            if let inode = drawn.frame.surfaceInode { inodes.insert(inode) }
            surface = surface ?? drawn.frame.surfaceText
            // To read a surface is slow: the first ten, then each tenth.
            guard decoded <= 10 || decoded % 10 == 0 else { continue }
            let picture = drawn.frame.downloaded()
            guard picture != nil else {
                problems.append("the driver does not let its pictures be read")
                break
            }
            guard let found = picture!.difference(from: expected.frame) else {
                problems.append("its pictures are of another size or format than software's")
                break
            }
            compared += 1
            difference = max(difference ?? 0, found.greatest)
            squares += found.squares
            samples += found.samples
            peak = found.peak
        }
        if decoded > 0 {
            hardwareTime = MediaTime(nanoseconds: times.hardware.nanoseconds / Int64(decoded))
            softwareTime = MediaTime(nanoseconds: times.software.nanoseconds / Int64(decoded))
        }
        if squares > 0 { ratio = 10 * log10(peak * peak * Double(samples) / squares) }
        surfaces = inodes.count
        problems += hardware.problems
        if hardware.decoder != decoder { problems.append("left at picture \(decoded): \(hardware.decoder) went on") }
    }
}

extension VideoFrame {
    /// `NV12, modifier 0x0, 1 object`; nil in ordinary memory.
    fileprivate var surfaceText: String? {
        guard let surface else { return nil }
        let code = surface.pointee.layers.0.format
        let name = String(decoding: (0..<4).map { UInt8(truncatingIfNeeded: code >> (8 * UInt32($0))) }, as: UTF8.self)
        let modifier = String(surface.pointee.objects.0.format_modifier, radix: 16)
        return "\(name), \(surface.pointee.nb_layers) layers, modifier 0x\(modifier), \(surface.pointee.nb_objects) objects"
    }

    fileprivate var surfaceInode: UInt64? {
        guard let surface else { return nil }
        var status = stat()
        return fstat(surface.pointee.objects.0.fd, &status) == 0 ? UInt64(status.st_ino) : nil
    }

    /// How far the samples of another picture of this size and depth are from these; nil where it is of another. Planes may be arranged otherwise.
    func difference(from other: borrowing VideoFrame) -> (greatest: Int, squares: Double, samples: Int, peak: Double)? {
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

    /// The samples of one component, in whatever plane and order.
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
