import CKioskFFmpeg
import KioskPlatform

/// The pictures of a source: its decoder, its deinterlacer, and the pictures that opening or seeking has decoded already. Times are the
/// container's.
struct PictureTrack: ~Copyable, Sendable {
    private var decoder: VideoDecoder
    private var deinterlacer: Deinterlacer
    private var pace = DecodingPace()
    /// Whether it is judged how fast pictures come.
    var isPaced = true
    /// The frame that opening or ``seek(to:precision:isConstantRate:from:)`` has decoded; it is the next one.
    private var first: TimedFrame?
    /// The one after it, where that had to be looked at.
    private var second: TimedFrame?
    /// How long it has waited for the source so far, while that is counted.
    private var timeReading = MediaTime.zero
    /// Whether the decoder knows that no packet follows.
    private var hasSentEnd = false

    init(_ decoder: consuming VideoDecoder, _ deinterlacer: consuming Deinterlacer) {
        self.decoder = decoder
        self.deinterlacer = deinterlacer
    }

    /// The next frame in order; nil after the last, and when cancelled. Blocks for reading and decoding.
    mutating func next(from demuxer: inout Demuxer) -> TimedFrame? {
        if let frame = first.take() { return frame }
        if let frame = second.take() { return frame }
        guard makesFields, isPaced, !pace.isTooSlow else { return decode(from: &demuxer) }
        let begin = HostTime.now
        let readBefore = timeReading
        guard let frame = decode(from: &demuxer) else { return nil }
        judge(HostTime.now - begin - (timeReading - readBefore), for: frame.duration)
        return frame
    }

    // MARK: Fields

    /// Whether each field becomes a picture, as far as it has been decoded; and whether that has shown to be more than the machine can do.
    var fields: (areMade: Bool, areTooMany: Bool) { mutating get { (makesFields, pace.isTooSlow) } }

    private var makesFields: Bool { deinterlacer.makesFields }

    private mutating func judge(_ time: MediaTime, for duration: MediaTime) {
        pace.add(time, for: duration)
        guard pace.isTooSlow else { return }
        deinterlacer.makeFrames(
            because: "is interlaced, and this machine is too slow to make a picture of each of its fields: kiosk shows only half of them")
    }

    /// What to call the hardware decoder in use; nil where it is software.
    var hardware: String? { decoder.hardware }
    var isRefusedByDevices: Bool { decoder.isRefusedByDevices }
    var wouldUseDevice: Bool { decoder.wouldUseDevice }
    var shape: String { decoder.plan.shape }

    /// What has not been decoded in full so far, in container time.
    var damage: MediaDamage { decoder.damage }

    // MARK: Opening

    /// Decodes the first frame and keeps it to be the next one; false when there is none.
    mutating func decodeFirst(from demuxer: inout Demuxer) -> Bool {
        first = decode(from: &demuxer)
        return first != nil
    }

    /// Whether there is another frame behind the first one, which is kept.
    mutating func hasSecond(from demuxer: inout Demuxer) -> Bool {
        second = decode(from: &demuxer)
        return second != nil
    }

    /// When the first frame begins; nil where none is kept.
    mutating func firstTime() -> MediaTime? { first?.time }

    /// Has the first frame begin at `time`.
    mutating func setFirstTime(_ time: MediaTime) { first?.time = time }

    /// Adds to `video` what only the first frame tells: EXIF orientation, which lies within the picture, the shape of its pixels, the
    /// colours of some codecs, and whether it is interlaced after all.
    mutating func complete(_ video: inout AssetDescription.Video?) {
        video?.isInterlaced = deinterlacer.isInterlaced
        video?.isDeinterlaced = makesFields
        if let orientation = first?.frame.orientation { video?.orientation = orientation }
        if let aspect = first?.frame.pixelAspectRatio { video?.pixelAspectRatio = aspect }
        if let frame = first?.frame.av { video?.addColors(of: frame.pointee) }
    }

    /// Leaves out frames while `isBehind` says so of the next one's time; keeps that to be the next one.
    ///
    /// - Returns: when the next one begins; nil where there is none, or none was left out.
    mutating func skip(
        from demuxer: inout Demuxer, while isBehind: (MediaTime, borrowing Demuxer) -> Bool
    ) -> MediaTime? {
        guard let frame = next(from: &demuxer) else { return nil }
        var time = frame.time
        var newest: TimedFrame? = consume frame
        var leavesOut = false
        while isBehind(time, demuxer), let following = next(from: &demuxer) {
            time = following.time
            newest = consume following
            leavesOut = true
        }
        // What was looked at, where any was, has been taken by now.
        first = newest.take()
        return leavesOut ? time : nil
    }

    // MARK: Seeking

    /// Forgets what has been decoded, as the demuxer goes on elsewhere.
    mutating func restart() {
        first = nil
        second = nil
        hasSentEnd = false
        decoder.flush()
        deinterlacer.flush()
    }

    /// Decodes up to the frame that `precision` asks for and keeps it to be the next one. `precision` counts in container time here, as
    /// `wanted` does.
    ///
    /// - Returns: when that frame begins and ends; nil when there is none.
    /// - Parameter isConstantRate: whether all frames last equally long. Where they do not, containers tell how long a frame takes to
    ///   decode rather than how long it is shown: only the time of the next frame tells that.
    mutating func seek(
        to wanted: MediaTime, precision: MediaReader.SeekPrecision, isConstantRate: Bool, from demuxer: inout Demuxer
    ) -> (begin: MediaTime, end: MediaTime)? {
        while let frame = decode(from: &demuxer, skippingBefore: precision == .exact ? wanted : nil) {
            if !isConstantRate, precision == .exact, frame.time > wanted, first != nil {
                first!.duration = frame.time - first!.time
                second = consume frame
                break
            }
            let covers = frame.time + frame.duration > wanted && (isConstantRate || precision != .exact)
            let isKeyEnough = if case .keyFrame(let after) = precision { after.map { frame.time > $0 } ?? true } else { false }
            first = consume frame
            if covers || isKeyEnough { break }
        }
        decoder.setDecodesOnlyReferences(false)
        guard let begin = first?.time, let duration = first?.duration else { return nil }
        return (begin, begin + duration)
    }

    // MARK: Decoding

    /// Decodes the next picture. Where `wanted` is given, frames well before it are decoded only where others depend on them.
    private mutating func decode(from demuxer: inout Demuxer, skippingBefore wanted: MediaTime? = nil) -> TimedFrame? {
        while !demuxer.source.interruption.cancelled {
            if var picture = deinterlacer.receive() {
                picture.frame.codec = decoder.codecName
                return picture
            }
            if let reason = deinterlacer.takeSurfaceProblem() { decoder.fail(reason) }
            let output = decoder.receive()
            if let problem = decoder.takeProblem() { demuxer.report(problem) }
            switch consume output {
            case .frame(let frame):
                let isContext = wanted.map { frame.time + frame.duration <= $0 } ?? false
                deinterlacer.send(frame, isContext: isContext)
                if let problem = deinterlacer.problem { demuxer.report(problem) }
                continue
            case .end:
                if deinterlacer.finish() || deinterlacer.hasSurfaceProblem { continue }
                return nil
            case .needsPacket: break
            }
            if let packet = demuxer.pictures.popFirst() {
                if let wanted { decoder.setDecodesOnlyReferences(decoder.isWellBefore(wanted, packet)) }
                decoder.send(packet)
            } else if demuxer.hasReadAll || !read(from: &demuxer) {
                if hasSentEnd {
                    if deinterlacer.finish() { continue }
                    return nil
                }
                hasSentEnd = true
                decoder.sendEnd()
            }
        }
        return nil
    }

    /// Reads a packet; false at the end.
    private mutating func read(from demuxer: inout Demuxer) -> Bool {
        guard makesFields else { return demuxer.read() }
        let begin = HostTime.now
        defer { timeReading += HostTime.now - begin }
        return demuxer.read()
    }
}

/// Whether pictures come more slowly than they are shown: a pure value.
///
/// What is counted is the time from when a picture is asked for until it is there, without reading. That is less than it takes where
/// libavcodec's threads decode ahead meanwhile; but while pictures come too slowly the next one is asked for at once, and then it is all
/// there is. A single slow second is a busy machine: it has to last.
struct DecodingPace: Hashable, Sendable {
    /// Pictures are counted for this long.
    static let window = MediaTime.milliseconds(500)
    /// So many windows in a row must be slow.
    static let windows = 2

    private var spent = MediaTime.zero, shown = MediaTime.zero
    private var slowWindows = 0
    /// Whether it is too slow; it stays so.
    private(set) var isTooSlow = false

    /// Counts a picture that took `time` to come and is shown for `duration`.
    mutating func add(_ time: MediaTime, for duration: MediaTime) {
        spent += time
        shown += duration
        guard shown >= Self.window else { return }
        slowWindows = spent > shown ? slowWindows + 1 : 0
        if slowWindows >= Self.windows { isTooSlow = true }
        (spent, shown) = (.zero, .zero)
    }
}
