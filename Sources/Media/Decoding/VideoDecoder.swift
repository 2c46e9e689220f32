import CKioskFFmpeg
import DequeModule
import KioskPlatform
import KioskVocabulary
import Logging

/// The decoder of a picture stream: packets in, frames in presentation order out, with times of the container.
///
/// Where a hardware decoder is wanted and there is one (``DecoderChoice``), it begins. When that fails at the first picture the next way is
/// tried, in the end software. When it fails later, software goes on: it is given the packets since the last key frame once more
/// (``KeptPackets``), and the pictures that have been given out already are dropped. The queues behind ride out the time that takes.
///
/// A hardware decoder is left at its first error. libavcodec would go on, with pictures that are wrong and not marked so.
///
/// Some devices have one decoder only, and the next item is opened while it is in use. Where all ways refuse the first picture while another
/// hardware decoder of this process is in use, software begins, and keeps packets, too. When that decoder has come free (``DecoderShelf``) it is
/// tried in the same manner the other way round: it is given the packets since the last key frame, and drops the pictures that have been given
/// out. That happens soon after a key frame only, so that it costs the time of a few pictures: mostly between the first picture of an item, which
/// is decoded when it is opened, and the second.
struct VideoDecoder: ~Copyable, Sendable {
    var codec: CodecContext?
    let plan: DecoderPlan
    private let geometry: TrackGeometry
    /// How long a frame lasts at the average rate, where the container tells one.
    let nominalDuration: MediaTime?
    var lastTime: MediaTime?
    private var lastDuration: MediaTime
    private var skipsNonReferences = false

    /// libavcodec's number of the codec.
    var codecID: AVCodecID { plan.codecID }
    /// FFmpeg's name of it.
    var codecName: String { plan.codec }
    /// What to call the hardware decoder in use; nil where it is software.
    var hardware: String?
    /// Whether some were tried, and none takes this. Software may also be waiting for one that is in use.
    var isRefusedByDevices: Bool { !allWays.isEmpty && hardware == nil && place == nil }
    /// Whether a device would be tried by whoever has one.
    var wouldUseDevice = false
    /// Whether that is one of V4L2, which libavcodec can neither begin anew nor ask what went wrong.
    private var isStateful: Bool { hardware != nil && method == .v4l2 }
    var method: DecoderChoice.Method?
    /// How often in a row it has taken no packet.
    var stalls = 0
    /// What may still be tried where that one refuses the first picture, and what has refused so far.
    var ways: [DecoderChoice.Way]
    var refusals: [String] = []
    let warns: Bool
    /// How long a call of the hardware's driver may take in mid-item.
    let driverLimit: MediaTime
    var problem: String?
    /// Its place in the line for a hardware decoder; nil where it does not wait for one.
    var place: DecoderShelf.Place?
    /// What was there to be tried at the beginning, and is tried again.
    private let allWays: [DecoderChoice.Way]
    /// Whether the hardware decoder that software has been left for has not given out a picture yet.
    private var isOnTrial = false

    /// What it costs, where one thread might do; nil where that is not measured.
    private var load: DecodingLoad?
    /// Whether software decodes on one thread because that will do.
    private(set) var isLight = false

    var kept: KeptPackets
    /// What has to be decoded again.
    var replay = UniqueDeque<Packet>()
    /// Whether no packet follows, and whether the decoder knows.
    private var hasEnd = false, knowsEnd = false
    /// Whether a frame has been given out, and the timestamp of the last one since a seek.
    private var hasGivenOut = false
    var lastStamp: Int64?
    /// When the first packet since a seek is decoded: a picture that has no time is not earlier.
    private var firstTime: MediaTime?
    /// Where the memory of the last picture lies, if others may depend on it.
    private var lastMemory: UInt?
    /// Frames up to this timestamp have been given out already.
    var catchUp: Int64?
    /// The timestamps of the frames that were given out last for the device's filter, which holds some back: these are given out again by software.
    private var unfiltered: Deque<Int64> = []
    /// More than a filter looks ahead and back.
    private static let mostUnfiltered = 8
    /// Whether packets are left out up to the next key frame.
    private var awaitsKey = false
    /// What has not been decoded in full, and whether a key frame has been sent since the beginning or a seek.
    private(set) var damage = MediaDamage()
    private var hasSentKey = false
    /// The timestamp of a packet that has been counted as damaged.
    private var damagedStamp: Int64?

    /// More packets than this are not decoded once more to come to a hardware decoder: they would take longer than the queues ride out.
    private static let mostRepeated = 24

    /// Errors in a row that a decoder may return before it is taken to have nothing more.
    private static let errorLimit = 64

    init(
        _ plan: consuming DecoderPlan, geometry: TrackGeometry, nominalDuration: MediaTime?, choice: DecoderChoice, wish: DecoderWish
    ) throws(MediaError) {
        self.plan = plan
        self.geometry = geometry
        self.nominalDuration = nominalDuration
        lastDuration = nominalDuration ?? .milliseconds(40)
        (ways, allWays, warns) = (choice.ways, choice.ways, wish.setting == .hardware)
        kept = KeptPackets(limit: wish.keptBytes)
        driverLimit = wish.driverLimit
        refusals = choice.obstacle.map { [$0] } ?? []
        if self.plan.threads > 1, !self.plan.isPreview { load = DecodingLoad(self.plan.source) }
        // It would be one decoder more than there are items.
        if ways.isEmpty, !self.plan.isPreview { DecoderShelf.clear() }
        if !ways.isEmpty, DecoderShelf.isAwaited { (ways, place) = ([], DecoderShelf.Place()) }
        if !beginHardware() {
            isLight = load != nil && DecodingLoad.isLight(self.plan.source)
            codec = try self.plan.software(threads: isLight ? 1 : self.plan.threads)
            if choice != .software { sayRefusals() }
        }
    }

    // MARK: Packets

    /// Hands over a packet. One that the decoder cannot use is left out. The corresponding C function is `avcodec_send_packet`.
    mutating func send(_ packet: borrowing Packet) {
        if firstTime == nil {
            let (presentation, decoding) = (packet.raw.pointee.pts, packet.raw.pointee.dts)
            firstTime = MediaTime(ticks: presentation == kAV_NOPTS_VALUE ? decoding : presentation, of: plan.timeBase)
        }
        if hardware != nil { return sendToHardware(packet) }
        if awaitsKey {
            if packet.raw.pointee.flags & AV_PKT_FLAG_KEY == 0 { return }
            awaitsKey = false
        }
        if place != nil { kept.append(packet) }
        guard let raw = codec?.raw else { return }
        let (flags, stamp) = (packet.raw.pointee.flags, packet.raw.pointee.pts)
        if flags & AV_PKT_FLAG_KEY != 0 { hasSentKey = true }
        if flags & AV_PKT_FLAG_CORRUPT != 0 {
            damage.addPicture(at: MediaTime(ticks: stamp, of: plan.timeBase))
            damagedStamp = stamp
        }
        if isDamage(avcodec_send_packet(raw, packet.raw)) { damage.addPicture(at: MediaTime(ticks: stamp, of: plan.timeBase)) }
    }

    /// Whether what software makes of a packet is an error that counts. With several threads it may be one of an earlier packet.
    private func isDamage(_ status: Int32) -> Bool {
        status < 0 && status != kAVERROR_EAGAIN && status != kAVERROR_EOF && hasSentKey
    }

    private mutating func sendToHardware(_ packet: borrowing Packet) {
        if isStateful, packet.raw.pointee.pts == kAV_NOPTS_VALUE {
            // The driver would give out pictures that nobody can tell apart.
            kept.append(packet)
            return fail("its packets do not say when they are presented")
        }
        let status = codec?.send(packet.raw) ?? 0
        if status == kAVERROR_EAGAIN, let again = packet.shared() {
            stalls += 1
            return replay.prepend(again)
        }
        stalls = 0
        kept.append(packet)
        // A stream that is joined in the middle cannot be decoded before its first key frame.
        if status < 0, kept.hasKey || !kept.isComplete { fail(codec?.reason(status) ?? "") }
    }

    /// Says that no packet follows: the decoder gives out the frames that it still holds.
    mutating func sendEnd() {
        hasEnd = true
        if replay.isEmpty { forwardEnd() }
    }

    private mutating func forwardEnd() {
        knowsEnd = true
        _ = codec?.send(nil)
    }

    /// Gives the decoder the next of what it has to be given again; false where there is nothing.
    private mutating func sendAgain() -> Bool {
        if let packet = replay.popFirst() {
            send(packet)
            return true
        }
        guard hasEnd, !knowsEnd else { return false }
        forwardEnd()
        return true
    }

    /// Leaves out frames that no other depends on, on the way to a seek target.
    mutating func setDecodesOnlyReferences(_ value: Bool) {
        skipsNonReferences = value
        codec?.raw.pointee.skip_frame = value ? AVDISCARD_NONREF : AVDISCARD_DEFAULT
    }

    /// Whether a packet is presented more than a second before container time `time`.
    func isWellBefore(_ time: MediaTime, _ packet: borrowing Packet) -> Bool {
        guard let presentation = MediaTime(ticks: packet.raw.pointee.pts, of: plan.timeBase) else { return false }
        return presentation < time - .seconds(1)
    }

    /// Drops all it holds, after a seek. What follows is decoded as fast as it can be: with all threads. The corresponding C function is
    /// `avcodec_flush_buffers`.
    mutating func flush() {
        load?.restart()
        stalls = 0
        if isStateful {
            reopen()
        } else if isLight, let faster = try? plan.software(threads: plan.threads) {
            isLight = false
            codec = consume faster
            if skipsNonReferences { setDecodesOnlyReferences(true) }
        } else {
            codec?.flush()
        }
        kept.removeAll()
        replay = UniqueDeque()
        (lastTime, lastStamp, catchUp, unfiltered) = (nil, nil, nil, [])
        (firstTime, lastMemory) = (nil, nil)
        (hasEnd, knowsEnd, awaitsKey) = (false, false, false)
        (hasSentKey, damagedStamp) = (false, nil)
    }

    // MARK: Frames

    enum Output: ~Copyable {
        case frame(TimedFrame)
        case needsPacket
        case end
    }

    /// The next frame, if one is ready. Times never go back: a frame without a usable time follows the one before it. The corresponding C
    /// function is `avcodec_receive_frame`.
    mutating func receive() -> Output {
        if let place, place.isCalled { tryHardwareAgain() }
        var frame = av_frame_alloc()!
        while let raw = codec?.raw {
            var status: Int32 = 0
            var exported: UnsafeMutablePointer<AVFrame>?
            do throws(SurfaceError) {
                status = try codec?.receive(&frame, &exported) ?? kAVERROR_EOF
            } catch {
                av_frame_unref(frame)
                fail(error.text)
                continue
            }
            if hardware == nil {
                // Errors are passed over: the frames of other threads may still come behind them.
                for _ in 0..<Self.errorLimit where status != 0 && status != kAVERROR_EOF && status != kAVERROR_EAGAIN {
                    if isDamage(status) { damage.addPicture(at: lastTime) }
                    status = avcodec_receive_frame(raw, frame)
                }
            }
            if status == 0 {
                guard let output = give(frame, exported) else { continue }
                return .frame(output)
            }
            if status == kAVERROR_EAGAIN, stalls <= Self.errorLimit, sendAgain() { continue }
            if hardware != nil, endsHardware(status) { continue }
            frame.free()
            return status == kAVERROR_EOF ? .end : .needsPacket
        }
        frame.free()
        return .end
    }

    /// Leaves the hardware decoder where a status says that it cannot go on; false where it can, or is through.
    private mutating func endsHardware(_ status: Int32) -> Bool {
        switch status {
        case kAVERROR_EAGAIN:
            if stalls <= Self.errorLimit { return false }
            fail("it takes no packet and gives no picture out")
        case kAVERROR_EOF:
            // libavcodec takes each error of a V4L2 driver that it does not expect for the end of the stream.
            if !knowsEnd { fail("it ended before its stream did") } else if !isStateful || !leavesEnd() { return false }
        default: fail(codec?.reason(status) ?? "")
        }
        return true
    }

    /// What makes a hardware decoder's picture useless; nil where nothing does.
    private func defect(of frame: AVFrame) -> String? {
        // Where it cannot begin, libavcodec's V4L2 decoder gives out a picture of nothing.
        if frame.buf.0 == nil { return "its picture has no memory" }
        if frame.decode_error_flags != 0 { return "its picture is damaged" }
        let isSurface = frame.format == AV_PIX_FMT_VAAPI.rawValue || frame.format == AV_PIX_FMT_DRM_PRIME.rawValue
        if isSurface, frame.crop_left | frame.crop_top != 0 { return "its picture is not in the corner of the surface" }
        return nil
    }

    /// Takes over what the decoder has put into `frame`, and what describes it; nil where that has been given out before or cannot be: `frame` is
    /// empty then.
    private mutating func give(
        _ frame: UnsafeMutablePointer<AVFrame>, _ exported: UnsafeMutablePointer<AVFrame>?
    ) -> TimedFrame? {
        func drop() {
            exported?.free()
            av_frame_unref(frame)
        }
        stalls = 0
        let stamps = [frame.pointee.pts, frame.pointee.best_effort_timestamp]
        let stamp = stamps.first { $0 != kAV_NOPTS_VALUE }
        // At the end each thread of FFmpeg 7's MPEG-4 decoder gives out the last reference that it knows, though another has done so.
        let memory = frame.pointee.pict_type == AV_PICTURE_TYPE_B ? nil : frame.pointee.buf.0.map { UInt(bitPattern: $0.pointee.data) }
        if knowsEnd, hardware == nil, codecID == AV_CODEC_ID_MPEG4, memory != nil, memory == lastMemory {
            drop()
            return nil
        }
        lastMemory = memory
        if isOnTrial, hardware != nil {
            isOnTrial = false
            refusals = []
            HardwareHistory.log.debug("\(plan.source.withoutCredentials): decoded by \(hardware!) from here on")
        }
        if let catchUp, let stamp, stamp <= catchUp {
            drop()
            return nil
        }
        catchUp = nil
        var (picture, origin): (UnsafeMutablePointer<AVFrame>, UnsafeMutablePointer<AVFrame>?) = (frame, nil)
        if hardware != nil {
            let isForFilter = exported == nil && frame.isVAAPI
            let hasFields = shim_frame_is_interlaced(frame) != 0 && plan.makesPictures && !isForFilter && codecID != AV_CODEC_ID_HEVC
            if let defect = defect(of: frame.pointee) ?? (hasFields ? "its frames consist of fields, which its header hides" : nil) {
                drop()
                fail(defect)
                return nil
            }
            if let exported { (picture, origin) = (exported, frame) }
            if isForFilter, let stamp { unfiltered.append(stamp) } else { unfiltered = [] }
            if unfiltered.count > Self.mostUnfiltered { unfiltered.removeFirst() }
            if isStateful { plan.describeColours(of: frame) }
            if !hasGivenOut { HardwareHistory.announce(plan.source, plan.title, codec: plan.codec, by: hardware!) }
        }
        if hardware != nil || place != nil, let stamp { kept.gaveOut(unfiltered.first ?? stamp) }
        (hasGivenOut, lastStamp) = (true, stamp ?? lastStamp)

        var duration = MediaTime(ticks: shim_frame_duration(picture), of: plan.timeBase) ?? .zero
        if duration <= .zero { duration = nominalDuration ?? lastDuration }
        var start = MediaTime(ticks: picture.pointee.best_effort_timestamp, of: plan.timeBase)
        if let lastTime, start.map({ $0 <= lastTime }) ?? true { start = lastTime + lastDuration }
        let begin = start ?? firstTime ?? .zero
        (lastTime, lastDuration) = (begin, duration)
        if hardware == nil { load?.gaveOut(begin) }
        var output = VideoFrame(
            adopting: picture, orientation: geometry.apply(to: picture), origin: origin, isPooled: hardware != nil,
            use: isStateful ? codec?.lease?.use : nil)
        output.takesPlaneMemory = codec?.memory != nil
        if output.isDamaged, stamp == nil || stamp != damagedStamp { damage.addPicture(at: begin) }
        return TimedFrame(frame: output, time: begin, duration: duration)
    }

    // MARK: From hardware to software and back

    /// What there is to be said of the decoder since the last call.
    mutating func takeProblem() -> String? { problem.take() }

    /// Opens the first of the ways that can be opened; false where none can.
    private mutating func beginHardware() -> Bool {
        while !ways.isEmpty {
            let way = ways.removeFirst()
            do throws(SurfaceError) {
                codec = try plan.hardware(way)
                codec?.lease?.limit = driverLimit
                (hardware, method) = (codec?.lease?.name, way.method)
                if skipsNonReferences { setDecodesOnlyReferences(true) }
                return true
            } catch {
                refusals.append("\(way.method.rawValue): \(error.text)")
            }
        }
        return false
    }

    /// Leaves the hardware decoder, and has what it was given decoded again.
    mutating func fail(_ reason: String) {
        guard let name = hardware.take() else { return }
        let hasGap = !kept.isComplete
        repeatKept()
        // Some devices have one decoder only.
        codec?.lease?.isSound = false
        codec = nil
        if !hasGivenOut || isOnTrial {
            refusals.append("\(name): \(reason)")
            if beginHardware() { return }
            (isOnTrial, catchUp) = (false, lastStamp)
            sayRefusals()
        } else {
            (catchUp, awaitsKey) = (lastStamp, hasGap)
            if let first = unfiltered.first { (catchUp, lastTime, unfiltered) = (first - 1, nil, []) }
            problem = "its hardware decoder, \(name), failed (\(reason)): decoded in software from here on\(hasGap ? ", after a gap" : "")"
            HardwareHistory.failed(plan.source, "its hardware decoder failed a while ago (\(reason))")
        }
        beginSoftware()
    }

    /// Opens a decoder anew that cannot drop what it holds. Where that fails, as the pictures of the old one may be in use and the device have one
    /// decoder only, software goes on.
    mutating func reopen() {
        guard let way = codec?.lease?.identity.way else { return }
        codec = nil
        (hardware, ways, refusals) = (nil, [way], [])
        if beginHardware() { return }
        sayRefusals()
        beginSoftware()
    }

    /// Has software decode what a decoder that is through has kept back; false where that is nothing. FFmpeg's V4L2 decoder takes an error, and that
    /// all of its buffers are in use, for the end of what it has to give out.
    private mutating func leavesEnd() -> Bool {
        guard kept.isComplete, let last = kept.lastStamp, last > lastStamp ?? .min, let name = hardware.take() else { return false }
        HardwareHistory.log.debug("\(plan.source.withoutCredentials): \(name) has kept back the last pictures: decoded in software")
        repeatKept()
        codec = nil
        catchUp = lastStamp
        beginSoftware()
        return true
    }

    /// Has what is kept decoded again, by whatever follows.
    private mutating func repeatKept() {
        var again = UniqueDeque<Packet>()
        while let packet = kept.popFirst() { again.append(packet) }
        while let packet = replay.popFirst() { again.append(packet) }
        replay = again
        kept.removeAll()
        (knowsEnd, stalls) = (false, 0)
    }

    /// Leaves software for a hardware decoder that may have come free, where that does not take long.
    private mutating func tryHardwareAgain() {
        guard hardware == nil, kept.hasKey, kept.isComplete, kept.count <= Self.mostRepeated, lastStamp != nil || !hasGivenOut else {
            return
        }
        repeatKept()
        codec = nil
        (place, ways) = (nil, allWays)
        (catchUp, isOnTrial) = (lastStamp, true)
        if beginHardware() { return }
        isOnTrial = false
        sayRefusals()
        beginSoftware()
    }

    private mutating func beginSoftware() {
        do throws(MediaError) {
            codec = try plan.software(threads: plan.threads)
            if skipsNonReferences { setDecodesOnlyReferences(true) }
        } catch {
            problem = error.reason.text
        }
    }

    /// Says why software decodes, where anybody wants to know. Where the device may be busy that is not said before it has been tried again.
    private mutating func sayRefusals() {
        if place != nil { return }
        if DecoderShelf.isAnyInUse, !allWays.isEmpty {
            place = DecoderShelf.Place()
            refusals = []
            return
        }
        let reasons = refusals.joined(separator: "; ")
        if warns {
            problem = "is decoded in software: \(reasons)"
        } else {
            HardwareHistory.log.debug("\(plan.source.withoutCredentials): decoded in software: \(reasons)")
        }
    }
}
