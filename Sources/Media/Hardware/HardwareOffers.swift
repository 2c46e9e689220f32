import CKioskFFmpeg
import Glibc
import KioskPlatform

// What there is to choose from: the side of DecoderChoice that looks at libavcodec and at /dev.

extension DecoderChoice.Offers {
    /// What libavcodec has for a codec. The corresponding C functions are `av_codec_iterate` and `avcodec_get_hw_config`.
    init(_ codec: AVCodecID) {
        var position: UnsafeMutableRawPointer?
        while let decoder = av_codec_iterate(&position) {
            guard decoder.pointee.id == codec, av_codec_is_decoder(decoder) != 0 else { continue }
            let name = String(cString: decoder.pointee.name)
            if name.hasSuffix("_v4l2m2m") { v4l2.append(name) }
            if vaapi == nil, decoder.offers(AV_HWDEVICE_TYPE_VAAPI, AV_PIX_FMT_VAAPI) { vaapi = name }
            if v4l2Request == nil, decoder.offers(AV_HWDEVICE_TYPE_DRM, AV_PIX_FMT_DRM_PRIME) { v4l2Request = name }
        }
    }
}

extension UnsafePointer<AVCodec> {
    /// Whether it can decode into pictures of `format` where it is given a device of `type`.
    fileprivate func offers(_ type: AVHWDeviceType, _ format: AVPixelFormat) -> Bool {
        var index: Int32 = 0
        while let config = avcodec_get_hw_config(self, index) {
            let takesDevice = config.pointee.methods & Int32(AV_CODEC_HW_CONFIG_METHOD_HW_DEVICE_CTX) != 0
            if config.pointee.device_type == type, config.pointee.pix_fmt == format, takesDevice { return true }
            index += 1
        }
        return false
    }
}

extension DecoderChoice.Nodes {
    /// Those of this machine; of graphics processors only `device`, where one is given.
    init(device: String?) {
        if let device {
            if access(device, F_OK) == 0 { render = [device] }
        } else {
            render = Folder.numbers(of: "renderD", in: "/dev/dri").map { "/dev/dri/renderD\($0)" }
        }
        hasVideo = !Folder.numbers(of: "video", in: "/dev").isEmpty
    }
}

extension DecoderChoice.Track {
    /// What a stream's header says of it.
    init(_ parameters: AVCodecParameters) {
        codec = String(cString: avcodec_get_name(parameters.codec_id))
        (width, height) = (Int(max(0, parameters.width)), Int(max(0, parameters.height)))
        isInterlaced = parameters.field_order.rawValue > AV_FIELD_PROGRESSIVE.rawValue
        if let format = av_pix_fmt_desc_get(AVPixelFormat(rawValue: parameters.format))?.pointee {
            bitsPerSample = Int(format.comp.0.depth)
            let others = UInt64(AV_PIX_FMT_FLAG_RGB | AV_PIX_FMT_FLAG_ALPHA | AV_PIX_FMT_FLAG_PAL)
            isPlain420 =
                format.nb_components == 3 && format.log2_chroma_w == 1 && format.log2_chroma_h == 1 && format.flags & others == 0
                && [8, 10].contains(bitsPerSample)
        }
    }
}
