import CKioskFFmpeg
import KioskPlatform

/// The picture track of a source: its decoder, its deinterlacer, and the pictures already decoded by opening or seeking. Times are the
/// container's.
struct PictureTrack: ~Copyable, Sendable {
    private var decoder: VideoDecoder
    private var deinterlacer: Deinterlacer
    private var pace = DecodingPace()
    /// Whether to judge the speed of decoding.
    var isPaced = true
    /// The frame that opening or ``seek(to:precision:isConstantRate:from:)`` decoded: the next one.
    private var first: TimedFrame?
    /// The frame after it, if that had to be decoded, too.
    private var second: TimedFrame?
    /// The time spent waiting for the source, as long as speed is judged.
    private var timeReading = MediaTime.zero
    /// Whether the decoder was told that no packet follows.
    private var hasSentEnd = false

    init(_ decoder: consuming VideoDecoder, _ deinterlacer: consuming Deinterlacer) {
        self.decoder = decoder
        self.deinterlacer = deinterlacer
    }

    /// Returns the next frame in order; nil after the last, and when cancelled. Blocks for reading and decoding.
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

    /// Whether each field becomes a picture, as far as is known; and whether that was too much for the machine.
    var fields: (areMade: Bool, areTooMany: Bool) { mutating get { (makesFields, pace.isTooSlow) } }

    private var makesFields: Bool { deinterlacer.makesFields }

    private mutating func judge(_ time: MediaTime, for duration: MediaTime) {
        pace.add(time, for: duration)
        guard pace.isTooSlow else { return }
        deinterlacer.makeFrames(
            because: "is interlaced, and this machine is too slow to make a picture of each of its fields: kiosk shows only half of them")
    }

    /// The name of the hardware decoder in use; nil for software.
    var hardware: String? { decoder.hardware }
    var isRefusedByDevices: Bool { decoder.isRefusedByDevices }
    var wouldUseDevice: Bool { decoder.wouldUseDevice }
    var shape: String { decoder.plan.shape }

    /// The damage found so far, in container time.
    var damage: MediaDamage { decoder.damage }

    // MARK: Opening

    /// Decodes the first frame and keeps it as the next one; false if there is none.
    mutating func decodeFirst(from demuxer: inout Demuxer) -> Bool {
        first = decode(from: &demuxer)
        return first != nil
    }

    /// Whether another frame follows the first one; keeps both.
    mutating func hasSecond(from demuxer: inout Demuxer) -> Bool {
        second = decode(from: &demuxer)
        return second != nil
    }

    /// The start of the first frame; nil if none is kept.
    mutating func firstTime() -> MediaTime? { first?.time }

    /// Sets the start of the first frame.
    mutating func setFirstTime(_ time: MediaTime) { first?.time = time }

    /// Adds properties to `video` that only the first frame shows: EXIF orientation, which lies within the picture, the shape of its
    /// pixels, the colours of some codecs, and whether it is interlaced after all.
    mutating func complete(_ video: inout AssetDescription.Video?) {
        video?.isInterlaced = deinterlacer.isInterlaced
        video?.isDeinterlaced = makesFields
        if let orientation = first?.frame.orientation { video?.orientation = orientation }
        if let aspect = first?.frame.pixelAspectRatio { video?.pixelAspectRatio = aspect }
        if let frame = first?.frame.av { video?.addColors(of: frame.pointee) }
    }

    /// Skips frames while `isBehind` returns true for the newest frame's time; keeps the last one as the next frame.
    ///
    /// - Returns: the start of the next frame; nil if there is none, or none was skipped.
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
        // `first` and `second` are empty by now.
        first = newest.take()
        return leavesOut ? time : nil
    }

    // MARK: Seeking

    /// Discards all decoded frames: the demuxer continues elsewhere.
    mutating func restart() {
        first = nil
        second = nil
        hasSentEnd = false
        decoder.flush()
        deinterlacer.flush()
    }

    /// Decodes up to the frame that `precision` selects and keeps it as the next one. `precision` is in container time here, as is
    /// `wanted`.
    ///
    /// - Returns: the start and end of that frame; nil if there is none.
    /// - Parameter isConstantRate: whether all frames last equally long. Otherwise containers state the decoding duration of a frame, not
    ///   its display duration, which only the time of the next frame shows.
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

    /// Decodes the next picture. With `wanted`, decodes frames well before it only if others depend on them.
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

/// Judges whether pictures come more slowly than they are shown. A pure value.
///
/// Measures the time from the request for a picture until it is there, without reading. libavcodec's threads may decode ahead meanwhile,
/// which makes that too short. But if pictures come too slowly, the next request follows at once, and the measure is complete. A single
/// slow second may be a busy machine: slowness has to last.
struct DecodingPace: Hashable, Sendable {
    /// The length of a measurement.
    static let window = MediaTime.milliseconds(500)
    /// The number of slow windows in a row for a verdict.
    static let windows = 2

    private var spent = MediaTime.zero, shown = MediaTime.zero
    private var slowWindows = 0
    /// Whether decoding is too slow; it stays so.
    private(set) var isTooSlow = false

    /// Counts a picture that took `time` to decode and is shown for `duration`.
    mutating func add(_ time: MediaTime, for duration: MediaTime) {
        spent += time
        shown += duration
        guard shown >= Self.window else { return }
        slowWindows = spent > shown ? slowWindows + 1 : 0
        if slowWindows >= Self.windows { isTooSlow = true }
        (spent, shown) = (.zero, .zero)
    }
}
