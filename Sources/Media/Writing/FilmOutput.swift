/// The destination of a film's bytes. One thread at a time uses it.
package protocol FilmOutput: AnyObject, Sendable {
    /// Writes bytes at an offset, which may lie beyond the end. Returns 0 or a system error number. Blocks as long as the disk does.
    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) -> Int32
    /// Reads written bytes; returns their number, or a negative error number.
    func read(into bytes: UnsafeMutableRawBufferPointer, at offset: Int64) -> Int
    /// Starts to flush the bytes written so far to the disk. The next write reports an error.
    func sync()
    /// Reports another packet from an encoder.
    func advance()
}
