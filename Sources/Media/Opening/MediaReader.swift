import CKioskFFmpeg
import KioskPlatform
import KioskVocabulary

/// A source opened for playback. Gives out its frames and samples in order from a chosen time on, and reads packets as either side needs
/// them.
///
/// Times are *item* times. Zero is the beginning of the first picture, or of the sound if there is no picture, whatever the container's
/// timestamps say. The reader resolves negative, missing, offset and jumping timestamps, edit lists and B-frame delays. It cuts off sound
/// before zero and puts silence before sound that begins later.
///
///     PacketSource ──▶ TimestampRebaser ──▶ Demuxer ──▶ PictureTrack ──▶ frames
///     (libavformat,      (jumps)            (queues) └▶ SoundTrack ────▶ samples
///      FileInput)
///
/// One thread at a time owns a reader. Its ``Interruption`` bounds every wait.
package struct MediaReader: ~Copyable, Sendable {
    /// The description of the source.
    package internal(set) var description: AssetDescription
    /// The duration of a picture at the average frame rate; nil for stills, or if the container does not say. For interlaced video it
    /// halves when the first field shows, and doubles if the machine is too slow for fields.
    package var nominalFrameDuration: MediaTime? {
        makesFields ? frameDuration.map { MediaTime(nanoseconds: $0.nanoseconds / 2) } : frameDuration
    }

    var demuxer: Demuxer
    var pictures: PictureTrack?
    var sound: SoundTrack?
    /// The decoder of the source's own subtitles; nil if they are not read.
    var subtitles: SubtitleDecoder?
    /// The format that sound is converted to; nil if no sound is wanted.
    let samples: AudioFormat?
    /// Container time of item time zero.
    private(set) var origin = MediaTime.zero
    /// The duration of a stored frame.
    private var frameDuration: MediaTime?
    /// Whether each field becomes a picture.
    private var makesFields = false
    /// Whether fields were too much for the machine. From then on each frame becomes one picture.
    package private(set) var isTooSlowForFields = false

    /// Problems found in the source so far: `plays without its sound: …`. Each appears once; new ones come last.
    package var problems: [String] { demuxer.problems }
    /// Adds a problem that the caller found to ``problems``.
    package mutating func report(_ problem: String) { demuxer.report(problem) }
    /// The reason in words if reading failed half-way.
    package var prematureEnd: String? { demuxer.source.prematureEnd }
    /// Whether there is a picture (a cover counts).
    package var hasPicture: Bool { demuxer.source.streams.video >= 0 }
    /// Whether there is playable sound.
    package var hasSound: Bool { demuxer.source.streams.audio >= 0 }
    /// The item time at which the sound read so far ends; nil if none was read.
    package var soundEnd: MediaTime? { demuxer.soundReadTo.map { $0 - origin } }
    /// The number of converted sound samples in memory.
    var heldSamples: Int { mutating get { sound?.sampleCount ?? 0 } }
    /// The packets that were read and wait for their decoders.
    var queued: (packets: Int, bytes: Int) {
        (demuxer.pictures.count + demuxer.sound.count, demuxer.pictures.byteCount + demuxer.sound.byteCount)
    }

    /// The name of the picture decoder: `software`, or an interface and a device.
    package var decoder: String { mutating get { pictures?.hardware ?? "software" } }
    /// Whether kiosk tried devices for the pictures and all refused.
    package var isRefusedByDevices: Bool { mutating get { pictures?.isRefusedByDevices ?? false } }
    /// Whether a process with a device would try it (``DecoderWish/elsewhere``).
    package var wouldUseDevice: Bool { mutating get { pictures?.wouldUseDevice ?? false } }
    /// The properties of the pictures that matter to a device: it takes all pictures with one shape, or none. nil if there are no pictures.
    package var shape: String? { mutating get { pictures?.shape } }

    // MARK: Opening

    /// Decodes the first picture, or the first sound if there is no picture, and sets item time zero.
    ///
    /// - Throws: ``MediaError`` if decoding fails, takes too long or is cancelled, or if the source is encrypted.
    private mutating func decodeBeginning() throws(MediaError) {
        demuxer.source.interruption.allow(demuxer.source.openingLimit)
        let hasFirst = pictures?.decodeFirst(from: &demuxer) ?? false
        try checkBeginning(description.video == nil || hasFirst)
        if description.video != nil {
            origin = pictures?.firstTime() ?? .zero
            // Other containers state the start of a track, not of its first picture.
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
            // Sound only: the item begins with it.
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

    /// Throws if opening was cancelled, the source is encrypted, or nothing `isDecoded`.
    private func checkBeginning(_ isDecoded: Bool) throws(MediaError) {
        let (name, interruption) = (demuxer.source.name, demuxer.source.interruption)
        if interruption.cancelled { throw MediaError(name, .cancelled) }
        if demuxer.source.isEncrypted { throw MediaError(name, .encrypted) }
        if isDecoded { return }
        if interruption.isOver { throw MediaError(name, .timedOut(seconds: demuxer.source.openingLimit.seconds)) }
        throw MediaError(name, demuxer.hasReadPacket || description.isStill ? .nothingDecodes : .hasNoMedia)
    }

    /// Treats an animation of one frame like any other still.
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
    /// - Returns: the number of frames filled; fewer only at the end of the sound. Fills in silence while pictures continue without sound.
    package mutating func readSamples(into destination: UnsafeMutableBufferPointer<Float>, channelCount: Int) -> Int {
        sound?.read(into: destination, channelCount: channelCount, from: &demuxer) ?? 0
    }

    /// Stops reading the sound and discards it if there is a picture. Continues to read sound alone, which sets the item's length.
    package mutating func leaveOutSound() {
        guard description.video != nil, hasSound else { return }
        demuxer.leaveOutSound()
        sound = nil
    }

    /// Makes a picture of each field, however long it takes: for frames that are not on the screen meanwhile.
    package mutating func takeTime() { pictures?.isPaced = false }

    // MARK: Seeking

    /// The precision of a seek.
    package enum SeekPrecision: Hashable, Sendable {
        /// The frame that covers the time.
        case exact
        /// The key frame at or before the time: fast, for scrubbing. `after` is the frame on the screen during a forward seek. If the key
        /// frame lies at or before it, the first frame after `after` instead: the picture never goes back.
        case keyFrame(after: MediaTime? = nil)
    }

    /// Continues at item time `time`, clamped to the source. At or past the end that is the last frame. Blocks for reading and decoding.
    ///
    /// - Returns: the time of the next frame and sample: `time` itself for `.exact` (at or past the end, the last frame's), the key frame's
    ///   for `.keyFrame`.
    /// - Throws: ``MediaError/Reason/cancelled``; ``MediaError/Reason/notSeekable(_:)``; for a stream
    ///   ``MediaError/Reason/timedOut(seconds:)``.
    package mutating func seek(to time: MediaTime, precision: SeekPrecision) throws(MediaError) -> MediaTime {
        let target = max(time, .zero), origin = origin
        demuxer.source.interruption.allow(demuxer.source.openingLimit)
        let containerPrecision: SeekPrecision =
            if case .keyFrame(let after) = precision { .keyFrame(after: after.map { origin + $0 }) } else { .exact }
        var landed: (begin: MediaTime, end: MediaTime)?
        // Containers index by decoding time, and MPEG-TS and -PS do not mark key frames. A seek may land after its target, or where nothing
        // decodes. Then go further back, in the end to the very beginning.
        let earlier = [MediaTime.seconds(2), .seconds(10)].filter { $0 < target }.map { target - $0 }
        // Container times differ after a joint: decode from the beginning to reach them.
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

    /// Continues at a point from which item time `time` can be decoded; nil for the very beginning.
    private mutating func restart(at time: MediaTime?) throws(MediaError) {
        let container = origin + (time ?? .zero)
        pictures?.restart()
        subtitles?.restart()
        try demuxer.seek(to: container, isBeginning: time == nil, frameDuration: frameDuration)
        sound?.restart(at: container)
    }

    // MARK: From a source to a reader: stream selection and decoders

    /// Opens `source` and decodes its first picture. A source that cannot play fails here and not on the screen.
    ///
    /// Blocks, at most about ``openingTimeLimit`` a step; `interruption` ends it early.
    ///
    /// - Parameters:
    ///   - source: a path, or a URL with its scheme.
    ///   - isKept: whether it is a file with a server's bytes, which must not be a list.
    ///   - reach: the files and servers it may name; nil for the default of its kind.
    ///   - samples: the format to convert sound to; nil leaves the sound out.
    ///   - decoderThreads: the number of threads that libavcodec may use for pictures.
    ///   - decoder: the preferred picture decoder; software always decodes stills and covers.
    ///   - audio: the sound track to play.
    ///   - video: the picture track to play; without one, a cover is not shown either.
    ///   - hasSubtitles: whether the caller will choose subtitles later (``selectSubtitles(_:)``).
    ///   - deinterlacing: the treatment of interlaced frames; stills have none.
    ///   - settings: the network settings of a stream.
    ///   - displaySize: pixels of the display, which choose among the sizes of a stream.
    ///   - pictureMemory: bytes that its pictures may take during decoding and drawing.
    /// - Throws: ``MediaError`` with the fault of the source.
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
                // Sound that sets the item's length is read even if it is not heard.
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
                    // Frame threads give out a picture only after further packets, and a cover has one packet.
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
            description.variant = format.input.variant
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

    // MARK: Another sound track: decoding of the picture continues undisturbed

    /// The result of a selection.
    package enum AudioSelection: Hashable, Sendable, CaseIterable {
        /// The track already plays, or does not exist.
        case unchanged
        /// Its sound follows the sound that was already read.
        case follows
        /// Its sound begins at the given time: there was none before.
        case begins
    }

    /// Switches to another sound track at the point up to which the source was read; the sound already read plays first. If no sound is
    /// read, the new track begins at item time `time`, or at the point up to which the source was read. `off` changes nothing: the reader
    /// of the samples handles it.
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
