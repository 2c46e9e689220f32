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
