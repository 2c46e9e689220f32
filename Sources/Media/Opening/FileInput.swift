import CKioskFFmpeg
import Glibc
import KioskPlatform
import KioskVocabulary
import Synchronization

/// libavformat's access to files and servers. A ``BlockFile`` behind an AVIOContext reads each file opened by the `file` protocol: the
/// source and the files that it names (segments of a local HLS list, the picture of `image2`). Other protocols stay with libavio, which
/// polls the ``Interruption``. This type follows HTTP redirections itself (``HTTPRedirect``): libavio would pass on the source's headers.
///
/// ``SourceReach`` decides what a source may name. Buffer sizes and the order of calls are those of libavformat's `file` protocol.
final class FileInput: @unchecked Sendable {
    // Sendable because it belongs to one FormatContext and moves with it.
    private let interruption: Interruption
    private let settings: StreamSettings
    private let source: String
    private let reach: SourceReach
    /// The reason for refusing something that libavformat wanted to open; nil if the reason is libavformat's own.
    private(set) var refusal: MediaError.Reason?
    private var open: [UnsafeMutablePointer<AVIOContext>: ByteStream] = [:]
    private var openDefault: OpenCall?
    private var closeDefault: CloseCall?

    private typealias OpenCall =
        @convention(c) (
            UnsafeMutablePointer<AVFormatContext>?, UnsafeMutablePointer<UnsafeMutablePointer<AVIOContext>?>?, UnsafePointer<CChar>?, Int32,
            UnsafeMutablePointer<OpaquePointer?>?
        ) -> Int32
    private typealias CloseCall =
        @convention(c) (UnsafeMutablePointer<AVFormatContext>?, UnsafeMutablePointer<AVIOContext>?) -> Int32

    /// - Parameters:
    ///   - source: the path or URL to open; empty for callers of ``openFile(_:)`` only.
    ///   - reach: the files and servers that it may name.
    init(interruption: Interruption, settings: StreamSettings, source: String = "", reach: SourceReach? = nil) {
        (self.interruption, self.settings, self.source) = (interruption, settings, source)
        self.reach = reach ?? SourceReach(source, settings)
    }

    deinit {
        for context in lists { ByteStream.free(context) }
    }

    // MARK: The network

    /// The time of opening the source.
    let begin = HostTime.now

    /// A part of a stream during its download, to measure the throughput.
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
    /// Rewritten HLS lists, in memory.
    private var lists: Set<UnsafeMutablePointer<AVIOContext>> = []
    /// How long the receiver has paused a download.
    var idle = MediaTime.zero
    private var hasOpenedPart = false
    /// Whether the source itself is still being opened.
    var isOpening = true
    /// The format of an HLS list's parts, and whether a part had another header than the first one: libavformat keeps the first.
    private var pieces = HLSPieces()
    var hasPiecesOfMP4: Bool { pieces.areMP4 }
    let hasOtherHeader = Atomic(false)
    /// The display size in pixels, for the choice of a variant.
    var displaySize: (width: Int, height: Int)?
    /// The playing variant, according to its list; nil if there is no list of variants.
    private(set) var variant: AssetDescription.Variant?
    /// The bits a second of the playing variant; nil if no other takes less.
    private(set) var variantBandwidth: Double?
    /// The subtitles of a master list that have lists of their own (SubtitleFeed.swift).
    private(set) var subtitles: [HLSVariants.Subtitles] = []
    /// The server of the last part.
    private(set) var lastServer = ""
    /// Whether a part came from a server, which a list in a folder may name, too.
    var hasAskedServers: Bool { !lastServer.isEmpty }
    /// The TLS requirements for the servers of DASH parts.
    private var terms: TLSTerms?

    /// Opens an address through libavio. Reads HLS lists itself and passes them on as text.
    private func openPart(
        _ context: UnsafeMutablePointer<AVFormatContext>, _ result: UnsafeMutablePointer<UnsafeMutablePointer<AVIOContext>?>,
        _ url: UnsafePointer<CChar>, _ flags: Int32, _ options: UnsafeMutablePointer<OpaquePointer?>?
    ) -> Int32 {
        let isFirst = !hasOpenedPart
        hasOpenedPart = true
        let since = HostTime.now
        var address = String(cString: url)
        let status = openFollowing(context, result, &address, flags, options)
        guard status >= 0, let io = result.pointee else { return status }
        let beginning = ListBeginning(of: io, mayBeHLS: reach.lists.contains("hls"), mayBeDASH: isFirst)
        if case .hls(let begun) = beginning {
            let text = list(io, begun, at: address, isRedirected: address != String(cString: url), isFirst: isFirst)
            _ = closeDefault?(context, io)
            result.pointee = nil
            guard let text else { return refusal == nil ? kAVERROR_EOF : shim_averror(EACCES) }
            let memory = UnsafeMutablePointer.reading(text)
            memory.pointee.protocol_whitelist = UnsafePointer(av_strdup(reach.protocols))
            lists.insert(memory)
            // Without the flag libavformat would close `pb` itself.
            if isOwn(result, of: context) { context.pointee.flags |= AVFMT_FLAG_CUSTOM_IO }
            result.pointee = memory
            return 0
        }
        guard HTTPAddress(address) != nil else { return status }
        if case .dash = beginning {
            do throws(MediaError.Reason) {
                terms = try TLSTerms.claim(settings, staysOpen: true, interruption)
            } catch {
                refusal = error
                _ = closeDefault?(context, io)
                result.pointee = nil
                return shim_averror(EACCES)
            }
            // DASH's demuxer would send the headers to any server of its parts, without a callback.
            av_opt_set(io, "headers", "", AV_OPT_SEARCH_CHILDREN)
            let formats = FormatWhitelist.formats(settings, lists: reach.lists + ["dash"])
            av_free(context.pointee.format_whitelist)
            context.pointee.format_whitelist = av_strdup(formats)
        }
        if !isFirst { look(at: io, of: context) }
        lastServer = Throughput.server(address)
        parts[io] = Part(server: lastServer, since: since, position: avio_seek(io, 0, SEEK_CUR), idle: idle)
        return status
    }

    private func isOwn(
        _ result: UnsafeMutablePointer<UnsafeMutablePointer<AVIOContext>?>, of context: UnsafeMutablePointer<AVFormatContext>
    ) -> Bool { result == withUnsafeMutablePointer(to: &context.pointee.pb) { $0 } }

    /// Looks at the first bytes of a part of an HLS list.
    private func look(at io: UnsafeMutablePointer<AVIOContext>, of context: UnsafeMutablePointer<AVFormatContext>) {
        guard let format = context.pointee.iformat, String(cString: format.pointee.name) == "hls" else { return }
        if pieces.look(at: io) { hasOtherHeader.store(true, ordering: .relaxed) }
    }

    /// Opens an address through libavio and follows HTTP redirections; `address` is the one opened in the end.
    private func openFollowing(
        _ context: UnsafeMutablePointer<AVFormatContext>, _ result: UnsafeMutablePointer<UnsafeMutablePointer<AVIOContext>?>,
        _ address: inout String, _ flags: Int32, _ options: UnsafeMutablePointer<OpaquePointer?>?
    ) -> Int32 {
        guard let openDefault else { return shim_averror(EINVAL) }
        for _ in 0...HTTPRedirect.most {
            // `crypto+https://…` or `crypto:https://…` comes with its key in the options.
            let cipher = ["crypto+", "crypto:"].first(where: address.hasPrefix) ?? ""
            guard let server = HTTPAddress(String(address.dropFirst(cipher.count))) else {
                return openDefault(context, result, address, flags, options)
            }
            var given: OpaquePointer?
            defer { av_dict_free(&given) }
            if let options { av_dict_copy(&given, options.pointee, 0) }
            let isTrusted = HTTPAddress(source)?.trusts(server) ?? false
            for (name, value) in SourceOptions.http(settings) { av_dict_set(&given, name, value, AV_DICT_DONT_OVERWRITE) }
            // A demuxer copies the headers of its list to all parts.
            if !isTrusted { av_dict_set(&given, "headers", nil, 0) }
            let status = openDefault(context, result, address, flags, &given)
            if status >= 0, let options { swap(&options.pointee, &given) }
            // libavio reports only EIO for a redirection, and for a certificate.
            guard status == shim_averror(EIO), flags & AVIO_FLAG_READ_WRITE == AVIO_FLAG_READ else { return status }
            switch HTTPRedirect.ask(server, settings, sendsHeaders: isTrusted, interruption) {
            case .none: return status
            case .certificate:
                refusal = .certificate
                return status
            case .location(let location):
                guard let next = server.redirected(to: location) else {
                    refusal = .redirected(String(HTTPAddress.resolve(location, against: server.url).prefix(300)))
                    return status
                }
                address = cipher + next.url
            }
        }
        return shim_averror(EIO)
    }

    /// Reads the rest of the list from `io` and returns the text for libavformat; nil if it refuses the list. Reduces a master list to one
    /// variant. Makes addresses absolute if the server redirected.
    private func list(
        _ io: UnsafeMutablePointer<AVIOContext>, _ begun: [UInt8], at address: String, isRedirected: Bool, isFirst: Bool
    ) -> [UInt8]? {
        let limit = HLSVariants.longestList
        var whole = begun
        var buffer = [UInt8](repeating: 0, count: 32 << 10)
        while whole.count <= limit {
            let more = avio_read_partial(io, &buffer, Int32(buffer.count))
            if more <= 0 { break }
            whole += buffer.prefix(Int(more))
        }
        if whole.count > limit {
            refusal = .failed("is a list of more than \(limit >> 20) MB")
            return nil
        }
        if let fault = HLSFault(whole, isFirst: isFirst, mayBeEmpty: !isOpening) {
            refusal = fault.reason(isFirst: isFirst) ?? refusal
            return nil
        }
        let text = String(decoding: whole, as: UTF8.self)
        guard isFirst, let variants = HLSVariants(text) else {
            return isRedirected ? Array(HLSVariants.resolving(text) { HTTPAddress.resolve($0, against: address) }.utf8) : whole
        }
        let choice = variants.choice(display: displaySize, throughput: Throughput.seen.withLock { $0.of(Throughput.server(address)) })
        let (chosen, bandwidth) = (variants.variants[choice], variants.variants[choice].bandwidth)
        variant = AssetDescription.Variant(bandwidth: bandwidth, width: chosen.width, height: chosen.height)
        variantBandwidth = variants.variants.contains { $0.bandwidth < bandwidth } ? bandwidth : nil
        subtitles = variants.subtitles(of: choice) { HTTPAddress.resolve($0, against: address) }
        return Array(variants.list(with: choice) { HTTPAddress.resolve($0, against: address) }.utf8)
    }

    /// libavformat's `protocol_whitelist`.
    var protocols: String { reach.protocols }

    /// Returns another input for the same source, with the same reach.
    func another(_ interruption: Interruption) -> FileInput {
        FileInput(interruption: interruption, settings: settings, source: source, reach: reach)
    }

    /// Makes `context` open its files through this object, which must outlive it.
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
        let text = String(cString: url)
        let name = avio_find_protocol_name(url).map { String(cString: $0) } ?? ""
        // `image2` opens the source by its name.
        let isSource = text == source || text == "file:" + source
        let isFile = name == "file" && flags & AVIO_FLAG_READ_WRITE == AVIO_FLAG_READ
        let verdict = isSource ? (isFile ? .file("") : .open) : reach.allows(text, protocolName: name)
        let path: String
        switch verdict {
        case .refused: return refuse(text)
        case .open: return openPart(context, result, url, flags, options)
        case .file(let inside):
            if !isFile { return refuse(text) }
            path = inside
        }
        do throws(FileFailure) {
            let io = try isSource ? openFile(SourceReach.path(of: text)) : openFile(path, in: reach.folder)
            look(at: io, of: context)
            // Without the flag libavformat would close `pb` itself.
            if isOwn(result, of: context) { context.pointee.flags |= AVFMT_FLAG_CUSTOM_IO }
            result.pointee = io
            return 0
        } catch {
            switch error {
            case .system(let code): return shim_averror(code)
            case .isDirectory: return shim_averror(EISDIR)
            case .notARegularFile: return shim_averror(EINVAL)
            case .isEmpty: return kAVERROR_EOF
            case .notReadable: return shim_averror(EACCES)
            case .leadsOutside: return refuse(text)
            case .refused(let reason):
                refusal = reason
                return shim_averror(EACCES)
            case .interrupted: return kAVERROR_EXIT
            }
        }
    }

    private func refuse(_ name: String) -> Int32 {
        refusal = .namesWhatItMayNot(String(name.prefix(300)))
        return shim_averror(EACCES)
    }

    /// Opens the file at `path`, beneath `folder` if given; this object owns the context.
    func openFile(_ path: String, in folder: String? = nil) throws(FileFailure) -> UnsafeMutablePointer<AVIOContext> {
        let file = try BlockFile(path, in: folder, interruption: interruption)
        let stream = ByteStream(length: { file.size }, bufferSize: ByteStream.fileBufferSize) { file.read(into: $0, at: $1) }
        let io = stream.context!
        io.pointee.protocol_whitelist = UnsafePointer(av_strdup(reach.protocols))
        if case .hls = ListBeginning(of: io, mayBeHLS: reach.lists.contains("hls"), mayBeDASH: false) {
            let text = file.size > HLSVariants.longestList ? nil : file.bytes(at: 0, count: Int(file.size))
            avio_seek(io, 0, SEEK_SET)
            let isFirst = open.isEmpty && isOpening
            let fault = text.flatMap { HLSFault($0, isFirst: isFirst, mayBeEmpty: !isOpening) }
            if text == nil || fault != nil {
                throw fault?.reason(isFirst: isFirst).map { .refused($0) } ?? (text == nil ? .system(EFBIG) : .isEmpty)
            }
            if isFirst, let text, let variants = HLSVariants(String(decoding: text, as: UTF8.self)) {
                subtitles = variants.subtitles(of: nil) { SourceReach.resolve($0, against: path) }
            }
        }
        open[io] = stream
        return io
    }

    private func close(_ context: UnsafeMutablePointer<AVFormatContext>, _ io: UnsafeMutablePointer<AVIOContext>) -> Int32 {
        if let part = parts.removeValue(forKey: io) { part.ended(at: avio_seek(io, 0, SEEK_CUR), idle: idle) }
        if lists.remove(io) != nil {
            ByteStream.free(io)
            return 0
        }
        if open.removeValue(forKey: io) != nil { return 0 }
        return closeDefault?(context, io) ?? shim_averror(EINVAL)
    }
}
