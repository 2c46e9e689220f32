import CKioskFFmpeg
import KioskPlatform
import KioskVocabulary

/// What a source holds, as far as its headers tell.
package struct AssetDescription: Hashable, Sendable {
    /// A picture track.
    package struct Video: Hashable, Sendable {
        /// FFmpeg's short codec name: `h264`.
        package var codec: String
        /// Stored pixels across and down, before orientation; what the container crops is left out.
        package var width: Int, height: Int
        /// Width of a stored pixel divided by its height.
        package var pixelAspectRatio: Double
        /// How the stored picture must be rotated to be upright.
        package var orientation: Orientation
        /// Average frames a second; nil for a still and where the container tells none.
        package var frameRate: Double?
        /// Whether the frames follow each other at one rate, as far as the container tells.
        package var isConstantFrameRate: Bool
        /// FFmpeg's name of the pixel format: `yuv420p10le`.
        package var pixelFormat: String
        /// The profile of Dolby Vision where its colours are those of no other standard (5); nil of anything else.
        package var dolbyVisionProfile: Int?
        /// FFmpeg's names of its primaries, transfer function and matrix: `bt2020`, `smpte2084`, `bt2020nc`; nil where neither the
        /// container nor the first picture has them.
        package var colorPrimaries: String?, colorTransfer: String?, colorMatrix: String?
        /// Whether its frames consist of fields.
        package var isInterlaced: Bool
        /// Whether a picture is made of each of them, so that there are twice as many as ``frameRate`` says.
        package var isDeinterlaced = false
        /// Whether the container says that only a part of the stored picture is to be seen.
        package var isCropped = false
        /// When the track begins and how long it lasts, as its header tells, in the container's time.
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
        /// When the track begins and how long it lasts, as its header tells, in the container's time.
        package var start: MediaTime?, duration: MediaTime?

        /// A track of which no more is known.
        package init(
            codec: String, sampleRate: Int, channelCount: Int, start: MediaTime? = nil, duration: MediaTime? = nil
        ) {
            (self.codec, self.sampleRate, self.channelCount) = (codec, sampleRate, channelCount)
            (self.start, self.duration) = (start, duration)
        }
    }

    /// The container's short name: `mov,mp4,m4a,3gp,3g2,mj2`.
    package var container: String
    /// Length as the container tells it; nil for stills and live streams.
    package var duration: MediaTime?
    /// The picture track that is played.
    package var video: Video?
    /// The sound track that is played.
    package var audio: Audio?
    /// Whether it is a single image without a duration; an animation of one frame is one, too.
    package var isStill: Bool
    /// Whether it can be sought in.
    package var isSeekable: Bool
    /// All its tracks, played or not.
    package var tracks: [AssetTrack] = []
    /// Its chapters in their order, in item time.
    package var chapters: [AssetChapter] = []
    /// What it says of itself.
    package var metadata = AssetMetadata()
    /// Whether it is a file of this machine, which is read in no time beside a stream.
    package var isLocal = true
    /// Whether it is a stream without an end.
    var isLive: Bool { duration == nil && !isStill && !isLocal }

    /// Leaves out what the picture track has before `time`, in the container's time: a recording that begins between two key frames is shown from the second
    /// one on.
    mutating func leaveOut(before time: MediaTime) {
        guard let start = video?.start, time > start else { return }
        let lead = time - start
        video?.start = time
        if let own = video?.duration, own > lead { video?.duration = own - lead }
        if let whole = duration, whole > lead { duration = whole - lead }
    }
    /// What the file calls itself; nil where it does not say.
    package var title: String? { metadata.title }
}

extension AssetDescription {
    /// A source of which no more is known.
    package init(container: String) { self.init(container: container, isStill: false, isSeekable: false) }
}

extension AssetDescription.Video {
    /// A track of which no more is known.
    package init(codec: String, width: Int, height: Int) {
        self.init(
            codec: codec, width: width, height: height, pixelAspectRatio: 1, orientation: .up, isConstantFrameRate: false,
            pixelFormat: "", isInterlaced: false)
    }

    /// Pixels across and down of the picture as it is shown at its own size: upright, of square pixels.
    package var presentationSize: (width: Int, height: Int) {
        let aspect = (1e-4...1e4).contains(pixelAspectRatio) ? pixelAspectRatio : 1
        let wide = Int(saturating: (Double(width) * aspect).rounded())
        return orientation.rotation.swapsAxes ? (height, wide) : (wide, height)
    }
}

extension AssetDescription.Video {
    /// Whether its transfer function is one of high dynamic range (PQ, HLG).
    package var isHighDynamicRange: Bool { colorTransfer.map { ["smpte2084", "arib-std-b67"].contains($0) } ?? false }

    /// What is wrong with its colours where they are shown as those of a standard display; nil where they are such.
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

    /// Takes the colour description of a stream's header, where it has one.
    mutating func addColors(of parameters: AVCodecParameters) {
        addColors(parameters.color_primaries, parameters.color_trc, parameters.color_space)
    }

    /// Takes the colour description of a decoded frame, where the container had none.
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
    /// What the probed headers say of the streams with these indices; negative for none.
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
    /// What the header of a stream says, in a container that lasts `duration`.
    init(_ stream: UnsafeMutablePointer<AVStream>, within duration: MediaTime?) {
        let parameters = stream.pointee.codecpar.pointee
        self.init(
            codec: String(cString: avcodec_get_name(parameters.codec_id)), sampleRate: Int(parameters.sample_rate),
            channelCount: Int(parameters.ch_layout.nb_channels), start: stream.time(stream.pointee.start_time),
            duration: stream.ownDuration(within: duration))
    }
}

extension FormatContext {
    /// Container time at which the sound of a file by iTunes ends and its padding begins; nil of others. The tag `iTunSMPB` counts samples, in
    /// hexadecimal: nothing, priming, padding, and what is between them. libavformat takes the priming off. A tag that was copied from
    /// another file does not add up to this one's length, and says nothing.
    func soundEnd(of stream: UnsafeMutablePointer<AVStream>) -> MediaTime? {
        guard let tag = av_dict_get(raw.pointee.metadata, "iTunSMPB", nil, 0)?.pointee.value,
            let start = stream.time(stream.pointee.start_time), let all = stream.time(stream.pointee.duration)
        else { return nil }
        let numbers = String(cString: tag).split(separator: " ").prefix(4).map { UInt64($0, radix: 16) ?? .max }
        let rate = Int(stream.pointee.codecpar.pointee.sample_rate)
        guard numbers.count == 4, 1..<16384 ~= numbers[1], numbers[2] < 16384, 1..<(1 << 40) ~= numbers[3], rate > 0 else { return nil }
        let listed = MediaTime.frames(Int64(numbers[1] + numbers[2] + numbers[3]), sampleRate: rate)
        // Whether its own length counts the priming is a matter of the writer.
        let tolerance = MediaTime.frames(Int64(numbers[1]) + 2048, sampleRate: rate)
        guard all <= listed + tolerance, listed <= all + tolerance else { return nil }
        return start + .frames(Int64(numbers[3]), sampleRate: rate)
    }
}

extension AVRational {
    /// Whether it is `rate`, to a thousandth, or twice that where `orTwice` is set: of an interlaced stream it may be the rate of the fields.
    fileprivate func isMultiple(of rate: Double, orTwice: Bool) -> Bool {
        guard den > 0 else { return false }
        let ratio = av_q2d(self) / rate
        return abs(ratio - 1) < 0.001 || orTwice && abs(ratio - 2) < 0.002
    }
}

extension UnsafeMutablePointer<AVStream> {
    /// How long the track lasts, as its header tells. Matroska has a field for the length of the whole only; who writes it puts that of a
    /// track into a tag (`DURATION`): FFmpeg when the track ends, mkvmerge how long it lasts.
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
        // A tag that was copied from another file says nothing. A track may begin before the whole does.
        return duration > .zero && min(said, duration) <= whole ?? said ? duration : nil
    }
}

extension FormatContext {
    /// Whether it is a format of single images.
    var isStill: Bool {
        let name = String(cString: raw.pointee.iformat.pointee.name)
        return name == "image2" || name.hasSuffix("_pipe")
    }

    /// Whether it is an image format that can be animated or not: GIF, APNG, and AVIF, whose container is MP4 with a brand of its own.
    var isImage: Bool {
        let name = String(cString: raw.pointee.iformat.pointee.name)
        if ["gif", "apng"].contains(name) { return true }
        guard let brand = av_dict_get(raw.pointee.metadata, "major_brand", nil, 0)?.pointee.value else { return false }
        return ["avif", "avis", "mif1", "msf1"].contains(String(cString: brand))
    }
}

extension String {
    /// The text as a title: control characters and line breaks are blanks, blanks follow one another only once, and what is longer than 200
    /// Unicode scalars ends with an ellipsis. Nil where nothing is left. Counted in scalars because a character can have any number of marks.
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
