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
    private var codec: CodecContext?
    private let plan: DecoderPlan
    private let trackOrientation: Orientation
    /// How long a frame lasts at the average rate, where the container tells one.
    let nominalDuration: MediaTime?
    private var lastTime: MediaTime?
    private var lastDuration: MediaTime
    private var skipsNonReferences = false

    /// libavcodec's number of the codec.
    var codecID: AVCodecID { plan.codecID }
    /// What to call the hardware decoder in use; nil where it is software.
    private(set) var hardware: String?
    /// What may still be tried where that one refuses the first picture, and what has refused so far.
    private var ways: [DecoderChoice.Way]
    private var refusals: [String] = []
    private let warns: Bool
    private var problem: String?
    /// Its place in the line for a hardware decoder; nil where it does not wait for one.
    private var place: DecoderShelf.Place?
    /// What was there to be tried at the beginning, and is tried again.
    private let allWays: [DecoderChoice.Way]
    /// Whether the hardware decoder that software has been left for has not given out a picture yet.
    private var isOnTrial = false

    /// What it costs, where one thread might do; nil where that is not measured.
    private var load: DecodingLoad?
    /// Whether software decodes on one thread because that will do.
    private(set) var isLight = false

    private var kept: KeptPackets
    /// What has to be decoded again.
    private var replay = UniqueDeque<Packet>()
    /// Whether no packet follows, and whether the decoder knows.
    private var hasEnd = false, knowsEnd = false
    /// Whether a frame has been given out, and the timestamp of the last one since a seek.
    private var hasGivenOut = false
    private var lastStamp: Int64?
    /// Frames up to this timestamp have been given out already.
    private var catchUp: Int64?
    /// Whether packets are left out up to the next key frame.
    private var awaitsKey = false

    /// More packets than this are not decoded once more to come to a hardware decoder: they would take longer than the queues ride out.
    private static let mostRepeated = 24

    /// Errors in a row that a decoder may return before it is taken to have nothing more.
    private static let errorLimit = 64

    init(
        _ plan: consuming DecoderPlan, orientation: Orientation, nominalDuration: MediaTime?, choice: DecoderChoice, wish: DecoderWish
    ) throws(MediaError) {
        self.plan = plan
        trackOrientation = orientation
        self.nominalDuration = nominalDuration
        lastDuration = nominalDuration ?? .milliseconds(40)
        (ways, allWays, warns) = (choice.ways, choice.ways, wish.setting == .hardware)
        kept = KeptPackets(limit: wish.keptBytes)
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
        guard let raw = codec?.raw else { return }
        if hardware != nil {
            kept.append(packet)
            let status = avcodec_send_packet(raw, packet.raw)
            // A stream that is joined in the middle cannot be decoded before its first key frame.
            if status < 0, status != kAVERROR_EAGAIN, kept.hasKey || !kept.isComplete { fail(describe(averror: status)) }
            return
        }
        if awaitsKey {
            if packet.raw.pointee.flags & AV_PKT_FLAG_KEY == 0 { return }
            awaitsKey = false
        }
        if place != nil { kept.append(packet) }
        avcodec_send_packet(raw, packet.raw)
    }

    /// Says that no packet follows: the decoder gives out the frames that it still holds.
    mutating func sendEnd() {
        hasEnd = true
        forwardEnd()
    }

    private mutating func forwardEnd() {
        knowsEnd = true
        if let raw = codec?.raw { avcodec_send_packet(raw, nil) }
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
        if isLight, let faster = try? plan.software(threads: plan.threads) {
            isLight = false
            codec = consume faster
            if skipsNonReferences { setDecodesOnlyReferences(true) }
        } else if let raw = codec?.raw {
            avcodec_flush_buffers(raw)
        }
        kept.removeAll()
        replay = UniqueDeque()
        (lastTime, lastStamp, catchUp) = (nil, nil, nil)
        (hasEnd, knowsEnd, awaitsKey) = (false, false, false)
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
        let frame = av_frame_alloc()!
        while let raw = codec?.raw {
            var status = avcodec_receive_frame(raw, frame)
            if hardware == nil {
                // Errors are passed over: the frames of other threads may still come behind them.
                for _ in 0..<Self.errorLimit where status != 0 && status != kAVERROR_EOF && status != kAVERROR_EAGAIN {
                    status = avcodec_receive_frame(raw, frame)
                }
            }
            if status == 0 {
                guard let output = give(frame) else { continue }
                return .frame(output)
            }
            if status == kAVERROR_EAGAIN, sendAgain() { continue }
            if status != kAVERROR_EOF, status != kAVERROR_EAGAIN, hardware != nil {
                fail(describe(averror: status))
                continue
            }
            var pointer: UnsafeMutablePointer<AVFrame>? = frame
            av_frame_free(&pointer)
            return status == kAVERROR_EOF ? .end : .needsPacket
        }
        var pointer: UnsafeMutablePointer<AVFrame>? = frame
        av_frame_free(&pointer)
        return .end
    }

    /// Takes over what the decoder has put into `frame`; nil where that has been given out before or cannot be: `frame` is empty then.
    private mutating func give(_ frame: UnsafeMutablePointer<AVFrame>) -> TimedFrame? {
        let stamps = [frame.pointee.pts, frame.pointee.best_effort_timestamp]
        let stamp = stamps.first { $0 != kAV_NOPTS_VALUE }
        if isOnTrial, hardware != nil {
            isOnTrial = false
            refusals = []
            HardwareHistory.log.debug("\(plan.source.withoutCredentials): decoded by \(hardware!) from here on")
        }
        if let catchUp, let stamp, stamp <= catchUp {
            av_frame_unref(frame)
            return nil
        }
        catchUp = nil
        var (picture, origin): (UnsafeMutablePointer<AVFrame>, UnsafeMutablePointer<AVFrame>?) = (frame, nil)
        if hardware != nil {
            do throws(SurfaceError) {
                let isVAAPI = frame.pointee.format == AV_PIX_FMT_VAAPI.rawValue
                if isVAAPI || frame.pointee.format == AV_PIX_FMT_DRM_PRIME.rawValue, frame.pointee.crop_left | frame.pointee.crop_top != 0 {
                    throw SurfaceError(text: "its picture is not in the corner of the surface")
                }
                // The filter that makes a picture of each field takes ordinary memory only.
                if shim_frame_is_interlaced(frame) != 0 { throw SurfaceError(text: "its frames consist of fields, which its header hides") }
                if isVAAPI { (picture, origin) = (try frame.exported(), frame) }
            } catch {
                av_frame_unref(frame)
                fail(error.text)
                return nil
            }
            if !hasGivenOut { HardwareHistory.announce(plan.source, plan.title, codec: plan.codec, by: hardware!) }
        }
        if hardware != nil || place != nil, let stamp { kept.gaveOut(stamp) }
        (hasGivenOut, lastStamp) = (true, stamp ?? lastStamp)

        var duration = MediaTime(ticks: shim_frame_duration(picture), of: plan.timeBase) ?? .zero
        if duration <= .zero { duration = nominalDuration ?? lastDuration }
        var start = MediaTime(ticks: picture.pointee.best_effort_timestamp, of: plan.timeBase)
        if let lastTime, start.map({ $0 <= lastTime }) ?? true { start = lastTime + lastDuration }
        let begin = start ?? .zero
        (lastTime, lastDuration) = (begin, duration)
        if hardware == nil { load?.gaveOut(begin) }
        let orientation = shim_frame_display_matrix(picture).map(Orientation.init(displayMatrix:)) ?? trackOrientation
        if picture.pointee.sample_aspect_ratio.num == 0, let raw = codec?.raw {
            picture.pointee.sample_aspect_ratio = raw.pointee.sample_aspect_ratio
        }
        return TimedFrame(
            frame: VideoFrame(adopting: picture, orientation: orientation, origin: origin, isPooled: hardware != nil), time: begin,
            duration: duration)
    }

    // MARK: From hardware to software

    /// What there is to be said of the decoder since the last call.
    mutating func takeProblem() -> String? { problem.take() }

    /// Opens the first of the ways that can be opened; false where none can.
    private mutating func beginHardware() -> Bool {
        while !ways.isEmpty {
            let way = ways.removeFirst()
            do throws(SurfaceError) {
                codec = try plan.hardware(way)
                hardware = codec?.lease?.name
                if skipsNonReferences { setDecodesOnlyReferences(true) }
                return true
            } catch {
                refusals.append("\(way.method.rawValue): \(error.text)")
            }
        }
        return false
    }

    /// Leaves the hardware decoder, and has what it was given decoded again.
    private mutating func fail(_ reason: String) {
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
            problem = "its hardware decoder, \(name), failed (\(reason)): decoded in software from here on\(hasGap ? ", after a gap" : "")"
            HardwareHistory.failed(plan.source, "its hardware decoder failed a while ago (\(reason))")
        }
        beginSoftware()
    }

    /// Has what is kept decoded again, by whatever follows.
    private mutating func repeatKept() {
        var again = UniqueDeque<Packet>()
        while let packet = kept.popFirst() { again.append(packet) }
        while let packet = replay.popFirst() { again.append(packet) }
        replay = again
        kept.removeAll()
        knowsEnd = false
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
        if DecoderShelf.inUse > 0, !allWays.isEmpty {
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
