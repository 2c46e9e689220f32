import CFFmpeg
import DequeModule
import Glibc
import Logging
import Platform

/// A source opened for playing: hands out its frames and its samples from a chosen moment on, each in order, reading packets as
/// either side asks for more.
///
/// Times are those of the *item*: zero is the beginning of its first picture (of its sound where there is no picture), whatever the container's
/// timestamps say, so that negative, missing, offset and jumping timestamps, edit lists and B-frame delays end here. Sound before zero is cut off, sound
/// that begins later is preceded by silence.
///
/// A reader is not shared: one thread at a time owns it. Everything it waits for is bounded by its ``Interruption``.
public struct MediaReader: ~Copyable, Sendable {
    /// What the source holds.
    public private(set) var description: AssetDescription
    /// How long a frame lasts at the average rate; nil for stills and where the container tells none.
    public private(set) var nominalFrameDuration: MediaTime?
    /// What is wrong with it, as far as it has been read: `plays without its sound: …`. Each is there once; what turns up later comes last.
    public private(set) var problems: [String] = []
    /// Why the source ended before its time, if reading it failed half-way.
    public private(set) var prematureEnd: String?

    private let format: FormatContext
    private let interruption: Interruption
    private let source: String
    private var video: VideoDecoder?
    private var audio: AudioDecoder?
    private let videoIndex: Int32
    private var audioIndex: Int32
    private let videoTimeBase: AVRational
    private var videoPackets = UniqueDeque<Packet>(), audioPackets = UniqueDeque<Packet>()
    private var queuedVideoBytes = 0, queuedAudioBytes = 0
    /// Packets that were read to judge a jump of the timestamps; they are taken before the source's next, and are as it gave them.
    private var readAhead = UniqueDeque<Packet>()
    /// Whether the source has given its last packet, and whether the last of those read ahead has been taken, too.
    private var hasReadSource = false, hasReadAll = false
    private var hasReadPacket = false
    private var hasToldJump = false
    private var hasSentEnd = false
    /// Container time of the picture packet that was read last, and how far behind it the sound in the file has been at most.
    private var pictureReadTo: MediaTime?
    private var soundLag = MediaTime.zero
    /// Container time at which the sound read so far ends.
    private var soundReadTo: MediaTime?
    private var pictureClock = StreamClock(), soundClock = StreamClock()
    private var isEncrypted = false
    /// Container time of item time zero.
    private var origin = MediaTime.zero
    /// The frame that ``open(_:at:precision:samples:decoderThreads:interruption:)`` or ``seek(to:precision:)`` decoded, given out next.
    private var firstFrame: TimedFrame?
    /// The one after it, where a seek had to look at it.
    private var secondFrame: TimedFrame?

    /// How exactly a seek must meet its time.
    public enum SeekPrecision: Hashable, Sendable {
        /// The frame that covers the time.
        case exact
        /// The key frame at or before the time: fast, for moving about. Where that lies at or before `after` (the frame that is on the screen
        /// while one moves forward), the first frame behind `after` instead, so that the picture never goes back.
        case keyFrame(after: MediaTime? = nil)
    }

    /// Where the pictures read are ahead of the sound by this much more than it has been late so far, there is none at that place; in a file only when they are
    /// so many bytes, too: those are read in no time, and what is interleaved no worse than that keeps all of its sound.
    private static let patience = (time: MediaTime.seconds(2), bytes: 4 << 20)
    /// Sound that comes later than this is not waited for the next time: the last packet that an encoder let go when its pictures ended, say.
    private static let longestLag = MediaTime.seconds(10)
    /// Packets of one kind may pile up to this while the other kind is wanted: the file is interleaved worse than anything plays.
    private static let interleavingLimit = 64 << 20
    /// So much is read ahead at most to see whether timestamps come back.
    private static let readAheadLimit = (packets: 4000, bytes: 8 << 20)

    /// Between two tries of a source that has nothing yet, in microseconds.
    private static let retryPause: UInt32 = 5000

    /// Opens `source` and decodes its first picture, so that a source that cannot play fails here and not on the screen.
    ///
    /// Blocks for as long as that takes, at most some ``openingTimeLimit`` a step; `interruption` ends it early.
    ///
    /// - Parameters:
    ///   - samples: what sound is converted to; nil leaves the sound out.
    ///   - decoderThreads: how many threads libavcodec may use for pictures.
    ///   - pictureMemory: bytes that its pictures may take while they are decoded and drawn.
    public static func open(
        _ source: String, samples: AudioFormat?, decoderThreads: Int = 1, interruption: Interruption = Interruption(),
        pictureMemory: Int = MemoryLimit.ofItem
    ) throws(MediaError) -> MediaReader {
        MemoryLimit.boundAllocations()
        let format = try FormatContext.open(source, interruption: interruption)
        var videoIndex = av_find_best_stream(format.raw, AVMEDIA_TYPE_VIDEO, -1, -1, nil, 0)
        let audioIndex =
            samples == nil && videoIndex >= 0 ? -1 : av_find_best_stream(format.raw, AVMEDIA_TYPE_AUDIO, -1, videoIndex, nil, 0)
        if videoIndex < 0 && audioIndex < 0 { throw MediaError(source, .nothingToPlay) }
        for index in 0..<Int(format.raw.pointee.nb_streams) where index != Int(videoIndex) && index != Int(audioIndex) {
            shim_stream_discard(format.raw.pointee.streams[index], 1)
        }

        var video: VideoDecoder?
        var isCover = false
        if videoIndex >= 0, let stream = format.raw.pointee.streams[Int(videoIndex)] {
            isCover = shim_stream_is_attached_picture(stream) != 0
            do throws(MediaError) {
                // Frame threads give a picture out only when more packets follow, and a cover has one.
                video = try VideoDecoder.open(
                    stream, of: format, source: source, threads: isCover ? 1 : decoderThreads, memory: pictureMemory)
            } catch {
                if !isCover { throw error }  // a cover that cannot be shown leaves the sound
                videoIndex = -1
            }
        }
        var audio: AudioDecoder?
        var soundProblem: String?
        if audioIndex >= 0, let samples, let stream = format.raw.pointee.streams[Int(audioIndex)] {
            do throws(MediaError) {
                audio = try AudioDecoder.open(stream, source: source, output: samples)
            } catch {
                if videoIndex < 0 || isCover { throw error }
                soundProblem = "plays without its sound: \(error.reason.text)"
            }
        }
        let description = AssetDescription(
            format, video: isCover ? -1 : videoIndex, audio: audioIndex, hasCover: isCover && videoIndex >= 0)
        let playedAudioIndex = audio == nil ? -1 : audioIndex
        let videoTimeBase = videoIndex >= 0 ? format.raw.pointee.streams[Int(videoIndex)]!.pointee.time_base : shim_rational(1, 1)
        let nominal = isCover || description.isStill ? nil : video?.nominalDuration
        var reader = MediaReader(
            description: description, nominalFrameDuration: nominal,
            soundProblem: soundProblem, format: format, interruption: interruption, source: source, video: video, audio: audio,
            videoIndex: videoIndex, audioIndex: playedAudioIndex, videoTimeBase: videoTimeBase)
        try reader.decodeBeginning(isCover: isCover)
        return reader
    }

    private init(
        description: AssetDescription, nominalFrameDuration: MediaTime?, soundProblem: String?, format: consuming FormatContext,
        interruption: Interruption, source: String, video: consuming VideoDecoder?, audio: consuming AudioDecoder?, videoIndex: Int32,
        audioIndex: Int32, videoTimeBase: AVRational
    ) {
        self.description = description
        self.nominalFrameDuration = nominalFrameDuration
        problems = soundProblem.map { [$0] } ?? []
        self.format = format
        self.interruption = interruption
        self.source = source
        self.video = video
        self.audio = audio
        self.videoIndex = videoIndex
        self.audioIndex = audioIndex
        self.videoTimeBase = videoTimeBase
        resetClocks(expecting: sourceBegin)
    }

    /// Whether there is a picture (a cover counts).
    public var hasPicture: Bool { videoIndex >= 0 }
    /// Whether there is sound that can be played.
    public var hasSound: Bool { audioIndex >= 0 }
    /// Samples of its sound that have been converted and are in memory.
    var heldSamples: Int { mutating get { audio?.sampleCount ?? 0 } }
    /// What has been read and waits to be decoded.
    var queued: (packets: Int, bytes: Int) { (videoPackets.count + audioPackets.count, queuedVideoBytes + queuedAudioBytes) }

    /// Item time at which the sound that has been read ends; nil where none has been.
    public var soundEnd: MediaTime? { soundReadTo.map { $0 - origin } }

    /// Neither reads nor keeps the sound any more where there is a picture; sound alone goes on being read, as it is the item's length.
    public mutating func leaveOutSound() {
        guard description.video != nil, audioIndex >= 0 else { return }
        shim_stream_discard(format.raw.pointee.streams[Int(audioIndex)], 1)
        audio = nil
        audioPackets = UniqueDeque()
        (audioIndex, queuedAudioBytes) = (-1, 0)
    }

    private mutating func decodeBeginning(isCover: Bool) throws(MediaError) {
        interruption.allow(openingTimeLimit)
        firstFrame = decodeFrame()
        let hasPicture = videoIndex >= 0 && !isCover
        try checkBeginning(hasPicture ? firstFrame != nil : true)
        if hasPicture {
            origin = firstFrame?.time ?? .zero
            // EXIF lies within the picture, where no header shows it, as do the colours of some codecs.
            if let orientation = firstFrame?.frame.orientation { description.video?.orientation = orientation }
            if let frame = firstFrame?.frame.av { description.video?.addColors(of: frame.pointee) }
            if let problem = description.video?.colorProblem { tell(problem) }
            if description.audio == nil, format.isImage {
                secondFrame = decodeFrame()
                try checkBeginning(true)
                if secondFrame == nil { becomeStill() }
            }
            audio?.restart(at: origin)
        } else {
            // Sound only: its own beginning is the item's.
            origin = description.audio?.start ?? .zero
            firstFrame?.time = origin
            audio?.restart(at: origin)
            try checkBeginning(decodeFirstSound())
        }
    }

    /// Throws where opening was cancelled, or where the source cannot be played after all: nothing `isDecoded`.
    private func checkBeginning(_ isDecoded: Bool) throws(MediaError) {
        if interruption.cancelled { throw MediaError(source, .cancelled) }
        if isEncrypted { throw MediaError(source, .encrypted) }
        if isDecoded { return }
        if interruption.isOver { throw MediaError(source, .timedOut(seconds: openingTimeLimit.seconds)) }
        throw MediaError(source, hasReadPacket || description.isStill ? .nothingDecodes : .hasNoMedia)
    }

    /// Decodes sound until some of it can be taken; false when there is none.
    private mutating func decodeFirstSound() -> Bool {
        while !(audio?.availableFrames ?? 0 > 0) {
            if audio?.hasEnded ?? true { return false }
            if !decodeSound() { feedSound() }
        }
        return true
    }

    /// Goes on decoding the sound by one piece; false where that takes ``feedSound()``.
    private mutating func decodeSound() -> Bool {
        defer { if let problem = audio?.problem { tell(problem) } }
        return audio!.decodeNext()
    }

    /// Hands the decoder of the sound its next packet, which is read where none is queued; says that there is no other where that is so.
    private mutating func feedSound() {
        if let packet = audioPackets.popFirst() {
            queuedAudioBytes -= Int(packet.raw.pointee.size)
            audio!.send(packet)
        } else if !readPacket() {
            audio!.sendEnd()
        }
    }

    /// An animation of one frame is held like any other still.
    private mutating func becomeStill() {
        description.isStill = true
        description.duration = nil
        description.video?.frameRate = nil
        nominalFrameDuration = nil
    }

    /// Adds to ``problems`` what is not among them.
    private mutating func tell(_ problem: String) {
        if !problems.contains(problem) { problems.append(problem) }
    }

    /// The next frame in order, nil after the last. Blocks for reading and decoding.
    public mutating func nextFrame() -> TimedFrame? {
        guard var next = takeFirstFrame() else { return nil }
        next.time = next.time - origin
        return next
    }

    private mutating func takeFirstFrame() -> TimedFrame? {
        if let frame = firstFrame.take() { return frame }
        if let frame = secondFrame.take() { return frame }
        return decodeFrame()
    }

    /// Fills `destination` (whole frames) with the next samples; returns the frames filled, fewer only when the sound has ended. Where the pictures
    /// go on and no sound comes, it is silence: to read on for it would keep the pictures waiting.
    public mutating func readSamples(into destination: UnsafeMutableBufferPointer<Float>, channelCount: Int) -> Int {
        guard audioIndex >= 0 else { return 0 }
        let wanted = destination.count / channelCount
        var filled = 0
        while filled < wanted {
            if audio?.availableFrames ?? 0 > 0 {
                let rest = UnsafeMutableBufferPointer(rebasing: destination[(filled * channelCount)...])
                filled += audio!.take(into: rest)
            } else if audio?.hasEnded ?? true {
                break
            } else if decodeSound() {
                continue
            } else if !audioPackets.isEmpty {
                feedSound()
            } else if !hasReadAll, let soundEnd = audio?.endTime, isFarBehind(soundEnd) {
                audio!.pass(frames: wanted - filled)
            } else if queuedVideoBytes > Self.interleavingLimit {
                tell("its sound ends early, as it lies too far from its picture in the file: remux it (ffmpeg -i IN -c copy OUT)")
                audio!.sendEnd()
            } else {
                feedSound()
            }
        }
        return filled
    }

    /// Goes on at item time `time`, clamped to the source; the next frame and sample are those of the returned time, which is `time` itself for
    /// `.exact` and the key frame's for `.keyFrame`. At or past the end it is the last frame.
    public mutating func seek(to time: MediaTime, precision: SeekPrecision) throws(MediaError) -> MediaTime {
        let target = max(time, .zero)
        interruption.allow(openingTimeLimit)
        var landed: MediaTime?
        // Containers index by decoding time, and MPEG-TS and -PS know of no key frames, so a seek may land behind its target, or where nothing
        // can be decoded; go further back then, in the end to the very beginning.
        let earlier = [MediaTime.seconds(2), .seconds(10)].filter { $0 < target }.map { target - $0 }
        for begin in [target] + earlier + [nil] {
            landed = nil
            try reposition(to: begin)
            guard videoIndex >= 0, description.video != nil else { break }
            if try decodeFrom(target, precision: precision) {
                landed = (firstFrame?.time ?? origin) - origin
                if landed! <= target { break }
            } else if interruption.cancelled {
                throw MediaError(source, .cancelled)
            }
        }
        var result = target
        if let landed, precision != .exact || landed + (firstFrame?.duration ?? .zero) <= target { result = landed }
        audio?.restart(at: origin + result)
        return result
    }

    /// Goes to where `time` can be decoded from, or to the very beginning.
    private mutating func reposition(to time: MediaTime?) throws(MediaError) {
        firstFrame = nil
        secondFrame = nil
        videoPackets = UniqueDeque()
        audioPackets = UniqueDeque()
        readAhead = UniqueDeque()
        (hasReadSource, hasReadAll, hasSentEnd) = (false, false, false)
        (queuedVideoBytes, queuedAudioBytes, pictureReadTo, soundReadTo) = (0, 0, nil, nil)
        var status: Int32 = -1
        // To the first byte only where no index is kept: elsewhere the demuxer would count its times on from where it stood.
        if time != nil || format.raw.pointee.iformat.pointee.flags & AVFMT_TS_DISCONT == 0 {
            let index = videoIndex >= 0 && description.video != nil ? videoIndex : -1
            let container = origin + (time ?? .zero)
            let timestamp = index >= 0 ? container.ticks(of: videoTimeBase) : container.nanoseconds / 1000
            status = avformat_seek_file(format.raw, index, .min, timestamp, timestamp, 0)
        }
        if status < 0 { status = avformat_seek_file(format.raw, -1, .min, 0, .max, AVSEEK_FLAG_BYTE) }
        if interruption.cancelled { throw MediaError(source, .cancelled) }
        if status < 0 { throw MediaError(source, .failed("cannot be moved about in: " + describe(averror: status))) }
        resetClocks(expecting: time.map { origin + $0 } ?? sourceBegin)
        video?.flush()
        audio?.restart(at: origin + (time ?? .zero))
    }

    /// Decodes up to the frame that `precision` asks for and keeps it in ``firstFrame``; false when there is none.
    private mutating func decodeFrom(_ target: MediaTime, precision: SeekPrecision) throws(MediaError) -> Bool {
        let wanted = origin + target
        // Where frames differ in length, containers tell how long one takes to decode and not how long it stands: only the next one's time does.
        let tellsEnds = description.video?.isConstantFrameRate == true
        while let frame = decodeFrame(skippingBefore: precision == .exact ? wanted : nil) {
            if !tellsEnds, precision == .exact, frame.time > wanted, firstFrame != nil {
                firstFrame!.duration = frame.time - firstFrame!.time
                secondFrame = consume frame
                break
            }
            let covers = frame.time + frame.duration > wanted && (tellsEnds || precision != .exact)
            let isKeyEnough = if case .keyFrame(let after) = precision { after.map { frame.time - origin > $0 } ?? true } else { false }
            firstFrame = consume frame
            if covers || isKeyEnough { break }
        }
        video?.setDecodesOnlyReferences(false)
        return firstFrame != nil
    }

    private mutating func decodeFrame(skippingBefore wanted: MediaTime? = nil) -> TimedFrame? {
        guard videoIndex >= 0 else { return nil }
        while !interruption.cancelled {
            switch video!.receive() {
            case .frame(let frame): return frame
            case .end: return nil
            case .needsPacket: break
            }
            if let packet = videoPackets.popFirst() {
                queuedVideoBytes -= Int(packet.raw.pointee.size)
                if let wanted { video!.setDecodesOnlyReferences(isWellBefore(wanted, packet)) }
                video!.send(packet)
            } else if hasReadAll || !readPacket() {
                if hasSentEnd { return nil }
                hasSentEnd = true
                video!.sendEnd()
            }
        }
        return nil
    }

    private func isWellBefore(_ time: MediaTime, _ packet: borrowing Packet) -> Bool {
        guard let presentation = MediaTime(ticks: packet.raw.pointee.pts, of: videoTimeBase) else { return false }
        return presentation < time - .seconds(1)
    }

    /// The next packet of the source; nil at its end.
    private mutating func readSource() -> Packet? {
        if hasReadSource || interruption.cancelled { return nil }
        let packet = Packet()
        interruption.allow(readingTimeLimit)
        var status: Int32
        while true {
            status = av_read_frame(format.raw, packet.raw)
            if status != kAVERROR_EAGAIN || interruption.isOver { break }
            usleep(Self.retryPause)
        }
        guard status >= 0 else {
            hasReadSource = true
            // Most demuxers take a read that fails for the end.
            if status == kAVERROR_EOF, let io = format.raw.pointee.pb, io.pointee.error < 0 { status = io.pointee.error }
            if status != kAVERROR_EOF && !interruption.cancelled {
                prematureEnd =
                    status == kAVERROR_EXIT ? MediaError.Reason.timedOut(seconds: readingTimeLimit.seconds).text : describe(averror: status)
            }
            return nil
        }
        if shim_packet_is_encrypted(packet.raw) != 0 { isEncrypted = true }
        return packet
    }

    /// Reads one packet into its queue; false at the end of the source.
    private mutating func readPacket() -> Bool {
        guard let packet = readAhead.popFirst() ?? readSource() else {
            hasReadAll = true
            return false
        }
        hasReadPacket = true
        let size = Int(packet.raw.pointee.size)
        unravel(packet)
        if packet.raw.pointee.stream_index == videoIndex {
            queuedVideoBytes += size
            if description.video != nil, let time = decodingTime(of: packet) { pictureReadTo = time }
            videoPackets.append(packet)
        } else if packet.raw.pointee.stream_index == audioIndex {
            queuedAudioBytes += size
            if let time = decodingTime(of: packet) {
                let end = time + (format.raw.pointee.streams[Int(audioIndex)]?.time(packet.raw.pointee.duration) ?? .zero)
                soundReadTo = max(soundReadTo ?? end, end)
                if let pictureReadTo, pictureReadTo - time < Self.longestLag { soundLag = max(soundLag, pictureReadTo - time) }
            }
            audioPackets.append(packet)
            while queuedAudioBytes > Self.interleavingLimit, let oldest = audioPackets.popFirst() {
                queuedAudioBytes -= Int(oldest.raw.pointee.size)
            }
        }
        return true
    }

    /// Whether what has been read says that there is no sound from this container time on.
    private func isFarBehind(_ soundEnd: MediaTime) -> Bool {
        guard let pictureReadTo, pictureReadTo - soundEnd > soundLag + Self.patience.time else { return false }
        return queuedVideoBytes > Self.patience.bytes || isURL(source)
    }

    private func decodingTime(of packet: borrowing Packet) -> MediaTime? {
        let packet = packet.raw.pointee
        let value = packet.dts == kAV_NOPTS_VALUE ? packet.pts : packet.dts
        return format.raw.pointee.streams[Int(packet.stream_index)]?.time(value)
    }

    // MARK: Jumping timestamps

    /// Container time at which the source begins by its own word.
    private var sourceBegin: MediaTime? { MediaTime(ticks: format.raw.pointee.start_time, of: shim_rational(1, AV_TIME_BASE)) }

    /// What the container tells of its times by now: that of a fragmented file grows.
    private var extent: StreamClock.Extent {
        let context = format.raw.pointee
        var extent = StreamClock.Extent(mayJump: context.iformat.pointee.flags & AVFMT_TS_DISCONT != 0, end: nil)
        // A duration made up from the bit rate says nothing.
        if context.duration_estimation_method != AVFMT_DURATION_FROM_BITRATE, context.duration > 0, let sourceBegin,
            let duration = MediaTime(ticks: context.duration, of: shim_rational(1, AV_TIME_BASE))
        {
            extent.end = sourceBegin + duration
        }
        for index in [videoIndex, audioIndex] where index >= 0 && extent.end != nil {
            guard let stream = context.streams[Int(index)], let length = stream.time(stream.pointee.duration) else { continue }
            extent.end = max(extent.end!, (stream.time(stream.pointee.start_time) ?? .zero) + length)
        }
        return extent
    }

    private mutating func resetClocks(expecting begin: MediaTime?) {
        pictureClock = StreamClock(expecting: begin, frameDuration: nominalFrameDuration)
        soundClock = StreamClock(expecting: begin)
    }

    /// Makes the times of a packet follow those before where they jump (``StreamClock``).
    private mutating func unravel(_ packet: borrowing Packet) {
        let raw = packet.raw, index = packet.raw.pointee.stream_index
        guard index == videoIndex || index == audioIndex, let stream = format.raw.pointee.streams[Int(index)] else { return }
        let isPicture = index == videoIndex
        // Frames that are reordered are decoded in the order of their decoding times alone.
        guard
            let time = isPicture && stream.pointee.codecpar.pointee.video_delay > 0
                ? stream.time(raw.pointee.dts) : decodingTime(of: packet)
        else { return }
        let extent = extent
        let (clock, other) = isPicture ? (pictureClock, soundClock) : (soundClock, pictureClock)
        let told = stream.time(raw.pointee.duration) ?? .zero
        let duration = StreamClock.duration(told, at: time, within: extent)
        if duration != told { raw.pointee.duration = duration.ticks(of: stream.pointee.time_base) }
        let sequel = clock.isDoubtful(at: time, beside: other, within: extent) ? sequel(of: time, in: index) : .unknown
        let (offset, isJump) =
            isPicture
            ? pictureClock.offset(at: time, lasting: duration, beside: soundClock, within: extent, sequel: sequel)
            : soundClock.offset(at: time, lasting: duration, beside: pictureClock, within: extent, sequel: sequel)
        if let presentation = stream.time(raw.pointee.pts), raw.pointee.dts != kAV_NOPTS_VALUE,
            isDamaged(presentation, clock.presentation(at: presentation + offset, decodedAt: time + offset, within: extent), in: index)
        {
            raw.pointee.pts = kAV_NOPTS_VALUE
            raw.pointee.flags &= ~AV_PKT_FLAG_DISCARD
            tellJump(presentation)
        }
        if isJump, !extent.mayJump { tellJump(time) }
        if offset == .zero { return }
        let ticks = offset.ticks(of: stream.pointee.time_base)
        // What leaves the range is far from any plausible time, wherever it comes round to.
        if raw.pointee.dts != kAV_NOPTS_VALUE { raw.pointee.dts &+= ticks }
        if raw.pointee.pts != kAV_NOPTS_VALUE { raw.pointee.pts &+= ticks }
        // The demuxer has judged by the damaged time what lies behind the end of an edit list, and is not shown.
        if !extent.mayJump { raw.pointee.flags &= ~AV_PKT_FLAG_DISCARD }
    }

    private mutating func tellJump(_ time: MediaTime) {
        if hasToldJump { return }
        hasToldJump = true
        tell("its timestamps jump (to \(time)): what comes after follows on what came before; export or remux it again")
    }

    /// Whether a frame's presentation time is damaged. The frames that are decoded after the first one behind a gap and presented before it go back, too: so it is
    /// only where more do than ever wait for one.
    private mutating func isDamaged(_ presentation: MediaTime, _ step: StreamClock.Step, in index: Int32) -> Bool {
        if step != .doubtful { return step == .jump }
        return sequel(of: presentation, in: index, returns: 17, by: \.pts) == .returns
    }

    /// Reads ahead to see what the times of a stream do after a step to `time`: that so many `returns` are back shows it.
    private mutating func sequel(
        of time: MediaTime, in index: Int32, returns: Int = 1, by kind: KeyPath<AVPacket, Int64>? = nil
    ) -> StreamClock.Sequel {
        guard !isURL(source), let stream = format.raw.pointee.streams[Int(index)] else { return .unknown }
        let clock = index == videoIndex ? pictureClock : soundClock
        var (position, bytes, back) = (0, 0, 0)
        while true {
            if position == readAhead.count {
                guard position < Self.readAheadLimit.packets, bytes < Self.readAheadLimit.bytes else { return .goesOn }
                guard let packet = readSource() else { return .ends }
                readAhead.append(packet)
            }
            bytes += Int(readAhead[position].raw.pointee.size)
            let raw = readAhead[position].raw
            let next = kind.map { stream.time(raw.pointee[keyPath: $0]) } ?? decodingTime(of: readAhead[position])
            if raw.pointee.stream_index == index, let next, let sequel = clock.sequel(of: time, next: next) {
                back += 1
                if sequel != .returns || back >= returns { return sequel }
            }
            position += 1
        }
    }
}

extension AssetDescription {
    /// Reads what the probed headers say.
    init(_ format: borrowing FormatContext, video: Int32, audio: Int32, hasCover: Bool) {
        let context = format.raw.pointee
        container = String(cString: context.iformat.pointee.name)
        isSeekable = context.pb == nil || context.pb.pointee.seekable != 0
        let images: Set = ["gif", "apng", "image2"]
        let isImage = images.contains(container) || container.hasSuffix("_pipe")
        duration = context.duration > 0 ? MediaTime(ticks: context.duration, of: shim_rational(1, AV_TIME_BASE)) : nil
        isStill = false
        if video >= 0, let stream = context.streams[Int(video)] {
            let parameters = stream.pointee.codecpar.pointee
            let average = stream.pointee.avg_frame_rate, base = stream.pointee.r_frame_rate
            let rate = average.plausibleFrameRate
            let ratio = av_guess_sample_aspect_ratio(format.raw, stream, nil)
            isStill = isImage && !["gif", "apng"].contains(container)
            self.video = Video(
                codec: String(cString: avcodec_get_name(parameters.codec_id)), width: Int(parameters.width), height: Int(parameters.height),
                pixelAspectRatio: ratio.num > 0 && ratio.den > 0 ? av_q2d(ratio) : 1,
                orientation: shim_stream_display_matrix(stream).map(Orientation.init(displayMatrix:)) ?? .up,
                frameRate: isStill ? nil : rate,
                isConstantFrameRate: rate != nil && base.den > 0 && abs(av_q2d(base) / rate! - 1) < 0.001,
                pixelFormat: av_get_pix_fmt_name(AVPixelFormat(rawValue: parameters.format)).map { String(cString: $0) } ?? "unknown",
                isInterlaced: parameters.field_order.rawValue > AV_FIELD_PROGRESSIVE.rawValue,
                start: stream.time(stream.pointee.start_time), duration: stream.ownDuration(within: duration))
            self.video?.addColors(of: parameters)
            if isStill { duration = nil }
        }
        if audio >= 0, let stream = context.streams[Int(audio)] {
            let parameters = stream.pointee.codecpar.pointee
            self.audio = Audio(
                codec: String(cString: avcodec_get_name(parameters.codec_id)), sampleRate: Int(parameters.sample_rate),
                channelCount: Int(parameters.ch_layout.nb_channels), start: stream.time(stream.pointee.start_time),
                duration: stream.ownDuration(within: duration))
        }
    }
}

extension UnsafeMutablePointer<AVStream> {
    /// A value of the stream's time base as a time; nil where it is unknown.
    fileprivate func time(_ value: Int64) -> MediaTime? { MediaTime(ticks: value, of: pointee.time_base) }

    /// How long the track lasts by the container's word. Matroska knows the length of the whole only; who writes it puts that of a track into a tag
    /// (`DURATION`): FFmpeg when the track ends, mkvmerge how long it lasts.
    fileprivate func ownDuration(within whole: MediaTime?) -> MediaTime? {
        if let duration = time(pointee.duration), duration > .zero { return duration }
        func tag(_ name: String, _ flags: Int32) -> UnsafeMutablePointer<AVDictionaryEntry>? {
            av_dict_get(pointee.metadata, name, nil, flags)
        }
        guard let text = tag("DURATION", AV_DICT_IGNORE_SUFFIX)?.pointee.value, var duration = MediaTime(clock: String(cString: text))
        else {
            return nil
        }
        if tag("_STATISTICS_WRITING_APP", AV_DICT_IGNORE_SUFFIX) == nil { duration = duration - (time(pointee.start_time) ?? .zero) }
        // A tag that was copied from another file says nothing.
        return duration > .zero && duration <= whole ?? duration ? duration : nil
    }
}
