import CKioskFFmpeg
import KioskPlatform
import KioskVocabulary

/// A source opened for playing: gives out its frames and its samples from a chosen time on, each in order, and reads packets as either side
/// needs them.
///
/// Times are those of the *item*: zero is the beginning of its first picture (of its sound where there is no picture), whatever the
/// container's timestamps say. Negative, missing, offset and jumping timestamps, edit lists and B-frame delays end here. Sound before zero
/// is cut off, sound that begins later is preceded by silence.
///
///     PacketSource ──▶ TimestampRebaser ──▶ Demuxer ──▶ PictureTrack ──▶ frames
///     (libavformat,      (jumps)            (queues) └▶ SoundTrack ────▶ samples
///      FileInput)
///
/// A reader is not shared: one thread at a time owns it. Everything it waits for is bounded by its ``Interruption``.
package struct MediaReader: ~Copyable, Sendable {
    /// What the source holds.
    package internal(set) var description: AssetDescription
    /// How long a picture lasts at the average rate; nil for stills and where the container tells none. Of interlaced video it halves when
    /// the first field shows, and doubles where the machine is too slow for fields.
    package var nominalFrameDuration: MediaTime? {
        makesFields ? frameDuration.map { MediaTime(nanoseconds: $0.nanoseconds / 2) } : frameDuration
    }

    var demuxer: Demuxer
    var pictures: PictureTrack?
    var sound: SoundTrack?
    /// Decodes those of the source itself; nil where none of them are read.
    var subtitles: SubtitleDecoder?
    /// What sound is converted to; nil where none is wanted.
    let samples: AudioFormat?
    /// Container time of item time zero.
    private(set) var origin = MediaTime.zero
    /// How long a stored frame lasts.
    private var frameDuration: MediaTime?
    /// Whether each field becomes a picture.
    private var makesFields = false
    /// Whether that has shown to be more than the machine can do: each frame has become one picture since then.
    package private(set) var isTooSlowForFields = false

    /// What is wrong with the source, as far as it has been read: `plays without its sound: …`. Each is there once; what shows later
    /// comes last.
    package var problems: [String] { demuxer.problems }
    /// Adds to ``problems`` what whoever reads it has found.
    package mutating func report(_ problem: String) { demuxer.report(problem) }
    /// Why the source ended before its time, in words, where reading it failed half-way.
    package var prematureEnd: String? { demuxer.source.prematureEnd }
    /// Whether there is a picture (a cover counts).
    package var hasPicture: Bool { demuxer.source.streams.video >= 0 }
    /// Whether there is sound that can be played.
    package var hasSound: Bool { demuxer.source.streams.audio >= 0 }
    /// Item time at which the sound that has been read ends; nil where none has been.
    package var soundEnd: MediaTime? { demuxer.soundReadTo.map { $0 - origin } }
    /// Samples of its sound that have been converted and are in memory.
    var heldSamples: Int { mutating get { sound?.sampleCount ?? 0 } }
    /// What has been read and waits to be decoded.
    var queued: (packets: Int, bytes: Int) {
        (demuxer.pictures.count + demuxer.sound.count, demuxer.pictures.byteCount + demuxer.sound.byteCount)
    }

    /// What decodes its pictures: `software`, or an interface and a device.
    package var decoder: String { mutating get { pictures?.hardware ?? "software" } }
    /// Whether devices were tried for its pictures, and none takes them.
    package var isRefusedByDevices: Bool { mutating get { pictures?.isRefusedByDevices ?? false } }
    /// Whether a device would be tried where there is one (``DecoderWish/elsewhere``).
    package var wouldUseDevice: Bool { mutating get { pictures?.wouldUseDevice ?? false } }
    /// What its pictures are to a device, which takes all that are alike, or none; nil where there are none.
    package var shape: String? { mutating get { pictures?.shape } }

    // MARK: Opening

    /// Decodes the first picture, or the first sound where there is no picture, and settles what item time zero is.
    ///
    /// - Throws: ``MediaError`` where that cannot be decoded, is encrypted, takes too long or is cancelled.
    private mutating func decodeBeginning() throws(MediaError) {
        demuxer.source.interruption.allow(demuxer.source.openingLimit)
        let hasFirst = pictures?.decodeFirst(from: &demuxer) ?? false
        try checkBeginning(description.video == nil || hasFirst)
        if description.video != nil {
            origin = pictures?.firstTime() ?? .zero
            // Other containers tell when their track begins, not when its first picture does.
            if demuxer.source.format.mayJump { description.leaveOut(before: origin) }
            pictures?.complete(&description.video)
            makesFields = description.video?.isDeinterlaced == true
            if let problem = description.video?.colorProblem { demuxer.report(problem) }
            if description.audio == nil, demuxer.source.format.isImage {
                let hasSecond = pictures?.hasSecond(from: &demuxer) ?? false
                try checkBeginning(true)
                if !hasSecond { becomeStill() }
            }
            sound?.restart(at: origin)
        } else {
            // Sound only: its own beginning is the item's.
            origin = description.audio?.start ?? .zero
            pictures?.setFirstTime(origin)
            sound?.restart(at: origin)
            let hasSound = sound?.decodeFirst(from: &demuxer) ?? false
            try checkBeginning(hasSound)
        }
        for index in description.chapters.indices {
            description.chapters[index].start = max(description.chapters[index].start - origin, .zero)
            description.chapters[index].end = max(description.chapters[index].end - origin, .zero)
        }
    }

    /// Throws where opening was cancelled, or where the source cannot be played after all: nothing `isDecoded`.
    private func checkBeginning(_ isDecoded: Bool) throws(MediaError) {
        let (name, interruption) = (demuxer.source.name, demuxer.source.interruption)
        if interruption.cancelled { throw MediaError(name, .cancelled) }
        if demuxer.source.isEncrypted { throw MediaError(name, .encrypted) }
        if isDecoded { return }
        if interruption.isOver { throw MediaError(name, .timedOut(seconds: demuxer.source.openingLimit.seconds)) }
        throw MediaError(name, demuxer.hasReadPacket || description.isStill ? .nothingDecodes : .hasNoMedia)
    }

    /// An animation of one frame is shown like any other still.
    private mutating func becomeStill() {
        description.isStill = true
        description.duration = nil
        description.video?.frameRate = nil
        frameDuration = nil
    }

    // MARK: Reading

    /// The next frame in order, nil after the last and when cancelled. Blocks for reading and decoding.
    package mutating func nextFrame() -> TimedFrame? {
        guard var frame = pictures?.next(from: &demuxer) else { return nil }
        if let track = pictures?.fields { (makesFields, isTooSlowForFields) = track }
        frame.time = frame.time - origin
        return frame
    }

    /// Fills `destination` (whole frames, interleaved) with the next samples. Blocks for reading and decoding.
    ///
    /// - Returns: the frames filled, fewer only when the sound has ended. Where the pictures go on and no sound comes, it is silence.
    package mutating func readSamples(into destination: UnsafeMutableBufferPointer<Float>, channelCount: Int) -> Int {
        sound?.read(into: destination, channelCount: channelCount, from: &demuxer) ?? 0
    }

    /// Neither reads nor keeps the sound any more where there is a picture; sound alone goes on being read, as it is the item's length.
    package mutating func leaveOutSound() {
        guard description.video != nil, hasSound else { return }
        demuxer.leaveOutSound()
        sound = nil
    }

    /// Makes a picture of each field however long that takes: what is read is not shown meanwhile.
    package mutating func takeTime() { pictures?.isPaced = false }

    // MARK: Seeking

    /// How exactly a seek must meet its time.
    package enum SeekPrecision: Hashable, Sendable {
        /// The frame that covers the time.
        case exact
        /// The key frame at or before the time: fast, for scrubbing. Where that lies at or before `after` (the frame that is on the screen
        /// while one seeks forward), the first frame behind `after` instead, so that the picture never goes back.
        case keyFrame(after: MediaTime? = nil)
    }

    /// Goes on at item time `time`, clamped to the source. At or past the end that is the last frame. Blocks for reading and decoding.
    ///
    /// - Returns: the time of the next frame and sample: `time` itself for `.exact`, the key frame's for `.keyFrame`.
    /// - Throws: ``MediaError/Reason/cancelled``, or ``MediaError/Reason/failed(_:)`` where the source cannot be sought in.
    package mutating func seek(to time: MediaTime, precision: SeekPrecision) throws(MediaError) -> MediaTime {
        let target = max(time, .zero), origin = origin
        demuxer.source.interruption.allow(demuxer.source.openingLimit)
        let containerPrecision: SeekPrecision =
            if case .keyFrame(let after) = precision { .keyFrame(after: after.map { origin + $0 }) } else { .exact }
        var landed: (begin: MediaTime, end: MediaTime)?
        // Containers index by decoding time, and MPEG-TS and -PS know of no key frames, so a seek may land behind its target, or where
        // nothing can be decoded; go further back then, in the end to the very beginning.
        let earlier = [MediaTime.seconds(2), .seconds(10)].filter { $0 < target }.map { target - $0 }
        // Behind a joint the container's times are others: it is come to from the beginning.
        let isBehindJoint = demuxer.source.format.firstJoint.map { origin + target >= $0 } ?? false
        for begin in isBehindJoint ? [nil] : [target] + earlier + [nil] {
            landed = nil
            try restart(at: begin)
            guard description.video != nil else { break }
            landed = pictures?.seek(
                to: origin + target, precision: containerPrecision, isConstantRate: description.video?.isConstantFrameRate == true,
                from: &demuxer)
            if let landed {
                if landed.begin - origin <= target { break }
            } else if demuxer.source.interruption.cancelled {
                throw MediaError(demuxer.source.name, .cancelled)
            }
        }
        var result = target
        if let landed, precision != .exact || landed.end - origin <= target { result = landed.begin - origin }
        sound?.restart(at: origin + result)
        return result
    }

    /// Goes on where item time `time` can be decoded from; nil for the very beginning.
    private mutating func restart(at time: MediaTime?) throws(MediaError) {
        let container = origin + (time ?? .zero)
        pictures?.restart()
        subtitles?.restart()
        try demuxer.seek(to: container, isBeginning: time == nil, frameDuration: frameDuration)
        sound?.restart(at: container)
    }

    // MARK: From a source to a reader: which streams are played, and their decoders

    /// Opens `source` and decodes its first picture, so that a source that cannot play fails here and not on the screen.
    ///
    /// Blocks for as long as that takes, at most some ``openingTimeLimit`` a step; `interruption` ends it early.
    ///
    /// - Parameters:
    ///   - source: a path, or a URL with its scheme.
    ///   - isKept: whether it is a file with the bytes of a server, which may be no list.
    ///   - reach: what it may name; nil for what its kind may.
    ///   - samples: what sound is converted to; nil leaves the sound out.
    ///   - decoderThreads: how many threads libavcodec may use for pictures.
    ///   - decoder: what its pictures are to be decoded by; those of stills and covers are always decoded in software.
    ///   - audio: which of its sound tracks is played.
    ///   - video: which of its picture tracks is; without one a cover is not shown either.
    ///   - hasSubtitles: whether it will be said which subtitles are wanted (``selectSubtitles(_:)``).
    ///   - deinterlacing: what becomes of interlaced frames; stills have none.
    ///   - settings: how it is fetched where it comes over the network.
    ///   - displaySize: pixels of the display: of a stream in several sizes, the one that fits is played.
    ///   - pictureMemory: bytes that its pictures may take while they are decoded and drawn.
    /// - Throws: ``MediaError`` with what is wrong with the source.
    package static func open(
        _ source: String, isKept: Bool = false, reach: SourceReach? = nil, samples: AudioFormat?, decoderThreads: Int = 1,
        decoder wish: DecoderWish = .software, audio: TrackChoice = .automatic, video: TrackChoice = .automatic, hasSubtitles: Bool = false,
        interruption: Interruption = Interruption(),
        deinterlacing: Deinterlacing = .fields, pictureMemory: Int = MemoryLimit.ofItem,
        settings: StreamSettings = StreamSettings(), displaySize: (width: Int, height: Int)? = nil
    ) throws(MediaError) -> MediaReader {
        do throws(MediaError) {
            MemoryLimit.boundAllocations()
            let format = try FormatContext.open(
                source, settings: settings, isKept: isKept, reach: reach, displaySize: displaySize, interruption: interruption)
            var streams = StreamIndices()
            streams.video = format.stream(video, of: .video)
            if samples != nil || streams.video < 0 {
                // What is its length is read, heard or not.
                streams.audio = format.stream(audio == .off ? .automatic : audio, of: .audio, related: streams.video)
            }
            if streams.video < 0 && streams.audio < 0 { throw MediaError(source, .nothingToPlay) }
            format.giveOut(streams, andSubtitles: hasSubtitles)

            var pictures: PictureTrack?
            var nominalDuration: MediaTime?
            var isCover = false
            if streams.video >= 0, let stream = format.raw.pointee.streams[Int(streams.video)] {
                isCover = shim_stream_is_attached_picture(stream) != 0
                do throws(MediaError) {
                    try format.checkCodec(stream, source)
                    let hasFields = !isCover && !format.isStill && !format.isImage
                    var wish = isCover ? .software : wish
                    wish.makesPictures = hasFields && deinterlacing != .off
                    // Frame threads give a picture out only when more packets follow, and a cover has one.
                    let decoder = try VideoDecoder.open(
                        stream, of: format, source: source, threads: isCover ? 1 : decoderThreads, memory: pictureMemory,
                        wish: wish)
                    nominalDuration = decoder.nominalDuration
                    pictures = PictureTrack(
                        decoder, Deinterlacer(stream.pointee.codecpar.pointee, hasFields ? deinterlacing : .off, threads: decoderThreads))
                } catch {
                    if !isCover { throw error }  // a cover that cannot be shown leaves the sound
                    streams.video = -1
                }
            }
            let hasVideo = streams.video >= 0 && !isCover
            var description = AssetDescription(format, video: hasVideo ? streams.video : -1, audio: streams.audio)
            if hasVideo { description.tracks += format.listedTracks(after: format.streams(of: .subtitle).count) }
            description.isLocal = !isStream(source) && !format.input.hasAskedServers
            var sound: SoundTrack?
            var problems = [format.problem(with: audio, of: .audio), format.problem(with: video, of: .video)].compactMap { $0 }
            if streams.audio >= 0, let samples, let stream = format.raw.pointee.streams[Int(streams.audio)] {
                do throws(MediaError) {
                    try format.checkCodec(stream, source)
                    sound = SoundTrack(
                        try AudioDecoder.open(
                            stream, source: source, output: samples, isLive: description.isLive, end: format.soundEnd(of: stream)))
                } catch {
                    if !hasVideo { throw error }
                    problems.append("plays without its sound: \(error.reason.text)")
                }
            }
            if sound == nil { streams.audio = -1 }

            let nominal = hasVideo && !description.isStill ? nominalDuration : nil
            let packets = PacketSource(
                format, name: source, streams: streams, interruption: interruption, settings: settings, isLive: description.isLive,
                keepsAllSubtitles: hasSubtitles)
            var reader = MediaReader(
                description: description,
                demuxer: Demuxer(packets, hasVideo: hasVideo, frameDuration: nominal, problems: problems, keepsAllSubtitles: hasSubtitles),
                pictures: pictures, sound: sound, samples: samples, frameDuration: nominal)
            try reader.decodeBeginning()
            if audio == .off { reader.leaveOutSound() }
            reader.startReceiving()
            return reader
        } catch {
            throw error.explained(interruption)
        }
    }

    // MARK: Another sound track: the picture, which is decoded from the same packets as before, notices nothing

    /// What has followed from a selection.
    package enum AudioSelection: Hashable, Sendable, CaseIterable {
        /// The track is played already, or there is no such.
        case unchanged
        /// Its sound follows on what is read already.
        case follows
        /// Its sound begins at the time that was named: there was none before.
        case begins
    }

    /// Plays another sound track from where the source has been read to: what has been read of the present one is heard before it. Where no
    /// sound is read the new one begins at item time `time`, or where the source has been read to. `off` is for who reads the sound.
    package mutating func select(audio choice: TrackChoice, at time: MediaTime) -> AudioSelection {
        guard let samples, choice != .off else { return .unchanged }
        let index = demuxer.source.format.stream(choice, of: .audio, related: demuxer.source.streams.video)
        if let problem = demuxer.source.format.problem(with: choice, of: .audio) { demuxer.report(problem) }
        guard index >= 0, index != demuxer.source.streams.audio, let stream = demuxer.source.stream(index) else { return .unchanged }
        let decoder: AudioDecoder
        do throws(MediaError) {
            try demuxer.source.format.checkCodec(stream, demuxer.source.name)
            decoder = try AudioDecoder.open(
                stream, source: demuxer.source.name, output: samples, isLive: description.isLive,
                end: demuxer.source.format.soundEnd(of: stream))
        } catch {
            demuxer.report("cannot play its audio track “\(choice)”: \(error.reason.text)")
            return .unchanged
        }
        description.audio = AssetDescription.Audio(stream, within: description.duration)
        let packets = demuxer.selectSound(index)
        if let former = sound.take() {
            sound = SoundTrack(decoder, after: former, packets)
            return .follows
        }
        var track = SoundTrack(decoder)
        track.restart(at: origin + time)
        sound = consume track
        return .begins
    }

    /// The streams that are played, by their kind.
    package var selectedTracks: [TrackKind: Int] {
        var selected: [TrackKind: Int] = [:]
        if description.video != nil { selected[.video] = Int(demuxer.source.streams.video) }
        if hasSound { selected[.audio] = Int(demuxer.source.streams.audio) }
        return selected
    }
}
