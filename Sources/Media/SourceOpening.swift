import CKioskFFmpeg
import Glibc
import KioskPlatform
import KioskVocabulary

// From a path or URL to an opened, probed AVFormatContext, with a typed reason for each thing that can be wrong with it.

/// Time limits of a step of opening (open, probe, first picture) and of a single read afterwards.
package let openingTimeLimit = MediaTime.seconds(15)
let readingTimeLimit = MediaTime.seconds(10)

extension FormatContext {
    /// Opens and probes `source`. Blocks, at most ``openingTimeLimit`` a step, of a stream as long as `settings` say; longer only where a network protocol makes a call that
    /// cannot be interrupted. The corresponding C functions are `avformat_open_input` and `avformat_find_stream_info`.
    static func open(
        _ source: String, settings: StreamSettings = StreamSettings(), displaySize: (width: Int, height: Int)? = nil,
        interruption: Interruption
    ) throws(MediaError) -> FormatContext {
        let closing = SourceOptions.kind(of: source) == .live ? ClosingSource(waitingFor: source, interruption: interruption) : nil
        let limit = isStream(source) ? settings.timeout : openingTimeLimit
        interruption.allow(limit)
        let input = FileInput(interruption: interruption, settings: settings)
        input.displaySize = displaySize
        let file = isURL(source) ? nil : try open(file: source, input, interruption)
        // A plain path goes in as `file:` so that a colon in it is not taken for a protocol.
        let name = isURL(source) ? source : "file:" + source
        var context = avformat_alloc_context()
        context?.pointee.interrupt_callback = interruption.callback
        if let context { input.attach(to: context) }
        context?.pointee.pb = file
        interruption.allow(limit)

        var options: OpaquePointer?
        defer { av_dict_free(&options) }
        for (name, value) in SourceOptions.options(for: source, settings) { av_dict_set(&options, name, value, 0) }
        let status = avformat_open_input(&context, name, nil, &options)
        guard status >= 0, let opened = context else {
            closing?.hasClosed()
            throw MediaError(source, reason(opening: status, source, file, interruption, limit))
        }
        let format = FormatContext(raw: opened, input: input, closing: closing)
        // FFmpeg takes any text file for a recording of a terminal.
        if String(cString: opened.pointee.iformat.pointee.name) == "tty" { throw MediaError(source, .notMedia) }
        interruption.allow(limit)
        let probed = avformat_find_stream_info(opened, nil)
        if interruption.cancelled { throw MediaError(source, .cancelled) }
        if probed < 0 { throw MediaError(source, .damaged(describe(averror: probed))) }
        return format
    }

    private static func open(
        file path: String, _ input: FileInput, _ interruption: Interruption
    ) throws(MediaError) -> UnsafeMutablePointer<AVIOContext> {
        do throws(BoundedFile.Failure) {
            return try input.openFile(path)
        } catch {
            switch error {
            case .system(ENOENT), .system(ENOTDIR): throw MediaError(path, .notFound)
            case .system(EACCES), .notReadable: throw MediaError(path, .permissionDenied)
            case .system(let code): throw MediaError(path, .failed(String(cString: strerror(code))))
            case .isDirectory: throw MediaError(path, .isDirectory)
            case .notARegularFile: throw MediaError(path, .notARegularFile)
            case .isEmpty: throw MediaError(path, .isEmpty)
            case .interrupted:
                throw MediaError(path, interruption.cancelled ? .cancelled : .timedOut(seconds: openingTimeLimit.seconds))
            }
        }
    }

    private static func reason(
        opening status: Int32, _ source: String, _ file: UnsafeMutablePointer<AVIOContext>?, _ interruption: Interruption,
        _ limit: MediaTime
    ) -> MediaError.Reason {
        if interruption.cancelled { return .cancelled }
        switch status {
        case kAVERROR_EXIT, shim_averror(ETIMEDOUT): return .timedOut(seconds: limit.seconds)
        case kAVERROR_INVALIDDATA:
            // The error does not tell an unknown format from a known one that breaks off: its first bytes do.
            return file.map(isRecognised) == true ? .damaged(describe(averror: status)) : .notMedia
        case kAVERROR_EOF: return .damaged("ends within its header")
        case shim_averror(ENOENT): return .notFound
        case shim_averror(EACCES): return .permissionDenied
        default: return .failed("cannot be opened: " + describe(averror: status))
        }
    }

    /// Whether the beginning of a local file is that of a container FFmpeg knows.
    private static func isRecognised(_ file: UnsafeMutablePointer<AVIOContext>) -> Bool {
        let capacity = 4096
        let bytes = UnsafeMutablePointer<UInt8>.allocate(capacity: capacity + Int(AVPROBE_PADDING_SIZE))
        defer { bytes.deallocate() }
        bytes.initialize(repeating: 0, count: capacity + Int(AVPROBE_PADDING_SIZE))
        guard avio_seek(file, 0, SEEK_SET) == 0 else { return false }
        let count = avio_read(file, bytes, Int32(capacity))
        guard count > 0 else { return false }
        // Without a file name, so that the bytes alone decide.
        return "".withCString { name in
            var probe = AVProbeData(filename: name, buf: bytes, buf_size: count, mime_type: nil)
            var score: Int32 = 0
            guard let format = av_probe_input_format3(&probe, 1, &score) else { return false }
            return score > AVPROBE_SCORE_RETRY && String(cString: format.pointee.name) != "tty"
        }
    }
}
