import CKioskPlatform
import CSandbox
import Glibc
import KioskMedia
import KioskPlatform
import KioskReaderProtocol
import KioskReaderServer
import KioskVocabulary
import Logging
import Synchronization

/// A source that a reader reads for this process, and the player's end of the conversation about it. It sends orders, and accepts messages
/// only as ``ReaderTurns`` allows. Every wait ends at a deadline, whatever the reader does. A reader that lies, or is silent for too long,
/// is ended.
///
/// One thread at a time has it. Its end is the reader's end.
package final class ReaderSession: @unchecked Sendable {
    // Sendable because one thread at a time has it.
    let reader: Reader
    private let order: OpenOrder
    private let readers: Readers
    private let interruption: Interruption
    package let page: ControlPage
    /// The display memory lent to the reader.
    let planes = LentPlanes()
    /// The memory for its results, and for pictures in playback.
    let results: SharedResults
    /// The memory for its subtitles; nil if none are wanted.
    let subtitles: SharedResults?
    private var messages = Assembly<ReaderMessage>()
    private var turns = ReaderTurns()
    /// The number of fonts requested.
    private var fontCount = 0
    private static let mostFonts = 512
    private var lastSerial: UInt32 = 0

    private static let log = Logger(label: "readers")
    /// How often a wait checks whether it is cancelled.
    private static let look = MediaTime.milliseconds(50)
    /// How long the exit status of a dead process may take.
    private static let burial = MediaTime.seconds(2)

    /// Has a reader open a source for the purpose in its role. `written` is the file of a film, to read back. Blocks until the reader is
    /// there, some milliseconds as a rule.
    ///
    /// - Throws: ``MediaError/Reason/readerFailed(_:)`` if there can be no reader.
    package init(
        _ order: OpenOrder, priority: ReaderPriority = .normal, by readers: Readers, handed: HandedFrames? = nil, written: Int32? = nil,
        _ interruption: Interruption
    ) throws(MediaError) {
        func failed(_ reason: String) -> MediaError { MediaError(order.source, .readerFailed(reason)) }
        (self.readers, self.interruption) = (readers, interruption)
        guard let file = ControlPage.makeFile(ControlLayout(channelCount: order.samples?.channelCount ?? 1)),
            let page = ControlPage(mapping: file), let results = SharedResults(capacity: handed == nil ? order.memoryCapacity : 0)
        else { throw failed("there is no memory to read it with: \(SystemError())") }
        (self.page, self.results) = (page, results)
        subtitles = order.role == .play ? order.subtitles.flatMap { SharedResults(capacity: $0.memoryCapacity) } : nil
        do throws(ReaderStartError) { reader = try readers.reader(priority: priority, handed) } catch { throw failed("\(error)") }
        let devices = order.usesDevices && readers.isolation == .process ? readers.takeDevicePlace() : nil
        var order = order
        order.devicePlace = devices?.place
        if order.role == .play, handed == nil { order.planes = planes.news() ?? [] }
        self.order = order
        reader.give(Int32(KIOSK_READER_PAGE), file.raw)
        reader.give(Int32(KIOSK_READER_ARENA), results.file.raw)
        if let written { reader.give(Int32(KIOSK_READER_SOURCE), written) }
        if let devices { reader.give(Int32(KIOSK_READER_DEVICES), devices.file.raw) }
        if let subtitles { reader.give(Int32(KIOSK_READER_SUBTITLES), subtitles.file.raw) }
        send(.open(order))
    }

    deinit {
        guard let place = order.devicePlace else { return }
        let (reader, readers) = (reader, readers)
        reader.end()
        Thread("leaving") {
            _ = reader.exit(until: .now + Self.burial)
            readers.giveBackDevicePlace(place)
        }.detach()
    }

    // MARK: Orders and messages

    /// Sends an order. If it cannot be sent, no answer comes.
    package func send(_ order: ReaderOrder, descriptor: Int32 = -1) {
        lastSerial &+= 1
        turns.sent(order, serial: lastSerial)
        for datagram in (try? order.datagrams(serial: lastSerial)) ?? [] { reader.send(datagram, descriptor) }
    }

    /// The outcome of waiting for a reader.
    package enum Arrival: Sendable {
        case nothing
        case message(ReaderMessage, SharedDescriptor?)
        case death(ReaderDeath)
    }

    /// Waits until `deadline` for the next message for the caller. Meanwhile answers the reader's requests, and logs its lines.
    package func receive(until deadline: HostTime) -> Arrival {
        while true {
            switch reader.receive(until: deadline) {
            case .nothing: return .nothing
            case .end: return .death(ReaderDeath(reader.exit(until: .now + Self.burial), page.refusals))
            case .datagram(let bytes, let descriptor):
                let message: ReaderMessage?
                do throws(ReaderLie) { message = try self.message(of: bytes) } catch { return .death(.lied(error)) }
                switch message {
                case nil, .ready: continue
                case .request(let number, .file(let path, let folder)): answer(path, in: folder, number)
                case .request(let number, .plane(let offer)):
                    let lent = planes.lend(offer)
                    send(.lend(number, buffer: lent?.0 ?? 0), descriptor: lent?.1.raw ?? -1)
                case .request(let number, .font(let wish)):
                    fontCount += 1
                    if fontCount <= Self.mostFonts {
                        FontFiles.answer(wish, number, to: reader)
                    } else {
                        send(.refuse(number, .notReadable))
                    }
                case .request(let number, .name(let name)): HostNames.answer(name, number, to: reader, by: readers)
                case .log(let line): FFmpegLog.log(line)
                case let message?: return .message(message, descriptor)
                }
            }
        }
    }

    /// Waits for the answer to the last order, and returns its descriptor if one comes with it. The limits are `limit` of the reader's
    /// ``FairTime``, and ``OpenOrder/patience`` times as long in all. With `anewWithProgress`, both limits start again at each piece that
    /// the reader reads.
    ///
    /// - Throws: ``MediaError/Reason/cancelled``, the reader's own failure, or ``MediaError/Reason/readerFailed(_:)`` with the text of
    ///   ``ReaderDeath``.
    package func answer(
        within limit: MediaTime, anewWithProgress: Bool = false, isCancelled: () -> Bool = { false }
    ) throws(MediaError) -> (ReaderResult, SharedDescriptor?) {
        var (begin, progress) = (HostTime.now, page.progress)
        var time = FairTime(reader.clock, every: limit.scaled(by: 0.2), from: begin)
        while true {
            if anewWithProgress, page.progress != progress {
                (begin, progress) = (.now, page.progress)
                time = FairTime(reader.clock, every: limit.scaled(by: 0.2), from: begin)
            }
            if interruption.cancelled || isCancelled() { throw MediaError(order.source, .cancelled) }
            switch receive(until: .now + Self.look) {
            case .nothing:
                let now = HostTime.now
                if time.total(at: now) >= limit || now - begin >= limit * OpenOrder.patience {
                    throw error(of: .stalled(seconds: limit.seconds))
                }
            case .death(let death): throw error(of: death)
            case .message(.result(let result), let descriptor): return (result, descriptor)
            case .message(.failed(let reason), _): throw MediaError(order.source, reason)
            case .message: continue
            }
        }
    }

    /// Returns the message that this datagram completes.
    private func message(of datagram: [UInt8]) throws(ReaderLie) -> ReaderMessage? {
        let whole: (message: ReaderMessage, serial: UInt32)?
        do throws(WireError) { whole = try messages.add(datagram[...]) } catch { throw .message(error) }
        guard let whole else { return nil }
        try turns.take(whole.message, serial: whole.serial)
        return whole.message
    }

    /// Waits until the reader has ended by itself; ends it at `deadline`. Takes no message that it sent before.
    package func waitForEnd(until deadline: HostTime) {
        _ = reader.exit(until: deadline)
        reader.end()
    }

    /// Ends the reader for good, because of a fault or a silence; returns the text for that.
    package func end(for death: ReaderDeath, of part: String = "decoder") -> String {
        reader.end()
        let words = reader.lastWords
        return death.told(of: part) + (words.isEmpty ? "" : ": \(words)")
    }

    /// The same as an error about the source.
    package func error(of death: ReaderDeath) -> MediaError {
        let words = end(for: death)
        if case .silent(let seconds) = death { return MediaError(order.source, .timedOut(seconds: seconds)) }
        return MediaError(order.source, .readerFailed(words))
    }

    // MARK: Requests of the reader

    private func answer(_ path: String, in folder: String?, _ number: UInt32) {
        guard let folder, folder == order.reach.folder || folder == order.subtitles?.folder else {
            return send(.refuse(number, .leadsOutside))
        }
        do throws(MediaError) {
            let opening = try ReaderSession(
                OpenOrder(.file(folder: folder), path, reach: SourceReach(), pictureMemory: 0), by: readers, interruption)
            switch try opening.answer(within: openingTimeLimit) {
            case (.file, let file?): send(.grant(number), descriptor: file.raw)
            case (.noFile(let failure), _): send(.refuse(number, failure))
            default: send(.refuse(number, .interrupted))
            }
        } catch {
            send(.refuse(number, .interrupted))
        }
    }

    // MARK: Results

    /// Returns the picture of this size among the results.
    package func picture(_ size: PixelSize, fitting most: PixelSize) throws(MediaError) -> SmallPicture {
        do throws(ReaderLie) { return try SmallPicture(size, in: results.bytes, fitting: most) } catch {
            throw self.error(of: .lied(error))
        }
    }
}

extension ReaderSession {
    /// Returns the cover of this size that the reader claims to have put into its results.
    ///
    /// - Throws: ``MediaError/Reason/readerFailed(_:)`` if the results cannot hold it.
    package func cover(codec: String, byteCount: Int) throws(MediaError) -> AssetCover {
        do throws(ReaderLie) { return try AssetCover(codec: codec, byteCount: byteCount, in: results.bytes) } catch {
            throw self.error(of: .lied(error))
        }
    }
}

extension ReaderSession {
    /// Returns the times of this number of pictures among the results.
    func times(_ count: Int) throws(MediaError) -> [MediaTime] {
        do throws(ReaderLie) { return try MediaTime.times(count, in: results.bytes) } catch { throw self.error(of: .lied(error)) }
    }
}

/// Memory for a reader's results: the reader writes there at any time, and this side only reads.
final class SharedResults: @unchecked Sendable {
    // Sendable because this side only reads it, and trusts none of it.
    let file: Descriptor
    let bytes: UnsafeRawBufferPointer
    /// The offset up to which this side has mapped its pages.
    private let found = Atomic(0)

    /// Creates memory of this size; nil with `errno`. The corresponding C functions are `memfd_create` and `mmap`.
    init?(capacity: Int) {
        // A mapping must not be empty; the kernel rounds this up to whole pages.
        let count = max(capacity, 4096)
        guard let file = Descriptor(adopting: kiosk_shared_file("kiosk-results", count)) else { return nil }
        guard let base = mmap(nil, count, PROT_READ, MAP_SHARED | MAP_NORESERVE, file.raw, 0), base != MAP_FAILED else { return nil }
        self.file = file
        bytes = UnsafeRawBufferPointer(start: base, count: count)
    }

    deinit { munmap(UnsafeMutableRawPointer(mutating: bytes.baseAddress), bytes.count) }

    /// Populates the pages of these bytes, if they lie beyond those populated so far: one call instead of a page fault for each. The reader
    /// fills memory from the beginning, so this happens for some pictures of each item. The corresponding C function is `madvise`, with
    /// `MADV_POPULATE_READ`.
    func find(_ range: Range<Int>) {
        let known = found.load(ordering: .relaxed)
        guard range.upperBound > known, let base = bytes.baseAddress else { return }
        let range = range.clamped(to: known..<bytes.count)
        kiosk_populate_read(base + range.lowerBound, range.count)
        found.max(range.upperBound, ordering: .relaxed)
    }
}
