import CKioskFFmpeg

// Small pictures as JPEG, by libavcodec's own encoder and decoder: some ten kilobytes each.
extension SmallPicture {
    /// The picture as a JPEG; nil where libavcodec was built without it, or memory is short.
    package func jpeg() -> [UInt8]? {
        guard let encoder = avcodec_find_encoder(AV_CODEC_ID_MJPEG) else { return nil }
        var context = avcodec_alloc_context3(encoder)
        var frame = av_frame_alloc()
        var packet = av_packet_alloc()
        defer {
            avcodec_free_context(&context)
            av_frame_free(&frame)
            av_packet_free(&packet)
        }
        guard let context, let frame, let packet else { return nil }
        (frame.pointee.width, frame.pointee.height) = (Int32(width), Int32(height))
        frame.pointee.format = AV_PIX_FMT_YUVJ420P.rawValue
        frame.pointee.color_range = AVCOL_RANGE_JPEG
        frame.pointee.quality = 4 * FF_QP2LAMBDA
        guard av_frame_get_buffer(frame, 0) >= 0,
            let scale = sws_getContext(
                Int32(width), Int32(height), AV_PIX_FMT_BGRA, Int32(width), Int32(height), AV_PIX_FMT_YUVJ420P, Int32(SWS_BILINEAR), nil,
                nil, nil)
        else { return nil }
        defer { sws_freeContext(scale) }
        // libswscale wants rows that are aligned.
        var source = av_frame_alloc()
        defer { av_frame_free(&source) }
        guard let source else { return nil }
        (source.pointee.width, source.pointee.height) = (Int32(width), Int32(height))
        source.pointee.format = AV_PIX_FMT_BGRA.rawValue
        guard av_frame_get_buffer(source, 0) >= 0 else { return nil }
        pixels.withUnsafeBytes { bytes in
            for y in 0..<height {
                UnsafeMutableRawPointer(source.pointee.data.0! + y * Int(source.pointee.linesize.0)).copyMemory(
                    from: bytes.baseAddress! + y * width * 4, byteCount: width * 4)
            }
        }
        guard sws_scale_frame(scale, frame, source) >= 0 else { return nil }
        (context.pointee.width, context.pointee.height) = (Int32(width), Int32(height))
        context.pointee.pix_fmt = AV_PIX_FMT_YUVJ420P
        context.pointee.color_range = AVCOL_RANGE_JPEG
        context.pointee.time_base = AVRational(num: 1, den: 25)
        context.pointee.thread_count = 1
        context.pointee.flags |= 1 << 1  // AV_CODEC_FLAG_QSCALE
        context.pointee.global_quality = 4 * FF_QP2LAMBDA
        guard avcodec_open2(context, encoder, nil) >= 0, avcodec_send_frame(context, frame) >= 0,
            avcodec_receive_packet(context, packet) >= 0
        else { return nil }
        return Array(UnsafeBufferPointer(start: packet.pointee.data, count: Int(packet.pointee.size)))
    }

    /// The picture that `jpeg` is; nil where it is damaged, or larger than 1024 pixels.
    package init?(jpeg: [UInt8]) {
        guard let decoder = avcodec_find_decoder(AV_CODEC_ID_MJPEG) else { return nil }
        var context = avcodec_alloc_context3(decoder)
        var frame = av_frame_alloc()
        var packet = av_packet_alloc()
        defer {
            avcodec_free_context(&context)
            av_frame_free(&frame)
            av_packet_free(&packet)
        }
        guard let context, let frame, let packet, av_new_packet(packet, Int32(clamping: jpeg.count)) >= 0 else { return nil }
        jpeg.withUnsafeBytes { packet.pointee.data.update(from: $0.bindMemory(to: UInt8.self).baseAddress!, count: jpeg.count) }
        context.pointee.thread_count = 1
        context.pointee.max_pixels = 1024 * 1024
        guard !jpeg.isEmpty, avcodec_open2(context, decoder, nil) >= 0, avcodec_send_packet(context, packet) >= 0,
            avcodec_receive_frame(context, frame) >= 0
        else { return nil }
        let (width, height) = (Int(frame.pointee.width), Int(frame.pointee.height))
        guard 1...1024 ~= width, 1...1024 ~= height, let shown = av_frame_alloc() else { return nil }
        av_frame_move_ref(shown, frame)
        let whole = VideoFrame(adopting: shown)
        guard let picture = whole.fitted(into: width, height) else { return nil }
        self = picture
    }
}
