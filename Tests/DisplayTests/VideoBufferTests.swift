import CKioskFFmpeg
import KioskMedia
import KioskPlayback
import KioskVocabulary
import Testing

@testable import KioskDisplayCore

/// The layout of a picture's planes. Copying and scaling write the picture, and nothing beside it.
@Suite struct VideoBufferTests {
    struct Layout: CustomTestStringConvertible {
        var testDescription: String
        var format: AVPixelFormat
        var size: (Int, Int), pitch: Int
        var framebuffer: (Int, Int), offsets: [Int], pitches: [Int], rows: Int
    }

    static let layouts = [
        Layout(
            testDescription: "NV12", format: AV_PIX_FMT_NV12, size: (1920, 1080), pitch: 1920, framebuffer: (1920, 1080),
            offsets: [0, 2_073_600], pitches: [1920, 1920], rows: 1620),
        Layout(
            testDescription: "YUV420", format: AV_PIX_FMT_YUV420P, size: (1280, 720), pitch: 1280, framebuffer: (1280, 720),
            offsets: [0, 921_600, 1_152_000], pitches: [1280, 640, 640], rows: 1080),
        Layout(
            testDescription: "YUV420, odd, in wider rows", format: AV_PIX_FMT_YUV420P, size: (321, 179), pitch: 384,
            framebuffer: (322, 180), offsets: [0, 69120, 86400], pitches: [384, 192, 192], rows: 270),
        Layout(
            testDescription: "P010", format: AV_PIX_FMT_P010LE, size: (320, 180), pitch: 640, framebuffer: (320, 180),
            offsets: [0, 115_200], pitches: [640, 640], rows: 270),
        Layout(
            testDescription: "YUV422", format: AV_PIX_FMT_YUV422P, size: (320, 180), pitch: 320, framebuffer: (320, 180),
            offsets: [0, 57600, 86400], pitches: [320, 160, 160], rows: 360),
        Layout(
            testDescription: "NV16", format: AV_PIX_FMT_NV16, size: (320, 180), pitch: 320, framebuffer: (320, 180), offsets: [0, 57600],
            pitches: [320, 320], rows: 360),
        Layout(
            testDescription: "YUV444", format: AV_PIX_FMT_YUV444P, size: (320, 180), pitch: 320, framebuffer: (320, 180),
            offsets: [0, 57600, 115_200], pitches: [320, 320, 320], rows: 540),
        Layout(
            testDescription: "NV24", format: AV_PIX_FMT_NV24, size: (320, 180), pitch: 320, framebuffer: (320, 180), offsets: [0, 57600],
            pitches: [320, 640], rows: 540),
    ]

    @Test(arguments: layouts) func layout(_ test: Layout) throws {
        let format = try #require(VideoFormat(test.format))
        let layout = VideoLayout(format, width: test.size.0, height: test.size.1, pitch: test.pitch)
        #expect(layout.width == test.framebuffer.0 && layout.height == test.framebuffer.1)
        for plane in 0..<format.planeCount {
            #expect(layout.offsets[plane] == test.offsets[plane] && layout.pitches[plane] == test.pitches[plane])
        }
        #expect(layout.rows == test.rows)
    }

    @Test func formatsHaveTheKernelsNames() {
        #expect(VideoFormat.nv12.code == 0x3231_564e && VideoFormat.yuv420.code == 0x3231_5559 && "\(VideoFormat.p010)" == "P010")
        #expect(VideoFormat.all.allSatisfy { VideoFormat($0.av)?.code == $0.code })
    }

    /// Compares sample by sample, also with odd sizes. The buffer's rows are as far apart as the decoder's, or farther.
    @Test(arguments: [AV_PIX_FMT_NV12, AV_PIX_FMT_YUV420P, AV_PIX_FMT_P010LE, AV_PIX_FMT_YUV422P, AV_PIX_FMT_YUV444P, AV_PIX_FMT_NV16])
    func copies(_ av: AVPixelFormat) throws {
        let format = try #require(VideoFormat(av))
        for (width, height) in [(64, 36), (66, 34), (33, 17)] {
            let frame = Pictures.make(av, width, height) { plane, x, y in 17 &* (plane + 1) &+ 5 &* x &+ 3 &* y }
            for isWider in [false, true] {
                let stride = Int(frame.av.pointee.linesize.0)
                let buffer = MemoryVideo.MemoryVideoBuffer(
                    format, width, height, forScaling: false, pitch: isWider ? stride + 64 : stride)
                buffer.copy(PicturePlanes(frame.av), width: width, height: height)
                #expect(buffer.isWhole)
                for plane in 0..<format.planeCount {
                    let (rows, bytes) = format.extent(of: plane, width: width, height: height)
                    for (x, y) in [(0, 0), (bytes - 1, 0), (bytes / 2, rows / 2), (0, rows - 1), (bytes - 1, rows - 1)] {
                        let written = buffer.base.load(
                            fromByteOffset: buffer.layout.offsets[plane] + y * buffer.layout.pitches[plane] + x, as: UInt8.self)
                        #expect(
                            Int(written) == (17 &* (plane + 1) &+ 5 &* x &+ 3 &* y) & 255, "\(width)x\(height) plane \(plane) \(x),\(y)")
                    }
                }
            }
        }
    }

    struct Way: CustomTestStringConvertible {
        var from: AVPixelFormat, to: AVPixelFormat
        var value: (y: Int, u: Int, v: Int)
        var path = PicturePath.copy
        var isFull = false
        var testDescription: String { "\(path.rawValue) \(VideoFormat(to)!) of \(String(cString: av_get_pix_fmt_name(from)))" }
    }

    static let ways = [
        Way(from: AV_PIX_FMT_YUV420P, to: AV_PIX_FMT_NV12, value: (81, 90, 240)),
        Way(from: AV_PIX_FMT_YUVJ420P, to: AV_PIX_FMT_YUV420P, value: (76, 85, 255), isFull: true),
        Way(from: AV_PIX_FMT_YUVJ420P, to: AV_PIX_FMT_NV12, value: (76, 85, 255), isFull: true),
        Way(from: AV_PIX_FMT_YUV420P10LE, to: AV_PIX_FMT_P010LE, value: (81, 90, 240)),
        Way(from: AV_PIX_FMT_YUV420P, to: AV_PIX_FMT_YUV420P, value: (81, 90, 240), path: .scale),
        Way(from: AV_PIX_FMT_YUVJ420P, to: AV_PIX_FMT_YUV420P, value: (76, 85, 255), path: .scale, isFull: true),
        Way(from: AV_PIX_FMT_NV12, to: AV_PIX_FMT_YUV420P, value: (81, 90, 240), path: .scale),
        Way(from: AV_PIX_FMT_YUV420P, to: AV_PIX_FMT_NV12, value: (81, 90, 240), path: .scale),
        Way(from: AV_PIX_FMT_YUV420P10LE, to: AV_PIX_FMT_YUV420P, value: (81, 90, 240), path: .scale),
        Way(from: AV_PIX_FMT_YUV422P, to: AV_PIX_FMT_YUV422P, value: (81, 90, 240), path: .scale),
        Way(from: AV_PIX_FMT_YUV444P, to: AV_PIX_FMT_NV24, value: (81, 90, 240), path: .scale),
        Way(from: AV_PIX_FMT_GRAY8, to: AV_PIX_FMT_YUV420P, value: (200, 128, 128), path: .scale, isFull: true),
    ]

    /// Sample values stay the same in every order, range and size: the plane converts them to colours.
    @Test(arguments: ways) func coloursAreKept(_ way: Way) throws {
        let is10 = way.from == AV_PIX_FMT_YUV420P10LE, isSemiPlanar = way.from == AV_PIX_FMT_NV12
        let frame = Pictures.make(way.from, 66, 34, bytes: is10 ? 2 : 1) { plane, x, _ in
            let value =
                plane == 0 ? way.value.y : isSemiPlanar ? (x % 2 == 0 ? way.value.u : way.value.v) : plane == 1 ? way.value.u : way.value.v
            return is10 ? value << 2 : value
        }
        let format = try #require(VideoFormat(way.to))
        let size = way.path == .scale ? (100, 51) : (66, 34)
        let buffer = MemoryVideo.MemoryVideoBuffer(format, size.0, size.1, forScaling: true)
        let found = PictureShape(
            frame, crop: nil, own: .none, gravity: .resize, rotation: .none, background: 0, screenWidth: size.0, screenHeight: size.1)
        let shape = try #require(found)
        #expect(shape.colour == ColourDescription(matrix: SWS_CS_ITU601, isFullRange: way.isFull))
        let candidate = try #require(
            PicturePlan(shape, [way.path], width: size.0, height: size.1).candidates.first { $0.format == format && !$0.hasBackground })
        var writer = VideoWriter()
        try writer.write(frame, as: candidate, into: buffer)
        #expect(buffer.isWhole)
        guard let read = buffer.frame(ColourDescription(matrix: SWS_CS_ITU601, isFullRange: way.isFull)) else {
            Issue.record("no memory")
            return
        }
        let planes = PicturePlanes(read.av), last = way.to == AV_PIX_FMT_P010LE ? 1 : 0
        for (x, y) in [(0, 0), (size.0 - 1, 0), (0, size.1 - 1), (size.0 / 2, size.1 / 2)] {
            let bytes = format.sampleBytes
            #expect(Int(planes.data.0![y * Int(planes.strides.0) + x * bytes + last]) == way.value.y, "luma at \(x),\(y)")
        }
        let (first, second) = (planes.data.1!, format.planeCount == 2 ? planes.data.1! + format.sampleBytes : planes.data.2!)
        #expect(Int(first[last]) == way.value.u && Int(second[last]) == way.value.v)
    }
}
