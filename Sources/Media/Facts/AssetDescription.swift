import CKioskFFmpeg
import KioskPlatform
import KioskVocabulary

/// A description of a source from its headers.
package struct AssetDescription: Hashable, Sendable {
    /// A picture track.
    package struct Video: Hashable, Sendable {
        /// FFmpeg's short codec name: `h264`.
        package var codec: String
        /// Stored pixels across and down, before orientation and after the container's crop.
        package var width: Int, height: Int
        /// Width of a stored pixel divided by its height.
        package var pixelAspectRatio: Double
        /// The rotation that makes the stored picture upright.
        package var orientation: Orientation
        /// Average frames a second; nil for a still, or if the container does not say.
        package var frameRate: Double?
        /// Whether the container describes one constant frame rate.
        package var isConstantFrameRate: Bool
        /// FFmpeg's name of the pixel format: `yuv420p10le`.
        package var pixelFormat: String
        /// The Dolby Vision profile if its colours follow no other standard (5); nil for anything else.
        package var dolbyVisionProfile: Int?
        /// FFmpeg's names of the primaries, transfer function and matrix: `bt2020`, `smpte2084`, `bt2020nc`. nil if neither the container
        /// nor the first picture has them.
        package var colorPrimaries: String?, colorTransfer: String?, colorMatrix: String?
        /// Whether its frames consist of fields.
        package var isInterlaced: Bool
        /// Whether the decoder makes a picture from each field, which doubles ``frameRate``.
        package var isDeinterlaced = false
        /// Whether the container crops the stored picture.
        package var isCropped = false
        /// The start and the length of the track by its header, in the container's time.
        package var start: MediaTime?, duration: MediaTime?
    }

    /// A sound track.
    package struct Audio: Hashable, Sendable {
        /// FFmpeg's short codec name: `aac`.
        package var codec: String
        /// Samples a second for each channel.
        package var sampleRate: Int
        /// Number of channels.
        package var channelCount: Int
        /// The start and the length of the track by its header, in the container's time.
        package var start: MediaTime?, duration: MediaTime?

        /// Creates a track from these values alone.
        package init(
            codec: String, sampleRate: Int, channelCount: Int, start: MediaTime? = nil, duration: MediaTime? = nil
        ) {
            (self.codec, self.sampleRate, self.channelCount) = (codec, sampleRate, channelCount)
            (self.start, self.duration) = (start, duration)
        }
    }

    /// A variant of an HLS master list, as the list describes it.
    package struct Variant: Hashable, Sendable {
        /// The maximum bits a second.
        package var bandwidth: Double
        /// Pixels across and down; nil if the list does not state them.
        package var width: Int?, height: Int?

        /// Creates a variant from its parts.
        package init(bandwidth: Double, width: Int? = nil, height: Int? = nil) {
            (self.bandwidth, self.width, self.height) = (bandwidth, width, height)
        }
    }

    /// The container's short name: `mov,mp4,m4a,3gp,3g2,mj2`.
    package var container: String
    /// The length by the container; nil for stills and live streams.
    package var duration: MediaTime?
    /// The picture track that is played.
    package var video: Video?
    /// The sound track that is played.
    package var audio: Audio?
    /// Whether it is a single image without a duration, or an animation of one frame.
    package var isStill: Bool
    /// Whether kiosk can seek in it.
    package var isSeekable: Bool
    /// All its tracks, played or not.
    package var tracks: [AssetTrack] = []
    /// The chapters in order, in item time.
    package var chapters: [AssetChapter] = []
    /// The title and other texts from the container.
    package var metadata = AssetMetadata()
    /// Whether it is a local file, which reads in no time compared with a stream.
    package var isLocal = true
    /// The variant of an HLS master list that is played; nil for anything else.
    package var variant: Variant?
    /// Whether it is a stream without an end.
    var isLive: Bool { duration == nil && !isStill && !isLocal }

    /// Drops the part of the picture track before `time`, in the container's time. A recording that begins between two key frames is shown
    /// from the second one on.
    mutating func leaveOut(before time: MediaTime) {
        guard let start = video?.start, time > start else { return }
        let lead = time - start
        video?.start = time
        if let own = video?.duration, own > lead { video?.duration = own - lead }
        if let whole = duration, whole > lead { duration = whole - lead }
    }
    /// The file's own title; nil if it has none.
    package var title: String? { metadata.title }
}

extension AssetDescription {
    /// Creates a source from its container alone.
    package init(container: String) { self.init(container: container, isStill: false, isSeekable: false) }
}

extension AssetDescription.Video {
    /// Creates a track from these values alone.
    package init(codec: String, width: Int, height: Int) {
        self.init(
            codec: codec, width: width, height: height, pixelAspectRatio: 1, orientation: .up, isConstantFrameRate: false,
            pixelFormat: "", isInterlaced: false)
    }

    /// Pixels across and down of the picture at its own size: upright, with square pixels.
    package var presentationSize: (width: Int, height: Int) {
        let aspect = (1e-4...1e4).contains(pixelAspectRatio) ? pixelAspectRatio : 1
        let wide = Int(saturating: (Double(width) * aspect).rounded())
        return orientation.rotation.swapsAxes ? (height, wide) : (wide, height)
    }
}

extension AssetDescription.Video {
    /// Whether the transfer function is a high dynamic range one (PQ, HLG).
    package var isHighDynamicRange: Bool { colorTransfer.map { ["smpte2084", "arib-std-b67"].contains($0) } ?? false }

    /// The fault of the colours on a standard display; nil if there is none.
    var colorProblem: String? {
        if let dolbyVisionProfile {
            return "is Dolby Vision (profile \(dolbyVisionProfile)) and shown with green and purple colours: convert it to SDR (BT.709)"
        }
        if isHighDynamicRange {
            let name = colorTransfer == "smpte2084" ? "PQ" : "HLG"
            return "is HDR (\(name)) and shown without tone mapping, with wrong brightness and colours: convert it to SDR (BT.709)"
        }
        guard colorPrimaries == "bt2020" || colorMatrix?.hasPrefix("bt2020") == true else { return nil }
        return "has the wide colours of BT.2020, which look paler than intended: convert it to BT.709"
    }

    /// Adds the colour description of a stream's header, if it has one.
    mutating func addColors(of parameters: AVCodecParameters) {
        addColors(parameters.color_primaries, parameters.color_trc, parameters.color_space)
    }

    /// Adds the colour description of a decoded frame, if the container had none.
    mutating func addColors(of frame: AVFrame) { addColors(frame.color_primaries, frame.color_trc, frame.colorspace) }

    private mutating func addColors(
        _ primaries: AVColorPrimaries, _ transfer: AVColorTransferCharacteristic, _ matrix: AVColorSpace
    ) {
        if primaries != AVCOL_PRI_UNSPECIFIED {
            colorPrimaries = colorPrimaries ?? av_color_primaries_name(primaries).map { String(cString: $0) }
        }
        if transfer != AVCOL_TRC_UNSPECIFIED {
            colorTransfer = colorTransfer ?? av_color_transfer_name(transfer).map { String(cString: $0) }
        }
        if matrix != AVCOL_SPC_UNSPECIFIED { colorMatrix = colorMatrix ?? av_color_space_name(matrix).map { String(cString: $0) } }
    }
}

extension AssetDescription {
    /// Describes the streams with these indices from the probed headers; a negative index is for none.
    init(_ format: FormatContext, video: Int32, audio: Int32) {
        let context = format.raw.pointee
        container = String(cString: context.iformat.pointee.name)
        isSeekable = format.isSeekable
        duration = context.duration > 0 ? MediaTime(ticks: context.duration, of: shim_rational(1, AV_TIME_BASE)) : nil
        isStill = false
        tracks = format.tracks
        chapters = format.chapters
        metadata = format.metadata(video: video, audio: audio)
        if video >= 0, let stream = context.streams[Int(video)] {
            let parameters = stream.pointee.codecpar.pointee
            let average = stream.pointee.avg_frame_rate, base = stream.pointee.r_frame_rate
            let rate = average.plausibleFrameRate
            let geometry = TrackGeometry(stream, of: format)
            isStill = format.isStill
            self.video = Video(
                codec: String(cString: avcodec_get_name(parameters.codec_id)), width: geometry.size.width, height: geometry.size.height,
                pixelAspectRatio: geometry.shape().pixelAspectRatio,
                orientation: geometry.orientation,
                frameRate: isStill ? nil : rate,
                isConstantFrameRate: rate.map { base.isMultiple(of: $0, orTwice: parameters.isInterlaced) } ?? false,
                pixelFormat: av_get_pix_fmt_name(AVPixelFormat(rawValue: parameters.format)).map { String(cString: $0) } ?? "unknown",
                isInterlaced: parameters.isInterlaced,
                start: stream.time(stream.pointee.start_time), duration: stream.ownDuration(within: duration))
            let dolbyVision = Int(shim_stream_dolby_vision(stream))
            self.video?.dolbyVisionProfile = dolbyVision > 0 ? dolbyVision : nil
            self.video?.isCropped = geometry.crop != nil
            self.video?.addColors(of: parameters)
            if isStill { duration = nil }
        }
        if audio >= 0, let stream = context.streams[Int(audio)] {
            self.audio = Audio(stream, within: duration)
            if let end = format.soundEnd(of: stream) {
                let length = end - (self.audio?.start ?? .zero)
                self.audio?.duration = length
                if self.video == nil { duration = length }
            }
        }
    }
}

extension AssetDescription.Audio {
    /// Describes a stream from its header, in a container that lasts `duration`.
    init(_ stream: UnsafeMutablePointer<AVStream>, within duration: MediaTime?) {
        let parameters = stream.pointee.codecpar.pointee
        self.init(
            codec: String(cString: avcodec_get_name(parameters.codec_id)), sampleRate: Int(parameters.sample_rate),
            channelCount: Int(parameters.ch_layout.nb_channels), start: stream.time(stream.pointee.start_time),
            duration: stream.ownDuration(within: duration))
    }
}

extension FormatContext {
    /// Returns the container time at which padding begins in a file by iTunes; nil for other files. The tag `iTunSMPB` has hexadecimal
    /// numbers: nothing, then the samples of priming, of padding, and between them. libavformat removes the priming. If another program
    /// copied the tag from a different file, its sum does not match this one's length. The tag is then ignored.
    func soundEnd(of stream: UnsafeMutablePointer<AVStream>) -> MediaTime? {
        guard let tag = av_dict_get(raw.pointee.metadata, "iTunSMPB", nil, 0)?.pointee.value,
            let start = stream.time(stream.pointee.start_time), let all = stream.time(stream.pointee.duration)
        else { return nil }
        let numbers = String(cString: tag).split(separator: " ").prefix(4).map { UInt64($0, radix: 16) ?? .max }
        let rate = Int(stream.pointee.codecpar.pointee.sample_rate)
        guard numbers.count == 4, 1..<16384 ~= numbers[1], numbers[2] < 16384, 1..<(1 << 40) ~= numbers[3], rate > 0 else { return nil }
        let listed = MediaTime.frames(Int64(numbers[1] + numbers[2] + numbers[3]), sampleRate: rate)
        // Writers differ in whether the length counts the priming.
        let tolerance = MediaTime.frames(Int64(numbers[1]) + 2048, sampleRate: rate)
        guard all <= listed + tolerance, listed <= all + tolerance else { return nil }
        return start + .frames(Int64(numbers[3]), sampleRate: rate)
    }
}

extension AVRational {
    /// Whether it is `rate`, to a thousandth. With `orTwice` it may be double, as interlaced streams may count fields.
    fileprivate func isMultiple(of rate: Double, orTwice: Bool) -> Bool {
        guard den > 0 else { return false }
        let ratio = av_q2d(self) / rate
        return abs(ratio - 1) < 0.001 || orTwice && abs(ratio - 2) < 0.002
    }
}

extension UnsafeMutablePointer<AVStream> {
    /// Returns the length of the track by its header. Matroska has a field only for the whole length, so writers put a track's length into
    /// a tag (`DURATION`). FFmpeg writes the track's end there, mkvmerge its length.
    fileprivate func ownDuration(within whole: MediaTime?) -> MediaTime? {
        if let duration = time(pointee.duration), duration > .zero { return duration }
        func tag(_ name: String, _ flags: Int32) -> UnsafeMutablePointer<AVDictionaryEntry>? {
            av_dict_get(pointee.metadata, name, nil, flags)
        }
        guard let text = tag("DURATION", AV_DICT_IGNORE_SUFFIX)?.pointee.value, let said = MediaTime(clock: String(cString: text)) else {
            return nil
        }
        let isEnd = tag("_STATISTICS_WRITING_APP", AV_DICT_IGNORE_SUFFIX) == nil
        let duration = isEnd ? said - (time(pointee.start_time) ?? .zero) : said
        // Ignores a tag copied from another file. A track may begin before the whole does.
        return duration > .zero && min(said, duration) <= whole ?? said ? duration : nil
    }
}

extension FormatContext {
    /// Whether libavformat reads it as single images.
    var isStill: Bool {
        let name = String(cString: raw.pointee.iformat.pointee.name)
        return name == "image2" || name.hasSuffix("_pipe")
    }

    /// Whether it is an image format with optional animation: GIF, APNG and AVIF. AVIF is MP4 with its own brand.
    var isImage: Bool {
        let name = String(cString: raw.pointee.iformat.pointee.name)
        if ["gif", "apng"].contains(name) { return true }
        guard let brand = av_dict_get(raw.pointee.metadata, "major_brand", nil, 0)?.pointee.value else { return false }
        return ["avif", "avis", "mif1", "msf1"].contains(String(cString: brand))
    }
}

extension String {
    /// The text as a title; nil if nothing is left. Replaces each run of control characters, line breaks and blanks by one blank. Shortens
    /// more than 200 Unicode scalars to end with an ellipsis. Counts scalars because a character can have any number of marks.
    package var asTitle: String? {
        let longest = 200
        var scalars = String.UnicodeScalarView()
        for scalar in unicodeScalars {
            let isBlank = scalar.properties.generalCategory == .control || scalar.properties.isWhitespace
            if !isBlank { scalars.append(scalar) } else if scalars.last.map({ $0 != " " }) ?? false { scalars.append(" ") }
            if scalars.count > longest + 1 { break }
        }
        if scalars.last == " " { scalars.removeLast() }
        if scalars.count > longest { scalars = String.UnicodeScalarView(scalars.prefix(longest - 1) + ["\u{2026}"]) }
        return scalars.isEmpty ? nil : String(scalars)
    }
}

extension MediaTime {
    /// A time of the form `00:00:04.004000000`, hours first; nil for any other.
    init?(clock text: String) {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 3, let hours = UInt32(parts[0]), let minutes = UInt32(parts[1]), let seconds = Double(parts[2]),
            hours < 876_600, minutes < 60, 0..<60 ~= seconds
        else { return nil }
        self = .seconds(Double(hours) * 3600 + Double(minutes) * 60 + seconds)
    }
}
