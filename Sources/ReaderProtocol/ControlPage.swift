import CKioskPlatform
import Glibc
import KioskPlatform
import Synchronization

// The memory that a player and its reader share, beside that of the pictures: a few numbers, the records of pictures, and the sound. It is
// a sealed file in memory. Both map it, and either may write everything in it.
//
//     bytes    written by   what
//     0, 64    both         the bells of the player and of the reader (Bell.swift)
//     128      the reader   its counts of published pictures and frames of sound, its activity, its subjects of sleep
//     192      the player   its counts of taken, wanted and returned ones, its subjects of sleep
//     256      the reader   how often its gauges have changed, and twice room for them: it changes those that are not shown
//     512      the reader   the report of its sandbox, in a format of its own (csandbox.h)
//     640      the reader   the record of a picture that it has copied out of a device (SurfaceCopy.swift)
//     4096     the reader   64 records of pictures, 128 bytes each
//     12288    the player   64 numbers of pictures that it gives back
//     16384    the reader   16,384 frames of sound, interleaved
//
// The player believes none of it. It keeps its own counts and never reads back a number that it has written. Every word is read and written
// by an atomic operation, so a value read once cannot change a moment later.
//
// Counts of pictures and frames grow without end and wrap around; only their differences mean anything.

/// The layout of the shared memory.
package struct ControlLayout: Hashable, Sendable {
    /// Samples in a frame of sound.
    package let channelCount: Int

    package static let mostChannels = 8
    /// The most pictures that a reader can have published and the player can hold.
    package static let pictureCount = 64
    /// Frames in the ring of sound; a power of two.
    package static let soundFrames = 16384
    static let sandbox = 512, sandboxBytes = 64, copy = 640
    static let records = 4096, returns = 12288, sound = 16384

    /// The layout for this number of channels; 1 without sound.
    package init(channelCount: Int) { self.channelCount = min(max(channelCount, 1), Self.mostChannels) }

    /// The layout of a file of this size; nil if no layout has it.
    package init?(byteCount: Int) {
        guard byteCount > Self.sound else { return nil }
        self.init(channelCount: (byteCount - Self.sound) / (Self.soundFrames * MemoryLayout<Float>.size))
        if self.byteCount != byteCount { return nil }
    }

    /// Bytes in all. Both sides map all of them, so no part has to start on a page boundary.
    package var byteCount: Int { Self.sound + Self.soundFrames * channelCount * MemoryLayout<Float>.size }
}

/// The shared memory, mapped. It stays while this object lives, whether the other side is there or not.
@safe package final class ControlPage: @unchecked Sendable {
    // Sendable because words are atomic, and only one side at a time touches each sample.
    private let base: UnsafeMutableRawPointer
    package let layout: ControlLayout

    /// Makes a file for a page, of fixed size; nil with `errno`. The corresponding C function is `memfd_create`.
    package static func makeFile(_ layout: ControlLayout) -> Descriptor? {
        Descriptor(adopting: unsafe kiosk_shared_file("kiosk-reader", layout.byteCount))
    }

    /// Maps a file of ``makeFile(_:)``; nil if it is another file, or with `errno`. The corresponding C function is `mmap`.
    package convenience init?(mapping file: borrowing Descriptor) { self.init(mapping: file.raw) }

    /// The same by a descriptor with another owner.
    package init?(mapping file: Int32) {
        var status = stat()
        guard unsafe fstat(file, &status) == 0, let layout = ControlLayout(byteCount: Int(clamping: status.st_size)) else { return nil }
        let memory = unsafe mmap(nil, layout.byteCount, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)
        guard let memory = unsafe memory, unsafe memory != MAP_FAILED else { return nil }
        unsafe base = memory
        self.layout = layout
    }

    deinit { unsafe munmap(base, layout.byteCount) }

    /// The 64 bytes for the report of the reader's sandbox.
    package var sandboxReport: UnsafeMutableRawPointer { unsafe base + ControlLayout.sandbox }

    // MARK: Words

    /// Numbers of 32 bits, by their byte offset.
    enum Word: Int, CaseIterable {
        case playerBell = 0, readerBell = 64
        // Written by the reader.
        case pictures = 128, sound = 132, soundIsOver = 136, activity = 140, progress = 144, readerWaits = 148, messages = 152, copyMade =
            156, decoderIsFree = 160
        // Written by the player.
        case picturesTaken = 192, picturesWanted = 196, soundTaken = 200, soundWanted = 204, returns = 208, playerWaits = 212, copyWanted =
            216, subtitlesTaken = 220
        case gauges = 256
    }

    private func word(at offset: Int) -> UnsafePointer<Atomic<UInt32>> {
        unsafe UnsafePointer((base + offset).assumingMemoryBound(to: Atomic<UInt32>.self))
    }

    private func wide(at offset: Int) -> UnsafePointer<Atomic<UInt64>> {
        unsafe UnsafePointer((base + offset).assumingMemoryBound(to: Atomic<UInt64>.self))
    }

    /// Loads a number, and with it all that was written before it.
    func load(_ word: Word) -> UInt32 { unsafe self.word(at: word.rawValue).pointee.load(ordering: .acquiring) }

    /// Publishes a number, and with it all that was written before it.
    func store(_ word: Word, _ value: UInt32) { unsafe self.word(at: word.rawValue).pointee.store(value, ordering: .releasing) }

    /// The same in one order for all threads of both sides.
    func loadInOrder(_ word: Word) -> UInt32 { unsafe self.word(at: word.rawValue).pointee.load(ordering: .sequentiallyConsistent) }
    func storeInOrder(_ word: Word, _ value: UInt32) {
        unsafe self.word(at: word.rawValue).pointee.store(value, ordering: .sequentiallyConsistent)
    }
    func advanceInOrder(_ word: Word) { unsafe self.word(at: word.rawValue).pointee.wrappingAdd(1, ordering: .sequentiallyConsistent) }

    /// Sleeps while a word has the value `seen`; returns 0, ETIMEDOUT, or another errno. The corresponding C function is `futex`.
    func sleep(_ word: Word, _ seen: UInt32, until deadline: HostTime?) -> Int32 {
        let place = unsafe UnsafePointer((base + word.rawValue).assumingMemoryBound(to: UInt32.self))
        return unsafe kiosk_shared_futex_wait(place, seen, deadline.map { max(0, $0.nanoseconds) } ?? -1)
    }

    func wake(_ word: Word) { unsafe kiosk_shared_futex_wake_all((base + word.rawValue).assumingMemoryBound(to: UInt32.self)) }

    // MARK: Records

    /// Returns a copy of a record, so the checked value is the one in use.
    func record(_ count: UInt32) -> RawPicture {
        record(at: ControlLayout.records + Int(count % UInt32(ControlLayout.pictureCount)) * RawPicture.byteCount)
    }

    func record(at place: Int) -> RawPicture {
        var raw = RawPicture()
        for index in raw.words.indices { raw.words[index] = unsafe wide(at: place + index * 8).pointee.load(ordering: .relaxed) }
        return raw
    }

    func setRecord(_ count: UInt32, _ raw: RawPicture) {
        setRecord(at: ControlLayout.records + Int(count % UInt32(ControlLayout.pictureCount)) * RawPicture.byteCount, raw)
    }

    func setRecord(at place: Int, _ raw: RawPicture) {
        for index in raw.words.indices { unsafe wide(at: place + index * 8).pointee.store(raw.words[index], ordering: .relaxed) }
    }

    /// The picture returned as number `count`.
    func returned(_ count: UInt32) -> UInt32 { unsafe word(at: Self.placeOfReturn(count)).pointee.load(ordering: .relaxed) }
    func setReturned(_ count: UInt32, _ slot: UInt32) { unsafe word(at: Self.placeOfReturn(count)).pointee.store(slot, ordering: .relaxed) }

    private static func placeOfReturn(_ count: UInt32) -> Int {
        ControlLayout.returns + Int(count % UInt32(ControlLayout.pictureCount)) * MemoryLayout<UInt32>.size
    }

    // MARK: Gauges

    private static func placeOfGauges(_ count: UInt32) -> Int { Word.gauges.rawValue + 8 + Int(count & 1) * 8 * GaugeWords.count }

    /// Returns the gauges as they were at one moment; nil if the reader has shown others meanwhile.
    func gaugeWords() -> GaugeWords? {
        let count = load(.gauges)
        var words = GaugeWords(repeating: 0)
        for index in words.indices {
            words[index] = unsafe wide(at: Self.placeOfGauges(count) + index * 8).pointee.load(ordering: .relaxed)
        }
        atomicMemoryFence(ordering: .acquiring)
        return load(.gauges) == count ? words : nil
    }

    /// Shows the gauges written last.
    func showGaugeWords() { store(.gauges, load(.gauges) &+ 1) }

    /// Writes the gauges that ``showGaugeWords()`` will show. Until then the old ones stand, even if the reader sleeps or ends in the
    /// middle.
    func writeGaugeWords(_ words: GaugeWords) {
        atomicMemoryFence(ordering: .releasing)
        let place = Self.placeOfGauges(load(.gauges) &+ 1)
        for index in words.indices { unsafe wide(at: place + index * 8).pointee.store(words[index], ordering: .relaxed) }
    }

    // MARK: Sound

    /// Returns frames of the ring from number `count` on, without a gap: at most `frames`.
    func frames(from count: UInt32, atMost frames: Int) -> UnsafeMutableBufferPointer<Float> {
        let first = Int(count % UInt32(ControlLayout.soundFrames))
        let frames = min(max(frames, 0), ControlLayout.soundFrames - first)
        let ring = unsafe (base + ControlLayout.sound).assumingMemoryBound(to: Float.self)
        return unsafe UnsafeMutableBufferPointer(start: ring + first * layout.channelCount, count: frames * layout.channelCount)
    }
}

/// The reader's activity; a hint, as the player cannot check it.
package enum ReaderActivity: UInt32, CaseIterable, Sendable { case reading, decoding }

extension ControlPage {
    /// The reader's activity.
    package var activity: ReaderActivity {
        get { ReaderActivity(rawValue: load(.activity)) ?? .decoding }
        set { store(.activity, newValue.rawValue) }
    }

    /// The number of packets and pictures that the reader has processed so far; wraps around.
    package var progress: UInt32 { load(.progress) }

    /// The number of messages that the reader has sent, so a receiver does not call the system in vain; also a hint. Wraps around.
    package var messageCount: UInt32 { load(.messages) }

    /// Counts another message of the reader.
    package func countMessage() { advanceInOrder(.messages) }

    /// The serial of the last subtitles that the player has copied: the reader may reuse their memory. Wraps around.
    package var subtitlesTaken: UInt32 {
        get { load(.subtitlesTaken) }
        set { store(.subtitlesTaken, newValue) }
    }

    /// Says that the reader has given up its decoder.
    package func freeDecoder() {
        store(.decoderIsFree, 1)
        wake(.decoderIsFree)
    }

    /// Waits until the reader has given up its decoder, at most until `deadline`.
    package func waitForFreeDecoder(until deadline: HostTime) {
        while load(.decoderIsFree) == 0, HostTime.now < deadline { _ = sleep(.decoderIsFree, 0, until: deadline) }
    }

    /// Counts another packet or picture that the reader has processed.
    package func advance() { store(.progress, load(.progress) &+ 1) }
}
