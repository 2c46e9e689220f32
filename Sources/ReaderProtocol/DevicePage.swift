import CKioskPlatform
import Glibc
import KioskPlatform
import Synchronization

/// Memory that all readers with devices have in common, as some devices have one decoder only: how many decoders each of them uses, and how often one has
/// come free. Whoever was refused tries again then. The player knows no more of it than which readers have ended.
///
/// Anything may stand there, as every reader can write it: the worst is that another one decodes in software. Any thread.
@safe package final class DevicePage: @unchecked Sendable {
    // Sendable because its words are atomic.
    private let words: UnsafeMutablePointer<Atomic<UInt32>>

    /// Readers with devices at a time. Others do without.
    package static let mostReaders = 32
    /// More than all words; the kernel makes a whole page of it, however large its pages are.
    private static let byteCount = 4096
    /// Behind it, one for each reader.
    private static let releases = 0, uses = 16

    /// Makes the file; nil with `errno`. The corresponding C function is `memfd_create`.
    package static func makeFile() -> Descriptor? { Descriptor(adopting: unsafe kiosk_shared_file("kiosk-devices", byteCount)) }

    /// Maps it; nil where it is none, or with `errno`. The corresponding C function is `mmap`.
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

    /// How often a decoder has come free; wraps around.
    package var releaseCount: UInt32 { unsafe words[Self.releases].load(ordering: .acquiring) }

    /// Whether anybody but `reader` uses a decoder.
    package func isInUse(butBy reader: Int) -> Bool {
        (0..<Self.mostReaders).contains { unsafe $0 != reader && use($0).pointee.load(ordering: .relaxed) != 0 }
    }

    /// `reader` uses another decoder.
    package func begin(_ reader: Int) { unsafe use(reader).pointee.wrappingAdd(1, ordering: .relaxed) }

    /// It uses one less.
    package func end(_ reader: Int) {
        unsafe use(reader).pointee.wrappingSubtract(1, ordering: .relaxed)
        unsafe words[Self.releases].wrappingAdd(1, ordering: .releasing)
    }

    /// It has ended, and uses none.
    package func clear(_ reader: Int) {
        if unsafe use(reader).pointee.exchange(0, ordering: .relaxed) != 0 {
            unsafe words[Self.releases].wrappingAdd(1, ordering: .releasing)
        }
    }
}
