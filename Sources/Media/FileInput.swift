import CKioskFFmpeg
import Glibc
import KioskPlatform

/// libavformat's access to files. What it opens by the `file` protocol, the source and the files that this names (segments of a local HLS
/// list, the picture of `image2`), is a ``BoundedFile`` behind an AVIOContext. Other protocols stay libavio's, which asks the
/// ``Interruption``.
///
/// Buffer sizes, order of calls and the protocols that a file may name are those of libavformat's `file` protocol.
final class FileInput: @unchecked Sendable {
    // Sendable because it belongs to one FormatContext, and moves with it.
    private let interruption: Interruption
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

    init(interruption: Interruption) { self.interruption = interruption }

    deinit { for context in open.keys { Self.free(context) } }

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
            return openDefault?(context, result, url, flags, options) ?? shim_averror(EINVAL)
        }
        let text = String(cString: url)
        do throws(BoundedFile.Failure) {
            result.pointee = try openFile(text.hasPrefix("file:") ? String(text.dropFirst(5)) : text)
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
        // The protocols that a local file may name: libavformat's own list.
        io.pointee.protocol_whitelist = UnsafePointer(av_strdup("file,crypto,data"))
        open[io] = file
        return io
    }

    private func close(_ context: UnsafeMutablePointer<AVFormatContext>, _ io: UnsafeMutablePointer<AVIOContext>) -> Int32 {
        guard open.removeValue(forKey: io) != nil else { return closeDefault?(context, io) ?? shim_averror(EINVAL) }
        Self.free(io)
        return 0
    }

    private static func free(_ io: UnsafeMutablePointer<AVIOContext>) {
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
