import CKioskFFmpeg
import Glibc
import KioskPlatform
import KioskVocabulary
import Synchronization

/// Receives the packets of a source that comes over the network, on a thread of its own: who decodes finds them ready, and a gap of the
/// network is bridged by what has been received before it.
///
/// Of a file that is fetched up to ``Limits`` is read ahead; then the connection waits. A live stream does not wait: what is received
/// beyond the limits pushes out the oldest, and while nobody has begun to take packets (the stream is open and waits to be played) no more
/// than the goal is kept, from a key frame on. ``ReceptionGate`` says when packets may be taken.
///
/// The thread alone calls libavformat, once it runs: seeks are carried out there, too.
final class PacketReceiver: @unchecked Sendable {
    // Sendable because the context is touched by the thread alone, and the state is behind a lock.

    /// What there is for who takes packets.
    enum Taken: ~Copyable {
        case packet(Packet)
        /// The source has ended, or reading has failed with this error.
        case end(status: Int32)
    }

    private struct Limits {
        static let time = MediaTime.seconds(30)
        static let bytes = 32 << 20
    }

    private struct Seek {
        var index: Int32
        var timestamp: Int64
        var mayJump: Bool
    }

    private struct State: ~Copyable {
        var packets = ReceivedPackets()
        var gate: ReceptionGate
        var end: Int32?
        var isEncrypted = false
        var extent: StreamClock.Extent
        var seek: Seek?
        var seekStatus: Int32?
        /// The sound stream that is wanted; -1 for none.
        var audio: Int32
        /// The stream of subtitles that is wanted; nil until that is said: all are kept until then.
        var subtitle: Int32?
        /// The source has been opened: to wait for a packet before is no gap.
        var isOpen = false
        /// Open, and nobody has begun to take packets.
        var isParked = false
        var isStopping = false
    }

    /// What the thread is to do.
    private enum Work {
        case read, seek(Seek), stop
    }

    let isLive: Bool
    /// Tells others than who decodes how much has come.
    let meter: Monitor<ReceptionProgress>
    private let format: FormatContext
    private let interruption: Interruption
    private let video: Int32
    /// The sound stream that libavformat gives out; the thread's alone.
    private var heard: Int32
    private var shown: Int32?
    /// How long a read may take.
    private let limit: MediaTime
    /// What a live stream keeps, at least, while it waits to be played.
    private let beginning: MediaTime
    private let state: Monitor<State>

    /// Of what is fetched, so much is collected after a gap.
    private static let goalOfFiles = MediaTime.seconds(2)
    private static let partlyBeginning = MediaTime.seconds(12)
    private static let longestPart = MediaTime.seconds(12)

    init(
        _ format: FormatContext, streams: StreamIndices, interruption: Interruption, isLive: Bool, isPartly: Bool, settings: StreamSettings,
        keepsAllSubtitles: Bool = false, extent: StreamClock.Extent
    ) {
        shown = keepsAllSubtitles ? nil : -1
        (self.format, self.interruption, self.isLive) = (format, interruption, isLive)
        (video, heard) = (streams.video, streams.audio)
        meter = Monitor(ReceptionProgress(since: format.input.begin))
        // What a server has ready at the start of a stream is played.
        beginning = isPartly && settings.latency == nil ? Self.partlyBeginning : .zero
        // What is fetched is asked for again by libavformat itself, from where it broke off.
        // The next part of a list comes no sooner than the sender has made it.
        let patience = isLive && format.isList ? Self.longestPart : .zero
        limit = isLive ? settings.timeout + patience : settings.timeout + settings.reconnect
        let goal = isLive ? settings.latency ?? StreamSettings.defaultLatency : Self.goalOfFiles
        state = Monitor(State(gate: ReceptionGate(goal: goal), extent: extent, audio: streams.audio, subtitle: shown))
    }

    /// Starts the thread, which keeps this object until ``stop()``.
    func start() -> Thread { Thread("receiver") { [self] in run() } }

    /// Ends the thread.
    func stop() {
        state.signal { $0.isStopping = true }
        interruption.cancel()
    }

    // MARK: For who decodes

    /// The next packet; nil where none may be taken before `deadline`.
    func take(until deadline: HostTime) -> Taken? {
        let taken: Taken? = state.wait(until: deadline) { state -> Taken? in
            state.isParked = false
            let now = HostTime.now
            if state.packets.count == 0 {
                if let end = state.end { return .end(status: end) }
                if state.isOpen { state.gate.ranDry(at: now) }
                return nil
            }
            let isFull = Self.isFull(state) || state.end != nil
            guard state.gate.isOpen(level: state.packets.level, isFull: isFull, at: now), let packet = state.packets.popFirst() else {
                return nil
            }
            return .packet(packet)
        }
        state.signal { _ in }  // there may be room again
        return taken
    }

    /// The source has been opened: a live stream is to be received for a while before it goes on, and waits to be played.
    func opened() {
        state.withLock { state in
            state.isOpen = true
            guard isLive else { return }
            state.gate.fill(at: .now)
            state.isParked = true
        }
    }

    /// What lies ready at one moment.
    struct Level: Hashable, Sendable {
        /// Of either stream; nil where it has no packet here.
        var pictures: MediaTime?, sound: MediaTime?
        /// How much is to, and how often it was not enough.
        var goal: MediaTime, gaps: Int
        /// What the ``meter`` had counted by then.
        var received: MediaTime, seeks: Int
    }

    var level: Level {
        state.withLock { state in
            let (pictures, sound) = (state.packets.pictures, state.packets.sound)
            let (received, seeks) = meter.withLock { ($0.received, $0.seeks) }
            return Level(
                pictures: pictures.count > 0 ? pictures.level : nil, sound: sound.count > 0 ? sound.level : nil, goal: state.gate.goal,
                gaps: state.gate.gaps, received: received, seeks: seeks)
        }
    }

    var isEncrypted: Bool { state.withLock { $0.isEncrypted } }
    var extent: StreamClock.Extent { state.withLock { $0.extent } }

    /// Has the thread seek; returns libavformat's status, nil where that took too long.
    func seek(index: Int32, timestamp: Int64, mayJump: Bool, until deadline: HostTime) -> Int32? {
        state.signal { state in
            state.seek = Seek(index: index, timestamp: timestamp, mayJump: mayJump)
            state.seekStatus = nil
        }
        while !interruption.cancelled, HostTime.now < deadline {
            let slice = min(deadline, HostTime.now + .milliseconds(100))
            if let status = state.wait(until: slice, { $0.seekStatus }) { return status }
        }
        return nil
    }

    /// Receives another sound stream from now on; -1 for none. What has been received of the one before is left out.
    func listen(to audio: Int32) {
        state.signal { state in
            state.audio = audio
            state.packets.removeSound()
        }
    }

    /// Receives another stream of subtitles from now on; -1 for none.
    func listen(toSubtitles index: Int32) { state.signal { $0.subtitle = index } }

    // MARK: The thread

    private func run() {
        while true {
            let since = HostTime.now
            meter.withLock { $0.rest(at: since) }
            guard let work: Work = state.wait({ self.work(in: &$0) }) else { return }
            let now = HostTime.now
            format.input.idle = format.input.idle + (now - since)
            meter.withLock { $0.goOn(at: now) }
            switch work {
            case .stop: return
            case .read: read()
            case .seek(let seek): carryOut(seek)
            }
        }
    }

    private func work(in state: inout State) -> Work? {
        if state.isStopping { return .stop }
        if let seek = state.seek.take() { return .seek(seek) }
        if state.end != nil || interruption.cancelled && state.packets.count > 0 { return nil }
        return isLive || !Self.isFull(state) ? .read : nil
    }

    private static func isFull(_ state: borrowing State) -> Bool {
        state.packets.level > Limits.time || state.packets.byteCount > Limits.bytes
    }

    private func read() {
        let (audio, subtitle) = state.withLock { ($0.audio, $0.subtitle) }
        follow(audio, &heard)
        followSubtitles(subtitle)
        let streams = StreamIndices(video: video, audio: audio, subtitle: subtitle ?? -1)
        let packet = Packet()
        var status = format.read(packet, within: limit, interruption)
        let index = packet.raw.pointee.stream_index
        let extent = format.extent(of: streams)
        // A variant that the line has shown not to carry: another is chosen where the stream is opened again.
        if status >= 0, isTooFast { status = Self.tooFast }
        guard status >= 0 else {
            return state.signal { state in
                state.end = status
                meter.withLock { $0.finish(status == kAVERROR_EOF ? .whole : .failed) }
            }
        }
        guard let stream = format.raw.pointee.streams[Int(index)] else { return }
        let isSubtitle = stream.pointee.codecpar.pointee.codec_type == AVMEDIA_TYPE_SUBTITLE
        guard streams.contains(index) || isSubtitle && subtitle == nil else { return }
        let isPicture = index == streams.video
        let stamp = packet.raw.pointee.dts == kAV_NOPTS_VALUE ? packet.raw.pointee.pts : packet.raw.pointee.dts
        let (time, duration) = (stream.time(stamp), stream.time(packet.raw.pointee.duration) ?? .zero)
        let isEncrypted = shim_packet_is_encrypted(packet.raw) != 0
        var given: Packet? = packet
        state.signal { state in
            if isEncrypted { state.isEncrypted = true }
            state.extent = extent
            if isSubtitle {
                if state.subtitle.map({ $0 == index }) ?? true { state.packets.append(subtitles: given.take()!) }
                return
            }
            if !isPicture, state.audio != index { return }
            let now = HostTime.now
            state.gate.received(at: now)
            let step = state.packets.append(given.take()!, isPicture: isPicture, at: time, lasting: duration)
            meter.withLock { $0.receive(step, isPicture: isPicture, at: now) }
            guard isLive else { return }
            if state.isParked, isPicture || video < 0 {
                state.packets.drop(keeping: max(state.gate.goal, beginning), hasPictures: video >= 0)
            } else if Self.isFull(state) {
                state.packets.drop(keeping: Limits.time.scaled(by: 0.5), hasPictures: video >= 0)
            }
        }
    }

    /// Has libavformat give out `wanted` of two streams.
    private func follow(_ wanted: Int32, _ present: inout Int32) {
        if wanted == present { return }
        if present >= 0 { shim_stream_discard(format.raw.pointee.streams[Int(present)], 1) }
        if wanted >= 0 { shim_stream_discard(format.raw.pointee.streams[Int(wanted)], 0) }
        present = wanted
    }

    /// Has libavformat give out this stream of subtitles alone; nothing where it has still to be said which.
    private func followSubtitles(_ wanted: Int32?) {
        guard let wanted, wanted != shown else { return }
        shown = wanted
        for index in 0..<Int(format.raw.pointee.nb_streams) {
            guard let stream = format.raw.pointee.streams[index], stream.pointee.codecpar.pointee.codec_type == AVMEDIA_TYPE_SUBTITLE else {
                continue
            }
            shim_stream_discard(stream, Int32(index) == wanted ? 0 : 1)
        }
    }

    /// Whether the stream has run dry, and takes more than the line carries.
    private var isTooFast: Bool {
        guard let bandwidth = format.input.variantBandwidth, state.withLock({ $0.gate.gaps > 0 }),
            let throughput = Throughput.seen.withLock({ $0.of(format.input.lastServer) })
        else { return false }
        return throughput < bandwidth
    }

    /// The status of a stream that was left because of that.
    static let tooFast = shim_averror(EOVERFLOW)

    private func carryOut(_ seek: Seek) {
        interruption.allow(limit)
        var status: Int32 = -1
        if !seek.mayJump { status = avformat_seek_file(format.raw, seek.index, .min, seek.timestamp, seek.timestamp, 0) }
        if status < 0 { status = format.seekToBeginning(StreamIndices(video: video, audio: heard)) }
        state.signal { state in
            state.packets.removeAll()
            state.end = nil
            meter.withLock { $0.seek() }
            state.seekStatus = status
        }
    }
}

/// Ends a receiver's thread with its last user, without waiting for that: the source is closed by the thread (``ClosingSource``).
final class Receiving: Sendable {
    let receiver: PacketReceiver

    init(_ receiver: PacketReceiver) {
        self.receiver = receiver
        receiver.start().detach()
    }

    deinit { receiver.stop() }
}
