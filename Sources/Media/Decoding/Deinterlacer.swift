import CKioskFFmpeg
import CKioskMedia
import DequeModule
import KioskPlatform

// An interlaced frame holds two fields, its odd and its even lines, captured one after the other. Shown unchanged, motion has combs and
// half its rate. bwdif makes a whole picture of each field, from the frames before and after it, too: 25 frames a second become 50
// pictures. For a VAAPI decoder's surfaces, a filter of the device makes surfaces. If that filter or the decoder fails, software decodes
// the last frames again and bwdif continues with them. It drops pictures that were already given out, by their times.

extension MediaReader {
    /// The treatment of interlaced frames.
    package enum Deinterlacing: Hashable, Sendable, CaseIterable {
        /// Each field becomes a picture.
        case fields
        /// Each frame becomes a picture, for half the cost.
        case frames
        /// Frames are shown unchanged.
        case off

        /// Loads the deinterlacing library, for a process that opens no further files; false if it is not installed.
        package static func load() -> Bool { kiosk_filters_load() }
    }
}

/// Turns decoded frames into pictures, in order; frames without fields pass unchanged.
///
/// The first interlaced frame creates the filter; a new size or pixel format replaces it. It holds one frame back, so the last pictures
/// come out at ``finish()``. Frames pass by reference; only new pictures take memory.
struct Deinterlacer: ~Copyable, Sendable {
    private var mode: MediaReader.Deinterlacing
    private let threads: Int
    private var graph: DeinterlacingGraph?
    private var times = FieldTimes()
    /// Pictures that need no filter, or were drained from one.
    private var ready = UniqueDeque<TimedFrame>()
    /// A frame before the target of a seek. Only the next one needs it, and that may come long after.
    private var held: TimedFrame?
    /// Whether the stream is interlaced, according to its header or one of its frames.
    private(set) var isInterlaced: Bool
    /// Whether the device's filter failed, and no frame in ordinary memory has come since.
    private var hasLostSurfaces = false
    /// The reason for that failure, until ``takeSurfaceProblem()`` takes it.
    private var surfaceProblem: String?
    /// The start of the last picture, and the time up to which pictures were already given out.
    private var lastTime: MediaTime?, catchUp: MediaTime?
    /// The reason for showing frames unchanged, or fewer pictures than fields; nil if neither is the case.
    private(set) var problem: String?

    /// Creates a deinterlacer for a stream with this header. Does nothing for codecs without fields in this filter's sense. PNG calls Adam7
    /// interlaced, and HEVC codes each field as a frame of half the height.
    init(_ parameters: AVCodecParameters, _ mode: MediaReader.Deinterlacing, threads: Int) {
        let hasNoFrames = [AV_CODEC_ID_PNG, AV_CODEC_ID_APNG, AV_CODEC_ID_HEVC].contains { $0 == parameters.codec_id }
        self.mode = hasNoFrames ? .off : mode
        self.threads = max(1, threads)
        isInterlaced = parameters.isInterlaced
    }

    /// Whether each interlaced frame becomes two pictures.
    var makesFields: Bool { isInterlaced && mode == .fields }

    /// Makes one picture of each frame from the next one on.
    mutating func makeFrames(because problem: String) {
        guard mode == .fields else { return }
        drain()
        mode = .frames
        self.problem = problem
    }

    // MARK: Frames

    /// Takes a frame. Take its pictures (``receive()``) before sending the next one.
    ///
    /// - Parameter isContext: whether only later frames need it: of several in a row, all but the last are dropped.
    mutating func send(_ frame: consuming TimedFrame, isContext: Bool = false) {
        if mode == .off {
            if frame.frame.av.isVAAPI { return loseSurfaces("nothing makes pictures of them") }
            ready.append(frame)
            return
        }
        if shim_frame_is_interlaced(frame.frame.av) != 0 { isInterlaced = true }
        if isContext, isInterlaced {
            held = consume frame
            return
        }
        if let before = held.take() { filter(before) }
        filter(frame)
    }

    private mutating func filter(_ frame: consuming TimedFrame) {
        let hasFields = shim_frame_is_interlaced(frame.frame.av) != 0
        // After a seek, two frames may come in a row.
        while let picture = filtered() { ready.append(picture) }
        let isForDevice = frame.frame.av.isVAAPI
        // Software decodes this frame again.
        if isForDevice, hasLostSurfaces { return }
        if !isForDevice, frame.frame.surface == nil, hasLostSurfaces || graph?.isOfDevice == true { goOnInSoftware() }
        if graph?.takes(frame.frame) == false { drain() }
        if graph == nil {
            if hasFields || isForDevice, mode != .off { open(for: frame.frame) }
            if graph == nil {
                if !isForDevice, !isOut(frame.time) { ready.append(frame) }
                return
            }
        }
        let place = FieldTimes.Place(time: frame.time, duration: frame.duration, orientation: frame.frame.orientation)
        frame.frame.av.pointee.pts = times.send(place, isInterlaced: hasFields)
        if let error = graph!.send(frame.frame) {
            if isForDevice { return loseSurfaces(error) }
            drain()
            fail(error)
            if !isOut(frame.time) { ready.append(frame) }
        }
    }

    private mutating func open(for frame: borrowing VideoFrame) {
        var status: Int32 = 0
        graph = DeinterlacingGraph(frame, threads: threads, ofFields: mode == .fields, status: &status)
        if graph != nil { return }
        if frame.av.isVAAPI { return loseSurfaces(averrorText(status)) }
        if status == shim_averror(ENOSYS) { return fail("libavfilter is not installed") }
        let format = av_get_pix_fmt_name(AVPixelFormat(rawValue: frame.av.pointee.format)).map { String(cString: $0) } ?? "unknown"
        fail("bwdif does not take pictures of \(frame.width)×\(frame.height) in \(format)")
    }

    private mutating func fail(_ reason: String) {
        mode = .off
        problem = "is interlaced and shows combs: \(reason)"
    }

    // MARK: Surfaces

    /// Whether ``takeSurfaceProblem()`` has a problem to return.
    var hasSurfaceProblem: Bool { surfaceProblem != nil }

    /// Returns, once, why the device's filter must receive no more frames.
    mutating func takeSurfaceProblem() -> String? { surfaceProblem.take() }

    private mutating func loseSurfaces(_ reason: String) {
        graph = nil
        (hasLostSurfaces, surfaceProblem) = (true, "its fields: \(reason)")
    }

    /// Continues with frames from software. The first are those that the device's filter held back or already gave out.
    private mutating func goOnInSoftware() {
        graph = nil
        times = FieldTimes()
        (hasLostSurfaces, surfaceProblem, catchUp) = (false, nil, lastTime)
    }

    /// Whether a picture was already given out. Its time may be rounded differently.
    private mutating func isOut(_ time: MediaTime) -> Bool {
        guard let catchUp else { return false }
        if time <= catchUp + .milliseconds(1) { return true }
        self.catchUp = nil
        return false
    }

    // MARK: Pictures

    /// Returns the next picture; nil if it needs another frame first.
    mutating func receive() -> TimedFrame? { ready.popFirst() ?? filtered() }

    /// Ends the input and releases the pictures held back; false if there are none.
    mutating func finish() -> Bool {
        if let frame = held.take() { filter(frame) }
        drain()
        return !ready.isEmpty
    }

    /// Discards all frames, after a seek.
    mutating func flush() {
        graph = nil
        times = FieldTimes()
        ready = UniqueDeque()
        held = nil
        (lastTime, catchUp) = (nil, nil)
    }

    /// Drains the filter and destroys it.
    private mutating func drain() {
        if graph == nil { return }
        graph!.sendEnd()
        while let picture = filtered() { ready.append(picture) }
        graph = nil
        times = FieldTimes()
    }

    private mutating func filtered() -> TimedFrame? {
        while graph != nil {
            switch graph!.receive() {
            case .picture(var picture):
                let isWhole = shim_frame_is_interlaced(picture.av) != 0
                let place = times.receive(picture.av.pointee.pts, isWhole: isWhole, ofFields: mode == .fields)
                guard let place, !isOut(place.time) else { continue }
                lastTime = place.time
                picture.orientation = place.orientation
                return TimedFrame(frame: picture, time: place.time, duration: place.duration)
            case .none: return nil
            case .failed(let reason): loseSurfaces(reason)
            }
        }
        return nil
    }
}

extension AVCodecParameters {
    /// Whether the header says that frames consist of fields.
    var isInterlaced: Bool { field_order.rawValue > AV_FIELD_PROGRESSIVE.rawValue }
}

/// Assigns times to the pictures of a deinterlacing filter. A pure value.
///
/// The filter delays frames, drops none, and gives out one picture or two for each. FFmpeg's versions treat timestamps differently, so this
/// type numbers the frames to keep times exact. Frame n has timestamp n; its pictures come out with 2n and 2n + 1. The real times stay
/// here.
///
/// The first field lasts half the frame, the second the rest. A frame lasts until the next one begins, if that is known and at most twice
/// the container's duration: a transport stream may state the duration of one field.
struct FieldTimes: Hashable, Sendable {
    /// The time of a frame, or of one of its pictures.
    struct Place: Hashable, Sendable {
        var time: MediaTime
        var duration: MediaTime
        var orientation = Orientation.up
    }

    private struct Frame: Hashable {
        var place: Place
        var isInterlaced: Bool
    }

    /// The frames that were put in and may still come out, in order.
    private var frames: Deque<Frame> = []
    /// The number of the first frame in ``frames``.
    private var number: Int64 = 0
    /// Whether a field of that frame has come out.
    private var hasGivenField = false

    /// Registers a frame and returns the timestamp to send it with.
    mutating func send(_ place: Place, isInterlaced: Bool) -> Int64 {
        frames.append(Frame(place: place, isInterlaced: isInterlaced))
        return number + Int64(frames.count) - 1
    }

    /// Returns the place of the picture with this timestamp; nil if no frame has it, or if it was already given out.
    ///
    /// - Parameters:
    ///   - isWhole: whether the picture shows its frame unchanged.
    ///   - ofFields: whether each field becomes a picture; else each frame becomes one.
    mutating func receive(_ timestamp: Int64, isWhole: Bool, ofFields: Bool) -> Place? {
        while let frame = frames.first, number < timestamp >> 1 || number == timestamp >> 1 && hasGivenField && !frame.isInterlaced {
            removeFirst()
        }
        guard let frame = frames.first, number == timestamp >> 1 else { return nil }
        var place = frame.place
        place.duration = span(of: frame)
        guard ofFields, frame.isInterlaced, !isWhole else {
            removeFirst()
            return place
        }
        let half = MediaTime(nanoseconds: place.duration.nanoseconds / 2)
        // In a file of one frame both have the same timestamp.
        if timestamp & 1 == 1 || hasGivenField {
            place.time = place.time + half
            place.duration = place.duration - half
            removeFirst()
        } else {
            place.duration = half
            hasGivenField = true
        }
        return place
    }

    private mutating func removeFirst() {
        frames.removeFirst()
        number += 1
        hasGivenField = false
    }

    /// Returns the real duration of the first frame in the queue.
    private func span(of frame: Frame) -> MediaTime {
        let told = frame.place.duration
        guard frames.count > 1 else { return told }
        let gap = frames[1].place.time - frame.place.time
        return gap > .zero && gap <= told + told ? gap : told
    }
}
