import CKioskFFmpeg
import DequeModule
import KioskPlatform
import KioskVocabulary
import Logging

/// A decoder of a picture stream: takes packets and gives out frames in presentation order, with container times.
///
/// A hardware decoder begins if one is wanted and available (``DecoderChoice``). If it fails at the first picture, the next way follows, in
/// the end software. If it fails later, software takes over. It receives the packets since the last key frame again (``KeptPackets``) and
/// drops pictures that were already given out. The queues behind cover the time for that.
///
/// kiosk leaves a hardware decoder at its first error. libavcodec would continue with wrong pictures, without marking them.
///
/// Some devices have only one decoder, and kiosk opens the next item while it is in use. If all ways refuse the first picture while this
/// process uses another hardware decoder, software begins and keeps packets, too. Once that decoder is free (``DecoderShelf``), kiosk tries
/// it. It receives the packets since the last key frame and drops pictures that were already given out. That happens only soon after a key
/// frame, so it costs the time of a few pictures. Mostly it falls between an item's first picture, decoded at opening, and its second.
struct VideoDecoder: ~Copyable, Sendable {
    var codec: CodecContext?
    let plan: DecoderPlan
    private let geometry: TrackGeometry
    /// The duration of a frame at the average rate; nil if the container states none.
    let nominalDuration: MediaTime?
    var lastTime: MediaTime?
    private var lastDuration: MediaTime
    private var skipsNonReferences = false

    /// libavcodec's number of the codec.
    var codecID: AVCodecID { plan.codecID }
    /// FFmpeg's name of the codec.
    var codecName: String { plan.codec }
    /// The name of the hardware decoder in use; nil for software.
    var hardware: String?
    /// Whether devices were tried and all refuse this stream. Software may also be waiting for one that is in use.
    var isRefusedByDevices: Bool { !allWays.isEmpty && hardware == nil && place == nil }
    /// Whether a process with a device would try it.
    var wouldUseDevice = false
    /// Whether a V4L2 decoder is in use. libavcodec can neither restart it nor query its errors.
    private var isStateful: Bool { hardware != nil && method == .v4l2 }
    var method: DecoderChoice.Method?
    /// How often in a row the decoder has refused a packet.
    var stalls = 0
    /// The ways left if the present one refuses the first picture, and the refusals so far.
    var ways: [DecoderChoice.Way]
    var refusals: [String] = []
    let warns: Bool
    /// The time limit of a driver call in mid-item.
    let driverLimit: MediaTime
    var problem: String?
    /// Its place in the queue for a hardware decoder; nil if it does not wait.
    var place: DecoderShelf.Place?
    /// The ways available at the beginning, for the next attempt.
    private let allWays: [DecoderChoice.Way]
    /// Whether the hardware decoder that replaced software has not given out a picture yet.
    private var isOnTrial = false

    /// The measured decoding load; nil if it is not measured (one thread anyway, or a preview).
    private var load: DecodingLoad?
    /// Whether software decodes on one thread because that is enough.
    private(set) var isLight = false

    var kept: KeptPackets
    /// The packets to decode again.
    var replay = UniqueDeque<Packet>()
    /// Whether no packet follows, and whether the decoder was told so.
    private var hasEnd = false, knowsEnd = false
    /// Whether a frame was given out, and the timestamp of the last one since a seek.
    private var hasGivenOut = false
    var lastStamp: Int64?
    /// The time of the first packet since a seek: a picture without a time is not earlier.
    private var firstTime: MediaTime?
    /// The address of the last picture's memory, if other pictures may depend on it.
    private var lastMemory: UInt?
    /// Frames up to this timestamp were already given out.
    var catchUp: Int64?
    /// The timestamps of the last frames given to the device's filter, which holds some back. Software gives these out again.
    private var unfiltered: Deque<Int64> = []
    /// More frames than a filter looks ahead and back.
    private static let mostUnfiltered = 8
    /// Whether to discard packets until the next key frame.
    private var awaitsKey = false
    /// The damage so far, and whether a key frame was sent since the beginning or a seek.
    private(set) var damage = MediaDamage()
    private var hasSentKey = false
    /// The timestamp of a packet already counted as damaged.
    private var damagedStamp: Int64?

    /// The most packets to decode again when switching to a hardware decoder: more would take longer than the queues cover.
    private static let mostRepeated = 24

    /// Consecutive errors after which a decoder counts as exhausted.
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
        // A kept decoder would be one more than there are items.
        if ways.isEmpty, !self.plan.isPreview { DecoderShelf.clear() }
        if !ways.isEmpty, DecoderShelf.isAwaited { (ways, place) = ([], DecoderShelf.Place()) }
        if !beginHardware() {
            isLight = load != nil && DecodingLoad.isLight(self.plan.source)
            codec = try self.plan.software(threads: isLight ? 1 : self.plan.threads)
            if choice != .software { sayRefusals() }
        }
    }

    // MARK: Packets

    /// Sends a packet to the decoder and drops it if the decoder cannot use it. The corresponding C function is `avcodec_send_packet`.
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

    /// Whether a status of the software decoder is an error that counts. With several threads it may belong to an earlier packet.
    private func isDamage(_ status: Int32) -> Bool {
        status < 0 && status != kAVERROR_EAGAIN && status != kAVERROR_EOF && hasSentKey
    }

    private mutating func sendToHardware(_ packet: borrowing Packet) {
        if isStateful, packet.raw.pointee.pts == kAV_NOPTS_VALUE {
            // The driver's pictures could not be told apart.
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
        // A stream joined in the middle cannot be decoded before its first key frame.
        if status < 0, kept.hasKey || !kept.isComplete { fail(codec?.reason(status) ?? "") }
    }

    /// Marks the end of the packets; the decoder then gives out the frames that it still holds.
    mutating func sendEnd() {
        hasEnd = true
        if replay.isEmpty { forwardEnd() }
    }

    private mutating func forwardEnd() {
        knowsEnd = true
        _ = codec?.send(nil)
    }

    /// Sends the next packet to decode again, or the pending end; false if there is neither.
    private mutating func sendAgain() -> Bool {
        if let packet = replay.popFirst() {
            send(packet)
            return true
        }
        guard hasEnd, !knowsEnd else { return false }
        forwardEnd()
        return true
    }

    /// Skips frames that no other frame depends on, on the way to a seek target.
    mutating func setDecodesOnlyReferences(_ value: Bool) {
        skipsNonReferences = value
        codec?.raw.pointee.skip_frame = value ? AVDISCARD_NONREF : AVDISCARD_DEFAULT
    }

    /// Whether a packet is presented more than a second before container time `time`.
    func isWellBefore(_ time: MediaTime, _ packet: borrowing Packet) -> Bool {
        guard let presentation = MediaTime(ticks: packet.raw.pointee.pts, of: plan.timeBase) else { return false }
        return presentation < time - .seconds(1)
    }

    /// Discards everything after a seek. Decodes the rest at full speed, with all threads. The corresponding C function is
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

    /// Returns the next frame, if one is ready. Times never go back: a frame without a usable time follows the one before it. The
    /// corresponding C function is `avcodec_receive_frame`.
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
                // Skip errors: frames of other threads may still follow.
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

    /// Leaves the hardware decoder if `status` means that it cannot continue; false if it can, or is done.
    private mutating func endsHardware(_ status: Int32) -> Bool {
        switch status {
        case kAVERROR_EAGAIN:
            if stalls <= Self.errorLimit { return false }
            fail("it takes no packet and gives no picture out")
        case kAVERROR_EOF:
            // libavcodec reports each unexpected error of a V4L2 driver as the end of the stream.
            if !knowsEnd { fail("it ended before its stream did") } else if !isStateful || !leavesEnd() { return false }
        default: fail(codec?.reason(status) ?? "")
        }
        return true
    }

    /// Returns the defect that makes a hardware decoder's picture useless; nil if there is none.
    private func defect(of frame: AVFrame) -> String? {
        // If libavcodec's V4L2 decoder cannot begin, it gives out an empty picture.
        if frame.buf.0 == nil { return "its picture has no memory" }
        if frame.decode_error_flags != 0 { return "its picture is damaged" }
        let isSurface = frame.format == AV_PIX_FMT_VAAPI.rawValue || frame.format == AV_PIX_FMT_DRM_PRIME.rawValue
        if isSurface, frame.crop_left | frame.crop_top != 0 { return "its picture is not in the corner of the surface" }
        return nil
    }

    /// Takes the picture in `frame`, and in `exported` its description as dmabufs. Returns nil and empties `frame` if the picture was
    /// already given out or cannot be used.
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
        // At the end each thread of FFmpeg 7's MPEG-4 decoder gives out its last reference, even if another thread did.
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

    /// Returns the problem found since the last call.
    mutating func takeProblem() -> String? { problem.take() }

    /// Opens the first way that works; false if none does.
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

    /// Leaves the hardware decoder and decodes its packets again.
    mutating func fail(_ reason: String) {
        guard let name = hardware.take() else { return }
        let hasGap = !kept.isComplete
        repeatKept()
        // Some devices have only one decoder.
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

    /// Reopens a decoder that cannot flush. Opening fails if the old pictures are in use and the device has only one decoder; then software
    /// continues.
    mutating func reopen() {
        guard let way = codec?.lease?.identity.way else { return }
        codec = nil
        (hardware, ways, refusals) = (nil, [way], [])
        if beginHardware() { return }
        sayRefusals()
        beginSoftware()
    }

    /// Has software decode the pictures that a finished decoder kept back; false if there are none. FFmpeg's V4L2 decoder ends its output
    /// early after an error, or if all of its buffers are in use.
    private mutating func leavesEnd() -> Bool {
        guard kept.isComplete, let last = kept.lastStamp, last > lastStamp ?? .min, let name = hardware.take() else { return false }
        HardwareHistory.log.debug("\(plan.source.withoutCredentials): \(name) has kept back the last pictures: decoded in software")
        repeatKept()
        codec = nil
        catchUp = lastStamp
        beginSoftware()
        return true
    }

    /// Queues the kept packets for the next decoder.
    private mutating func repeatKept() {
        var again = UniqueDeque<Packet>()
        while let packet = kept.popFirst() { again.append(packet) }
        while let packet = replay.popFirst() { again.append(packet) }
        replay = again
        kept.removeAll()
        (knowsEnd, stalls) = (false, 0)
    }

    /// Switches from software to a hardware decoder that may be free now, if that is quick.
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

    /// Reports why software decodes, as a problem or in the log. If the device may be busy, waits for the second attempt first.
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
