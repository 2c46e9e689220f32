import CKioskFFmpeg
import KioskPlatform
import KioskVocabulary

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
        if !MediaKinds.plays(codec, settings) { throw MediaError(source, .codecNotPlayed(String(cString: avcodec_get_name(codec)))) }
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
        var pointer: UnsafeMutablePointer<AVCodecContext>? = raw
        avcodec_free_context(&pointer)
    }
}

/// Owns a packet. The corresponding C functions are `av_packet_alloc` and `av_packet_free`.
struct Packet: ~Copyable, @unchecked Sendable {
    // Sendable because the pointer is reached only through its single owner.
    let raw: UnsafeMutablePointer<AVPacket>
    init() { raw = av_packet_alloc() }
    deinit {
        var pointer: UnsafeMutablePointer<AVPacket>? = raw
        av_packet_free(&pointer)
    }
}

/// Owns a frame that a decoder fills again and again.
struct ScratchFrame: ~Copyable, @unchecked Sendable {
    // Sendable because the pointer is reached only through its single owner.
    let raw: UnsafeMutablePointer<AVFrame>
    init() { raw = av_frame_alloc() }
    deinit {
        var pointer: UnsafeMutablePointer<AVFrame>? = raw
        av_frame_free(&pointer)
    }
}
