import KioskMedia
import KioskPlatform
import KioskReaderProtocol
import KioskReaderServer
import KioskVocabulary

/// A reader that has opened its source, and decoded up to its start position.
struct OpenedReader {
    let session: ReaderSession
    let description: ReaderDescription
    let landing: Landing
    /// The faults of the source.
    let problems: [String]
    /// Its other messages.
    let notes: [(ReaderMessage, SharedDescriptor?)]

    /// The most other messages of one opening.
    private static let mostNotes = 256
    /// How long a reader may take to close its source.
    static let leaveLimit = MediaTime.seconds(2)

    /// Has a reader open a source. If the reader asks for libavfilter, for libass, or for devices that may decode the source, another
    /// reader that has them opens it; `order` then says so. Blocks until then, or until `interruption` ends it.
    ///
    /// - Throws: ``MediaError`` with the fault of the source or of its reader.
    init(_ order: inout OpenOrder, by readers: Readers, _ handed: HandedFrames?, _ interruption: Interruption) throws(MediaError) {
        // Each request comes at most once: ReaderTurns rejects a second one.
        while true {
            switch try Self.open(order, by: readers, handed, interruption) {
            case .opened(let opened):
                self = opened
                return
            case .asks(.deinterlacer): order.needsFilters = true
            case .asks(.subtitles): order.subtitles?.hasText = true
            case .asks(.device): (order.usesDevices, order.decoder.setting, order.decoder.elsewhere) = (true, .automatic, nil)
            case .asks: break
            }
        }
    }

    private init(_ session: ReaderSession, _ description: ReaderDescription, _ landing: Landing, _ heard: Heard) {
        (self.session, self.description, self.landing, problems, notes) = (session, description, landing, heard.problems, heard.notes)
    }

    private struct Heard {
        var problems: [String] = []
        var notes: [(ReaderMessage, SharedDescriptor?)] = []
    }

    private enum Beginning {
        case opened(OpenedReader)
        /// The source needs a reader with something that this one lacks.
        case asks(ReaderRequest)
    }

    private static func open(
        _ order: OpenOrder, by readers: Readers, _ handed: HandedFrames?, _ interruption: Interruption
    ) throws(MediaError) -> Beginning {
        // For all steps together; each has a limit of its own.
        let limit = order.stepLimit * 12
        interruption.allow(limit)
        let session = try ReaderSession(order, by: readers, handed: handed, interruption)
        let begin = HostTime.now
        var time = FairTime(session.reader.clock, every: .seconds(2), from: begin)
        var progress = session.page.progress
        var description: ReaderDescription?
        var heard = Heard()
        while true {
            if interruption.cancelled { throw MediaError(order.source, .cancelled) }
            switch session.receive(until: .now + .milliseconds(50)) {
            case .nothing:
                let now = HostTime.now
                if session.page.progress != progress {
                    progress = session.page.progress
                    time = FairTime(session.reader.clock, every: .seconds(2), from: now)
                }
                guard time.total(at: now) >= order.stepLimit || now - begin >= limit else { continue }
                throw session.error(of: ReaderDeath(noProgressWithin: order.stepLimit, at: session.page))
            case .death(let death): throw session.error(of: death)
            case .message(.described(let described), _): description = described
            case .message(.landed(let landing), _):
                guard let description else { throw MediaError(order.source, .hasNoMedia) }
                return .opened(OpenedReader(session, description, landing, heard))
            case .message(.problem(let problem), _): heard.problems.append(problem)
            case .message(.failed(let reason), _): throw MediaError(order.source, reason)
            case .message(.request(_, let request), _):
                // The reader closes its source and ends.
                session.waitForEnd(until: .now + leaveLimit)
                return .asks(request)
            case .message(let message, let descriptor): if heard.notes.count < mostNotes { heard.notes.append((message, descriptor)) }
            }
        }
    }
}

extension ReaderDeath {
    /// A reader without progress: while it reads, that is the disk's fault.
    init(noProgressWithin limit: MediaTime, at page: ControlPage) {
        self = page.activity == .reading ? .silent(seconds: limit.seconds) : .stalled(seconds: limit.seconds)
    }
}
