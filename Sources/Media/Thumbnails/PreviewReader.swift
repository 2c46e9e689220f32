import CKioskFFmpeg
import KioskPlatform
import KioskVocabulary

/// Small pictures of a file for a slider: for each time the nearest key frame.
///
/// It runs beside a player that decodes the same file, so it costs little. It uses one thread and one packet a picture, because a key frame
/// needs no other. It skips deblocking, and decodes at a fraction of the size if the codec can. One pass of libswscale scales to the drawn
/// size. A 1080p key frame of H.264 takes some ten milliseconds. The reader has its own open file, and no other.
///
/// Only files have previews. A stream would need a second connection, and its network belongs to the player.
///
/// One thread at a time owns it. Opening and each picture have a time limit; ``Interruption/cancel()`` ends either at once.
package struct PreviewReader: ~Copyable, Sendable {
    /// A key frame, small.
    package struct Preview: Sendable {
        /// The picture, upright and in its own shape.
        package let picture: SmallPicture
        /// The time of the key frame, in item time.
        package let time: MediaTime
        /// The item times to which this is the nearest key frame.
        package let span: ClosedRange<MediaTime>

        /// Creates a preview from its parts.
        package init(picture: SmallPicture, time: MediaTime, span: ClosedRange<MediaTime>) {
            (self.picture, self.time, self.span) = (picture, time, span)
        }
    }

    private var source: PacketSource
    private var decoder: VideoDecoder
    private let width: Int, height: Int
    /// The container time of item time zero.
    private var origin = MediaTime.zero

    /// The time limit of a picture. A single read that does not return adds its own limit.
    private static let timeLimit = MediaTime.seconds(3)
    /// The most pixels of a side.
    private static let longestSide = 1024

    /// Opens the file `source` for pictures that fit into `width` x `height` pixels. Blocks as ``MediaReader/open`` does.
    ///
    /// - Returns: nil if there are no previews: for a stream, a still, an animated image, sound alone, or a file without seeking.
    /// - Throws: ``MediaError`` with the fault of the file.
    package static func open(
        _ source: String, fitting width: Int, _ height: Int, reach: SourceReach? = nil, interruption: Interruption = Interruption(),
        pictureMemory: Int = MemoryLimit.ofItem
    ) throws(MediaError) -> PreviewReader? {
        if isURL(source) { return nil }
        MemoryLimit.boundAllocations()
        let format = try FormatContext.open(source, reach: reach, interruption: interruption)
        let index = av_find_best_stream(format.raw, AVMEDIA_TYPE_VIDEO, -1, -1, nil, 0)
        guard index >= 0, let stream = format.raw.pointee.streams[Int(index)], shim_stream_is_attached_picture(stream) == 0,
            !format.isImage
        else { return nil }
        let description = AssetDescription(format, video: index, audio: -1)
        guard !description.isStill, description.isSeekable, description.duration != nil else { return nil }
        var reader = try reader(
            of: stream, in: format, named: source, width: min(max(width, 1), longestSide), height: min(max(height, 1), longestSide),
            interruption, memory: pictureMemory)
        guard let first = reader.decodeKeyFrame(within: openingTimeLimit) else {
            throw MediaError(source, interruption.cancelled ? .cancelled : .nothingDecodes)
        }
        reader.origin = first.time
        return reader
    }

    /// Returns a reader of one stream of an opened file, before its first picture.
    static func reader(
        of stream: UnsafeMutablePointer<AVStream>, in format: FormatContext, named source: String, width: Int, height: Int,
        _ interruption: Interruption, memory: Int = MemoryLimit.ofItem
    ) throws(MediaError) -> PreviewReader {
        let streams = StreamIndices(video: stream.pointee.index)
        format.giveOut(streams)
        try format.checkCodec(stream, source)
        return PreviewReader(
            source: PacketSource(format, name: source, streams: streams, interruption: interruption),
            decoder: try VideoDecoder.open(stream, of: format, source: source, threads: 1, memory: memory, preview: (width, height)),
            width: width, height: height)
    }

    /// Returns the key frame nearest to item time `time`; nil if it finds none there within 3 s, or cannot draw it.
    ///
    /// - Throws: ``MediaError/Reason/cancelled``, or ``MediaError/Reason/failed(_:)`` if the file cannot seek.
    package mutating func preview(at time: MediaTime) throws(MediaError) -> Preview? {
        let end = HostTime.now + Self.timeLimit
        let time = max(time, .zero)
        try source.seek(to: origin + time, isBeginning: false, index: source.streams.video)
        // Matroska reads its index at the first seek. Only then are its key frames known.
        let span = indexedSpan(around: time)
        if let key = span?.key, key > time {
            try source.seek(to: origin + key, isBeginning: false, index: source.streams.video)
        }
        // Without an index, there may be no key frame after this time. Go back, and finally to the beginning.
        let earlier = [MediaTime.seconds(2), .seconds(10)].filter { $0 < time }.map { time - $0 }
        for begin in [time] + earlier + [nil] {
            if begin != time {
                try source.seek(to: origin + (begin ?? .zero), isBeginning: begin == nil, index: source.streams.video)
            }
            let frame = decodeKeyFrame(within: end - .now)
            if source.interruption.cancelled { throw MediaError(source.name, .cancelled) }
            if let frame {
                let found = frame.time - origin
                let times = span.map { min($0.times.lowerBound, time)...max($0.times.upperBound, time) }
                guard let picture = frame.frame.fitted(into: width, height) else { return nil }
                return Preview(picture: picture, time: found, span: times ?? min(found, time)...max(found, time))
            }
            if HostTime.now >= end { break }
        }
        return nil
    }

    /// Sets the container time of item time zero.
    mutating func begin(at time: MediaTime) { origin = time }

    /// Reads to the next key frame and decodes it, alone.
    mutating func decodeKeyFrame(within limit: MediaTime) -> TimedFrame? {
        let end = source.interruption.limit(limit)
        while let packet = source.next() {
            if packet.raw.pointee.stream_index == source.streams.video, packet.raw.pointee.flags & AV_PKT_FLAG_KEY != 0 {
                decoder.flush()
                decoder.send(packet)
                // A decoder that reorders frames would wait for more.
                decoder.sendEnd()
                switch decoder.receive() {
                case .frame(let frame): return frame
                default: break
                }
            }
            if HostTime.now >= end { return nil }
        }
        return nil
    }

    /// Returns the key frame nearest to `time` by the container's index, and all times to which it is the nearest. Returns nil if the
    /// container has no index of the whole file.
    private func indexedSpan(around time: MediaTime) -> (key: MediaTime, times: ClosedRange<MediaTime>)? {
        let container = String(cString: source.format.raw.pointee.iformat.pointee.name)
        guard ["mov", "matroska", "avi"].contains(where: container.hasPrefix), let stream = source.stream(source.streams.video) else {
            return nil
        }
        // An MP4 index counts in decoding time, which is before presentation time. Both begin with the first key frame.
        let base = stream.pointee.time_base
        guard let first = keyFrame(of: stream, .min + 1, 0), let begin = MediaTime(ticks: first, of: base) else { return nil }
        let ticks = (begin + time).ticks(of: base)
        func itemTime(_ ticks: Int64?) -> MediaTime? { ticks.flatMap { MediaTime(ticks: $0, of: base) }.map { $0 - begin } }
        let before = keyFrame(of: stream, ticks, AVSEEK_FLAG_BACKWARD), after = keyFrame(of: stream, ticks, 0)
        let candidates = [before, after].compactMap { ticks in itemTime(ticks).map { (ticks: ticks!, time: $0) } }
        func distance(_ other: MediaTime) -> UInt64 { (other - time).nanoseconds.magnitude }
        guard let key = candidates.min(by: { distance($0.time) < distance($1.time) }) else { return nil }
        func middle(_ other: MediaTime) -> MediaTime { MediaTime(nanoseconds: (other + key.time).nanoseconds / 2) }
        // A damaged index may have any numbers.
        let lower = itemTime(keyFrame(of: stream, key.ticks &- 1, AVSEEK_FLAG_BACKWARD)).map(middle) ?? .zero
        let upper = itemTime(keyFrame(of: stream, key.ticks &+ 1, 0)).map(middle) ?? MediaTime.longestPlausible
        return (key.time, min(lower, key.time)...max(upper, key.time))
    }

    /// Returns the timestamp of the nearest key frame in the index, after `ticks` or before it. The corresponding C function is
    /// `av_index_search_timestamp`.
    private func keyFrame(of stream: UnsafeMutablePointer<AVStream>, _ ticks: Int64, _ flags: Int32) -> Int64? {
        let index = av_index_search_timestamp(stream, ticks, flags)
        return index >= 0 ? avformat_index_get_entry(stream, index)?.pointee.timestamp : nil
    }
}
