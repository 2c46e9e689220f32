import Glibc
import KioskConfiguration
import KioskDisplayCore
import KioskMedia
import KioskPlatform
import KioskPlayback
import KioskReaderProtocol
import KioskReaders
import KioskVocabulary

/// Makes a film of an arrangement, like AVAssetExportSession.
///
///     ExportPlan ──▶ OfflinePlayback ──scenes───▶ SceneRenderer ──▶ FilmWriter
///     (the clips)      (the engine)  └─samples──▶ SoundMix ───────▶
///
/// The film is the output of a display of its size and rate. The engine plays the list, the display's own painter draws, and kiosk writes a
/// frame for every vblank. It writes to a draft beside the file (``FilmFile``), and renames the draft when it is complete. A killed run
/// leaves the draft, and the next run overwrites it. A cancelled or failed run leaves nothing.
package struct ExportSession {
    /// The options of an export.
    package struct Options: Sendable {
        /// The file to write.
        package var output: String
        /// Its type; nil is by its name, and MP4 if that names none.
        package var type: FilmType?
        /// Files never to replace, besides clips and music: the arrangement.
        package var kept: [String] = []
        /// Whether to replace an existing file.
        package var replaces = false
        /// Whether to copy the encoded frames instead of decoding and encoding them.
        package var copies = false
        /// The number of encoding threads; 0 for one for each processor.
        package var threads = 0
        /// The node of the only device that may encode; nil for any.
        package var device: String?
        /// The readers of the clips.
        package var readers = Readers.shared
        /// The free space in bytes, instead of the disk's.
        var free: Int64?

        package init(output: String) { self.output = output }
    }

    /// The progress of an export.
    package struct Progress: Hashable, Sendable {
        /// The written length of the film, and its length in all.
        package var done: MediaTime, length: MediaTime
        /// The time since the start.
        package var elapsed: MediaTime
        /// The written bytes.
        package var byteCount: Int64 = 0

        /// The written share, 0…1.
        package var fraction: Double { length > .zero ? min(done.seconds / length.seconds, 1) : 0 }
        /// Seconds of film a second.
        package var speed: Double { elapsed > .zero ? done.seconds / elapsed.seconds : 0 }
        /// The remaining time; nil while that is a guess.
        package var left: MediaTime? {
            guard elapsed > .seconds(1), done > .zero else { return nil }
            return max(length - done, .zero).scaled(by: elapsed.seconds / done.seconds)
        }
        /// The length of the file that the written part lets expect, in bytes; nil while that is a guess.
        package var estimatedByteCount: Int64? {
            guard byteCount > 0, fraction > 0.05 else { return nil }
            return Int64(saturating: Double(byteCount) / fraction)
        }
    }

    /// The result of an export.
    package struct Report: Hashable, Sendable {
        /// The file.
        package var path: String
        package var size: PictureSize, rate: FrameRate
        /// Whether frames have different durations, as copied frames can; ``rate`` is then the highest.
        package var isRateVarying = false
        /// The video encoder: FFmpeg's name for it, or `copy`.
        package var encoder: String
        package var length: MediaTime
        package var pictures: Int64
        /// The length of the file in bytes.
        package var byteCount: Int64 = 0
        /// Problems of clips and other notes, one line each.
        package var notes: [String]
    }

    /// The audio format of every film.
    static let samples = AudioFormat(sampleRate: 48000, channelCount: 2)

    /// Makes the film; blocks until it is complete. Calls `isCancelled` and `progress` at every frame.
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
            mix = SoundMix(track, settings, format: samples)
        }
        let path = options.output
        var format = FilmFormat(
            container: (options.type ?? FilmType.named(by: path) ?? .mp4).container,
            video: FilmFormat.Video(arrangement.output, options, size: plan.size, rate: plan.rate),
            audio: plan.hasSound ? .init(samples) : nil)
        (format.isIndexFirst, format.metadata) = (arrangement.output.isIndexFirst, FilmFormat.Metadata(arrangement.output))
        if let limit = arrangement.output.byteLimit { format.setLimit(limit, length: plan.length) }
        // The bit rate of copied frames is unknown.
        let least = ExportRoom.least(
            arrangement.output, size: plan.size, rate: plan.rate, length: plan.length, moving: options.copies ? .zero : plan.moving,
            hasSound: plan.hasSound)
        if let free = options.free ?? ExportRoom.free(for: path), free < least { throw .noRoom(path, least: least, free: free) }
        var writer = try ExportError.writing { () throws(FilmError) in
            try FilmWriter.open(path, format, copiesPictures: options.copies, by: options.readers)
        }
        let copy = options.copies ? try PictureCopy.open(plan, arrangement, &writer) : nil
        if let copy { plan.adopt(size: copy.size, rate: copy.rate) }
        let subtitles = subtitles(of: arrangement, size: plan.size)
        var stage = FilmStage(arrangement, plan, options)
        var playback = OfflinePlayback(
            plan.items, cadences: plan.cadences, refresh: plan.rate, imageDuration: arrangement.film.imageDuration,
            transition: plan.transition, samples: samples, decoderThreads: max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))),
            subtitles: subtitles, readers: options.readers)
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
                try stage.draw(playback, step)
                let duration = plan.rate.time(of: playback.vblanks) - time
                try ExportError.writing { () throws(FilmError) in
                    try stage.withPixels { (pixels, stride) throws(FilmError) in
                        _ = try writer.write(pixels: pixels, stride: stride, at: time, duration: duration)
                    }
                }
            }
            playback.readSamples(into: &heard)
            stage.addSound(to: &heard)
            if plan.hasSound {
                if mix != nil { heard = try mix!.add(heard) }
                try write(heard, to: &writer)
            }
            let byteCount = Int64(writer.byteCount)
            if let limit = arrangement.output.byteLimit, byteCount > limit {
                writer.discard()
                throw .tooLong(path, limit: limit)
            }
            progress(
                Progress(
                    done: plan.rate.time(of: playback.vblanks), length: plan.length, elapsed: .now - begin, byteCount: byteCount))
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
        notes += stage.finish()
        notes = notes.reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
        var report = Report(
            path: path, size: plan.size, rate: plan.rate, encoder: encoder, length: plan.rate.time(of: playback.vblanks),
            pictures: copy?.count ?? playback.vblanks, notes: notes)
        report.byteCount = Int64(writer.byteCount)
        // The count may differ by one at the end of each clip.
        report.isRateVarying = abs(report.pictures - playback.vblanks) > playback.begun.count
        return report
    }

    /// Returns how to draw subtitles on frames of the film's size; nil without subtitles.
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

    /// Throws if the output exists already, is not a regular file, or is one of the sources.
    private static func checkOutput(_ arrangement: Arrangement, _ options: Options) throws(ExportError) {
        try ExportError.writing { () throws(FilmError) in try FilmWriter.checkPlace(options.output) }
        guard let output = stat(at: options.output) else { return }
        let sources = (arrangement.clips + arrangement.insets.map(\.clip)).compactMap {
            if case .file(let source) = $0.content { source } else { nil }
        }
        func isOutput(_ path: String) -> Bool {
            stat(at: path).map { $0.st_dev == output.st_dev && $0.st_ino == output.st_ino } ?? false
        }
        if (sources + (arrangement.music.map { [$0.source] } ?? [])).contains(where: isOutput) { throw .outputIsSource(options.output) }
        if options.kept.contains(where: isOutput) { throw .outputIsArrangement(options.output) }
        if !options.replaces { throw .outputExists(options.output) }
    }
}

extension FilmFormat.Video {
    /// Makes the video format of an arrangement's output.
    fileprivate init(_ output: Arrangement.Output, _ options: ExportSession.Options, size: PictureSize, rate: FrameRate) {
        self.init(width: size.width, height: size.height, frameRate: rate.hertz)
        codec = output.codec.flatMap { FilmFormat.VideoCodec(rawValue: $0.rawValue) }
        (quality, bitRate, threads) = (output.quality, output.bitRate, options.threads)
        encoder = EncoderWish(output.encoder, device: options.device)
    }
}

extension FilmFormat.Metadata {
    fileprivate init(_ output: Arrangement.Output) {
        self.init()
        (title, artist, album, date, comment) = (output.title, output.artist, output.album, output.date, output.comment)
    }
}

extension FilmFormat {
    /// Limits the bit rate of the pictures, so that a file of this length has no more than `bytes`.
    fileprivate mutating func setLimit(_ bytes: Int64, length: MediaTime) {
        // Containers take a twentieth, and the encoder may spend a second's bits at once.
        let sound = Double(audio?.bitRate ?? 0) * length.seconds
        let bits = (Double(bytes) * 8 * 0.95 - sound) / (length.seconds + 1)
        video?.bitRateLimit = Int(min(max(bits, 10_000), 500_000_000))
    }
}

/// A lower bound for a film's size, to refuse a film that cannot fit before hours of work. The exact size is unknown before the film is
/// encoded. This estimate is less than any measured film of that length. If the disk fills up nevertheless, the export ends with
/// ``FilmError/Reason/noSpace``.
enum ExportRoom {
    /// Bits for each moving pixel, at a quality of 20. Films of still scenes take twice that, busy ones ten times.
    private static let bitsPerPixel = 0.008
    /// Bits a second of sound.
    private static let soundBitRate = 64_000.0
    /// Bytes for the rest of a file.
    private static let margin: Int64 = 1 << 20

    /// Returns the least bytes of a film whose pictures move for `moving` of its length.
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

    /// Returns the free bytes in the folder of a file, for this user; nil if unknown.
    static func free(for path: String) -> Int64? {
        statvfs(at: Folder.of(path))?.free
    }
}
