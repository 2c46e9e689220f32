import KioskMedia
import KioskPlatform
import KioskVocabulary

/// An order from a player to its reader. One order at a time is under way. ``cancel`` and the answers to requests may come at any time.
package enum ReaderOrder: Hashable, Sendable {
    /// Opens a source; the first order, and the only one of its kind. Answered by `described` and `landed`, or by a `result`, possibly with
    /// a descriptor.
    case open(OpenOrder)
    /// Continues at an item time. Answered by `landed`.
    case seek(MediaTime, MediaReader.SeekPrecision)
    /// Drops the delay of a live stream. Answered by `landed`.
    case catchUp
    /// Plays another sound track, from an item time if none played before. Answered by `selected` and `landed`.
    case select(TrackChoice, at: MediaTime)
    /// Draws other subtitles, or for another screen; sends those visible at an item time first. Answered by `selected` and `landed`.
    case subtitles(SubtitleOrder, at: MediaTime)
    /// Draws the key frame nearest to an item time. Answered by a `result`.
    case preview(MediaTime)
    /// Ends, and closes the session with its server if it is a stream.
    case close
    /// Ends the current order and all later ones with ``MediaError/Reason/cancelled``.
    case cancel
    /// Grants a request; the descriptor of the file comes with it.
    case grant(UInt32)
    case refuse(UInt32, FileFailure)
    /// The addresses of a host, as numbers; none if it is unknown.
    case addresses(UInt32, [String])
    /// The memory that the display offers from now on; the reader must draw into no other.
    case planes([PlaneOffer])
    /// Grants a request for memory: the number by which picture records refer to it. Its descriptor comes with it.
    case lend(UInt32, buffer: Int)
    /// A step of a film in the making; any number of them at a time.
    case film(FilmStep)

    /// The most addresses of a host in one answer.
    package static let mostAddresses = 8
}

/// The source to open, and the purpose.
package struct OpenOrder: Hashable, Sendable {
    /// An order may take this many times its time limit in all, if it has to wait for a processor.
    package static let patience: Int64 = 20

    /// The purpose of reading a source.
    package enum Role: Hashable, Sendable {
        /// Pictures and sound.
        case play
        /// Key frames that fit into a size, at times on demand.
        case previews(PixelSize)
        /// A small picture that fits into a size, and the facts.
        case thumbnail(PixelSize)
        /// The artwork of the source, as a file.
        case cover
        /// The time of each picture (``MediaReader/pictureTimes(isCancelled:)``).
        case times
        /// A film made from the player's pictures and samples. There is no source.
        case film(FilmJob)
        /// The descriptor of the file; the reader reads nothing from it. If there is a folder, the path is relative to it and must not
        /// leave it.
        case file(folder: String?)

        package var isFilm: Bool { if case .film = self { true } else { false } }

        fileprivate static let longestSide = 4096
        /// Nineteen hours of 60 pictures a second.
        fileprivate static let mostTimes = 1 << 22
    }

    package var role: Role
    /// A path, or a URL with its scheme.
    package var source: String
    /// Whether it is a file with a server's bytes, which may not be a list.
    package var isKept = false
    /// The other files and addresses that the source may open.
    package var reach: SourceReach
    /// How to fetch it.
    package var settings = StreamSettings()
    /// The format to convert sound to; nil drops the sound.
    package var samples: AudioFormat?
    /// The number of decoder threads for pictures.
    package var threads = 1
    /// Whether one thread has proved enough for it; after a seek it still gets all of them.
    package var isLight = false
    package var decoder = DecoderWish.software
    package var audio = TrackChoice.automatic, video = TrackChoice.automatic
    /// nil: the player never wants subtitles from it.
    package var subtitles: SubtitleOrder?
    package var deinterlacing = MediaReader.Deinterlacing.fields
    /// Whether to make a picture of each field however long that takes.
    package var takesTime = false
    /// Whether its interlaced pictures were seen to need libavfilter. The reader has to load it before it enters the sandbox.
    package var needsFilters = false
    /// Whether the reader has devices to decode with, and its place in ``DevicePage``; nil if all are taken.
    package var usesDevices = false, devicePlace: Int?
    /// Whether to drop its sound if there is a picture.
    package var isMuted = false
    /// The observed throughput of the line to its server, in bits a second.
    package var lineSpeed: Double?
    /// Whether the log lines of the libraries have a reader.
    package var isLogged = false
    /// The item time to start at, and how exactly.
    package var start = MediaTime.zero, precision = MediaReader.SeekPrecision.exact
    package var displaySize: PixelSize?
    /// The memory that the display offers.
    package var planes: [PlaneOffer] = []
    /// The most bytes for its pictures.
    package var pictureMemory: Int
    /// The findings of an earlier reader of this version of the file (``ReaderDescription/found``).
    package var found: [Int] = []

    /// Whether it comes over the network, or may refer to sources that do.
    package var needsNetwork: Bool { !isKept && (isStream(source) || settings.mayNameNetwork) }
    /// The time limit of a step of opening it.
    package var stepLimit: MediaTime { needsNetwork ? settings.timeout + openingTimeLimit : openingTimeLimit }
    /// How long it may give nothing. After a break the reader asks for it again, and the next part of a list comes once it exists.
    package var silenceLimit: MediaTime { needsNetwork ? settings.timeout + settings.reconnect + openingTimeLimit : readingTimeLimit }

    /// Bytes of the memory for its results, including the pictures in playback. It takes only as much of the machine's memory as is
    /// written.
    package var memoryCapacity: Int {
        switch role {
        case .file: 0
        // Twice the estimate for a source's pictures: decoders keep more of them than they report.
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
    /// The most numbers in ``found``.
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
