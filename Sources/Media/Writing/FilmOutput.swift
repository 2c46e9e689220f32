import CKioskFFmpeg
import Glibc
import KioskPlatform

/// Where the bytes of a film go. One thread at a time uses it.
package protocol FilmOutput: AnyObject, Sendable {
    /// Writes bytes at a place, which may lie behind the end: 0, or an error number of the system. Blocks for as long as the disk does.
    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) -> Int32
    /// Reads bytes that have been written: how many, or a negative error number.
    func read(into bytes: UnsafeMutableRawBufferPointer, at offset: Int64) -> Int
    /// What has been written so far is to be on the disk. An error comes with the next bytes.
    func sync()
    /// Another packet has come out of an encoder.
    func advance()
}

/// A context of libavformat on bytes that lie elsewhere: what it reads, or writes. The corresponding C function is `avio_alloc_context`.
final class ByteStream {
    /// Reads into a buffer at a place, and says how many bytes; 0 at the end, or a negative error number.
    typealias Read = (UnsafeMutableRawBufferPointer, Int64) -> Int
    /// Writes bytes at a place: 0, or an error number.
    typealias Write = (UnsafeRawBufferPointer, Int64) -> Int32

    private(set) var context: UnsafeMutablePointer<AVIOContext>!
    private let read: Read, write: Write?
    private var position: Int64 = 0
    private(set) var size: Int64

    private static let bufferSize = 256 << 10

    /// One that is read, of so many bytes, or one that is written where there is `write`.
    init(size: Int64, read: @escaping Read, write: Write? = nil) {
        (self.size, self.read, self.write) = (size, read, write)
        context = avio_alloc_context(
            av_malloc(Self.bufferSize).assumingMemoryBound(to: UInt8.self), Int32(Self.bufferSize), write == nil ? 0 : 1,
            Unmanaged.passUnretained(self).toOpaque(),
            { stream, buffer, count in
                let bytes = UnsafeMutableRawBufferPointer(start: buffer, count: Int(count))
                return Unmanaged<ByteStream>.fromOpaque(stream!).takeUnretainedValue().fill(bytes)
            },
            { stream, buffer, count in
                let bytes = UnsafeRawBufferPointer(start: buffer, count: Int(count))
                return Unmanaged<ByteStream>.fromOpaque(stream!).takeUnretainedValue().take(bytes)
            },
            { stream, offset, whence in Unmanaged<ByteStream>.fromOpaque(stream!).takeUnretainedValue().seek(by: offset, whence) })!
    }

    deinit { FileInput.free(context) }

    private func fill(_ bytes: UnsafeMutableRawBufferPointer) -> Int32 {
        let count = read(bytes, position)
        if count <= 0 { return count == 0 ? kAVERROR_EOF : shim_averror(Int32(-count)) }
        position += Int64(count)
        return Int32(count)
    }

    private func take(_ bytes: UnsafeRawBufferPointer) -> Int32 {
        guard let write else { return shim_averror(EBADF) }
        let code = write(bytes, position)
        if code != 0 { return shim_averror(code) }
        position += Int64(bytes.count)
        size = max(size, position)
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
}
