import CKioskFFmpeg
import Glibc
import KioskPlatform
import KioskVocabulary

// Opens and probes an AVFormatContext for a path or URL, with a typed reason for each fault.

/// The time limits of a step of opening (open, probe, first picture) and of a single read afterwards.
package let openingTimeLimit = MediaTime.seconds(15)
package let readingTimeLimit = MediaTime.seconds(10)

extension FormatContext {
    /// Opens and probes `source`. It may name what `reach` allows, or the default for its kind. Blocks at most ``openingTimeLimit`` a step,
    /// for a stream the timeout of `settings`; longer only if a network protocol makes an uninterruptible call. The corresponding C
    /// functions are `avformat_open_input` and `avformat_find_stream_info`.
    static func open(
        _ source: String, settings: StreamSettings = StreamSettings(), isKept: Bool = false, reach: SourceReach? = nil,
        displaySize: (width: Int, height: Int)? = nil, interruption: Interruption
    ) throws(MediaError) -> FormatContext {
        let source = withoutFileScheme(source)
        let reach = reach ?? SourceReach(source, settings, isKept: isKept)
        if let scheme = reach.refusedScheme { throw MediaError(source, .protocolNotPlayed(scheme)) }
        TLSTerms.prepare()
        let closing = ClosingSource.of(source, interruption)
        let limit = isStream(source) ? settings.timeout : openingTimeLimit
        interruption.allow(limit)
        let input = FileInput(interruption: interruption, settings: settings, source: source, reach: reach)
        input.displaySize = displaySize
        let file = isURL(source) ? nil : try open(file: source, input, interruption)
        // Claim before there is a context to free.
        let terms = try claimTerms(source, settings, interruption)
        defer { withExtendedLifetime(terms) {} }
        // A path becomes `file:` so that a colon in it does not look like a protocol.
        let name = isURL(source) ? source : "file:" + source
        var context = avformat_alloc_context()
        context?.pointee.interrupt_callback = interruption.callback
        if let context { input.attach(to: context) }
        context?.pointee.pb = file
        let formats = FormatWhitelist.formats(settings, lists: reach.lists)
        context?.pointee.protocol_whitelist = av_strdup(reach.protocols)
        context?.pointee.format_whitelist = av_strdup(formats)
        context?.pointee.codec_whitelist = av_strdup(FormatWhitelist.decoders(settings))
        interruption.allow(limit)

        var options: OpaquePointer?
        defer { av_dict_free(&options) }
        for (name, value) in SourceOptions.options(for: source, settings) { av_dict_set(&options, name, value, 0) }
        let status = avformat_open_input(&context, name, nil, &options)
        guard status >= 0, let opened = context else {
            closing?.hasClosed()
            if let refusal = input.refusal, !interruption.cancelled { throw MediaError(source, refusal) }
            throw MediaError(source, reason(opening: status, source, file, formats, interruption, limit))
        }
        input.isOpening = false
        let format = FormatContext(raw: opened, input: input, settings: settings, closing: closing)
        interruption.allow(limit)
        let probed = avformat_find_stream_info(opened, nil)
        if interruption.cancelled { throw MediaError(source, .cancelled) }
        if probed < 0 { throw MediaError(source, .damaged(averrorText(probed))) }
        if file != nil, !isStream(source), !format.isList {
            interruption.allow(limit)
            format.findLength(of: source, interruption)
            format.geometry = FileGeometry(source, format: String(cString: opened.pointee.iformat.pointee.name), interruption: interruption)
            // FFmpeg 7 uses the sum of the packets' durations. If the last pictures are out of order, that is too short by some pictures. A
            // header that states far more is wrong.
            let known = opened.pointee.duration
            if known > 0, let seconds = format.geometry.seconds, seconds <= 2 * Double(known) / Double(AV_TIME_BASE) + 10 {
                opened.pointee.duration = max(known, Int64(seconds * Double(AV_TIME_BASE)))
            }
        }
        return format
    }

    /// Claims the TLS terms for protocols that connect by TLS without options of their own; nil for others.
    private static func claimTerms(
        _ source: String, _ settings: StreamSettings, _ interruption: Interruption
    ) throws(MediaError) -> TLSTerms? {
        guard ["rtsps", "rtmpts"].contains(source.prefix { $0 != ":" }.lowercased()) else { return nil }
        do throws(MediaError.Reason) { return try TLSTerms.claim(settings, staysOpen: false, interruption) } catch {
            throw MediaError(source, interruption.cancelled ? .cancelled : error)
        }
    }

    private static func open(
        file path: String, _ input: FileInput, _ interruption: Interruption
    ) throws(MediaError) -> UnsafeMutablePointer<AVIOContext> {
        do throws(FileFailure) {
            return try input.openFile(path)
        } catch {
            switch error {
            case .system(ENOENT), .system(ENOTDIR): throw MediaError(path, .notFound)
            case .system(EACCES), .notReadable: throw MediaError(path, .permissionDenied)
            case .system(let code): throw MediaError(path, .failed("\(SystemError(code))"))
            case .isDirectory: throw MediaError(path, .isDirectory)
            case .notARegularFile: throw MediaError(path, .notARegularFile)
            case .isEmpty: throw MediaError(path, .isEmpty)
            case .leadsOutside: throw MediaError(path, .namesWhatItMayNot(path))
            case .refused(let reason): throw MediaError(path, reason)
            case .interrupted:
                throw MediaError(path, interruption.cancelled ? .cancelled : .timedOut(seconds: openingTimeLimit.seconds))
            }
        }
    }

    private static func reason(
        opening status: Int32, _ source: String, _ file: UnsafeMutablePointer<AVIOContext>?, _ formats: String,
        _ interruption: Interruption,
        _ limit: MediaTime
    ) -> MediaError.Reason {
        if interruption.cancelled { return .cancelled }
        switch status {
        case kAVERROR_EXIT, shim_averror(ETIMEDOUT): return .timedOut(seconds: limit.seconds)
        case kAVERROR_INVALIDDATA:
            // The error does not distinguish an unknown format from a truncated one: the first bytes do.
            return file.flatMap(recognise) != nil ? .damaged(averrorText(status)) : .notMedia
        case shim_averror(EINVAL):
            // That is all libavformat says of a format that is not on its list.
            guard let file else {
                return .failed("cannot be opened, or is of a format that kiosk does not play: " + averrorText(status))
            }
            guard let name = recognise(file) else { return .notMedia }
            let isPlayed = av_match_list(name, formats, CChar(UInt8(ascii: ","))) > 0
            if isPlayed { return .failed("cannot be opened: " + averrorText(status)) }
            return .formatNotPlayed(name, isList: name.split(separator: ",").contains { FormatWhitelist.neverFormats.contains(String($0)) })
        case kAVERROR_EOF: return .damaged("ends within its header")
        case shim_averror(ENOENT): return .notFound
        case shim_averror(EACCES): return .permissionDenied
        case shim_averror(EIO) where ["rtsps", "rtmps", "rtmpts"].contains(source.prefix { $0 != ":" }.lowercased()):
            // libavformat reports no more about a certificate.
            let text = averrorText(status)
            return .failed("cannot be opened: \(text): its server hangs up, or its certificate cannot be verified")
        default: return .failed("cannot be opened: " + averrorText(status))
        }
    }

    /// Returns FFmpeg's name of a local file's container by its first bytes; nil if FFmpeg knows none.
    private static func recognise(_ file: UnsafeMutablePointer<AVIOContext>) -> String? {
        let capacity = 4096
        let bytes = UnsafeMutablePointer<UInt8>.allocate(capacity: capacity + Int(AVPROBE_PADDING_SIZE))
        defer { bytes.deallocate() }
        bytes.initialize(repeating: 0, count: capacity + Int(AVPROBE_PADDING_SIZE))
        guard avio_seek(file, 0, SEEK_SET) == 0 else { return nil }
        let count = avio_read(file, bytes, Int32(capacity))
        guard count > 0 else { return nil }
        // Without a file name, so that the bytes alone decide.
        return "".withCString { name in
            var probe = AVProbeData(filename: name, buf: bytes, buf_size: count, mime_type: nil)
            var score: Int32 = 0
            guard let format = av_probe_input_format3(&probe, 1, &score), score > AVPROBE_SCORE_RETRY else { return nil }
            let name = String(cString: format.pointee.name)
            // FFmpeg takes any text file for a terminal recording.
            return name == "tty" ? nil : name
        }
    }
}
