import KioskConfiguration
import KioskMedia
import KioskPlatform
import KioskPlayback
import KioskReaderProtocol
import KioskReaders
import KioskVocabulary

/// Copies the clips' encoded frames, packet by packet, if nothing about them changes and the cuts fall on key frames. Sound is not copied:
/// the engine plays it, as for every film. So it is exact to the sample at the cuts, and can have music under it.
///
/// The engine also tells each clip's place on the timeline (``OfflinePlayback/begun``).
///
/// A separate process does the copying (``PacketCopy``).
final class PictureCopy {
    /// The size and rate of the film: those of the clips.
    let size: PictureSize, rate: FrameRate

    /// The number of playthroughs passed on.
    private var begun = 0
    /// The number of written frames.
    private(set) var count: Int64 = 0

    /// Checks every clip; throws with all obstacles.
    static func open(_ plan: ExportPlan, _ arrangement: Arrangement, _ writer: inout FilmWriter) throws(ExportError) -> PictureCopy {
        var reasons: [String] = []
        if plan.transition > .zero, plan.items.count > 1 { reasons.append("there are fades, whose pictures are in no file") }
        if !plan.insets.isEmpty { reasons.append("there are pictures over others, which are in no file") }
        for (place, item) in plan.items.enumerated() {
            let name = plan.name(of: place)
            guard let description = plan.descriptions[place], let video = description.video, !description.isStill else {
                reasons.append("\(name): is a still")
                continue
            }
            if video.isInterlaced, item.deinterlace != .off { reasons.append("\(name): is interlaced, and would show combs") }
            if !arrangement.clips[place].changes.isPlain { reasons.append("\(name): has a transform or an opacity") }
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

    /// Writes the packets before `time` of the film, of the playthroughs that have begun.
    func write(
        until time: MediaTime, _ playthroughs: [OfflinePlayback.Beginning], to writer: inout FilmWriter
    ) throws(ExportError) {
        let new = playthroughs[begun...].map { FilmStep.Playthrough(clip: $0.place, instant: $0.instant) }
        begun = playthroughs.count
        count = try ExportError.writing { () throws(FilmError) in try writer.copy(until: time, new) }
    }

    /// Writes the rest.
    func finish(to writer: inout FilmWriter) throws(ExportError) {
        count = try ExportError.writing { () throws(FilmError) in try writer.copy(until: nil, []) }
    }
}

extension PictureSize {
    /// Returns the upright size of all clips; nil if they differ.
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
