import KioskMedia
import KioskPlatform
import KioskReaderProtocol
import KioskReaders
import KioskVocabulary
import Logging

/// Opens the sources of a playlist, for playback, export or inspection. It remembers facts about a source for the next time. Its decoder
/// has died (``CrashRecord``); it has more fields than the machine can make pictures of; it needs libavfilter; or a device may decode it.
struct SourceOpener: Sendable {
    /// The format that sound is converted to.
    var samples: AudioFormat
    var decoderThreads = 1
    /// The node of the hardware decoder's device; nil for any.
    var decoderDevice: String?
    /// Whether each field becomes a picture, however long that takes.
    var takesTime = false
    /// The log of damage that cannot be decoded.
    var damages: DamageLog?
    /// The size of the display in pixels; nil without one.
    var displaySize: @Sendable () -> (width: Int, height: Int)? = { nil }
    /// The look of subtitles, and the screen and region that they are drawn for; nil if no subtitles are wanted.
    var subtitles: @Sendable () -> SubtitleOrder? = { nil }
    /// The cached files of network sources.
    var files: (any AssetFiles)?
    /// Whether to refuse lists, which name other files.
    var takesNoLists = false
    /// The processes, or threads, that read.
    var readers: Readers
    private let memory = Monitor(Memory())

    /// A path and the version of its file.
    private struct Source: Hashable {
        let path: Path, version: FileVersion?

        init(_ item: PlaylistItem) { (path, version) = (item.path, item.version) }
    }

    private struct Memory {
        var crashes = CrashRecord()
        /// Sources of which each frame becomes one picture, from their next playthrough on.
        var slow: Set<Source> = []
        var filtered: Set<Source> = []
        /// Sources whose subtitles need libass.
        var texts: Set<Source> = []
        /// Sources that a device may decode.
        var forDevice: Set<Source> = []
        /// Shapes that the devices refuse (``MediaReader/shape``), and until when to believe it.
        var refused: [String: HostTime] = [:]

        /// The most sources that are remembered of each kind.
        static let mostSources = 1000

        mutating func note(_ source: Source, in sources: WritableKeyPath<Self, Set<Source>>) {
            if self[keyPath: sources].count >= Self.mostSources { self[keyPath: sources].removeAll() }
            self[keyPath: sources].insert(source)
        }
    }

    init(samples: AudioFormat, readers: Readers) { (self.samples, self.readers) = (samples, readers) }

    /// Opens an item; blocks until it is open, or until `interruption` ends that.
    ///
    /// - Throws: ``MediaError`` with the problem of the item.
    func open(_ request: ItemOpener.Request, _ interruption: Interruption) throws(MediaError) -> ItemOpener.Opened {
        let source = request.item.source
        let location = files?.file(for: source)
        if let location {
            do throws(MediaError) { return try open(request, at: location, interruption) } catch {
                switch error.reason {
                // A cancellation says nothing about the copy. A source that kills its decoder must not be opened from the server either.
                case .cancelled, .readerFailed: throw error
                default: files?.reject(source, at: location)
                }
            }
        }
        return try open(request, at: takesNoLists ? source : nil, interruption)
    }

    private static func canBegin(_ asset: AssetDescription, at time: MediaTime) -> Bool {
        time > .zero && !asset.isStill && asset.isSeekable
    }

    /// Returns the complaint if a source does not begin where it was to begin.
    private static func beginsElsewhere(_ asset: AssetDescription, _ time: MediaTime) -> String? {
        time > .zero && !asset.isStill && !asset.isSeekable ? ItemInspection.startIsItsBeginning(time) : nil
    }

    private func fields(of item: PlaylistItem) -> MediaReader.Deinterlacing {
        memory.withLock { $0.slow.contains(Source(item)) } ? .frames : .fields
    }

    private func noteSlow(_ item: PlaylistItem) -> @Sendable () -> Void {
        let source = Source(item)
        return { [memory] in memory.withLock { $0.note(source, in: \.slow) } }
    }

    /// Notes that devices do not decode an item, or not now.
    private func refuse(_ shape: String, _ source: Source) {
        memory.withLock { memory in
            memory.forDevice.remove(source)
            if memory.refused.count >= Self.mostRefused { memory.refused = [:] }
            memory.refused[shape] = .now + Self.refusalTime
        }
    }

    private static let mostRefused = 64
    /// How long a refusal is believed of all sources of that shape: devices come, and displays change.
    private static let refusalTime = MediaTime.seconds(600)

    /// Returns the order to read an item.
    ///
    /// - Parameter location: the file to open instead: the cached copy of a URL.
    private func order(for request: ItemOpener.Request, at location: String?) -> OpenOrder {
        let item = request.item, source = location ?? item.source
        var order = OpenOrder(.play, source, item.stream, isKept: location != nil)
        let failure = HardwareHistory.failure(source)
        let nodes = item.decoder == .automatic && failure == nil ? DecoderChoice.Nodes.usable(device: decoderDevice) : .init()
        // A thread has the devices of its process. A process gets them once its item has proved to need them.
        let isForDevice = !nodes.isEmpty && (readers.isolation == .thread || memory.withLock { $0.forDevice.contains(Source(item)) })
        order.usesDevices = item.decoder == .hardware && failure == nil || isForDevice
        (order.samples, order.threads) = (samples, decoderThreads)
        (order.audio, order.video, order.isMuted) = (item.audioTrack, item.videoTrack, item.isMuted)
        (order.start, order.precision) = (request.time, request.precision)
        (order.takesTime, order.deinterlacing) = (takesTime, item.deinterlace == .off ? .off : fields(of: item))
        order.displaySize = displaySize().map { PixelSize(width: $0.width, height: $0.height) }
        order.needsFilters = memory.withLock { $0.filtered.contains(Source(item)) }
        order.subtitles = subtitles()
        order.subtitles?.choice = item.subtitleTrack
        order.subtitles?.screen?.gravity = item.gravity
        // A cached file has no other files beside it.
        if location == nil, !isStream(source) { order.subtitles?.folder = Path(withoutFileScheme(source)).parts?.folder.string }
        order.subtitles?.hasText = memory.withLock { $0.texts.contains(Source(item)) }
        // If it has failed, the description gives the reason for software decoding.
        if order.usesDevices || item.decoder == .hardware { order.decoder.setting = item.decoder }
        (order.decoder.device, order.decoder.failure) = (decoderDevice, failure)
        if item.decoder == .automatic, !order.usesDevices {
            order.decoder.elsewhere = nodes
            let now = HostTime.now
            order.decoder.refused = memory.withLock { Set($0.refused.filter { $0.value > now }.keys) }
        }
        return order
    }

    /// - Parameter location: the file to open instead: the cached copy of a URL.
    private func open(
        _ request: ItemOpener.Request, at location: String?, _ interruption: Interruption
    ) throws(MediaError) -> ItemOpener.Opened {
        let order = order(for: request, at: location)
        let (item, path) = (request.item, request.item.path)
        let turn = memory.withLock { $0.crashes.turn(of: path, item.version, isAlone: request.isAlone, now: .now) }
        if case .leftOut(let pause, let reason) = turn {
            throw MediaError(item.source, .readerFailed("\(reason): kiosk leaves it out for \(decimal(pause.seconds)) s"))
        }
        // A seek of the viewer goes to its target, whatever happened there.
        if case .behind(let place, let reason) = turn, request.time <= item.start {
            if let client = try pass(place, order, interruption) {
                let problem = "begins at \(decimal(client.start.seconds)) s: \(reason) at \(decimal(place.seconds)) s"
                return opened(client, for: item, [problem])
            }
            memory.withLock { $0.crashes.hasNothingBehind(path) }
        }
        let client = try client(order, interruption)
        if let shape = client.refusedShape {
            refuse(shape, Source(item))
        } else if client.usesDevices, item.decoder == .automatic {
            memory.withLock { $0.note(Source(item), in: \.forDevice) }
        }
        return opened(client, for: item, Self.beginsElsewhere(client.description, request.time).map { [$0] } ?? [])
    }

    /// Has a source read; without devices if a process with devices has not survived it.
    private func client(_ order: OpenOrder, _ interruption: Interruption) throws(MediaError) -> ReaderClient {
        do throws(MediaError) { return try ReaderClient(order, by: readers, interruption) } catch {
            guard case .readerFailed(let reason) = error.reason, order.usesDevices || order.decoder.elsewhere?.isEmpty == false else {
                throw error
            }
            var order = order
            order.decoder.failure = Self.deviceFailure(reason)
            HardwareHistory.failed(order.source, Self.deviceFailure(reason))
            (order.usesDevices, order.decoder.setting, order.decoder.elsewhere) = (false, .software, nil)
            return try ReaderClient(order, by: readers, interruption)
        }
    }

    private static func deviceFailure(_ reason: String) -> String { "the process that decoded it with a device has ended: \(reason)" }

    private func opened(_ client: ReaderClient, for item: PlaylistItem, _ problems: [String]) -> ItemOpener.Opened {
        Logger(label: "playback").debug("\(item.source.withoutCredentials): opened, and decoders made")
        let path = item.path
        if client.needsFilters { memory.withLock { $0.note(Source(item), in: \.filtered) } }
        if client.needsText { memory.withLock { $0.note(Source(item), in: \.texts) } }
        let length = client.description.video?.duration ?? client.description.duration
        let isDecodedByDevice = client.usesDevices && client.refusedShape == nil
        let reader = SourceReader(
            client, problems: problems, damages: damages.map { ($0, item.source) }, onTooSlow: noteSlow(item)
        ) { [memory] ending in
            // The driver may be at fault: try software before leaving the file out.
            if isDecodedByDevice, case .died(let reason, _, _) = ending {
                return HardwareHistory.failed(client.source, Self.deviceFailure(reason))
            }
            memory.withLock { memory in
                switch ending {
                case .ended: memory.crashes.ended(path)
                case .fellSilent(let reason): memory.crashes.fellSilent(path, item.version, of: reason, now: .now)
                case .died(let reason, let place, let start):
                    memory.crashes.died(
                        path, item.version, of: reason, at: place, from: start,
                        isLast: length.map { $0 - place < Self.gap } ?? !client.description.isLocal, now: .now)
                }
            }
        }
        return .init(reader: reader, time: client.start)
    }

    /// How far behind the place of a decoder's death the next turn begins, at first and at most.
    private static let gap = MediaTime.seconds(2), longestGap = MediaTime.seconds(64)

    /// Opens a source behind an item time, at the first key frame that is found there. Returns nil if there is none near, or it cannot be
    /// decoded.
    private func pass(_ place: MediaTime, _ order: OpenOrder, _ interruption: Interruption) throws(MediaError) -> ReaderClient? {
        var (order, gap) = (order, Self.gap)
        (order.start, order.precision) = (place + gap, .keyFrame())
        do throws(MediaError) {
            let client = try ReaderClient(order, by: readers, interruption)
            let asset = client.description
            let end = asset.video?.duration ?? asset.duration
            while client.start <= place {
                gap = gap + gap
                guard Self.canBegin(asset, at: place + gap), gap <= Self.longestGap, end.map({ place + gap < $0 }) ?? true else {
                    return nil
                }
                _ = try client.seek(to: place + gap, precision: .keyFrame())
            }
            return client
        } catch {
            if error.reason == .cancelled { throw error }
            return nil
        }
    }
}

extension ItemOpener {
    /// Creates an opener for the sources of playlists.
    convenience init(_ opener: SourceOpener, onOutcome: @escaping @Sendable () -> Void) {
        self.init(open: { (request, interruption) throws(MediaError) in try opener.open(request, interruption) }, onOutcome: onOutcome)
    }
}
