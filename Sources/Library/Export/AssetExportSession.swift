import KioskConfiguration
import KioskExportCore
import KioskMedia
import KioskPlatform
public import KioskPlayer
import KioskReaders
import Synchronization

/// Makes an MP4 file of a ``Composition``: AVAssetExportSession.
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

        /// Hardly any difference is visible.
        public static let highestQuality = Preset(quality: 17)
        /// The usual choice.
        public static let mediumQuality = Preset(quality: 22)
        /// A small file.
        public static let lowQuality = Preset(quality: 29)
        /// The encoded frames of the clips as they are, cut at key frames. All clips need the same codec and size.
        public static let passthrough = Preset(quality: 20, copies: true)
        /// The quality of a constant rate factor, 0 (lossless) to 51.
        public static func constantRateFactor(_ factor: Int) -> Preset { Preset(quality: min(max(factor, 0), 51)) }
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

    /// Creates a session.
    public init(_ composition: Composition, preset: Preset = .highestQuality) { (self.composition, self.preset) = (composition, preset) }

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
            arrangement.output.quality = preset.quality
            var options = ExportSession.Options(output: path)
            (options.replaces, options.copies, options.readers) = (replaces, preset.copies, Player.readers)
            var told = HostTime(nanoseconds: 0)
            do throws(ExportError) {
                let report = try ExportSession.run(arrangement, options, isCancelled: { isCancelled.load(ordering: .relaxed) }) {
                    progress in
                    guard .now - told > .milliseconds(200) || progress.done >= progress.length else { return }
                    told = .now
                    updates.tell(Progress(progress))
                }
                return Film(report)
            } catch { throw AssetExportError(error) }
        }
    }
}

extension AssetExportSession.Progress {
    fileprivate init(_ progress: ExportSession.Progress) {
        self.init(
            fraction: progress.fraction, time: CMTime(progress.done), duration: CMTime(progress.length),
            remaining: progress.left.map { .nanoseconds($0.nanoseconds) })
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
            case .outputExists, .outputIsSource, .outputIsArrangement, .noRoom, .film: .cannotWrite
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
