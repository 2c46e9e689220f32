import CKioskFFmpeg
import KioskPlatform

/// Copies the pictures of clips into a film unchanged, packet by packet.
///
/// One thread at a time uses it.
package final class PacketCopy: @unchecked Sendable {
    // Sendable because one thread at a time uses it.
    private struct Clip {
        var file: OpenedFile
        var range: CopyRange
        /// The item time of the first picture, as requested.
        var start: MediaTime
    }

    private struct Present {
        var source: PictureSource
        var range: CopyRange
        /// The film time of its item's zero, in 90000ths of a second.
        var offset: Int64
        /// The number of the last packet read.
        var packet = -1
        var hasPacket = false
    }

    private var clips: [Clip] = []
    private var first: PictureSource?
    /// The playthrough in progress, and those still to begin.
    private var present: Present?
    private var playthroughs: ArraySlice<(clip: Int, instant: MediaTime)> = []
    /// The number of pictures written.
    package private(set) var count: Int64 = 0
    private var lastTime = Int64.min
    private static let base = shim_rational(1, 90000)

    /// The container of the film.
    private let container: FilmFormat.Container

    package init(into container: FilmFormat.Container) { self.container = container }

    // MARK: Looking

    /// Adds a clip from `start` to `end` (nil: the end of the file), and reads the file to its end.
    ///
    /// - Returns: the obstacles to copying it; empty for none. It may not fit behind the first clip in one track. The film's
    ///   container may not hold its codec, or its cuts may have no key frames.
    package func add(_ file: OpenedFile, start: MediaTime, end: MediaTime?) -> [String] {
        // The same file shares one descriptor, because there may be many clips.
        let file = clips.first { $0.file.version == file.version }?.file ?? file
        do throws(FilmError) {
            let source = try PictureSource(file, path: "")
            var obstacles: [String] = []
            let codec = source.stream.pointee.codecpar.pointee.codec_id
            if avformat_query_codec(av_guess_format(container.muxer, nil, nil), codec, 0) != 1 {
                obstacles.append(
                    "\(container == .mov ? "a MOV" : "an MP4") cannot hold its codec \(String(cString: avcodec_get_name(codec)))")
            }
            if let first { obstacles += source.differences(from: first) } else { first = try PictureSource(file, path: "") }
            var entries: [PictureSource.Entry] = []
            while source.read() { entries.append(source.entry) }
            func ticks(_ time: MediaTime) -> Int64 { av_rescale_q(time.nanoseconds, shim_rational(1, 1_000_000_000), source.base) }
            do throws(CopyRange.Obstacles) {
                let range = try CopyRange(entries, start: ticks(start), end: end.map(ticks), frameDuration: source.frameDuration)
                clips.append(Clip(file: file, range: range, start: start))
            } catch {
                obstacles += error.all.map { $0.text(source.seconds) }
            }
            return obstacles
        } catch {
            if case .unreadable(let text) = error.reason { return [text] }
            return [error.reason.text]
        }
    }

    /// The track to copy; nil before the first clip.
    package var stream: UnsafeMutablePointer<AVStream>? { first?.stream }

    // MARK: Writing

    /// Begins a clip at an instant of the film, at which those before it end.
    package func begin(_ clip: Int, at instant: MediaTime) { playthroughs.append((clip, instant)) }

    /// Writes the packets before film time `time`, of the playthroughs that have begun; nil for all.
    package func write(until time: MediaTime?, to film: inout FilmEncoder) throws(FilmError) {
        let limit = time.map(Self.ticks) ?? .max
        while true {
            while nextPacket() {
                let (pts, dts) = times()
                if dts >= limit { return }
                // A damaged clip may end before its last packets do.
                if let next = playthroughs.first, pts >= Self.ticks(next.instant) {
                    present?.hasPacket = false
                    continue
                }
                try write(pts: pts, dts: dts, to: &film)
            }
            guard let next = playthroughs.popFirst() else { return }
            guard clips.indices ~= next.clip else { continue }
            let clip = clips[next.clip]
            // If a key frame lies beside the requested time, it counts.
            present = Present(
                source: try PictureSource(clip.file, path: ""), range: clip.range,
                offset: Self.ticks(next.instant) - Self.ticks(clip.start))
        }
    }

    private static func ticks(_ time: MediaTime) -> Int64 { av_rescale_q(time.nanoseconds, shim_rational(1, 1_000_000_000), base) }

    /// Whether the playthrough in progress has a packet to write.
    private func nextPacket() -> Bool {
        guard var clip = present else { return false }
        defer { present = clip }
        while !clip.hasPacket {
            guard clip.packet + 1 < clip.range.packets.upperBound, clip.source.read() else { return false }
            clip.packet += 1
            // Pictures shown before their key frame belong to the part cut off.
            clip.hasPacket = clip.packet >= clip.range.packets.lowerBound && clip.range.times ~= clip.source.entry.pts
        }
        return true
    }

    /// Returns the film times at which the current packet is shown and decoded.
    private func times() -> (pts: Int64, dts: Int64) {
        guard let clip = present else { return (0, 0) }
        let entry = clip.source.entry
        // The file may have changed since kiosk looked at it. The write then refuses invalid times.
        func place(_ time: Int64) -> Int64 { av_rescale_q(time &- clip.range.origin, clip.source.base, Self.base) &+ clip.offset }
        return (place(entry.pts), place(entry.dts))
    }

    private func write(pts: Int64, dts: Int64, to film: inout FilmEncoder) throws(FilmError) {
        guard let packet = present?.source.packet else { return }
        // At a seam: clips differ in how far they decode ahead.
        let time = min(max(dts, lastTime == .min ? dts : lastTime &+ 1), pts)
        lastTime = time
        packet.pointee.pts = pts
        packet.pointee.dts = time
        if let base = present?.source.base { packet.pointee.duration = av_rescale_q(packet.pointee.duration, base, Self.base) }
        try film.write(copied: packet, in: Self.base)
        present?.hasPacket = false
        count += 1
    }
}
