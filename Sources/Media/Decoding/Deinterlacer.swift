import CKioskFFmpeg
import CKioskMedia
import DequeModule
import KioskPlatform

// An interlaced frame holds two fields, its odd and its even lines, which were taken one after the other. Shown as it is, what moves has
// combs, and moves half as often as it was taken. bwdif makes a whole picture of each field, from the frames before and after it, too: 25
// frames a second become 50 pictures. Of a VAAPI decoder's surfaces a filter of the device makes surfaces. Where that or the decoder fails, software
// decodes the last frames once more, and bwdif goes on with them: pictures that have come out already are dropped by their times.

extension MediaReader {
    /// What becomes of interlaced frames.
    package enum Deinterlacing: Hashable, Sendable, CaseIterable {
        /// Each field becomes a picture.
        case fields
        /// Each frame becomes a picture, for half the cost.
        case frames
        /// They are shown as they are.
        case off

        /// Loads what makes pictures of fields, for a process that opens no further files; false where it is not installed.
        package static func load() -> Bool { kiosk_filters_load() }
    }
}

/// Takes decoded frames and gives out pictures, in order; what is not interlaced passes.
///
/// The filter is made when the first interlaced frame comes, and anew where the size or the pixel format changes. It holds one frame back,
/// so the last ones come out when it is told that no more follow. Frames go through by reference; only what is made is new.
struct Deinterlacer: ~Copyable, Sendable {
    private var mode: MediaReader.Deinterlacing
    private let threads: Int
    private var graph: DeinterlacingGraph?
    private var times = FieldTimes()
    /// What needs no filtering, or has been drained from a filter.
    private var ready = UniqueDeque<TimedFrame>()
    /// A frame before the target of a seek: only the next one needs it, and that may come long after.
    private var held: TimedFrame?
    /// Whether the stream is interlaced, as its header or one of its frames says.
    private(set) var isInterlaced: Bool
    /// Whether the device's filter has failed, and no frame in ordinary memory has come since.
    private var hasLostSurfaces = false
    /// Why it has, until that is asked for.
    private var surfaceProblem: String?
    /// When the last picture begins, and up to which they have been given out already.
    private var lastTime: MediaTime?, catchUp: MediaTime?
    /// Why its frames are shown as they are, or fewer pictures than there are fields; nil where neither is so.
    private(set) var problem: String?

    /// For the frames of a stream with this header. Of a codec without fields in the sense of this filter it does nothing: Adam7 is what PNG
    /// calls interlaced, and HEVC codes each field as a frame of its own, of half the height.
    init(_ parameters: AVCodecParameters, _ mode: MediaReader.Deinterlacing, threads: Int) {
        let hasNoFrames = [AV_CODEC_ID_PNG, AV_CODEC_ID_APNG, AV_CODEC_ID_HEVC].contains { $0 == parameters.codec_id }
        self.mode = hasNoFrames ? .off : mode
        self.threads = max(1, threads)
        isInterlaced = parameters.isInterlaced
    }

    /// Whether there are twice as many pictures as interlaced frames.
    var makesFields: Bool { isInterlaced && mode == .fields }

    /// From the next frame on each frame becomes one picture.
    mutating func makeFrames(because problem: String) {
        guard mode == .fields else { return }
        drain()
        mode = .frames
        self.problem = problem
    }

    // MARK: Frames

    /// Takes a frame; its pictures are to be taken (``receive()``) before the next is put in.
    ///
    /// - Parameter isContext: whether it is of use for what follows it only: of several in a row all but the last are dropped.
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
        // Two frames may be put in one after the other, after a seek.
        while let picture = filtered() { ready.append(picture) }
        let isForDevice = frame.frame.av.isVAAPI
        // It comes once more from software.
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

    /// Whether there is something to be said by ``takeSurfaceProblem()``.
    var hasSurfaceProblem: Bool { surfaceProblem != nil }

    /// Why the device's filter is not to be given frames any more, once.
    mutating func takeSurfaceProblem() -> String? { surfaceProblem.take() }

    private mutating func loseSurfaces(_ reason: String) {
        graph = nil
        (hasLostSurfaces, surfaceProblem) = (true, "its fields: \(reason)")
    }

    /// Frames come from software, those first that the device's filter holds back or has given out already.
    private mutating func goOnInSoftware() {
        graph = nil
        times = FieldTimes()
        (hasLostSurfaces, surfaceProblem, catchUp) = (false, nil, lastTime)
    }

    /// Whether a picture has been given out before. Its time may have been rounded otherwise.
    private mutating func isOut(_ time: MediaTime) -> Bool {
        guard let catchUp else { return false }
        if time <= catchUp + .milliseconds(1) { return true }
        self.catchUp = nil
        return false
    }

    // MARK: Pictures

    /// The next picture; nil where another frame is needed first.
    mutating func receive() -> TimedFrame? { ready.popFirst() ?? filtered() }

    /// No frame follows: what is held back comes out. False where that is nothing.
    mutating func finish() -> Bool {
        if let frame = held.take() { filter(frame) }
        drain()
        return !ready.isEmpty
    }

    /// Forgets all frames, after a seek.
    mutating func flush() {
        graph = nil
        times = FieldTimes()
        ready = UniqueDeque()
        held = nil
        (lastTime, catchUp) = (nil, nil)
    }

    /// Takes everything out of the filter, which is used up by that.
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

/// Places the pictures that come out of a deinterlacing filter: a pure value.
///
/// The filter holds frames back, drops none, and gives out one picture or two of each. So that times are exact, and FFmpeg's versions need
/// not agree on what they do to timestamps, frames are numbered on their way in: frame n has the timestamp n, and its pictures come out with
/// 2n and 2n + 1. The real times stay here.
///
/// The first field lasts half the frame, the second the rest of it. A frame lasts until the next begins, where that is known and no more
/// than twice what the container tells: in a transport stream that may be the duration of one field.
struct FieldTimes: Hashable, Sendable {
    /// A frame, or a picture of it.
    struct Place: Hashable, Sendable {
        var time: MediaTime
        var duration: MediaTime
        var orientation = Orientation.up
    }

    private struct Frame: Hashable {
        var place: Place
        var isInterlaced: Bool
    }

    /// What has been put in and may still come out, in order.
    private var frames: Deque<Frame> = []
    /// The number of the first of them.
    private var number: Int64 = 0
    /// Whether a field of that one has come out.
    private var hasGivenField = false

    /// A frame is put in; returns the timestamp that it is to have.
    mutating func send(_ place: Place, isInterlaced: Bool) -> Int64 {
        frames.append(Frame(place: place, isInterlaced: isInterlaced))
        return number + Int64(frames.count) - 1
    }

    /// The place of the picture that has come out with this timestamp; nil where it is of no frame, or of one that has been given out.
    ///
    /// - Parameters:
    ///   - isWhole: whether it shows its frame as it was put in.
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
        // Of a file of one frame both have the same timestamp.
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

    /// How long a frame lasts in fact, for the first in the queue.
    private func span(of frame: Frame) -> MediaTime {
        let told = frame.place.duration
        guard frames.count > 1 else { return told }
        let gap = frames[1].place.time - frame.place.time
        return gap > .zero && gap <= told + told ? gap : told
    }
}
