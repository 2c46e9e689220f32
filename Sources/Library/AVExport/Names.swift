// swift-format-ignore-file: AlwaysUseLowerCamelCase

@_exported public import KioskAVFoundation
@_exported public import KioskExport

// Apple's names for films of clips: AVMutableComposition, its video composition and its audio mix, and AVAssetExportSession. They make a
// `Composition` of KioskExport, which says the same in one value. A program imports this module beside KioskAVFoundation, which players need
// alone: this one brings what draws titles, cairo and pango.

/// The number of a track of a composition.
public typealias CMPersistentTrackID = Int32
/// No number: the composition chooses one.
public let kCMPersistentTrackID_Invalid: CMPersistentTrackID = 0
/// An affine transform.
public typealias CGAffineTransform = Composition.Transform
/// The type of a film's file.
public typealias AVFileType = AssetExportSession.FileType
/// A track of a composition.
public typealias AVCompositionTrack = AVMutableCompositionTrack

extension Asset {
    /// The duration; invalid if it cannot be opened. Blocks while it opens the asset, each time; `load(.duration)` does not.
    public var duration: CMTime { (try? loadNow())?.duration ?? .invalid }
    /// The tracks; none if it cannot be opened. Blocks while it opens the asset, each time; `loadTracks` does not.
    public var tracks: [Asset.Track] { (try? loadNow())?.tracks ?? [] }
    /// The tracks of a kind. Blocks while it opens the asset, each time; `loadTracks(withMediaType:)` does not.
    public func tracks(withMediaType mediaType: AVMediaType) -> [Asset.Track] { tracks.filter { $0.mediaType == mediaType } }
}

extension Asset.Track {
    /// The transform that brings the stored picture upright; the identity if it is no picture, or not the one that is played.
    public var preferredTransform: CGAffineTransform {
        let upright = uprightTransform
        return CGAffineTransform(a: upright.a, b: upright.b, c: upright.c, d: upright.d, tx: upright.tx, ty: upright.ty)
    }
    /// The range of the whole asset that it belongs to. Blocks while it opens the asset.
    public var timeRange: CMTimeRange { CMTimeRange(start: .zero, duration: asset?.duration ?? .invalid) }
}
