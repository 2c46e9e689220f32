import CKioskFFmpeg
import CKioskMedia
import KioskPlatform
import KioskVocabulary
import Logging
import Synchronization

// The owners of libav's heap objects: one value, one free. No owner throws once it exists. Compound owners made of them need no `deinit` of
// their own.

/// Owns an opened input. A source and its receiver thread (``PacketReceiver``) share it; the last one closes it. The corresponding C
/// functions are `avformat_open_input` and `avformat_close_input`.
final class FormatContext: @unchecked Sendable {
    // Sendable because one thread at a time calls libavformat with it.
    let raw: UnsafeMutablePointer<AVFormatContext>
    /// Reads its files; must outlive the context.
    let input: FileInput
    /// The picture geometry of a local file that libavformat does not report.
    var geometry = FileGeometry()
    /// The first joint of joined files, in the times before it; container times behind it are ambiguous. nil if no joint is known.
    var firstJoint: MediaTime?

    /// The decoding timestamp of the first packet read from each stream.
    var firstStamps: [Int32: Int64] = [:]

    /// The settings it was opened with.
    let settings: StreamSettings
    /// Notified of the closing.
    private let closing: ClosingSource?

    init(raw: UnsafeMutablePointer<AVFormatContext>, input: FileInput, settings: StreamSettings, closing: ClosingSource? = nil) {
        (self.raw, self.input, self.settings, self.closing) = (raw, input, settings, closing)
    }

    deinit {
        var pointer: UnsafeMutablePointer<AVFormatContext>? = raw
        avformat_close_input(&pointer)
        closing?.hasClosed()
    }

    /// Checks that kiosk plays the codec of a track.
    ///
    /// - Throws: ``MediaError/Reason/codecNotPlayed(_:)``.
    func checkCodec(_ stream: UnsafeMutablePointer<AVStream>, _ source: String) throws(MediaError) {
        let codec = stream.pointee.codecpar.pointee.codec_id
        if !FormatWhitelist.plays(codec, settings) { throw MediaError(source, .codecNotPlayed(String(cString: avcodec_get_name(codec)))) }
    }
}

/// Owns a decoder; a hardware decoder returns to ``DecoderShelf``. The corresponding C functions are `avcodec_alloc_context3` and
/// `avcodec_free_context`.
struct CodecContext: ~Copyable, @unchecked Sendable {
    // Sendable because the pointer is reached only through its single owner.
    let raw: UnsafeMutablePointer<AVCodecContext>
    /// The lease of a hardware decoder; nil for software, or before opening.
    var lease: DecoderShelf.Lease?
    /// The provider of its picture memory, if it draws into displays' memory (``PlanePool``).
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

/// Owns a frame that a decoder fills repeatedly.
struct ScratchFrame: ~Copyable, @unchecked Sendable {
    // Sendable because the pointer is reached only through its single owner.
    let raw: UnsafeMutablePointer<AVFrame>
    init() { raw = av_frame_alloc() }

    /// Creates a frame with memory for a picture; nil without memory.
    init?(_ format: AVPixelFormat, width: Int, height: Int) {
        raw = av_frame_alloc()
        raw.pointee.format = format.rawValue
        (raw.pointee.width, raw.pointee.height) = (Int32(width), Int32(height))
        if av_frame_get_buffer(raw, 0) < 0 { return nil }
    }

    deinit { raw.free() }
}

private let ffmpegLog = Logger(label: "ffmpeg")

/// The log of the libav* libraries.
package enum FFmpegLog {
    /// Redirects the lines of libav* from standard error to `debug` messages with the label `ffmpeg`, for the rest of the process. Call
    /// after bootstrapping swift-log. The corresponding C function is `av_log_set_callback`.
    package static func capture() { capture { ffmpegLog.debug("\($0)") } }

    /// Whether the log level shows them.
    package static var isSeen: Bool { ffmpegLog.logLevel <= .debug }

    /// Passes the lines to `sink`, on the thread that logs.
    package static func capture(_ sink: @escaping @Sendable (String) -> Void) {
        self.sink.withLock { $0 = sink }
        kiosk_capture_ffmpeg_log { line in
            let sink = FFmpegLog.sink.withLock { $0 }
            sink?(String(cString: line))
        }
    }

    private static let sink = Mutex<(@Sendable (String) -> Void)?>(nil)

    /// Logs a line from another process.
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
