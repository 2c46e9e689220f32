import KioskMedia
import KioskPlatform
import KioskVocabulary

/// What a player tells its reader to do. One order at a time is under way, but for ``cancel`` and the answers to requests, which may be sent at any
/// time.
package enum ReaderOrder: Hashable, Sendable {
    /// Opens a source; the first order, and the only one of its kind. Answered by `described` and `landed`, or by a `result`, with which a
    /// descriptor may come.
    case open(OpenOrder)
    /// Goes on at an item time. Answered by `landed`.
    case seek(MediaTime, MediaReader.SeekPrecision)
    /// Leaves out what a live stream is behind. Answered by `landed`.
    case catchUp
    /// Plays another sound track, which begins at an item time where there is none before it. Answered by `selected` and `landed`.
    case select(TrackChoice, at: MediaTime)
    /// Draws other subtitles, or for another screen; what is seen of them at an item time is told first. Answered by `selected` and `landed`.
    case subtitles(SubtitleOrder, at: MediaTime)
    /// Draws the key frame nearest to an item time. Answered by a `result`.
    case preview(MediaTime)
    /// Ends, and takes leave of its server where it is a stream.
    case close
    /// Ends what is under way with ``MediaError/Reason/cancelled``, and all that is ordered later.
    case cancel
    /// The answer to a request; the descriptor of the file comes with it.
    case grant(UInt32)
    case refuse(UInt32, FileFailure)
    /// Those of a host, as numbers; none where nobody knows it.
    case addresses(UInt32, [String])
    /// Which memory the display offers from now on; no other is to be drawn into.
    case planes([PlaneOffer])
    /// The answer to a request for memory: a number, by which pictures name it. Its descriptor comes with it.
    case lend(UInt32, buffer: Int)
    /// Of a film that is being made; any number of them at a time.
    case film(FilmStep)

    /// So many addresses of a host are told.
    package static let mostAddresses = 8
}

/// What is to be opened, and for what.
package struct OpenOrder: Hashable, Sendable {
    /// So many times as long as its limit says may something take in all that waits for a processor meanwhile.
    package static let patience: Int64 = 20

    /// What is made of a source.
    package enum Role: Hashable, Sendable {
        /// Pictures and sound.
        case play
        /// Key frames that fit into a size, at times that are asked for.
        case previews(PixelSize)
        /// A small picture that fits into a size, and the facts.
        case thumbnail(PixelSize)
        /// The picture that belongs to it, as a file.
        case cover
        /// When each picture is shown (``MediaReader/pictureTimes(isCancelled:)``).
        case times
        /// A film, of what the player gives. There is no source.
        case film(FilmJob)
        /// Its descriptor: nothing of it is read. The path is one beneath a folder that it must not lead out of, where there is one.
        case file(folder: String?)

        package var isFilm: Bool { if case .film = self { true } else { false } }

        fileprivate static let longestSide = 4096
        /// Nineteen hours of 60 pictures a second.
        fileprivate static let mostTimes = 1 << 22
    }

    package var role: Role
    /// A path, or a URL with its scheme.
    package var source: String
    /// Whether it is a file with the bytes of a server, which may be no list.
    package var isKept = false
    /// What it may have opened besides itself.
    package var reach: SourceReach
    /// How it is fetched.
    package var settings = StreamSettings()
    /// What sound is converted to; nil leaves it out.
    package var samples: AudioFormat?
    /// Threads for pictures; and for those that take little.
    package var threads = 1
    /// Whether one thread has shown to do for it, which has all of them after a seek all the same.
    package var isLight = false
    package var decoder = DecoderWish.software
    package var audio = TrackChoice.automatic, video = TrackChoice.automatic
    /// nil: no subtitles are ever wanted of it.
    package var subtitles: SubtitleOrder?
    package var deinterlacing = MediaReader.Deinterlacing.fields
    /// Whether a picture is made of each field however long that takes.
    package var takesTime = false
    /// Whether its interlaced pictures were seen to need libavfilter, which has to be loaded before the sandbox is entered.
    package var needsFilters = false
    /// Whether the reader has devices to decode with, and its place in ``DevicePage``; nil where all are taken.
    package var usesDevices = false, devicePlace: Int?
    /// Whether its sound is left out where there is a picture.
    package var isMuted = false
    /// What the line to its server was seen to carry, in bits a second.
    package var lineSpeed: Double?
    /// Whether somebody reads what the libraries log.
    package var isLogged = false
    /// Where it begins, and how exactly.
    package var start = MediaTime.zero, precision = MediaReader.SeekPrecision.exact
    package var displaySize: PixelSize?
    /// What memory the display offers.
    package var planes: [PlaneOffer] = []
    /// Bytes that its pictures may take.
    package var pictureMemory: Int
    /// What an earlier reader has found in this version of the file (``ReaderDescription/found``).
    package var found: [Int] = []

    /// Whether it comes over the network, or may name what does.
    package var needsNetwork: Bool { !isKept && (isStream(source) || settings.mayNameNetwork) }
    /// How long a step of opening it may take.
    package var stepLimit: MediaTime { needsNetwork ? settings.timeout + openingTimeLimit : openingTimeLimit }
    /// How long it may give nothing: it is asked for again where it breaks off, and the next part of a list comes when it is made.
    package var silenceLimit: MediaTime { needsNetwork ? settings.timeout + settings.reconnect + openingTimeLimit : readingTimeLimit }

    /// Bytes of the memory that its results lie in, the pictures that are played among them. It takes only as much of the machine's as is written to.
    package var memoryCapacity: Int {
        switch role {
        case .file: 0
        // Twice what a source's pictures are thought to take: decoders keep more of them than is told.
        case .play: min(max(2 * pictureMemory, 128 << 20), 1 << 30) & ~4095
        case .previews(let size), .thumbnail(let size):
            min(max(size.width, 1), Role.longestSide) * min(max(size.height, 1), Role.longestSide) * 4
        case .cover: 16 << 20
        case .times: Role.mostTimes * MemoryLayout<Int64>.size
        case .film(let job): job.layout.byteCount
        }
    }

    package init(_ role: Role, _ source: String, reach: SourceReach, pictureMemory: Int) {
        (self.role, self.source, self.reach, self.pictureMemory) = (role, source, reach, pictureMemory)
    }
}

// MARK: As bytes

extension ReaderOrder: WireMessage {
    package static let mostParts = 1

    package func write(to wire: inout WireWriter) -> UInt16 {
        switch self {
        case .open(let order): return wire.message(1, order)
        case .seek(let time, let precision): return wire.message(2, time, precision)
        case .catchUp: return 3
        case .select(let choice, let time): return wire.message(4, choice, time)
        case .preview(let time): return wire.message(5, time)
        case .close: return 6
        case .cancel: return 7
        case .grant(let request): return wire.message(8, request)
        case .refuse(let request, let refusal): return wire.message(9, request, refusal)
        case .addresses(let request, let addresses):
            wire.put(request)
            wire.put(list: addresses.prefix(Self.mostAddresses).map { WireText(exactly: $0, .name) })
            return 10
        case .film(let step): return wire.message(11, step)
        case .planes(let offers):
            wire.put(list: offers)
            return 12
        case .lend(let request, let buffer): return wire.message(13, request, buffer)
        case .subtitles(let order, let time): return wire.message(14, order, time)
        }
    }

    package init(kind: UInt16, from wire: inout WireReader) throws(WireError) {
        switch kind {
        case 1: self = .open(try wire.take())
        case 2: self = .seek(try wire.take(), try wire.take())
        case 3: self = .catchUp
        case 4: self = .select(try wire.take(), at: try wire.take())
        case 5: self = .preview(try wire.take())
        case 6: self = .close
        case 7: self = .cancel
        case 8: self = .grant(try wire.take())
        case 9: self = .refuse(try wire.take(), try wire.take())
        case 10: self = .addresses(try wire.take(), try wire.texts(atMost: Self.mostAddresses, .name))
        case 11: self = .film(try wire.take())
        case 12: self = .planes(try wire.list(atMost: PlaneOffer.most))
        case 13: self = .lend(try wire.take(), buffer: try wire.take(in: 0...ControlLayout.pictureCount - 1))
        case 14: self = .subtitles(try wire.take(), at: try wire.take())
        default: throw .unknown("order", Int(kind))
        }
    }
}

extension OpenOrder.Role: WireValue {
    package func write(to wire: inout WireWriter) {
        switch self {
        case .play: wire.put(0 as UInt8)
        case .previews(let size): wire.put(1 as UInt8, size)
        case .thumbnail(let size): wire.put(2 as UInt8, size)
        case .cover: wire.put(3 as UInt8)
        case .file(let folder): wire.put(4 as UInt8, WireText(exactly: folder, .location))
        case .times: wire.put(5 as UInt8)
        case .film(let job): wire.put(6 as UInt8, job)
        }
    }

    package init(from wire: inout WireReader) throws(WireError) {
        let number = try wire.take() as UInt8
        switch number {
        case 0: self = .play
        case 1: self = .previews(try wire.take())
        case 2: self = .thumbnail(try wire.take())
        case 3: self = .cover
        case 4: self = .file(folder: try wire.text(.location))
        case 5: self = .times
        case 6: self = .film(try wire.take())
        default: throw .unknown("role", Int(number))
        }
    }
}

extension OpenOrder: WireRecord {
    /// Numbers of ``found`` at most.
    static let mostFound = 512

    package static var blank: OpenOrder { OpenOrder(.play, "", reach: .blank, pictureMemory: 0) }
    package static let fields: [WireField<Self>] = [
        .value(\.role), .exact(\.source, .location), .value(\.isKept), .value(\.reach), .value(\.settings), .value(\.samples),
        .number(\.threads, 1...64), .value(\.isLight), .value(\.decoder), .value(\.audio), .value(\.video),
        .value(\.deinterlacing), .value(\.takesTime), .value(\.needsFilters), .value(\.usesDevices),
        .number(\.devicePlace, 0...DevicePage.mostReaders - 1), .value(\.isMuted), .number(\.lineSpeed, Throughput.plausible),
        .value(\.isLogged), .value(\.start),
        .value(\.precision), .value(\.displaySize),
        .number(\.pictureMemory, 0...1 << 40), .list(\.found, atMost: mostFound), .list(\.planes, atMost: PlaneOffer.most),
        .value(\.subtitles),
    ]
}

extension FileFailure: WireValue {
    private static let plain: [Self] = [.isDirectory, .notARegularFile, .isEmpty, .notReadable, .leadsOutside, .interrupted]

    package func write(to wire: inout WireWriter) {
        switch self {
        case .isDirectory, .notARegularFile, .isEmpty, .notReadable, .leadsOutside, .interrupted:
            wire.put(UInt8(clamping: Self.plain.firstIndex(of: self) ?? 0))
        case .system(let code):
            wire.put(64 as UInt8, code)
        case .refused(let reason): wire.put(65 as UInt8, reason)
        }
    }

    package init(from wire: inout WireReader) throws(WireError) {
        let number = Int(try wire.take() as UInt8)
        switch number {
        case 64: self = .system(try wire.take())
        case 65: self = .refused(try wire.take())
        default:
            guard Self.plain.indices.contains(number) else { throw .unknown("failure", number) }
            self = Self.plain[number]
        }
    }
}
