import CKioskFFmpeg
import Configuration
import KioskMedia
import KioskPlatform
import KioskPlayback
import KioskVocabulary

/// Copies the pictures of the clips as they are, packet by packet, where nothing about them is to change and the cuts fall on key frames.
/// Sound is not copied: the engine plays it, as for every film, so it is exact to the sample at the cuts, and music can go under it.
///
/// The engine also says where each clip lies on the timeline (``OfflinePlayback/begun``).
final class PictureCopy {
    private let plan: [Clip]
    private let sources: [String]
    private let first: PictureSource
    /// What the film will have: the clips' own.
    let size: PictureSize, rate: FrameRate

    /// What is being written, and how many of the playthroughs have been begun.
    private var present: Present?
    private var begun = 0
    /// Pictures that have been written.
    private(set) var count: Int64 = 0
    private var lastTime = Int64.min
    private static let base = shim_rational(1, 90000)

    private struct Clip {
        var range: CopyRange
        /// Item time of the first picture, as it was asked for.
        var start: MediaTime
    }

    private struct Present {
        var source: PictureSource
        var range: CopyRange
        /// Where on the film its item's zero would lie, in 90000ths of a second.
        var offset: Int64
        /// The number of the packet that has been read, and is to be written.
        var packet = -1
        var hasPacket = false
    }

    /// Looks at every clip; throws with all that stands in the way.
    static func open(_ plan: ExportPlan, _ arrangement: Arrangement) throws(ExportError) -> PictureCopy {
        var reasons: [String] = []
        if plan.transition > .zero, plan.items.count > 1 { reasons.append("there are fades, whose pictures are in no file") }
        var first: PictureSource?
        var clips: [Clip] = []
        for (place, item) in plan.items.enumerated() {
            let name = plan.name(of: place)
            guard let description = plan.descriptions[place], let video = description.video, !description.isStill else {
                reasons.append("\(name): is a still")
                continue
            }
            if video.isInterlaced, item.deinterlace != .off { reasons.append("\(name): is interlaced, and would be shown with its combs") }
            if video.isCropped { reasons.append("\(name): only a part of its stored picture is shown") }
            if let codec = arrangement.output.codec, codec.rawValue != video.codec {
                reasons.append("\(name): its codec is \(video.codec), and \(codec.rawValue) is asked for")
            }
            do throws(FilmError) {
                let source = try PictureSource.open(item.source)
                if avformat_query_codec(av_guess_format("mp4", nil, nil), source.stream.pointee.codecpar.pointee.codec_id, 0) != 1 {
                    reasons.append("\(name): an MP4 cannot hold its codec \(video.codec)")
                }
                if let first {
                    reasons += source.differences(from: first).map { "\(name): \($0)" }
                } else {
                    first = try PictureSource.open(item.source)
                }
                switch range(of: item, in: source) {
                case .success(let range): clips.append(Clip(range: range, start: item.start))
                case .failure(let obstacles): reasons += obstacles.all.map { "\(name): \($0.text(source.seconds))" }
                }
            } catch {
                if case .unreadable(let text) = error.reason { reasons.append("\(name): \(text)") } else { throw .film(error) }
            }
        }
        let size = PictureSize.seen(plan.descriptions)
        if let wanted = arrangement.output.size, wanted != size {
            reasons.append("the clips are \(size.map { "\($0)" } ?? "of several sizes"), and \(wanted) is asked for")
        }
        if let rate = arrangement.output.rate, rate != plan.fileRate { reasons.append("\(rate) pictures a second are asked for") }
        guard reasons.isEmpty, let first else { throw .cannotCopy(reasons) }
        return PictureCopy(
            plan: clips, sources: plan.items.map(\.source), first: first, size: size ?? plan.size,
            rate: plan.fileRate ?? ExportPlan.defaultRate)
    }

    private init(plan: [Clip], sources: [String], first: PictureSource, size: PictureSize, rate: FrameRate) {
        (self.plan, self.sources, self.first, self.size, self.rate) = (plan, sources, first, size, rate)
    }

    /// Which packets of `source` are the item's.
    private static func range(of item: PlaylistItem, in source: PictureSource) -> Result<CopyRange, CopyRange.Obstacles> {
        var entries: [PictureSource.Entry] = []
        while source.read() { entries.append(source.entry) }
        func ticks(_ time: MediaTime) -> Int64 { av_rescale_q(time.nanoseconds, shim_rational(1, 1_000_000_000), source.base) }
        let end = [item.end, item.duration.map { item.start + $0 }].compactMap { $0 }.min()
        return Result { () throws(CopyRange.Obstacles) in
            try CopyRange(entries, start: ticks(item.start), end: end.map(ticks), frameDuration: source.frameDuration)
        }
    }

    /// The track to be copied.
    var stream: UnsafeMutablePointer<AVStream> { first.stream }

    // MARK: Writing

    /// Writes the packets that belong to before `time` of the film, of the playthroughs that have begun.
    func write(
        until time: MediaTime, _ playthroughs: [OfflinePlayback.Beginning], to writer: inout FilmWriter
    ) throws(ExportError) {
        let limit = Self.ticks(time)
        while true {
            while try nextPacket() {
                let (pts, dts) = times()
                if dts >= limit { return }
                // A damaged clip may end before its last packets do.
                if begun < playthroughs.count, pts >= Self.ticks(playthroughs[begun].instant) {
                    present?.hasPacket = false
                    continue
                }
                try write(pts: pts, dts: dts, to: &writer)
            }
            guard begun < playthroughs.count else { return }
            let next = playthroughs[begun]
            begun += 1
            let source = try ExportError.writing { () throws(FilmError) in try PictureSource.open(sources[next.place]) }
            // Where there is a key frame beside the time that was asked for, it is the one that counts.
            present = Present(
                source: source, range: plan[next.place].range, offset: Self.ticks(next.instant) - Self.ticks(plan[next.place].start))
        }
    }

    /// Writes what is left.
    func finish(to writer: inout FilmWriter) throws(ExportError) {
        while try nextPacket() {
            let (pts, dts) = times()
            try write(pts: pts, dts: dts, to: &writer)
        }
    }

    private static func ticks(_ time: MediaTime) -> Int64 { av_rescale_q(time.nanoseconds, shim_rational(1, 1_000_000_000), base) }

    /// Whether there is a packet of the present playthrough to be written.
    private func nextPacket() throws(ExportError) -> Bool {
        guard var clip = present else { return false }
        defer { present = clip }
        while !clip.hasPacket {
            guard clip.packet + 1 < clip.range.packets.upperBound, clip.source.read() else { return false }
            clip.packet += 1
            // Pictures that are shown before the key frame they follow belong to what has been cut off.
            clip.hasPacket = clip.packet >= clip.range.packets.lowerBound && clip.range.times ~= clip.source.entry.pts
        }
        return true
    }

    /// When the present packet is shown and decoded, in the film.
    private func times() -> (pts: Int64, dts: Int64) {
        guard let clip = present else { return (0, 0) }
        let entry = clip.source.entry
        // The file may have changed since it was looked at: what is wrong then is refused when it is written.
        func place(_ time: Int64) -> Int64 { av_rescale_q(time &- clip.range.origin, clip.source.base, Self.base) &+ clip.offset }
        return (place(entry.pts), place(entry.dts))
    }

    private func write(pts: Int64, dts: Int64, to writer: inout FilmWriter) throws(ExportError) {
        guard let packet = present?.source.packet else { return }
        // At a seam, where clips are decoded ahead by different times.
        let time = min(max(dts, lastTime == .min ? dts : lastTime &+ 1), pts)
        lastTime = time
        packet.pointee.pts = pts
        packet.pointee.dts = time
        if let base = present?.source.base { packet.pointee.duration = av_rescale_q(packet.pointee.duration, base, Self.base) }
        try ExportError.writing { () throws(FilmError) in try writer.write(copied: packet, in: Self.base) }
        present?.hasPacket = false
        count += 1
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
