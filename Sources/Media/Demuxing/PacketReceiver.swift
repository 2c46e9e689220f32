import CKioskFFmpeg
import Glibc
import KioskPlatform
import KioskVocabulary
import Synchronization

/// Receives the packets of a network source on its own thread. The decoder finds them ready, and they bridge a gap of the network.
///
/// A fetched file is read ahead up to its limits (``StreamSettings/forwardBuffer``, ``mostBytes``); then the connection waits. A live
/// stream does not wait: new packets beyond the limits push out the oldest. A parked stream (open, waiting to be played) keeps only the
/// goal, from a key frame on. ``ReceptionGate`` decides when packets may be taken.
///
/// Once the thread runs, only it calls libavformat; it also performs seeks.
final class PacketReceiver: @unchecked Sendable {
    // Sendable because only the thread touches the context, and a lock guards the state.

    /// The result of taking a packet.
    enum Taken: ~Copyable {
        case packet(Packet)
        /// The source has ended, or reading has failed with this error.
        case end(status: Int32)
    }

    private static let mostBytes = 32 << 20

    private struct Seek {
        var index: Int32
        var timestamp: Int64
        var mayJump: Bool
    }

    private struct State: ~Copyable {
        /// The amount to receive ahead.
        var longest: MediaTime
        var packets = ReceivedPackets()
        var gate: ReceptionGate
        var end: Int32?
        var isEncrypted = false
        var extent: StreamClock.Extent
        var seek: Seek?
        var seekStatus: Int32?
        /// The wanted sound stream; -1 for none.
        var audio: Int32
        /// The wanted subtitle stream; nil until it is chosen: all are kept until then.
        var subtitle: Int32?
        /// Whether the source is open: waiting for a packet before that is no gap.
        var isOpen = false
        /// Whether the source is open, without a call of ``take(until:)`` since.
        var isParked = false
        var isStopping = false
    }

    /// The thread's next task.
    private enum Work {
        case read, seek(Seek), stop
    }

    let isLive: Bool
    /// Tells other threads how much was received.
    let meter: Monitor<ReceptionProgress>
    private let format: FormatContext
    private let interruption: Interruption
    private let video: Int32
    /// The sound stream that libavformat gives out; only the thread uses it.
    private var heard: Int32
    private var shown: Int32?
    /// The time limit of a read.
    private let limit: MediaTime
    /// The minimum that a live stream keeps while it waits to be played.
    private let beginning: MediaTime
    private let state: Monitor<State>

    /// The amount of a fetched file to collect after a gap.
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
        // Play the part of the stream that the server has ready at the start.
        beginning = isPartly && settings.latency == nil ? Self.partlyBeginning : .zero
        // libavformat itself requests a fetched file again, from the point of the break.
        // The next part of a list comes no sooner than its sender has made it.
        let patience = isLive && format.isList ? Self.longestPart : .zero
        limit = isLive ? settings.timeout + patience : settings.timeout + settings.reconnect
        let goal = isLive ? settings.latency ?? StreamSettings.defaultLatency : Self.goalOfFiles
        let (least, most) = (StreamSettings.forwardBuffers.lowerBound, StreamSettings.forwardBuffers.upperBound)
        let longest = isLive ? StreamSettings.defaultForwardBuffer : settings.forwardBuffer ?? StreamSettings.defaultForwardBuffer
        state = Monitor(
            State(
                longest: min(max(longest, least), most), gate: ReceptionGate(goal: goal), extent: extent, audio: streams.audio,
                subtitle: shown))
    }

    /// Starts the thread, which keeps this object alive until ``stop()``.
    func start() -> Thread { Thread("receiver") { [self] in run() } }

    /// Ends the thread.
    func stop() {
        state.signal { $0.isStopping = true }
        interruption.cancel()
    }

    // MARK: For the decoder

    /// Returns the next packet; nil if none may be taken before `deadline`.
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
        state.signal { _ in }  // may have made room
        return taken
    }

    /// Marks the source as opened. A live stream collects packets before it continues, and waits to be played.
    func opened() {
        state.withLock { state in
            state.isOpen = true
            guard isLive else { return }
            state.gate.fill(at: .now)
            state.isParked = true
        }
    }

    /// The packets ready at one moment.
    struct Level: Hashable, Sendable {
        /// The level of either stream; nil without a packet here.
        var pictures: MediaTime?, sound: MediaTime?
        /// The wanted level, and the number of gaps.
        var goal: MediaTime, gaps: Int
        /// The counts of the ``meter`` at that moment.
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

    /// Makes the thread seek; returns libavformat's status, nil if that took too long.
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

    /// Receives another sound stream from now on; -1 for none. Discards the received packets of the old one.
    func listen(to audio: Int32) {
        state.signal { state in
            state.audio = audio
            state.packets.removeSound()
        }
    }

    /// Receives another subtitle stream from now on; -1 for none.
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
        state.packets.level > state.longest || state.packets.byteCount > mostBytes
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
        // The line has proved too slow for this variant: reopening the stream chooses another one.
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
                state.packets.drop(keeping: state.longest.scaled(by: 0.5), hasPictures: video >= 0)
            }
        }
    }

    /// Switches libavformat's output from stream `present` to stream `wanted`; -1 for none.
    private func follow(_ wanted: Int32, _ present: inout Int32) {
        if wanted == present { return }
        if present >= 0 { shim_stream_discard(format.raw.pointee.streams[Int(present)], 1) }
        if wanted >= 0 { shim_stream_discard(format.raw.pointee.streams[Int(wanted)], 0) }
        present = wanted
    }

    /// Makes libavformat give out only this subtitle stream. Does nothing until one is chosen.
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

    /// Whether the stream ran dry and needs more than the line carries.
    private var isTooFast: Bool {
        guard let bandwidth = format.input.variantBandwidth, state.withLock({ $0.gate.gaps > 0 }),
            let throughput = Throughput.seen.withLock({ $0.of(format.input.lastServer) })
        else { return false }
        return throughput < bandwidth
    }

    /// The status of a stream that ended for that reason.
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

/// Ends a receiver's thread with its last user, without waiting: the thread closes the source (``ClosingSource``).
final class Receiving: Sendable {
    let receiver: PacketReceiver

    init(_ receiver: PacketReceiver) {
        self.receiver = receiver
        receiver.start().detach()
    }

    deinit { receiver.stop() }
}
