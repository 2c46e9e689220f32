import CKioskFFmpeg
import KioskPlatform
import KioskVocabulary

extension VideoDecoder {
    /// Opens the decoder of a stream whose pictures may take `memory` bytes. Where they would take more, fewer threads are used, then they
    /// are decoded at a half, a quarter or an eighth of their size by a codec that can (JPEG).
    ///
    /// - Parameters:
    ///   - wish: whether a hardware decoder is tried first. Blocks for its device, at most ``HardwareDevice/timeLimit`` for each.
    ///   - preview: the size that its pictures will be drawn at, where only key frames are wanted and cheapness comes before quality:
    ///   it leaves out all other frames and the deblocking filter, and decodes at the smallest size that is enough.
    /// - Throws: ``MediaError`` where that is not enough, or libavcodec has no such decoder.
    static func open(
        _ stream: UnsafeMutablePointer<AVStream>, of format: FormatContext, source: String, threads: Int, memory: Int,
        wish: DecoderWish = .software, preview: (width: Int, height: Int)? = nil
    ) throws(MediaError) -> VideoDecoder {
        let parameters = stream.pointee.codecpar.pointee
        let isStill = format.isStill
        // Each thread holds a picture of its own: a machine that is short of memory decodes with fewer.
        let threads = (1...max(1, threads)).last {
            PictureMemory(parameters, isStill: isStill, threads: $0).bytes(reducedBy: 0) <= memory
        }
        let picture = PictureMemory(parameters, isStill: isStill, threads: threads ?? 1)
        let reductions = avcodec_find_decoder(parameters.codec_id).map { Int($0.pointee.max_lowres) } ?? 0
        let least = preview.map { picture.reduction(to: $0, atMost: reductions) } ?? 0
        guard let reduction = (least...reductions).first(where: { picture.bytes(reducedBy: $0) <= memory }) else {
            let megabytes = (picture.bytes(reducedBy: reductions) - 1) >> 20 + 1
            throw MediaError(source, .pictureTooLarge(width: picture.width, height: picture.height, megabytes: megabytes))
        }
        let geometry = TrackGeometry(stream, of: format)
        let plan = DecoderPlan(
            stream, source: source, threads: threads ?? 1, reduction: reduction,
            maxPixels: picture.pixels(within: memory, reducedBy: reduction), isPreview: preview != nil, isCropped: geometry.crop != nil,
            makesPictures: wish.makesPictures)
        let choice =
            isStill || format.isImage || preview != nil || geometry.crop != nil
            ? DecoderChoice.software : DecoderChoice(parameters, wish, source: source, memory: memory)
        var rate = av_guess_frame_rate(format.raw, stream, nil)
        // Of interlaced H.264 in a transport stream libavformat takes the rate of the fields for that of the frames.
        let average = stream.pointee.avg_frame_rate
        if parameters.isInterlaced, let frames = average.plausibleFrameRate, let guess = rate.plausibleFrameRate,
            abs(guess / frames - 2) < 0.01
        {
            rate = average
        }
        return try VideoDecoder(
            plan, geometry: geometry,
            nominalDuration: rate.frameDuration, choice: choice, wish: wish)
    }
}

extension DecoderChoice {
    /// The choice on this machine.
    init(_ parameters: AVCodecParameters, _ wish: DecoderWish, source: String, memory: Int) {
        if wish.setting != .software, let failure = HardwareHistory.failure(source) {
            self.init(obstacle: failure)
            return
        }
        if wish.setting == .automatic, SurfaceUse.isPointless {
            self.init(obstacle: "the display cannot show what hardware decoders give out")
            return
        }
        self.init(
            Track(parameters), setting: wish.setting, offers: wish.setting == .software ? Offers() : Offers(parameters.codec_id),
            nodes: wish.setting == .software ? Nodes() : Nodes(device: wish.device), memory: memory)
    }
}
