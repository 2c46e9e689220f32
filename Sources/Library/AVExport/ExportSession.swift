// swift-format-ignore-file: AlwaysUseLowerCamelCase

public import Foundation
public import KioskExport
public import KioskPlayer
import Synchronization

/// Hardly any difference is visible.
public let AVAssetExportPresetHighestQuality = "AVAssetExportPresetHighestQuality"
/// The usual choice.
public let AVAssetExportPresetMediumQuality = "AVAssetExportPresetMediumQuality"
/// A small file.
public let AVAssetExportPresetLowQuality = "AVAssetExportPresetLowQuality"
/// The encoded frames of the clips as they are.
public let AVAssetExportPresetPassthrough = "AVAssetExportPresetPassthrough"
/// At most 640×480 pixels.
public let AVAssetExportPreset640x480 = "AVAssetExportPreset640x480"
/// At most 960×540 pixels.
public let AVAssetExportPreset960x540 = "AVAssetExportPreset960x540"
/// At most 1280×720 pixels.
public let AVAssetExportPreset1280x720 = "AVAssetExportPreset1280x720"
/// At most 1920×1080 pixels.
public let AVAssetExportPreset1920x1080 = "AVAssetExportPreset1920x1080"
/// At most 3840×2160 pixels.
public let AVAssetExportPreset3840x2160 = "AVAssetExportPreset3840x2160"

/// Makes a file of a composition or an asset. It makes one file; from any thread.
public final class AVAssetExportSession: Sendable {
    /// The state of a session.
    public enum Status: Int, Hashable, Sendable {
        /// Not started.
        case unknown
        /// Never.
        case waiting
        /// It works.
        case exporting
        /// The file is complete.
        case completed
        /// There is no file: `error` has the reason.
        case failed
        /// Somebody has cancelled it.
        case cancelled
    }

    private struct State: Sendable {
        var url: URL?
        var fileType: AVFileType?
        var isOptimized = false
        var fileLengthLimit: Int64 = 0
        var timeRange = CMTimeRange(start: .zero, duration: .positiveInfinity)
        var status = Status.unknown
        var error: (any Error)?
        var progress: Float = 0
        var session: AssetExportSession?
    }

    private static let presets: KeyValuePairs<String, AssetExportSession.Preset> = [
        AVAssetExportPresetHighestQuality: .highestQuality, AVAssetExportPresetMediumQuality: .mediumQuality,
        AVAssetExportPresetLowQuality: .lowQuality, AVAssetExportPresetPassthrough: .passthrough,
        AVAssetExportPreset640x480: .size640x480, AVAssetExportPreset960x540: .size960x540, AVAssetExportPreset1280x720: .size1280x720,
        AVAssetExportPreset1920x1080: .size1920x1080, AVAssetExportPreset3840x2160: .size3840x2160,
    ]

    /// The name of its preset.
    public let presetName: String
    private let preset: AssetExportSession.Preset
    private let state = Mutex(State())
    private let content: Content

    /// The content, which one thread at a time uses: until the export begins, that of the caller.
    private final class Content: @unchecked Sendable {
        let asset: AVMutableComposition?
        let single: Asset?
        var video: AVMutableVideoComposition?
        var mix: AVMutableAudioMix?

        init(_ asset: AVMutableComposition?, _ single: Asset?) { (self.asset, self.single) = (asset, single) }
    }

    private init?(_ content: Content, _ presetName: String) {
        guard let preset = Self.presets.first(where: { $0.key == presetName })?.value else { return nil }
        (self.content, self.presetName, self.preset) = (content, presetName, preset)
    }

    /// Creates a session of a composition; nil if there is no such preset.
    public convenience init?(asset: AVMutableComposition, presetName: String) { self.init(Content(asset, nil), presetName) }
    /// Creates a session of an asset; nil if there is no such preset.
    public convenience init?(asset: Asset, presetName: String) { self.init(Content(nil, asset), presetName) }

    /// The names of all presets.
    public static func allExportPresets() -> [String] { presets.map(\.key) }

    /// The types that a session can write.
    public var supportedFileTypes: [AVFileType] { AVFileType.allCases }

    // MARK: Settings; set these before the export

    /// The file to write. It must not exist.
    public var outputURL: URL? {
        get { state.withLock { $0.url } }
        set { state.withLock { $0.url = newValue } }
    }

    /// The type of the file; nil is by its name.
    public var outputFileType: AVFileType? {
        get { state.withLock { $0.fileType } }
        set { state.withLock { $0.fileType = newValue } }
    }

    /// Whether the file begins with its index.
    public var shouldOptimizeForNetworkUse: Bool {
        get { state.withLock { $0.isOptimized } }
        set { state.withLock { $0.isOptimized = newValue } }
    }

    /// The largest length of the file in bytes; 0 for no limit.
    public var fileLengthLimit: Int64 {
        get { state.withLock { $0.fileLengthLimit } }
        set { state.withLock { $0.fileLengthLimit = newValue } }
    }

    /// The part of a single asset to export; all of it at first. A composition is exported whole.
    public var timeRange: CMTimeRange {
        get { state.withLock { $0.timeRange } }
        set { state.withLock { $0.timeRange = newValue } }
    }

    /// How the tracks become pictures; nil shows the rearmost track.
    public var videoComposition: AVMutableVideoComposition? {
        get { content.video }
        set { content.video = newValue }
    }

    /// The loudness of the tracks; nil is their own.
    public var audioMix: AVMutableAudioMix? {
        get { content.mix }
        set { content.mix = newValue }
    }

    // MARK: The export

    /// The current state.
    public var status: Status { state.withLock { $0.status } }
    /// The reason why there is no file.
    public var error: (any Error)? { state.withLock { $0.error } }
    /// The written share, 0…1.
    public var progress: Float { state.withLock { $0.progress } }
    /// The length of the file that the written part lets expect; 0 at first.
    public var estimatedOutputFileLength: Int64 { state.withLock { $0.session?.estimatedOutputFileLength ?? 0 } }

    /// Makes the file, and calls `handler` on a thread of its own when it is complete or has failed.
    public func exportAsynchronously(completionHandler handler: @escaping @Sendable () -> Void) {
        let result = Result { try begin() }
        Task {
            await run(result)
            handler()
        }
    }

    /// Makes the file; returns when it is complete or has failed, as `status` says.
    public func export() async { await run(Result { try begin() }) }

    /// Makes a file of a type, and returns when it is complete.
    public func export(to url: URL, as fileType: AVFileType) async throws {
        (outputURL, outputFileType) = (url, fileType)
        await export()
        if let error { throw error }
    }

    /// Cancels the export.
    public func cancelExport() { state.withLock { $0.session }?.cancelExport() }

    /// Takes the content as it is now.
    private func begin() throws -> (AssetExportSession, String) {
        let settings = state.withLock { state in
            let settings = state
            if state.status == .unknown { state.status = .exporting }
            return settings
        }
        guard settings.status == .unknown else { throw AVCompositionError("an export session makes one file: create another one") }
        guard let url = settings.url, url.isFileURL else { throw AVCompositionError("outputURL: name the file to write") }
        var composition: Composition
        if let asset = content.asset {
            composition = try asset.composition(content.video, content.mix)
        } else {
            composition = Composition()
            composition.append(content.single ?? Asset(""), timeRange: settings.timeRange)
        }
        let session = AssetExportSession(composition, preset: preset)
        (session.outputFileType, session.shouldOptimizeForNetworkUse) = (settings.fileType, settings.isOptimized)
        session.fileLengthLimit = settings.fileLengthLimit
        state.withLock { $0.session = session }
        return (session, url.path)
    }

    private func run(_ begun: Result<(AssetExportSession, String), any Error>) async {
        do {
            let (session, path) = try begun.get()
            let updates = session.progressUpdates
            let follower = Task { for await update in updates { state.withLock { $0.progress = Float(update.fraction) } } }
            defer { follower.cancel() }
            _ = try await session.export(to: path)
            state.withLock { ($0.status, $0.progress) = (.completed, 1) }
        } catch {
            let isCancelled = (error as? AssetExportError)?.code == .cancelled
            state.withLock { ($0.status, $0.error) = (isCancelled ? .cancelled : .failed, error) }
        }
    }
}
