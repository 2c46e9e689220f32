import CKioskFFmpeg

/// What libavcodec can decode here, by the processor.
package enum DecoderInventory {
    /// Those of `codecs`, by FFmpeg's short names, that it cannot decode without hardware. The corresponding C functions are
    /// `avcodec_descriptor_get_by_name` and `av_codec_iterate`.
    package static func missing(of codecs: [String]) -> [String] {
        codecs.filter { codec in
            guard let descriptor = avcodec_descriptor_get_by_name(codec) else { return true }
            return !hasSoftwareDecoder(descriptor.pointee.id)
        }
    }

    private static func hasSoftwareDecoder(_ codec: AVCodecID) -> Bool {
        var position: UnsafeMutableRawPointer?
        while let decoder = av_codec_iterate(&position) {
            guard decoder.pointee.id == codec, av_codec_is_decoder(decoder) != 0 else { continue }
            if decoder.pointee.capabilities & Int32(AV_CODEC_CAP_HARDWARE) != 0 { continue }
            // libavcodec's own decoder of AV1 parses only, and has hardware make the pictures.
            if codec == AV_CODEC_ID_AV1, String(cString: decoder.pointee.name) == "av1" { continue }
            return true
        }
        return false
    }
}
