import CKioskFFmpeg
import CKioskMedia
import KioskPlatform
import KioskVocabulary
import Logging
import Synchronization

// The owners of libav's heap objects: one value, one free. None of them throws once it exists, and compound owners made of them need
// no `deinit` of their own.

/// Owns an opened input. The corresponding C functions are `avformat_open_input` and `avformat_close_input`.
/// Shared by a source and the thread that receives its packets (``PacketReceiver``): the last of them closes it.
final class FormatContext: @unchecked Sendable {
    // Sendable because one thread at a time calls libavformat with it.
    let raw: UnsafeMutablePointer<AVFormatContext>
    /// Reads its files; must outlive the context.
    let input: FileInput
    /// What a local file says of its pictures beside what libavformat tells.
    var geometry = FileGeometry()
    /// Where files were joined, by the times before that: behind it a time of the container stands for another one. nil where nobody knows of any.
    var firstJoint: MediaTime?

    /// The decoding time stamp of the first packet of each stream that has been read.
    var firstStamps: [Int32: Int64] = [:]

    /// As what it was opened with.
    let settings: StreamSettings
    /// Told when it has been closed.
    private let closing: ClosingSource?

    init(raw: UnsafeMutablePointer<AVFormatContext>, input: FileInput, settings: StreamSettings, closing: ClosingSource? = nil) {
        (self.raw, self.input, self.settings, self.closing) = (raw, input, settings, closing)
    }

    deinit {
        var pointer: UnsafeMutablePointer<AVFormatContext>? = raw
        avformat_close_input(&pointer)
        closing?.hasClosed()
    }

    /// - Throws: ``MediaError`` where the codec of a track is none that is played.
    func checkCodec(_ stream: UnsafeMutablePointer<AVStream>, _ source: String) throws(MediaError) {
        let codec = stream.pointee.codecpar.pointee.codec_id
        if !FormatWhitelist.plays(codec, settings) { throw MediaError(source, .codecNotPlayed(String(cString: avcodec_get_name(codec)))) }
    }
}

/// Owns a decoder; one of hardware goes back to ``DecoderShelf``. The corresponding C functions are `avcodec_alloc_context3` and
/// `avcodec_free_context`.
struct CodecContext: ~Copyable, @unchecked Sendable {
    // Sendable because the pointer is reached only through its single owner.
    let raw: UnsafeMutablePointer<AVCodecContext>
    /// nil where it is software, or not open yet.
    var lease: DecoderShelf.Lease?
    /// Where it takes memory of displays (``PlanePool``).
    var memory: DecoderMemory?
    deinit {
        if let lease {
            if !lease.isHung { DecoderShelf.end(raw, lease) }
            return
        }
        raw.free()
    }
}

/// Owns a packet. The corresponding C functions are `av_packet_alloc` and `av_packet_free`.
struct Packet: ~Copyable, @unchecked Sendable {
    // Sendable because the pointer is reached only through its single owner.
    let raw: UnsafeMutablePointer<AVPacket>
    init() { raw = av_packet_alloc() }
    deinit { raw.free() }
}

/// Owns a frame that a decoder fills again and again.
struct ScratchFrame: ~Copyable, @unchecked Sendable {
    // Sendable because the pointer is reached only through its single owner.
    let raw: UnsafeMutablePointer<AVFrame>
    init() { raw = av_frame_alloc() }

    /// One with memory for a picture; nil without that.
    init?(_ format: AVPixelFormat, width: Int, height: Int) {
        raw = av_frame_alloc()
        raw.pointee.format = format.rawValue
        (raw.pointee.width, raw.pointee.height) = (Int32(width), Int32(height))
        if av_frame_get_buffer(raw, 0) < 0 { return nil }
    }

    deinit { raw.free() }
}

private let ffmpegLog = Logger(label: "ffmpeg")

/// What libav* log in their own words.
package enum FFmpegLog {
    /// Has the lines of libav* logged at `debug` with the label `ffmpeg` for the rest of the process, instead of written to standard
    /// error. Call when swift-log has been bootstrapped. The corresponding C function is `av_log_set_callback`.
    package static func capture() { capture { ffmpegLog.debug("\($0)") } }

    /// Whether anybody sees them.
    package static var isSeen: Bool { ffmpegLog.logLevel <= .debug }

    /// Has the lines given to `sink`, on whichever thread logs.
    package static func capture(_ sink: @escaping @Sendable (String) -> Void) {
        self.sink.withLock { $0 = sink }
        kiosk_capture_ffmpeg_log { line in
            let sink = FFmpegLog.sink.withLock { $0 }
            sink?(String(cString: line))
        }
    }

    private static let sink = Mutex<(@Sendable (String) -> Void)?>(nil)

    /// Logs a line that another process has logged.
    package static func log(_ line: String) { ffmpegLog.debug("\(line)") }
}

extension UnsafeMutablePointer<AVFrame> {
    /// The corresponding C function is `av_frame_free`.
    package func free() {
        var pointer: Self? = self
        av_frame_free(&pointer)
    }
}

extension UnsafeMutablePointer<AVPacket> {
    /// The corresponding C function is `av_packet_free`.
    func free() {
        var pointer: Self? = self
        av_packet_free(&pointer)
    }
}

extension UnsafeMutablePointer<AVCodecContext> {
    /// The corresponding C function is `avcodec_free_context`.
    func free() {
        var pointer: Self? = self
        avcodec_free_context(&pointer)
    }
}
