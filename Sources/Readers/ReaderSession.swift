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

/// A source that is being read for this process, and the player's end of the conversation about it. It sends orders, and takes messages only as
/// ``ReaderTurns`` has them come. Whoever waits here waits no longer than a deadline, whatever the reader does: one that lies, or is silent for
/// too long, is ended.
///
/// One thread at a time has it. When it goes, so does the reader.
package final class ReaderSession: @unchecked Sendable {
    // Sendable because one thread at a time has it.
    let reader: Reader
    private let order: OpenOrder
    private let readers: Readers
    private let interruption: Interruption
    package let page: ControlPage
    /// What it has of the displays' memory.
    let planes = LentPlanes()
    /// Where its results lie, and pictures that are played.
    let results: SharedResults
    /// Where its subtitles are; nil where none are wanted.
    let subtitles: SharedResults?
    private var messages = Assembly<ReaderMessage>()
    private var turns = ReaderTurns()
    /// Fonts that have been asked for.
    private var fontCount = 0
    private static let mostFonts = 512
    private var lastSerial: UInt32 = 0

    private static let log = Logger(label: "readers")
    /// How often a wait looks whether it is still wanted.
    private static let look = MediaTime.milliseconds(50)
    /// How long a dead process may take until its status is known.
    private static let burial = MediaTime.seconds(2)

    /// Has a reader open a source, and do with it what its role says. `written` is what has been written of a film, to be read. Blocks until the reader is there, some milliseconds as a rule.
    ///
    /// - Throws: ``MediaError/Reason/readerFailed(_:)`` where there can be no reader.
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

    /// Sends an order; what cannot be sent has no answer.
    package func send(_ order: ReaderOrder, descriptor: Int32 = -1) {
        lastSerial &+= 1
        turns.sent(order, serial: lastSerial)
        for datagram in (try? order.datagrams(serial: lastSerial)) ?? [] { reader.send(datagram, descriptor) }
    }

    /// What has come of a reader.
    package enum Arrival: Sendable {
        case nothing
        case message(ReaderMessage, SharedDescriptor?)
        case death(ReaderDeath)
    }

    /// The next message that is for whoever has this, waited for until `deadline`. What the reader asks for is answered meanwhile, and its lines go
    /// to the log.
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

    /// What answers the last order, and a descriptor where one comes with it; waited for no longer than `limit` of the reader's ``FairTime``, and
    /// ``OpenOrder/patience`` times as long in all. With `anewWithProgress` each piece that it reads has as long.
    ///
    /// - Throws: ``MediaError/Reason/cancelled``, what the reader has failed with, or ``MediaError/Reason/readerFailed(_:)`` with the words of
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

    /// The message that is whole with this datagram.
    private func message(of datagram: [UInt8]) throws(ReaderLie) -> ReaderMessage? {
        let whole: (message: ReaderMessage, serial: UInt32)?
        do throws(WireError) { whole = try messages.add(datagram[...]) } catch { throw .message(error) }
        guard let whole else { return nil }
        try turns.take(whole.message, serial: whole.serial)
        return whole.message
    }

    /// Waits until the reader has ended by itself; at `deadline` it is ended. What it has sent before is not taken.
    package func waitForEnd(until deadline: HostTime) {
        _ = reader.exit(until: deadline)
        reader.end()
    }

    /// Ends the reader for good, for what it has done or left undone; the words for that.
    package func end(for death: ReaderDeath, of part: String = "decoder") -> String {
        reader.end()
        let words = reader.lastWords
        return death.told(of: part) + (words.isEmpty ? "" : ": \(words)")
    }

    /// The same as an error about its source.
    package func error(of death: ReaderDeath) -> MediaError {
        let words = end(for: death)
        if case .silent(let seconds) = death { return MediaError(order.source, .timedOut(seconds: seconds)) }
        return MediaError(order.source, .readerFailed(words))
    }

    // MARK: What it asks for

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

    /// The picture of this size among the results.
    package func picture(_ size: PixelSize, fitting most: PixelSize) throws(MediaError) -> SmallPicture {
        do throws(ReaderLie) { return try SmallPicture(size, in: results.bytes, fitting: most) } catch {
            throw self.error(of: .lied(error))
        }
    }
}

extension ReaderSession {
    /// The cover of so many bytes that the reader says lies in its results.
    ///
    /// - Throws: ``MediaError/Reason/readerFailed(_:)`` where it cannot lie there.
    package func cover(codec: String, byteCount: Int) throws(MediaError) -> AssetCover {
        do throws(ReaderLie) { return try AssetCover(codec: codec, byteCount: byteCount, in: results.bytes) } catch {
            throw self.error(of: .lied(error))
        }
    }
}

extension ReaderSession {
    /// The times of so many pictures among the results.
    func times(_ count: Int) throws(MediaError) -> [MediaTime] {
        do throws(ReaderLie) { return try MediaTime.times(count, in: results.bytes) } catch { throw self.error(of: .lied(error)) }
    }
}

/// Memory in which a reader's results lie: the reader writes there whenever it likes, and this side only reads.
final class SharedResults: @unchecked Sendable {
    // Sendable because it is only read, and what is read is believed by nobody.
    let file: Descriptor
    let bytes: UnsafeRawBufferPointer
    /// Up to where this side has its pages.
    private let found = Atomic(0)

    /// Memory for so many bytes; nil with `errno`. The corresponding C functions are `memfd_create` and `mmap`.
    init?(capacity: Int) {
        // A mapping has to have something in it; the kernel makes whole pages of that.
        let count = max(capacity, 4096)
        guard let file = Descriptor(adopting: kiosk_shared_file("kiosk-results", count)) else { return nil }
        guard let base = mmap(nil, count, PROT_READ, MAP_SHARED | MAP_NORESERVE, file.raw, 0), base != MAP_FAILED else { return nil }
        self.file = file
        bytes = UnsafeRawBufferPointer(start: base, count: count)
    }

    deinit { munmap(UnsafeMutableRawPointer(mutating: bytes.baseAddress), bytes.count) }

    /// Finds the pages of these bytes, where nobody has read so far behind the beginning: one call instead of a page fault for each. The reader takes memory
    /// from the beginning on, so this is done for some pictures of each item. The corresponding C function is `madvise`, with `MADV_POPULATE_READ`.
    func find(_ range: Range<Int>) {
        let known = found.load(ordering: .relaxed)
        guard range.upperBound > known, let base = bytes.baseAddress else { return }
        let range = range.clamped(to: known..<bytes.count)
        kiosk_populate_read(base + range.lowerBound, range.count)
        found.max(range.upperBound, ordering: .relaxed)
    }
}
