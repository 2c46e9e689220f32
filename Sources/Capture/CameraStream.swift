import CKioskCapture
import CKioskFFmpeg
import Glibc
import KioskMedia
import KioskPlatform
import KioskVocabulary

/// A camera's picture, and its time.
package struct CapturedPicture: ~Copyable, Sendable {
    package var frame: VideoFrame
    /// The driver's sequence number.
    package var number: UInt32
    package var time: HostTime
    package var frameDuration: MediaTime
}

/// An open camera that streams. kiosk calls V4L2 directly, because libavdevice hides some facts: the sequence numbers, the times on
/// CLOCK_MONOTONIC, and the removal of the camera. Belongs to one thread.
struct CameraStream: ~Copyable {
    let camera: Camera
    /// The format that the driver has accepted.
    let format: CameraFormat
    private let buffers: CameraBuffers
    private let pixels: CameraPixels
    private let layout: v4l2_pix_format
    private var clock: FrameClock
    private var decoder: CameraDecoder?
    /// The number of damaged pictures.
    private(set) var damagedCount = 0

    /// The number of missing pictures.
    var droppedCount: Int { clock.droppedCount + damagedCount }

    /// The requested number of buffers. At 30 frames a second they hold a quarter of a second, which a slow disk may take.
    private static let bufferCount = 10

    /// Opens `camera` and starts its stream.
    static func open(_ camera: Camera, _ wanted: CameraMode) throws(CaptureError) -> CameraStream {
        guard let device = Descriptor(opening: camera.path, O_RDWR | O_NONBLOCK) else {
            let code = errno
            throw .cannotOpenCamera(camera.path, errno: code, holders: code == EBUSY ? DeviceHolder.find(camera.path) : [])
        }
        let descriptor = device.raw
        let buffers = CameraBuffers(device, path: camera.path)
        let offered = CameraOffer.formats(descriptor, wanted: wanted)
        let codes = Set(offered.map(\.code)).sorted()
        guard codes.contains(where: { CameraPixels(code: $0) != nil }) else {
            throw .noUsableFormat(camera: camera.description, codes: codes)
        }
        guard let choice = CameraFormat.choose(wanted, from: offered), let pixels = CameraPixels(code: choice.code) else {
            throw .formatNotOffered(camera: camera.description, wanted: wanted.description, offered: CameraFormat.list(offered))
        }
        var format = v4l2_format()
        format.type = V4L2_BUF_TYPE_VIDEO_CAPTURE.rawValue
        format.fmt.pix.width = UInt32(choice.width)
        format.fmt.pix.height = UInt32(choice.height)
        format.fmt.pix.pixelformat = FourCC.code(choice.code)
        format.fmt.pix.field = V4L2_FIELD_ANY.rawValue
        guard kiosk_video_call(descriptor, kVIDIOC_S_FMT, &format) == 0 else { throw buffers.failure("\(choice.description)") }
        var set = choice
        (set.width, set.height) = (Int(format.fmt.pix.width), Int(format.fmt.pix.height))
        guard format.fmt.pix.pixelformat == FourCC.code(choice.code), wanted.width == nil || set.width == choice.width,
            wanted.height == nil || set.height == choice.height
        else { throw .formatNotOffered(camera: camera.description, wanted: wanted.description, offered: CameraFormat.list(offered)) }
        var parameters = v4l2_streamparm()
        parameters.type = V4L2_BUF_TYPE_VIDEO_CAPTURE.rawValue
        parameters.parm.capture.timeperframe = v4l2_fract(numerator: choice.numerator, denominator: choice.denominator)
        // Some drivers have a single rate, and lack this call.
        if kiosk_video_call(descriptor, kVIDIOC_S_PARM, &parameters) == 0, parameters.parm.capture.timeperframe.numerator > 0,
            parameters.parm.capture.timeperframe.denominator > 0
        {
            set.numerator = parameters.parm.capture.timeperframe.numerator
            set.denominator = parameters.parm.capture.timeperframe.denominator
        }
        try buffers.allocate(bufferCount)
        let decoder: CameraDecoder?
        switch pixels {
        case .coded(let codec):
            decoder = CameraDecoder(codec)
            if decoder == nil { throw .noUsableFormat(camera: camera.description, codes: [choice.code]) }
        case .raw: decoder = nil
        }
        try buffers.stream(true)
        return CameraStream(camera, set, buffers, pixels, format.fmt.pix, decoder)
    }

    private init(
        _ camera: Camera, _ format: CameraFormat, _ buffers: CameraBuffers, _ pixels: CameraPixels, _ layout: v4l2_pix_format,
        _ decoder: CameraDecoder?
    ) {
        (self.camera, self.format, self.buffers, self.pixels, self.layout, self.decoder) = (
            camera, format, buffers, pixels, layout, decoder
        )
        clock = FrameClock(frameDuration: .seconds(1 / min(max(format.rate, 1), 240)))
    }

    deinit { try? buffers.stream(false) }

    /// The colour encoding of its pictures; nil for compressed ones, as JPEG has a matrix of its own.
    var colours: CameraColours? { if case .raw = pixels { CameraColours(layout) } else { nil } }

    /// The descriptor to poll for the next picture.
    var descriptor: Int32 { buffers.descriptor }

    /// Returns the next picture, if there is one. Unreadable pictures count as damaged.
    mutating func next() throws(CaptureError) -> CapturedPicture? {
        while let filled = try buffers.take() {
            if filled.isDamaged {
                buffers.giveBack(filled.index)
                damagedCount += 1
                continue
            }
            let time = clock.time(ofPicture: filled.number, stamp: filled.stamp)
            if let frame = picture(filled) {
                return CapturedPicture(frame: frame, number: filled.number, time: time, frameDuration: clock.frameDuration)
            }
            damagedCount += 1
        }
        return nil
    }

    private mutating func picture(_ filled: CameraBuffers.Filled) -> VideoFrame? {
        switch pixels {
        case .coded:
            defer { buffers.giveBack(filled.index) }
            return decoder?.decode(UnsafeRawBufferPointer(rebasing: buffers.mappings[filled.index][..<filled.byteCount]))
        case .raw(let format, let isSwapped): return raw(filled, format, isSwapped: isSwapped)
        }
    }

    /// Wraps a buffer in a picture; copies it if the driver needs the buffer at once.
    private func raw(_ filled: CameraBuffers.Filled, _ format: AVPixelFormat, isSwapped: Bool) -> VideoFrame? {
        guard let frame = av_frame_alloc(), let reference = buffers.lend(filled.index) else {
            buffers.giveBack(filled.index)
            return nil
        }
        frame.pointee.format = format.rawValue
        (frame.pointee.width, frame.pointee.height) = (Int32(layout.width), Int32(layout.height))
        frame.pointee.buf.0 = reference
        CameraColours(layout).describe(frame)
        guard CameraPlanes.set(frame, reference, stride: Int(layout.bytesperline), isSwapped: isSwapped, limit: filled.byteCount) else {
            var pointer: UnsafeMutablePointer<AVFrame>? = frame
            av_frame_free(&pointer)
            return nil
        }
        let picture = VideoFrame(adopting: frame)
        if buffers.isShort { return picture.copied() }
        return picture
    }
}

extension VideoFrame {
    /// Returns a copy with memory of its own; nil without memory.
    fileprivate func copied() -> VideoFrame? {
        guard let copy = av_frame_alloc() else { return nil }
        copy.pointee.format = av.pointee.format
        (copy.pointee.width, copy.pointee.height) = (av.pointee.width, av.pointee.height)
        guard av_frame_get_buffer(copy, 0) >= 0, av_frame_copy(copy, av) >= 0, av_frame_copy_props(copy, av) >= 0 else {
            var pointer: UnsafeMutablePointer<AVFrame>? = copy
            av_frame_free(&pointer)
            return nil
        }
        return VideoFrame(adopting: copy, orientation: orientation)
    }
}

/// The planes of a picture in a V4L2 buffer: contiguous, with the stride of the first plane, or half of it for planes of half the width.
enum CameraPlanes {
    /// Sets the planes; false if they do not fit into `limit` bytes.
    static func set(
        _ frame: UnsafeMutablePointer<AVFrame>, _ memory: UnsafeMutablePointer<AVBufferRef>, stride: Int, isSwapped: Bool, limit: Int
    ) -> Bool {
        let format = AVPixelFormat(rawValue: frame.pointee.format)
        guard frame.pointee.height > 0, let data = memory.pointee.data else { return false }
        var strides = [Int32](repeating: 0, count: 4), planes = [UnsafeMutablePointer<UInt8>?](repeating: nil, count: 4)
        guard av_image_fill_linesizes(&strides, format, frame.pointee.width) >= 0, strides[0] > 0 else { return false }
        // A chroma plane of half the width has half the stride; an interleaved chroma plane has the full stride.
        let least = Int(strides[0]), first = max(stride, least)
        for plane in strides.indices { strides[plane] = Int32(clamping: first * Int(strides[plane]) / least) }
        let size = av_image_fill_pointers(&planes, format, frame.pointee.height, data, strides)
        guard size > 0, size <= limit, size <= memory.pointee.size else { return false }
        let (second, third) = isSwapped ? (2, 1) : (1, 2)
        (frame.pointee.data.0, frame.pointee.data.1, frame.pointee.data.2) = (planes[0], planes[second], planes[third])
        (frame.pointee.linesize.0, frame.pointee.linesize.1, frame.pointee.linesize.2) = (strides[0], strides[second], strides[third])
        return true
    }
}

/// The colour encoding of a picture, as V4L2 reports it, or by the defaults of its documentation.
struct CameraColours: Hashable {
    var isBT709 = false
    var isFullRange = false

    init(_ layout: v4l2_pix_format) {
        let space = layout.colorspace, encoding = layout.ycbcr_enc, range = layout.quantization
        isBT709 =
            encoding == V4L2_YCBCR_ENC_709.rawValue
            || (encoding == V4L2_YCBCR_ENC_DEFAULT.rawValue && space == V4L2_COLORSPACE_REC709.rawValue)
        isFullRange =
            range == V4L2_QUANTIZATION_FULL_RANGE.rawValue
            || (range == V4L2_QUANTIZATION_DEFAULT.rawValue && space == V4L2_COLORSPACE_JPEG.rawValue)
    }

    func describe(_ frame: UnsafeMutablePointer<AVFrame>) {
        let description = av_pix_fmt_desc_get(AVPixelFormat(rawValue: frame.pointee.format))
        if let description, description.pointee.flags & UInt64(AV_PIX_FMT_FLAG_RGB) != 0 {
            (frame.pointee.colorspace, frame.pointee.color_range) = (AVCOL_SPC_RGB, AVCOL_RANGE_JPEG)
            return
        }
        frame.pointee.colorspace = isBT709 ? AVCOL_SPC_BT709 : AVCOL_SPC_SMPTE170M
        frame.pointee.color_range = isFullRange ? AVCOL_RANGE_JPEG : AVCOL_RANGE_MPEG
    }
}
