import CKioskFFmpeg
import Glibc

/// A libavformat I/O context on external bytes, to read or write. One thread at a time. The corresponding C function is
/// `avio_alloc_context`.
final class ByteStream {
    /// The result of a read.
    enum ReadResult: Equatable {
        /// The number of bytes read, at least one.
        case bytes(Int)
        case end
        case failed(errno: Int32)
        /// The operation was cancelled or timed out; every later read returns this, too.
        case interrupted

        /// Converts the result of read(2) or a similar call, or a negative error number.
        init(_ count: Int) { self = count > 0 ? .bytes(count) : count == 0 ? .end : .failed(errno: Int32(-count)) }
    }
    /// Reads into a buffer at a place.
    typealias Read = (UnsafeMutableRawBufferPointer, Int64) -> ReadResult
    /// Writes bytes at a place: returns 0, or an error number.
    typealias Write = (UnsafeRawBufferPointer, Int64) -> Int32

    private(set) var context: UnsafeMutablePointer<AVIOContext>!
    private let read: Read, write: Write?, length: () -> Int64
    private var position: Int64 = 0
    /// The end of the last byte written.
    private var writtenEnd: Int64 = 0

    /// The buffer for writing and for reading films, and the one for files, of the size that libavformat's own protocol uses.
    private static let bufferSize = 256 << 10
    static let fileBufferSize = 32 << 10

    /// Creates a stream to read, or with `write` to write. A stream with `length` can seek and calls `length` each time.
    init(length: (() -> Int64)?, bufferSize: Int = ByteStream.bufferSize, read: @escaping Read, write: Write? = nil) {
        (self.length, self.read, self.write) = (length ?? { 0 }, read, write)
        let seek: @convention(c) (UnsafeMutableRawPointer?, Int64, Int32) -> Int64 = { stream, offset, whence in
            Unmanaged<ByteStream>.fromOpaque(stream!).takeUnretainedValue().seek(by: offset, whence)
        }
        context = avio_alloc_context(
            av_malloc(bufferSize).assumingMemoryBound(to: UInt8.self), Int32(bufferSize), write == nil ? 0 : 1,
            Unmanaged.passUnretained(self).toOpaque(),
            { stream, buffer, count in
                let bytes = UnsafeMutableRawBufferPointer(start: buffer, count: Int(count))
                return Unmanaged<ByteStream>.fromOpaque(stream!).takeUnretainedValue().fill(bytes)
            },
            { stream, buffer, count in
                let bytes = UnsafeRawBufferPointer(start: buffer, count: Int(count))
                return Unmanaged<ByteStream>.fromOpaque(stream!).takeUnretainedValue().take(bytes)
            }, length == nil && write == nil ? nil : seek)!
    }

    deinit { Self.free(context) }

    /// The number of bytes.
    var size: Int64 { max(length(), writtenEnd) }

    private func fill(_ bytes: UnsafeMutableRawBufferPointer) -> Int32 {
        switch read(bytes, position) {
        case .bytes(let count):
            position += Int64(count)
            return Int32(count)
        case .end: return kAVERROR_EOF
        case .failed(let code): return shim_averror(code)
        case .interrupted: return kAVERROR_EXIT
        }
    }

    private func take(_ bytes: UnsafeRawBufferPointer) -> Int32 {
        guard let write else { return shim_averror(EBADF) }
        let code = write(bytes, position)
        if code != 0 { return shim_averror(code) }
        position += Int64(bytes.count)
        writtenEnd = max(writtenEnd, position)
        return Int32(bytes.count)
    }

    private func seek(by offset: Int64, _ whence: Int32) -> Int64 {
        let base: Int64
        switch whence & ~AVSEEK_FORCE {
        case AVSEEK_SIZE: return size
        case SEEK_SET: base = 0
        case SEEK_CUR: base = position
        case SEEK_END: base = size
        default: return Int64(shim_averror(EINVAL))
        }
        let (target, overflows) = base.addingReportingOverflow(offset)
        guard !overflows, target >= 0 else { return Int64(shim_averror(EINVAL)) }
        position = target
        return target
    }

    /// Frees a context of `avio_alloc_context`, its buffer and its protocol list.
    static func free(_ io: UnsafeMutablePointer<AVIOContext>) {
        av_free(io.pointee.buffer)
        av_free(UnsafeMutablePointer(mutating: io.pointee.protocol_whitelist))
        var io: UnsafeMutablePointer<AVIOContext>? = io
        avio_context_free(&io)
    }
}
