import CKioskFFmpeg
import KioskPlatform

extension MediaReader {
    /// Returns the time of each picture, in order and from the first on, without decoding any; nil if it cannot know them. If the index of
    /// the file has all pictures at one distance, the times come from the index. Otherwise it reads the file to its end, which takes as
    /// long as its disk does. For a network source it uses the index or nothing. It ends with nil if `isCancelled` returns true.
    ///
    /// Interlaced frames return nil: they may have twice as many times, or not, by the handling of fields.
    ///
    /// The reader is then at its end.
    package mutating func pictureTimes(isCancelled: () -> Bool = { false }) -> [MediaTime]? {
        guard let video = description.video, !description.isStill, !video.isInterlaced else { return nil }
        if let times = indexedTimes { return times }
        guard description.isLocal, description.isSeekable, !demuxer.source.interruption.cancelled else { return nil }
        leaveOutSound()
        demuxer.source.interruption.allow(demuxer.source.openingLimit)
        do throws(MediaError) { try demuxer.seek(to: origin, isBeginning: true, frameDuration: nil) } catch { return nil }
        var times: [MediaTime] = []
        while true {
            while let packet = demuxer.pictures.popFirst() {
                let raw = packet.raw.pointee
                if raw.flags & AV_PKT_FLAG_DISCARD != 0 || packet.isHiddenVP8(codec: video.codec) { continue }
                let ticks = raw.pts == kAV_NOPTS_VALUE ? raw.dts : raw.pts
                guard let time = demuxer.source.stream(raw.stream_index)?.time(ticks) else { return nil }
                times.append(time)
            }
            if isCancelled() { return nil }
            if !demuxer.read() { break }
        }
        return Self.fromZero(times)
    }

    /// The times from an index with every picture, if they lie at one distance. The index counts in decoding time. At one distance,
    /// presentation times have the same distances.
    private var indexedTimes: [MediaTime]? {
        guard let stream = demuxer.source.stream(demuxer.source.streams.video) else { return nil }
        let count = avformat_index_get_entries_count(stream)
        guard count > 1, Int64(count) == stream.pointee.nb_frames else { return nil }
        var ticks: [Int64] = []
        for index in 0..<count {
            guard let entry = avformat_index_get_entry(stream, index)?.pointee else { return nil }
            if entry.flags & AVINDEX_DISCARD_FRAME == 0 { ticks.append(entry.timestamp) }
        }
        let steps = zip(ticks.dropFirst(), ticks).map { $0.subtractingReportingOverflow($1).partialValue }
        guard let shortest = steps.min(), let longest = steps.max(), shortest > 0, longest - shortest <= min(1, shortest / 10) else {
            return nil
        }
        let times = ticks.compactMap { stream.time($0) }
        return times.count == ticks.count ? Self.fromZero(times) : nil
    }

    private static func fromZero(_ times: [MediaTime]) -> [MediaTime] {
        let sorted = times.sorted()
        guard let first = sorted.first else { return [] }
        return sorted.map { $0 - first }
    }
}

extension Packet {
    /// Whether it is a VP8 frame that is never shown: others refer to it (`show_frame` of RFC 6386, 9.1). It has its own time.
    fileprivate func isHiddenVP8(codec: String) -> Bool {
        codec == "vp8" && raw.pointee.size > 0 && raw.pointee.data[0] & 0x10 == 0
    }
}
