import Configuration
import KioskMedia
import KioskPlatform
import KioskPlayback
import KioskReaderProtocol
import KioskReaders
import KioskVocabulary

/// Copies the pictures of the clips as they are, packet by packet, where nothing about them is to change and the cuts fall on key frames.
/// Sound is not copied: the engine plays it, as for every film, so it is exact to the sample at the cuts, and music can go under it.
///
/// The engine also says where each clip lies on the timeline (``OfflinePlayback/begun``).
///
/// A process does it (``PacketCopy``).
final class PictureCopy {
    /// What the film will have: the clips' own.
    let size: PictureSize, rate: FrameRate

    /// How many of the playthroughs have been begun.
    private var begun = 0
    /// Pictures that have been written.
    private(set) var count: Int64 = 0

    /// Looks at every clip; throws with all that stands in the way.
    static func open(_ plan: ExportPlan, _ arrangement: Arrangement, _ writer: inout FilmWriter) throws(ExportError) -> PictureCopy {
        var reasons: [String] = []
        if plan.transition > .zero, plan.items.count > 1 { reasons.append("there are fades, whose pictures are in no file") }
        for (place, item) in plan.items.enumerated() {
            let name = plan.name(of: place)
            guard let description = plan.descriptions[place], let video = description.video, !description.isStill else {
                reasons.append("\(name): is a still")
                continue
            }
            if video.isInterlaced, item.deinterlace != .off { reasons.append("\(name): is interlaced, and would show combs") }
            if video.isCropped { reasons.append("\(name): only a part of its stored picture is shown") }
            if let codec = arrangement.output.codec, codec.rawValue != video.codec {
                reasons.append("\(name): its codec is \(video.codec), and you want \(codec.rawValue)")
            }
            let end = [item.end, item.duration.map { item.start + $0 }].compactMap { $0 }.min()
            do throws(FilmError) {
                reasons += try writer.look(at: item.source, start: item.start, end: end).map { "\(name): \($0)" }
            } catch {
                if case .unreadable(let text) = error.reason { reasons.append("\(name): \(text)") } else { throw .film(error) }
            }
        }
        let size = PictureSize.seen(plan.descriptions)
        if let wanted = arrangement.output.size, wanted != size {
            reasons.append("the clips are \(size.map { "\($0)" } ?? "of several sizes"), and you want \(wanted)")
        }
        if let rate = arrangement.output.rate, rate != plan.fileRate { reasons.append("you want \(rate) pictures a second") }
        if !reasons.isEmpty { throw .cannotCopy(reasons) }
        return PictureCopy(size: size ?? plan.size, rate: plan.fileRate ?? ExportPlan.defaultRate)
    }

    private init(size: PictureSize, rate: FrameRate) { (self.size, self.rate) = (size, rate) }

    /// Writes the packets that belong to before `time` of the film, of the playthroughs that have begun.
    func write(
        until time: MediaTime, _ playthroughs: [OfflinePlayback.Beginning], to writer: inout FilmWriter
    ) throws(ExportError) {
        let new = playthroughs[begun...].map { FilmStep.Playthrough(clip: $0.place, instant: $0.instant) }
        begun = playthroughs.count
        count = try ExportError.writing { () throws(FilmError) in try writer.copy(until: time, new) }
    }

    /// Writes what is left.
    func finish(to writer: inout FilmWriter) throws(ExportError) {
        count = try ExportError.writing { () throws(FilmError) in try writer.copy(until: nil, []) }
    }
}

extension PictureSize {
    /// The size of all clips, upright; nil where they have several.
    fileprivate static func seen(_ descriptions: [AssetDescription?]) -> PictureSize? {
        let sizes = Set(
            descriptions.compactMap { description -> [Int]? in
                guard let video = description?.video else { return nil }
                return video.orientation.rotation.swapsAxes ? [video.height, video.width] : [video.width, video.height]
            })
        guard sizes.count == 1, let size = sizes.first else { return nil }
        return PictureSize(width: size[0], height: size[1])
    }
}
