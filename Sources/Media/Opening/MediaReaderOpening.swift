import CKioskFFmpeg
import KioskPlatform
import KioskVocabulary

// From an opened, probed container to a reader: which streams are played, and their decoders.

extension MediaReader {
    /// Opens an item of a playlist, as all do that open one: the player, what checks it before its turn, and what tries it meanwhile. Its entry says
    /// which tracks are played and how it is fetched; the rest is as of ``open(_:isKept:samples:decoderThreads:decoder:audio:video:interruption:deinterlacing:pictureMemory:settings:displaySize:)``.
    ///
    /// - Parameters:
    ///   - location: what is opened in its place: the file that is kept of a URL.
    ///   - fields: what becomes of interlaced frames, where the entry does not leave them as they are.
    package static func open(
        _ item: PlaylistItem, at location: String? = nil, samples: AudioFormat?, decoderThreads: Int = 1,
        decoder wish: DecoderWish = .software, interruption: Interruption = Interruption(), fields: Deinterlacing = .fields,
        displaySize: (width: Int, height: Int)? = nil
    ) throws(MediaError) -> MediaReader {
        try open(
            location ?? item.source, isKept: location != nil, samples: samples, decoderThreads: decoderThreads, decoder: wish,
            audio: item.audioTrack,
            video: item.videoTrack, interruption: interruption, deinterlacing: item.deinterlace == .off ? .off : fields,
            settings: item.stream, displaySize: displaySize)
    }

    /// Opens `source` and decodes its first picture, so that a source that cannot play fails here and not on the screen.
    ///
    /// Blocks for as long as that takes, at most some ``openingTimeLimit`` a step; `interruption` ends it early.
    ///
    /// - Parameters:
    ///   - source: a path, or a URL with its scheme.
    ///   - isKept: whether it is a file with the bytes of a server, which may be no list.
    ///   - samples: what sound is converted to; nil leaves the sound out.
    ///   - decoderThreads: how many threads libavcodec may use for pictures.
    ///   - decoder: what its pictures are to be decoded by; those of stills and covers are always decoded in software.
    ///   - audio: which of its sound tracks is played.
    ///   - video: which of its picture tracks is; without one a cover is not shown either.
    ///   - deinterlacing: what becomes of interlaced frames; stills have none.
    ///   - settings: how it is fetched where it comes over the network.
    ///   - displaySize: pixels of the display: of a stream in several sizes, the one that fits is played.
    ///   - pictureMemory: bytes that its pictures may take while they are decoded and drawn.
    /// - Throws: ``MediaError`` with what is wrong with the source.
    package static func open(
        _ source: String, isKept: Bool = false, samples: AudioFormat?, decoderThreads: Int = 1, decoder wish: DecoderWish = .software,
        audio: TrackChoice = .automatic, video: TrackChoice = .automatic, interruption: Interruption = Interruption(),
        deinterlacing: Deinterlacing = .fields, pictureMemory: Int = MemoryLimit.ofItem,
        settings: StreamSettings = StreamSettings(), displaySize: (width: Int, height: Int)? = nil
    ) throws(MediaError) -> MediaReader {
        do throws(MediaError) {
            return try openAsItIs(
                source, isKept, samples, decoderThreads, wish, audio, video, interruption, deinterlacing, pictureMemory, settings,
                displaySize)
        } catch {
            throw error.explained(interruption)
        }
    }

    private static func openAsItIs(
        _ source: String, _ isKept: Bool, _ samples: AudioFormat?, _ decoderThreads: Int, _ wish: DecoderWish, _ audio: TrackChoice,
        _ video: TrackChoice, _ interruption: Interruption, _ deinterlacing: Deinterlacing, _ pictureMemory: Int,
        _ settings: StreamSettings, _ displaySize: (width: Int, height: Int)?
    ) throws(MediaError) -> MediaReader {
        MemoryLimit.boundAllocations()
        let format = try FormatContext.open(
            source, settings: settings, isKept: isKept, displaySize: displaySize, interruption: interruption)
        var streams = StreamIndices()
        streams.video = format.stream(video, of: .video)
        if samples != nil || streams.video < 0 {
            // What is its length is read, heard or not.
            streams.audio = format.stream(audio == .off ? .automatic : audio, of: .audio, related: streams.video)
        }
        if streams.video < 0 && streams.audio < 0 { throw MediaError(source, .nothingToPlay) }
        for index in 0..<Int32(format.raw.pointee.nb_streams) where !streams.contains(index) {
            shim_stream_discard(format.raw.pointee.streams[Int(index)], 1)
        }

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
            format, name: source, streams: streams, interruption: interruption, settings: settings, isLive: description.isLive)
        var reader = MediaReader(
            description, samples: samples, nominalFrameDuration: nominal,
            demuxer: Demuxer(packets, hasVideo: hasVideo, frameDuration: nominal, problems: problems), pictures: pictures, sound: sound)
        try reader.decodeBeginning()
        if audio == .off { reader.leaveOutSound() }
        reader.startReceiving()
        return reader
    }
}
