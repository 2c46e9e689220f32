import CFFmpeg
import Platform

/// What a source holds, as far as its headers tell.
public struct AssetDescription: Hashable, Sendable {
    /// A picture track.
    public struct Video: Hashable, Sendable {
        /// FFmpeg's short codec name: `h264`.
        public var codec: String
        /// Stored pixels across and down, before orientation.
        public var width: Int, height: Int
        /// Width of a stored pixel divided by its height.
        public var pixelAspectRatio: Double
        /// How the stored picture must be turned to stand upright.
        public var orientation: Orientation
        /// Average frames a second; nil for a still and where the container does not say.
        public var frameRate: Double?
        /// Whether the frames follow each other at one rate, as far as the container tells.
        public var isConstantFrameRate: Bool
        /// FFmpeg's name of the pixel format: `yuv420p10le`.
        public var pixelFormat: String
        /// FFmpeg's names of its primaries, transfer function and matrix: `bt2020`, `smpte2084`, `bt2020nc`; nil where neither the container nor the first
        /// picture tells.
        public var colorPrimaries: String?, colorTransfer: String?, colorMatrix: String?
        /// Whether it consists of fields.
        public var isInterlaced: Bool
        /// When the track begins and how long it lasts by the container's word, in the container's own time.
        public var start: MediaTime?, duration: MediaTime?
    }

    /// A sound track.
    public struct Audio: Hashable, Sendable {
        /// FFmpeg's short codec name: `aac`.
        public var codec: String
        /// Samples a second for each channel.
        public var sampleRate: Int
        /// Number of channels.
        public var channelCount: Int
        /// When the track begins and how long it lasts by the container's word, in the container's own time.
        public var start: MediaTime?, duration: MediaTime?
    }

    /// The container's short name: `mov,mp4,m4a,3gp,3g2,mj2`.
    public var container: String
    /// Length by the container's word; nil for stills and live streams.
    public var duration: MediaTime?
    /// The picture track that is played.
    public var video: Video?
    /// The sound track that is played.
    public var audio: Audio?
    /// Whether it is a single image without a length of its own; an animation of one frame is.
    public var isStill: Bool
    /// Whether one can move about in it.
    public var isSeekable: Bool
}

extension AssetDescription.Video {
    /// Whether its brightness is told by one of the transfer functions of high dynamic range.
    public var isHighDynamicRange: Bool { colorTransfer.map { ["smpte2084", "arib-std-b67"].contains($0) } ?? false }

    /// What a viewer sees wrong of its colours, which are shown as those of a standard display; nil where they are such.
    var colorProblem: String? {
        if isHighDynamicRange {
            let name = colorTransfer == "smpte2084" ? "PQ" : "HLG"
            return "is HDR (\(name)) and shown without tone mapping, with wrong brightness and colours: convert it to SDR (BT.709)"
        }
        guard colorPrimaries == "bt2020" || colorMatrix?.hasPrefix("bt2020") == true else { return nil }
        return "has the wide colours of BT.2020, which are shown paler than they are meant: convert it to BT.709"
    }

    /// Takes over the colour description of a track's parameters, where there is one.
    mutating func addColors(of parameters: AVCodecParameters) {
        addColors(parameters.color_primaries, parameters.color_trc, parameters.color_space)
    }

    /// Takes over the colour description of a decoded frame, where the container had none.
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

extension FormatContext {
    /// Whether it is a kind of image that may be animated, and may be not: GIF, APNG, and AVIF, which is an MP4 by its form and tells itself by its brand.
    var isImage: Bool {
        let name = String(cString: raw.pointee.iformat.pointee.name)
        if ["gif", "apng"].contains(name) { return true }
        guard let brand = av_dict_get(raw.pointee.metadata, "major_brand", nil, 0)?.pointee.value else { return false }
        return ["avif", "avis", "mif1", "msf1"].contains(String(cString: brand))
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
