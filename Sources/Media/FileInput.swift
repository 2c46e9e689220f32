import CKioskFFmpeg
import Glibc
import KioskPlatform
import KioskVocabulary
import Synchronization

/// libavformat's access to files. What it opens by the `file` protocol, the source and the files that this names (segments of a local HLS
/// list, the picture of `image2`), is a ``BoundedFile`` behind an AVIOContext. Other protocols stay libavio's, which asks the
/// ``Interruption``.
///
/// Buffer sizes, order of calls and the protocols that a file may name are those of libavformat's `file` protocol.
final class FileInput: @unchecked Sendable {
    // Sendable because it belongs to one FormatContext, and moves with it.
    private let interruption: Interruption
    private let settings: StreamSettings
    private var open: [UnsafeMutablePointer<AVIOContext>: BoundedFile] = [:]
    private var openDefault: OpenCall?
    private var closeDefault: CloseCall?

    private typealias OpenCall =
        @convention(c) (
            UnsafeMutablePointer<AVFormatContext>?, UnsafeMutablePointer<UnsafeMutablePointer<AVIOContext>?>?, UnsafePointer<CChar>?, Int32,
            UnsafeMutablePointer<OpaquePointer?>?
        ) -> Int32
    private typealias CloseCall =
        @convention(c) (UnsafeMutablePointer<AVFormatContext>?, UnsafeMutablePointer<AVIOContext>?) -> Int32

    /// As much as libavformat reads of a file at a time.
    private static let bufferSize = 32 << 10

    init(interruption: Interruption, settings: StreamSettings) { (self.interruption, self.settings) = (interruption, settings) }

    deinit {
        for context in open.keys { Self.free(context) }
        for context in lists.keys { Self.free(context) }
    }

    // MARK: What comes over the network

    /// A part of a stream that is being fetched: to be measured.
    struct Part {
        var server: String
        var since: HostTime
        var position: Int64
        var idle: MediaTime

        func ended(at position: Int64, idle: MediaTime) {
            let time = HostTime.now - since - (idle - self.idle)
            Throughput.seen.withLock { $0.received(position - self.position, from: server, in: time) }
        }
    }

    private var parts: [UnsafeMutablePointer<AVIOContext>: Part] = [:]
    /// Lists of one variant, in memory.
    private var lists: [UnsafeMutablePointer<AVIOContext>: TextInput] = [:]
    /// For how long nobody has read what was being fetched.
    var idle = MediaTime.zero
    private var hasOpenedPart = false
    /// Pixels of the display, for the choice of a variant.
    var displaySize: (width: Int, height: Int)?
    /// The bits a second that the variant which is played takes, as its list tells; nil where none takes less.
    private(set) var variantBandwidth: Double?
    /// Where the last part came from.
    private(set) var lastServer = ""

    /// Opens what libavio opens; a master list of HLS is read here, and one of its variants handed on.
    private func openPart(
        _ context: UnsafeMutablePointer<AVFormatContext>, _ result: UnsafeMutablePointer<UnsafeMutablePointer<AVIOContext>?>,
        _ url: UnsafePointer<CChar>, _ flags: Int32, _ options: UnsafeMutablePointer<OpaquePointer?>?
    ) -> Int32 {
        let isFirst = !hasOpenedPart
        hasOpenedPart = true
        let since = HostTime.now
        guard let openDefault else { return shim_averror(EINVAL) }
        let status = openDefault(context, result, url, flags, options)
        guard status >= 0, let io = result.pointee else { return status }
        let address = String(cString: url)
        guard address.lowercased().hasPrefix("http") else { return status }
        if isFirst, let list = variantList(io, address) {
            _ = closeDefault?(context, io)
            let input = TextInput(list)
            let memory = input.makeContext()
            lists[memory] = input
            result.pointee = memory
            // libavformat would close it as one of its own.
            context.pointee.flags |= AVFMT_FLAG_CUSTOM_IO
            return 0
        }
        lastServer = Throughput.server(address)
        parts[io] = Part(server: lastServer, since: since, position: avio_seek(io, 0, SEEK_CUR), idle: idle)
        return status
    }

    /// The list that is handed on in place of a master list; nil where `io` gives none, which is at its beginning again then.
    private func variantList(_ io: UnsafeMutablePointer<AVIOContext>, _ address: String) -> String? {
        var beginning = [UInt8](repeating: 0, count: 4096)
        let count = avio_read_partial(io, &beginning, Int32(beginning.count))
        let text = String(decoding: beginning.prefix(Int(max(0, count))), as: UTF8.self)
        guard text.hasPrefix("#EXTM3U"), text.firstRange(of: "#EXT-X-STREAM-INF") != nil || text.firstRange(of: "#EXT-X-MEDIA:") != nil
        else {
            avio_seek(io, 0, SEEK_SET)
            return nil
        }
        var whole = Array(beginning.prefix(Int(count)))
        while whole.count < HLSVariants.longestList {
            let more = avio_read_partial(io, &beginning, Int32(beginning.count))
            if more <= 0 { break }
            whole += beginning.prefix(Int(more))
        }
        guard let variants = HLSVariants(String(decoding: whole, as: UTF8.self)) else {
            avio_seek(io, 0, SEEK_SET)
            return nil
        }
        var location: UnsafeMutablePointer<UInt8>?
        av_opt_get(io, "location", AV_OPT_SEARCH_CHILDREN, &location)
        let base = location.map { String(cString: $0) } ?? ""
        av_free(location)
        let choice = variants.choice(
            display: displaySize, throughput: Throughput.seen.withLock { $0.of(Throughput.server(base.isEmpty ? address : base)) })
        let bandwidth = variants.variants[choice].bandwidth
        variantBandwidth = variants.variants.contains { $0.bandwidth < bandwidth } ? bandwidth : nil
        return variants.list(with: choice) { HLSVariants.resolve($0, against: base.isEmpty ? address : base) }
    }

    /// Has `context` open its files here; must outlive it.
    func attach(to context: UnsafeMutablePointer<AVFormatContext>) {
        openDefault = context.pointee.io_open
        closeDefault = context.pointee.io_close2
        context.pointee.opaque = Unmanaged.passUnretained(self).toOpaque()
        context.pointee.io_open = { context, result, url, flags, options in
            guard let context, let result, let url, let input = FileInput.of(context) else { return shim_averror(EINVAL) }
            return input.open(context, result, url, flags, options)
        }
        context.pointee.io_close2 = { context, io in
            guard let context, let io, let input = FileInput.of(context) else { return shim_averror(EINVAL) }
            return input.close(context, io)
        }
    }

    private static func of(_ context: UnsafeMutablePointer<AVFormatContext>) -> FileInput? {
        context.pointee.opaque.map { Unmanaged<FileInput>.fromOpaque($0).takeUnretainedValue() }
    }

    private func open(
        _ context: UnsafeMutablePointer<AVFormatContext>, _ result: UnsafeMutablePointer<UnsafeMutablePointer<AVIOContext>?>,
        _ url: UnsafePointer<CChar>, _ flags: Int32, _ options: UnsafeMutablePointer<OpaquePointer?>?
    ) -> Int32 {
        // What may not be opened is refused by libavformat, with its own error.
        let isAllowed =
            context.pointee.protocol_whitelist.map { av_match_list("file", $0, CChar(UInt8(ascii: ","))) > 0 } ?? true
            && context.pointee.protocol_blacklist.map { av_match_list("file", $0, CChar(UInt8(ascii: ","))) <= 0 } ?? true
        let name = avio_find_protocol_name(url).map { String(cString: $0) }
        guard isAllowed, name == "file", flags & AVIO_FLAG_READ_WRITE == AVIO_FLAG_READ else {
            // The parts of a stream are asked for as the stream itself is.
            if let options, name == "http" || name == "https" {
                for (name, value) in SourceOptions.http(settings) { av_dict_set(options, name, value, AV_DICT_DONT_OVERWRITE) }
            }
            return openPart(context, result, url, flags, options)
        }
        let text = String(cString: url)
        do throws(BoundedFile.Failure) {
            result.pointee = try openFile(text.hasPrefix("file:") ? String(text.dropFirst(5)) : text)
            // libavformat would close the context's own as one of its own.
            if result == withUnsafeMutablePointer(to: &context.pointee.pb, { $0 }) { context.pointee.flags |= AVFMT_FLAG_CUSTOM_IO }
            return 0
        } catch {
            switch error {
            case .system(let code): return shim_averror(code)
            case .isDirectory: return shim_averror(EISDIR)
            case .notARegularFile: return shim_averror(EINVAL)
            case .isEmpty: return kAVERROR_EOF
            case .notReadable: return shim_averror(EACCES)
            case .interrupted: return kAVERROR_EXIT
            }
        }
    }

    /// Opens the file at `path`; the context belongs to this object.
    func openFile(_ path: String) throws(BoundedFile.Failure) -> UnsafeMutablePointer<AVIOContext> {
        let file = try BoundedFile.open(path, interruption: interruption)
        let io = avio_alloc_context(
            av_malloc(Self.bufferSize).assumingMemoryBound(to: UInt8.self), Int32(Self.bufferSize), 0,
            Unmanaged.passUnretained(file).toOpaque(),
            { file, buffer, count in
                Unmanaged<BoundedFile>.fromOpaque(file!).takeUnretainedValue().readPacket(into: buffer!, count: count)
            }, nil,
            { file, offset, whence in
                Unmanaged<BoundedFile>.fromOpaque(file!).takeUnretainedValue().seek(by: offset, whence)
            })!
        // The protocols that a local file may name: libavformat's own list; and what a session
        // description names.
        io.pointee.protocol_whitelist = UnsafePointer(av_strdup(isStream(path) ? "file,crypto,data,rtp,udp" : "file,crypto,data"))
        open[io] = file
        return io
    }

    private func close(_ context: UnsafeMutablePointer<AVFormatContext>, _ io: UnsafeMutablePointer<AVIOContext>) -> Int32 {
        if let part = parts.removeValue(forKey: io) { part.ended(at: avio_seek(io, 0, SEEK_CUR), idle: idle) }
        if lists.removeValue(forKey: io) != nil {
            Self.free(io)
            return 0
        }
        guard open.removeValue(forKey: io) != nil else { return closeDefault?(context, io) ?? shim_averror(EINVAL) }
        Self.free(io)
        return 0
    }

    fileprivate static func free(_ io: UnsafeMutablePointer<AVIOContext>) {
        av_free(io.pointee.buffer)
        av_free(UnsafeMutablePointer(mutating: io.pointee.protocol_whitelist))
        var io: UnsafeMutablePointer<AVIOContext>? = io
        avio_context_free(&io)
    }
}

extension BoundedFile {
    /// libavio's `read_packet`.
    fileprivate func readPacket(into buffer: UnsafeMutablePointer<UInt8>, count: Int32) -> Int32 {
        switch read(into: buffer, count: Int(count)) {
        case .bytes(let count): Int32(count)
        case .end: kAVERROR_EOF
        case .failed(let code): shim_averror(code)
        case .interrupted: kAVERROR_EXIT
        }
    }

    /// libavio's `seek`.
    fileprivate func seek(by offset: Int64, _ whence: Int32) -> Int64 {
        let base: Int64
        switch whence & ~AVSEEK_FORCE {
        case AVSEEK_SIZE: return size
        case SEEK_SET: base = 0
        case SEEK_CUR: base = position
        case SEEK_END: base = size
        default: return Int64(shim_averror(EINVAL))
        }
        let (target, overflows) = base.addingReportingOverflow(offset)
        return !overflows && seek(to: target) ? target : Int64(shim_averror(EINVAL))
    }
}

/// A text that libavformat reads as if it were a file.
private final class TextInput {
    private let bytes: [UInt8]
    private var position = 0

    init(_ text: String) { bytes = Array(text.utf8) }

    /// An AVIOContext that reads it; this object must outlive it.
    func makeContext() -> UnsafeMutablePointer<AVIOContext> {
        let size = 32 << 10
        return avio_alloc_context(
            av_malloc(size).assumingMemoryBound(to: UInt8.self), Int32(size), 0, Unmanaged.passUnretained(self).toOpaque(),
            { input, buffer, count in
                Unmanaged<TextInput>.fromOpaque(input!).takeUnretainedValue().read(into: buffer!, count: Int(count))
            }, nil, nil)!
    }

    private func read(into buffer: UnsafeMutablePointer<UInt8>, count: Int) -> Int32 {
        let given = min(count, bytes.count - position)
        guard given > 0 else { return kAVERROR_EOF }
        for index in 0..<given { buffer[index] = bytes[position + index] }
        position += given
        return Int32(given)
    }
}
