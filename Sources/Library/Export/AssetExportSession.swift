import KioskConfiguration
import KioskExportCore
import KioskMedia
import KioskPlatform
public import KioskPlayer
import KioskReaders
import Synchronization

/// Makes an MP4 or QuickTime file of a ``Composition``: AVAssetExportSession.
///
///     let session = AssetExportSession(composition)
///     Task { for await progress in session.progressUpdates { print(progress.fraction) } }
///     let film = try await session.export(to: "/srv/film.mp4")
///
/// The film is what a player shows and plays of the clips, frame by frame, drawn by the same code. A session makes one film. From any thread.
public final class AssetExportSession: Sendable {
    /// The quality of a film.
    public struct Preset: Hashable, Sendable {
        /// The constant rate factor of x264: less is better and larger.
        var quality: Int
        var copies = false
        /// The largest size; nil for any.
        var largest: PixelSize?

        /// Hardly any difference is visible.
        public static let highestQuality = Preset(quality: 17)
        /// The usual choice.
        public static let mediumQuality = Preset(quality: 22)
        /// A small file.
        public static let lowQuality = Preset(quality: 29)
        /// The encoded frames of the clips as they are, cut at key frames. All clips need the same codec and size.
        public static let passthrough = Preset(quality: 20, copies: true)
        /// At most 640×480 pixels; clips are scaled down, never up. Upright clips may be 480×640. ``Composition/renderSize`` beats it.
        public static let size640x480 = Preset(quality: 20, largest: PixelSize(width: 640, height: 480))
        /// At most 960×540 pixels.
        public static let size960x540 = Preset(quality: 20, largest: PixelSize(width: 960, height: 540))
        /// At most 1280×720 pixels.
        public static let size1280x720 = Preset(quality: 20, largest: PixelSize(width: 1280, height: 720))
        /// At most 1920×1080 pixels.
        public static let size1920x1080 = Preset(quality: 20, largest: PixelSize(width: 1920, height: 1080))
        /// At most 3840×2160 pixels.
        public static let size3840x2160 = Preset(quality: 20, largest: PixelSize(width: 3840, height: 2160))
        /// The quality of a constant rate factor, 0 (lossless) to 51.
        public static func constantRateFactor(_ factor: Int) -> Preset { Preset(quality: min(max(factor, 0), 51)) }
    }

    /// The type of a film's file: AVFileType.
    public enum FileType: Hashable, Sendable, CaseIterable {
        /// MPEG-4, `.mp4` and `.m4v`.
        case mp4
        /// QuickTime, `.mov` and `.qt`.
        case mov

        fileprivate var engine: FilmType { self == .mp4 ? .mp4 : .mov }
    }

    /// What players show of a film besides its pictures. Texts are one line of at most 200 characters; nil for none.
    public struct Metadata: Hashable, Sendable {
        /// Its title.
        public var title: String?
        /// Its author or performer.
        public var artist: String?
        /// The title of its album or collection.
        public var albumName: String?
        /// Its date of creation: `2026`, `2026-05-01`.
        public var creationDate: String?
        /// A note.
        public var comment: String?

        /// Creates metadata without a text.
        public init() {}
    }

    /// The state of a session.
    public enum Status: Hashable, Sendable {
        /// Nobody has started it.
        case unknown
        /// It works.
        case exporting
        /// The film is complete.
        case completed
        /// There is no film.
        case failed(AssetExportError)
        /// Somebody has cancelled it; no file is left.
        case cancelled
    }

    /// The progress of an export.
    public struct Progress: Hashable, Sendable {
        /// The written share, 0…1.
        public var fraction: Double
        /// The written length of the film, and its length in all.
        public var time: CMTime, duration: CMTime
        /// The remaining time of work; nil while that is a guess.
        public var remaining: Duration?
        /// The length of the file that the written part lets expect, in bytes; nil in the first twentieth.
        public var estimatedFileLength: Int64?
    }

    /// A complete film.
    public struct Film: Hashable, Sendable {
        /// Its file.
        public var path: String
        /// Pixels across and down.
        public var size: PixelSize
        /// The duration of a frame.
        public var frameDuration: CMTime
        /// Its length.
        public var duration: CMTime
        /// The number of its frames.
        public var frameCount: Int
        /// FFmpeg's name of the encoder, or `copy`.
        public var encoder: String
        /// What is worth knowing of the clips, one line each: a damaged file, a frame rate that the film does not have.
        public var notes: [String]
    }

    /// The content of the film.
    public let composition: Composition
    /// The quality of the film.
    public let preset: Preset
    private let state = Mutex(Status.unknown)
    private let isCancelled = Atomic(false)
    private let updates = Broadcast<Progress>()
    private let settings = Mutex(Settings())

    private struct Settings {
        var fileType: FileType?
        var metadata = Metadata()
        var isOptimized = true
        var fileLengthLimit: Int64 = 0
        var estimatedLength: Int64 = 0
    }

    /// Creates a session.
    public init(_ composition: Composition, preset: Preset = .highestQuality) { (self.composition, self.preset) = (composition, preset) }

    // MARK: The file; set these before the export

    /// The type of the file; nil is by the extension of its name, and ``FileType/mp4`` if that says nothing.
    public var outputFileType: FileType? {
        get { settings.withLock { $0.fileType } }
        set { settings.withLock { $0.fileType = newValue } }
    }

    /// The types that a session can write.
    public var supportedFileTypes: [FileType] { FileType.allCases }

    /// The film's title, author and so on.
    public var metadata: Metadata {
        get { settings.withLock { $0.metadata } }
        set { settings.withLock { $0.metadata = newValue } }
    }

    /// Whether the file begins with its index, so that it plays while it loads: true at first. Without, the end of an export is quicker.
    public var shouldOptimizeForNetworkUse: Bool {
        get { settings.withLock { $0.isOptimized } }
        set { settings.withLock { $0.isOptimized = newValue } }
    }

    /// The largest length of the file in bytes; 0 for no limit. The encoder keeps the quality of the preset while that fits, and lowers it
    /// otherwise. If the limit is too low for any quality, or the preset copies, the export ends with ``AssetExportError/Code/cannotWrite``.
    public var fileLengthLimit: Int64 {
        get { settings.withLock { $0.fileLengthLimit } }
        set { settings.withLock { $0.fileLengthLimit = max(newValue, 0) } }
    }

    /// The length of the file that the written part lets expect, in bytes; 0 before a twentieth is written. It is too low for films of some
    /// seconds, because encoders hold back pictures. After the export it is the real length.
    public var estimatedOutputFileLength: Int64 { settings.withLock { $0.estimatedLength } }

    // MARK: The export

    /// The current state.
    public var status: Status { state.withLock { $0 } }

    /// The progress from now on, some times a second; it ends with the export. A slow reader gets the newest.
    public var progressUpdates: AsyncStream<Progress> { updates.stream(limit: 1) }

    /// Makes the film. Returns when it is complete; the end of the task cancels it.
    ///
    /// - Parameters:
    /// - path: the file to write. Until the film is complete, a draft stands beside it.
    /// - replaces: whether to replace an existing file.
    /// - Throws: ``AssetExportError``. No file is left then.
    public func export(to path: String, replacing replaces: Bool = false) async throws -> Film {
        try state.withLock { state in
            guard state == .unknown else { throw AssetExportError(.isUsed, "an export session makes one film: create another one") }
            state = .exporting
        }
        LibraryLog.begin()
        let result: Result<Film, AssetExportError> = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                // Not on the pool of the concurrency runtime: it computes for as long as the film needs.
                Thread("export") { continuation.resume(returning: self.film(path, replaces)) }.detach()
            }
        } onCancel: {
            cancelExport()
        }
        state.withLock { state in
            state =
                switch result {
                case .success: .completed
                case .failure(let error): error.code == .cancelled ? .cancelled : .failed(error)
                }
        }
        updates.end()
        return try result.get()
    }

    /// Cancels the export; ``export(to:replacing:)`` throws soon.
    public func cancelExport() { isCancelled.store(true, ordering: .relaxed) }

    private func film(_ path: String, _ replaces: Bool) -> Result<Film, AssetExportError> {
        Result { () throws(AssetExportError) in
            if let problem = FilmWriter.nameProblem(path) { throw AssetExportError(.cannotWrite, problem) }
            var arrangement = try composition.arrangement()
            let settings = settings.withLock { $0 }
            arrangement.output.apply(preset, settings.metadata)
            arrangement.output.isIndexFirst = settings.isOptimized
            if settings.fileLengthLimit > 0 { arrangement.output.byteLimit = settings.fileLengthLimit }
            var options = ExportSession.Options(output: path)
            (options.replaces, options.copies, options.readers) = (replaces, preset.copies, Player.readers)
            options.type = settings.fileType?.engine
            var told = HostTime(nanoseconds: 0)
            do throws(ExportError) {
                let report = try ExportSession.run(arrangement, options, isCancelled: { isCancelled.load(ordering: .relaxed) }) {
                    progress in
                    guard .now - told > .milliseconds(200) || progress.done >= progress.length else { return }
                    told = .now
                    if let length = progress.estimatedByteCount { self.settings.withLock { $0.estimatedLength = length } }
                    updates.tell(Progress(progress))
                }
                self.settings.withLock { $0.estimatedLength = report.byteCount }
                return Film(report)
            } catch { throw AssetExportError(error) }
        }
    }
}

extension AssetExportSession.Progress {
    fileprivate init(_ progress: ExportSession.Progress) {
        self.init(
            fraction: progress.fraction, time: CMTime(progress.done), duration: CMTime(progress.length),
            remaining: progress.left.map { .nanoseconds($0.nanoseconds) }, estimatedFileLength: progress.estimatedByteCount)
    }
}

extension Arrangement.Output {
    fileprivate mutating func apply(_ preset: AssetExportSession.Preset, _ metadata: AssetExportSession.Metadata) {
        quality = preset.quality
        largest = preset.largest.flatMap { PictureSize(width: $0.width, height: $0.height) }
        func line(_ text: String?) -> String? {
            guard let text else { return nil }
            var line = String(String.UnicodeScalarView(text.unicodeScalars.map { $0.properties.generalCategory == .control ? " " : $0 }))
            line = String(line.prefix(200))
            // The engine's limit is in bytes, and one character can have many.
            while line.utf8.count > 1000 { line.removeLast() }
            return line
        }
        (title, artist, album) = (line(metadata.title), line(metadata.artist), line(metadata.albumName))
        (date, comment) = (line(metadata.creationDate), line(metadata.comment))
    }
}

extension AssetExportSession.Film {
    fileprivate init(_ report: ExportSession.Report) {
        self.init(
            path: report.path, size: PixelSize(width: report.size.width, height: report.size.height),
            frameDuration: CMTime(value: Int64(report.rate.denominator), timescale: Int32(clamping: report.rate.numerator)),
            duration: CMTime(report.length), frameCount: Int(report.pictures), encoder: report.encoder, notes: report.notes)
    }
}

/// The reason why there is no film.
public struct AssetExportError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of a reason.
    public enum Code: Hashable, Sendable {
        /// The composition has a value that no film can have, or no clip.
        case invalidComposition
        /// A clip or the music cannot be used.
        case sources
        /// The file cannot be written: it exists, the disk is full, it is a clip.
        case cannotWrite
        /// The frames cannot be copied as they are.
        case cannotCopy
        /// Somebody has cancelled it.
        case cancelled
        /// The session has made its film already.
        case isUsed
        /// A fault of this library.
        case other
    }

    /// The kind of the reason.
    public let code: Code
    /// The attempt, the cause of its failure and the remedy: for people.
    public let description: String

    init(_ code: Code, _ description: String) { (self.code, self.description) = (code, description) }

    fileprivate init(_ error: ExportError) {
        let code: Code =
            switch error {
            case .outputExists, .outputIsSource, .outputIsArrangement, .noRoom, .tooLong, .film: .cannotWrite
            case .sources, .music, .card, .skipped: .sources
            case .cannotCopy: .cannotCopy
            case .cancelled: .cancelled
            case .stalled: .other
            }
        if case .outputExists(let path) = error {
            self.init(code, "\(path): is there already: name another file, or replace it")
        } else {
            self.init(code, error.description)
        }
    }
}
