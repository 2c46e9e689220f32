import Configuration
import Glibc
import KioskDisplayCore
import KioskMedia
import KioskPlatform
import KioskPlayback
import KioskReaderProtocol
import KioskReaders
import KioskVocabulary

/// Makes a film of an arrangement: AVAssetExportSession.
///
///     ExportPlan ──▶ OfflinePlayback ──scenes───▶ SceneRenderer ──▶ FilmWriter
///     (what there is)  (the engine)  └─samples──▶ SoundMix ───────▶
///
/// What is written is what a display of the film's size and rate would show: the engine plays the list, the display's own painter draws, and a
/// picture is written for every vblank. It is written to a draft beside the file (``FilmFile``), which gets its name when it is whole. A run
/// that is cut off leaves that draft, which the next one writes over; one that is cancelled or fails leaves nothing.
package struct ExportSession {
    /// How it is done.
    package struct Options: Sendable {
        /// The file to write.
        package var output: String
        /// Files that are never replaced, beside clips and music: the arrangement.
        package var kept: [String] = []
        /// Whether a file of that name may be replaced.
        package var replaces = false
        /// Whether the pictures are copied as they are, instead of being decoded and encoded.
        package var copies = false
        /// Threads that encode; 0 is one for each processor.
        package var threads = 0
        /// The node of the only device that may encode; nil is all there are.
        package var device: String?
        /// What reads the clips.
        package var readers = Readers.shared
        /// Bytes that there is room for, where that is not what the disk says.
        var free: Int64?

        package init(output: String) { self.output = output }
    }

    /// How far it is.
    package struct Progress: Hashable, Sendable {
        /// How much of the film is written, and how long it will be.
        package var done: MediaTime, length: MediaTime
        /// How long it has taken so far.
        package var elapsed: MediaTime

        /// What is done of it, 0…1.
        package var fraction: Double { length > .zero ? min(done.seconds / length.seconds, 1) : 0 }
        /// Seconds of film a second.
        package var speed: Double { elapsed > .zero ? done.seconds / elapsed.seconds : 0 }
        /// How long it will take still; nil while that is a guess.
        package var left: MediaTime? {
            guard elapsed > .seconds(1), done > .zero else { return nil }
            return max(length - done, .zero).scaled(by: elapsed.seconds / done.seconds)
        }
    }

    /// What has come of it.
    package struct Report: Hashable, Sendable {
        /// The file.
        package var path: String
        package var size: PictureSize, rate: FrameRate
        /// Whether pictures stand for different times, as they did in files that they were copied from: ``rate`` is the highest then.
        package var isRateVarying = false
        /// What made the pictures: FFmpeg's name of the encoder, or `copy`.
        package var encoder: String
        package var length: MediaTime
        package var pictures: Int64
        /// What was wrong with clips, or is to be known, one line each.
        package var notes: [String]
    }

    /// The sound of every film.
    static let samples = AudioFormat(sampleRate: 48000, channelCount: 2)

    /// Makes the film; blocks until it is there. `isCancelled` is asked, and `progress` told, at every picture.
    package static func run(
        _ arrangement: Arrangement, _ options: Options, isCancelled: () -> Bool = { false }, progress: (Progress) -> Void = { _ in }
    ) throws(ExportError) -> Report {
        try checkOutput(arrangement, options)
        var music: MusicTrack?
        var fault: ExportError?
        if let settings = arrangement.music {
            do throws(ExportError) { music = try MusicTrack.open(settings, samples: samples, by: options.readers) } catch { fault = error }
        }
        var plan = try ExportPlan(
            arrangement, findsRate: options.copies, musicFault: fault, readers: options.readers, isCancelled: isCancelled)
        var mix: SoundMix?
        if let settings = arrangement.music, let track = music.take() {
            plan.note(musicLength: track.length, isRepeated: settings.isRepeated)
            mix = SoundMix(
                track, settings, format: samples, gain: OfflinePlayback.gain(ofVolume: Double(settings.volume) / 100))
        }
        var format = FilmFormat(
            video: FilmFormat.Video(arrangement.output, options, size: plan.size, rate: plan.rate),
            audio: plan.hasSound ? .init(samples) : nil)
        format.title = arrangement.output.title
        let path = options.output
        // Of pictures that are copied nobody knows how many bits they have.
        let least = ExportRoom.least(
            arrangement.output, size: plan.size, rate: plan.rate, length: plan.length, moving: options.copies ? .zero : plan.moving,
            hasSound: plan.hasSound)
        if let free = options.free ?? ExportRoom.free(for: path), free < least { throw .noRoom(path, least: least, free: free) }
        var writer = try ExportError.writing { () throws(FilmError) in
            try FilmWriter.open(path, format, copiesPictures: options.copies, by: options.readers)
        }
        let copy = options.copies ? try PictureCopy.open(plan, arrangement, &writer) : nil
        if let copy { plan.adopt(size: copy.size, rate: copy.rate) }
        let renderer = SceneRenderer(width: plan.size.width, height: plan.size.height, background: arrangement.film.background)
        var playback = OfflinePlayback(
            plan.items, cadences: plan.cadences, refresh: plan.rate, imageDuration: arrangement.film.imageDuration,
            transition: plan.transition, samples: samples, decoderThreads: max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))),
            subtitles: subtitles(of: arrangement, size: plan.size), readers: options.readers)
        let begin = HostTime.now
        var heard: [Float] = []
        while true {
            if isCancelled() {
                writer.discard()
                throw .cancelled
            }
            let step = try advance(&playback, plan)
            if step == .end { break }
            let time = playback.time
            if let copy {
                try copy.write(until: plan.rate.time(of: playback.vblanks), playback.begun, to: &writer)
            } else {
                if step == .picture { playback.withScene { renderer.draw($0, under: $1) } }
                let duration = plan.rate.time(of: playback.vblanks) - time
                try ExportError.writing { () throws(FilmError) in
                    try renderer.withPixels { (pixels, stride) throws(FilmError) in
                        _ = try writer.write(pixels: pixels, stride: stride, at: time, duration: duration)
                    }
                }
            }
            playback.readSamples(into: &heard)
            if plan.hasSound {
                if mix != nil { heard = try mix!.add(heard) }
                try write(heard, to: &writer)
            }
            progress(Progress(done: plan.rate.time(of: playback.vblanks), length: plan.length, elapsed: .now - begin))
        }
        if mix != nil { try write(try mix!.finish(), to: &writer) }
        try copy?.finish(to: &writer)
        let encoder = writer.videoEncoder ?? "copy"
        try ExportError.writing { () throws(FilmError) in try writer.finish() }
        var notes = plan.notes + (writer.videoEncoderNote.map { [$0] } ?? [])
        notes += playback.newComplaints().map(\.message)
        for item in plan.items {
            if let damage = playback.damage(of: item.source) { notes.append("\(item.source): \(damage.description)") }
        }
        notes = notes.reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
        var report = Report(
            path: path, size: plan.size, rate: plan.rate, encoder: encoder, length: plan.rate.time(of: playback.vblanks),
            pictures: copy?.count ?? playback.vblanks, notes: notes)
        // At the end of each clip it may be one more or less.
        report.isRateVarying = abs(report.pictures - playback.vblanks) > playback.begun.count
        return report
    }

    /// How subtitles are drawn on pictures of the film's size; nil where none are.
    private static func subtitles(of arrangement: Arrangement, size: PictureSize) -> SubtitleOrder? {
        if arrangement.film.subtitles == .off { return nil }
        var order = SubtitleOrder()
        order.style = SubtitleStyle(font: arrangement.film.font)
        order.screen = SubtitleScreen(size: PixelSize(width: size.width, height: size.height))
        return order
    }

    private static func write(_ samples: [Float], to writer: inout FilmWriter) throws(ExportError) {
        let wrote = samples.withUnsafeBufferPointer { buffer in
            Result { () throws(FilmError) in try writer.write(samples: buffer) }
        }
        if case .failure(let error) = wrote { throw .film(error) }
    }

    private static func advance(_ playback: inout OfflinePlayback, _ plan: ExportPlan) throws(ExportError) -> OfflinePlayback.Step {
        do throws(OfflinePlayback.Failure) { return try playback.advance() } catch {
            switch error {
            case .skipped(let places, let message):
                throw .skipped(message ?? plan.name(of: places.first ?? 0))
            case .stalled(let time): throw .stalled(time)
            }
        }
    }

    /// Throws where the output is there already, is no regular file, or is one of the sources.
    private static func checkOutput(_ arrangement: Arrangement, _ options: Options) throws(ExportError) {
        try ExportError.writing { () throws(FilmError) in try FilmWriter.checkPlace(options.output) }
        guard let output = stat(at: options.output) else { return }
        let sources = arrangement.clips.compactMap { if case .file(let source) = $0.content { source } else { nil } }
        func isOutput(_ path: String) -> Bool {
            stat(at: path).map { $0.st_dev == output.st_dev && $0.st_ino == output.st_ino } ?? false
        }
        if (sources + (arrangement.music.map { [$0.source] } ?? [])).contains(where: isOutput) { throw .outputIsSource(options.output) }
        if options.kept.contains(where: isOutput) { throw .outputIsArrangement(options.output) }
        if !options.replaces { throw .outputExists(options.output) }
    }
}

extension FilmFormat.Video {
    /// The track that an arrangement asks for.
    fileprivate init(_ output: Arrangement.Output, _ options: ExportSession.Options, size: PictureSize, rate: FrameRate) {
        self.init(width: size.width, height: size.height, frameRate: rate.hertz)
        codec = output.codec.flatMap { FilmFormat.VideoCodec(rawValue: $0.rawValue) }
        (quality, bitRate, threads) = (output.quality, output.bitRate, options.threads)
        encoder = EncoderWish(output.encoder, device: options.device)
    }
}

/// How much room a film takes at least, so that one that cannot fit is refused before hours of work. Nobody knows it before it is encoded: what is
/// reckoned here is less than any film of that length came to, and what is too much for the disk all the same ends with ``FilmError/Reason/noSpace``.
enum ExportRoom {
    /// Bits for each pixel that moves, at a quality of 20: films of still scenes take twice that, busy ones ten times.
    private static let bitsPerPixel = 0.008
    /// Bits a second of sound.
    private static let soundBitRate = 64_000.0
    /// What a file takes besides.
    private static let margin: Int64 = 1 << 20

    /// Bytes of a film in which pictures move for `moving` of its length.
    static func least(
        _ output: Arrangement.Output, size: PictureSize, rate: FrameRate, length: MediaTime, moving: MediaTime, hasSound: Bool
    ) -> Int64 {
        var bits = hasSound ? length.seconds * soundBitRate : 0
        if let bitRate = output.bitRate {
            bits += moving.seconds * Double(bitRate) * 0.5
        } else {
            var share = bitsPerPixel
            for _ in 0..<abs(output.quality - 20) / 6 { share = output.quality > 20 ? share / 2 : share * 2 }
            bits += moving.seconds * Double(size.width * size.height) * rate.hertz * share
        }
        return margin + Int64(saturating: bits / 8)
    }

    /// Bytes that there is room for in the folder of a file, for who writes it; nil where that cannot be told.
    static func free(for path: String) -> Int64? {
        statvfs(at: Folder.of(path))?.free
    }
}
