import Glibc
import KioskConfiguration
import KioskDisplayCore
import KioskMedia
import KioskPlatform
import KioskPlayback
import KioskReaders
import KioskVocabulary

/// Draws the picture of each vblank of a film: the clips, each at its place, and the insets over them.
///
/// Each inset is a playback of its own, which begins at its vblank and advances with the film. A film without places and insets is drawn as
/// a display would draw it, and only if its picture has changed.
struct FilmStage: ~Copyable {
    /// The state of a drawn picture, besides the frames in it.
    private struct State: Hashable {
        var clips: [PicturePlacement]
        /// nil for those that are not shown.
        var insets: [PicturePlacement?]
    }

    private let renderer: SceneRenderer
    private let clips: [ClipChanges]
    private let isPlain: Bool
    /// The rearmost first.
    private let insets: [FilmInset]
    private var drawn: State?

    init(_ arrangement: Arrangement, _ plan: ExportPlan, _ options: ExportSession.Options) {
        renderer = SceneRenderer(width: plan.size.width, height: plan.size.height, background: arrangement.film.background)
        clips = zip(arrangement.clips, plan.descriptions).map { ClipChanges($0.changes, $1?.video, plan.size) }
        isPlain = clips.allSatisfy(\.isPlain) && arrangement.insets.isEmpty
        insets = zip(plan.insets, arrangement.insets).map { inset, clip in
            FilmInset(
                inset, ClipChanges(clip.clip.changes, inset.description.video, plan.size), plan,
                imageDuration: arrangement.film.imageDuration, readers: options.readers)
        }
    }

    /// Advances the insets to the vblank that `playback` has advanced to, and draws its picture if that has changed.
    mutating func draw(_ playback: borrowing OfflinePlayback, _ step: OfflinePlayback.Step) throws(ExportError) {
        if isPlain {
            if step == .picture { playback.withScene { renderer.draw($0, under: $1) } }
            return
        }
        var hasChanged = step == .picture
        for inset in insets { if try inset.advance(to: playback.vblanks - 1) { hasChanged = true } }
        let state = State(
            clips: playback.pictures().map { clips.indices ~= $0.place ? clips[$0.place].placement(at: $0.time) : .plain },
            insets: insets.map(\.placement))
        if !hasChanged, state == drawn { return }
        drawn = state
        playback.withScene { scene, overlay in
            renderer.draw(scene, at: state.clips)
            for inset in insets { inset.draw(by: renderer) }
            renderer.add(overlay)
        }
    }

    /// Adds the sound of the insets in the present vblank to the film's.
    func addSound(to samples: inout [Float]) { for inset in insets { inset.addSound(to: &samples) } }

    /// Ends the insets; returns the faults of their sources, one line each.
    func finish() -> [String] { insets.flatMap { $0.finish() } }

    /// Calls `body` with the XRGB8888 pixels and the stride in bytes.
    func withPixels<Result, Failure: Error>(
        _ body: (UnsafeRawPointer, _ stride: Int) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try renderer.withPixels(body)
    }
}

/// The place and the opacity of a clip's picture over time.
private struct ClipChanges {
    private let transform: Ramps<PictureTransform>?, opacity: Ramps<Double>?
    private let isOfStored: Bool
    /// The middle of the picture, in the pixels of the transform.
    private let middle: (x: Double, y: Double)

    init(_ changes: Arrangement.Changes, _ video: AssetDescription.Video?, _ size: PictureSize) {
        (transform, opacity, isOfStored) = (changes.transform, changes.opacity, changes.isOfStored)
        if isOfStored, let video {
            middle = (Double(video.width) * video.pixelAspectRatio / 2, Double(video.height) / 2)
        } else {
            middle = (Double(size.width) / 2, Double(size.height) / 2)
        }
    }

    var isPlain: Bool { transform == nil && opacity == nil }

    func placement(at time: MediaTime) -> PicturePlacement {
        var placement = PicturePlacement()
        if let (from, to, share) = transform?.at(time) {
            placement.transform = from.moved(to: to, share: share, around: middle)
            placement.isOfStored = isOfStored
        }
        if let opacity { placement.opacity = min(max(opacity.value(at: time), 0), 1) }
        return placement
    }
}

/// A clip over the others.
private final class FilmInset {
    private let inset: ExportPlan.Inset
    private let changes: ClipChanges
    private let placer = PicturePlacer()
    /// Its first vblank in the film.
    private let first: Int64
    private let open: () -> OfflinePlayback
    /// nil before its first vblank, and after its last.
    private var playback: OfflinePlayback?
    private var hasEnded = false
    private var faults: [String] = []

    init(
        _ inset: ExportPlan.Inset, _ changes: ClipChanges, _ plan: ExportPlan, imageDuration: MediaTime, readers: Readers
    ) {
        (self.inset, self.changes) = (inset, changes)
        let rate = plan.rate
        first = Int64(saturating: inset.start.seconds * rate.hertz)
        open = {
            OfflinePlayback(
                [inset.item], cadences: [inset.cadence], refresh: rate, imageDuration: imageDuration, transition: .zero,
                samples: ExportSession.samples, decoderThreads: max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))), readers: readers)
        }
    }

    /// Advances to a vblank of the film, one after the other. Returns whether its picture has changed or ended.
    func advance(to vblank: Int64) throws(ExportError) -> Bool {
        guard !hasEnded, vblank >= first else { return false }
        if playback == nil { playback = open() }
        let step: OfflinePlayback.Step
        do throws(OfflinePlayback.Failure) { step = try playback!.advance() } catch {
            switch error {
            case .skipped(_, let message): throw .skipped(message ?? inset.item.source)
            case .stalled(let time): throw .stalled(time)
            }
        }
        if step == .end {
            hasEnded = true
            finish()
        }
        return step != .same
    }

    var placement: PicturePlacement? {
        guard playback != nil else { return nil }
        return changes.placement(at: playback!.pictures().first?.time ?? .zero)
    }

    func draw(by renderer: SceneRenderer) {
        guard let placement else { return }
        playback!.withScene { scene, _ in renderer.add(scene, at: placement, by: placer) }
    }

    func addSound(to samples: inout [Float]) {
        guard playback != nil else { return }
        var own: [Float] = []
        playback!.readSamples(into: &own)
        for index in 0..<min(own.count, samples.count) { samples[index] = min(max(samples[index] + own[index], -1), 1) }
    }

    /// Ends the playback; returns the faults of the source, one line each.
    @discardableResult func finish() -> [String] {
        if var playback = playback.take() {
            faults = playback.newComplaints().map(\.message)
            if let damage = playback.damage(of: inset.item.source) { faults.append("\(inset.item.source): \(damage.description)") }
        }
        return faults
    }
}
