import Glibc
import KioskPlatform

/// Memory that a player and its reader share, mapped for writing: neither trusts its contents.
package final class SharedMemory: @unchecked Sendable {
    // Sendable because both sides agree which parts each writes, and neither trusts that.
    package let bytes: UnsafeMutableRawBufferPointer

    /// Maps a file whole; nil with `errno`. The corresponding C function is `mmap`.
    package init?(_ file: Int32) {
        var status = stat()
        guard fstat(file, &status) == 0, status.st_size > 0 else { return nil }
        let count = Int(status.st_size)
        guard let base = mmap(nil, count, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0), base != MAP_FAILED else { return nil }
        bytes = UnsafeMutableRawBufferPointer(start: base, count: count)
    }

    deinit { munmap(bytes.baseAddress, bytes.count) }
}
