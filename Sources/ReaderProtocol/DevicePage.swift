import CKioskPlatform
import Glibc
import KioskPlatform
import Synchronization

/// Memory that all readers with devices share, as some devices have only one decoder. It holds the number of decoders that each reader
/// uses, and counts their releases. A reader that found no decoder retries after a release. The player only clears the entries of readers
/// that have ended.
///
/// Any reader can write anything there: the worst effect is that another one decodes in software. Any thread.
@safe package final class DevicePage: @unchecked Sendable {
    // Sendable because its words are atomic.
    private let words: UnsafeMutablePointer<Atomic<UInt32>>

    /// The most readers with devices at a time. Others do without.
    package static let mostReaders = 32
    /// More than all words; the kernel rounds it up to a whole page of any size.
    private static let byteCount = 4096
    /// The word of the releases, and the first of the uses, one for each reader.
    private static let releases = 0, uses = 16

    /// Makes the file; nil with `errno`. The corresponding C function is `memfd_create`.
    package static func makeFile() -> Descriptor? { Descriptor(adopting: unsafe kiosk_shared_file("kiosk-devices", byteCount)) }

    /// Maps the file; nil if it is another file, or with `errno`. The corresponding C function is `mmap`.
    package init?(mapping file: Int32) {
        var status = stat()
        guard unsafe fstat(file, &status) == 0, status.st_size == Self.byteCount,
            let memory = unsafe mmap(nil, Self.byteCount, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0), unsafe memory != MAP_FAILED
        else { return nil }
        unsafe words = memory.assumingMemoryBound(to: Atomic<UInt32>.self)
    }

    deinit { unsafe munmap(words, Self.byteCount) }

    private func use(_ reader: Int) -> UnsafeMutablePointer<Atomic<UInt32>> {
        unsafe words + Self.uses + min(max(reader, 0), Self.mostReaders - 1)
    }

    /// The number of decoder releases; wraps around.
    package var releaseCount: UInt32 { unsafe words[Self.releases].load(ordering: .acquiring) }

    /// Whether any reader but `reader` uses a decoder.
    package func isInUse(butBy reader: Int) -> Bool {
        (0..<Self.mostReaders).contains { unsafe $0 != reader && use($0).pointee.load(ordering: .relaxed) != 0 }
    }

    /// Counts another decoder of `reader`.
    package func begin(_ reader: Int) { unsafe use(reader).pointee.wrappingAdd(1, ordering: .relaxed) }

    /// Counts one decoder less of `reader`.
    package func end(_ reader: Int) {
        unsafe use(reader).pointee.wrappingSubtract(1, ordering: .relaxed)
        unsafe words[Self.releases].wrappingAdd(1, ordering: .releasing)
    }

    /// Clears the entry of a reader that has ended.
    package func clear(_ reader: Int) {
        if unsafe use(reader).pointee.exchange(0, ordering: .relaxed) != 0 {
            unsafe words[Self.releases].wrappingAdd(1, ordering: .releasing)
        }
    }
}
