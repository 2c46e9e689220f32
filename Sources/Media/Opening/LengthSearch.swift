import CKioskFFmpeg
import Glibc
import KioskPlatform
import KioskVocabulary
import Synchronization

// Finds the length of a file whose header does not state it: a recording of a browser's MediaRecorder, or the output of a pipe. Such a file
// is no live stream: it is complete, so its last packets show where it ends.
//
// Matroska and WebM consist of clusters, each with a time of its own. libavformat receives the header and, right behind it, the bytes from
// the first cluster near the end. It takes that for a short file and reads the times of its packets. kiosk reads any other file once to its
// end, if it is small enough. It stores the result in the context, as if the header had stated it.
//
// libavformat takes a transport stream's length from its first and last times. For joined files that is wrong, as the times jump. So kiosk
// reads a small one to its end, too, and measures it with a ``StreamClock``.

extension FormatContext {
    /// The bytes of the header to search for the first cluster, and the bytes at the end to search for the last ones.
    private static let longestHeader = 4 << 20, ends: [Int64] = [512 << 10, 4 << 20, 32 << 20]
    /// The largest file to read to its end for its length.
    private static let longestWalk: Int64 = 64 << 20
    /// The same for a file that states a length but may be joined.
    private static let longestJoinedWalk: Int64 = 16 << 20
    private static let mostPackets = 1_000_000

    /// The result for a file, kept because a looping clip is opened for each playthrough.
    fileprivate struct Found: Sendable {
        var version: FileVersion
        /// The ends of the streams, in their order.
        var ends: [MediaTime?]
        var firstJoint: MediaTime?

        init(version: FileVersion, ends: [MediaTime?], firstJoint: MediaTime?) {
            (self.version, self.ends, self.firstJoint) = (version, ends, firstJoint)
        }

        /// The same as numbers: the version, the joint, and each end; `Int.min` stands for nil.
        var words: [Int] {
            [
                Int(truncatingIfNeeded: version.device), Int(truncatingIfNeeded: version.inode), Int(version.size), Int(version.modified),
                firstJoint.map { Int($0.nanoseconds) } ?? .min,
            ] + ends.map { $0.map { Int($0.nanoseconds) } ?? .min }
        }

        /// Parses such numbers; nil if there are too few. Implausible times become nil.
        init?(words: [Int]) {
            guard words.count >= 5 else { return nil }
            func time(_ word: Int) -> MediaTime? {
                let time = MediaTime(nanoseconds: Int64(word))
                return -MediaTime.longestPlausible...MediaTime.longestPlausible ~= time ? time : nil
            }
            let version = FileVersion(
                device: UInt64(bitPattern: Int64(words[0])), inode: UInt64(bitPattern: Int64(words[1])), size: Int64(words[2]),
                modified: Int64(words[3]))
            self.init(version: version, ends: words[5...].map(time), firstJoint: time(words[4]))
        }
    }
    fileprivate static let known = Mutex<[Path: Found]>([:])
    private static let mostKnown = 1000

    fileprivate static func note(_ found: Found, of path: Path) {
        known.withLock { known in
            if known.count >= mostKnown { known.removeAll() }
            known[path] = found
        }
    }

    /// Finds the length of the local file at `path` if its container does not state it. Blocks while reading, at most as long as opening
    /// may.
    func findLength(of path: String, _ interruption: Interruption) {
        let mayBeJoined = mayJump && raw.pointee.duration > 0
        let isMatroska = String(cString: raw.pointee.iformat.pointee.name).hasPrefix("matroska")
        if !mayBeJoined {
            let isKnown = raw.pointee.duration > 0 && raw.pointee.duration_estimation_method != AVFMT_DURATION_FROM_BITRATE
            guard !isKnown, !isStill, !isImage, raw.pointee.pb?.pointee.seekable ?? 0 != 0 else { return }
            // For all others the bit rate is a good enough measure.
            guard isMatroska || raw.pointee.duration <= 0 else { return }
        }
        let longest = mayBeJoined ? Self.longestJoinedWalk : isMatroska ? .max : Self.longestWalk
        guard let file = try? BlockFile(path, interruption: interruption), file.size <= longest else { return }
        let key = Path(path)
        var found = Self.known.withLock { $0[key] }
        if found?.version != file.version {
            guard let new = search(file, isMatroska: isMatroska, mayBeJoined: mayBeJoined), !interruption.isOver else { return }
            found = new
            Self.note(new, of: key)
        }
        guard let found else { return }
        firstJoint = found.firstJoint
        if !mayBeJoined || firstJoint != nil { take(found.ends) }
    }

    /// Reads the file for its length; nil for a Matroska file without a cluster near its end.
    private func search(_ file: BlockFile, isMatroska: Bool, mayBeJoined: Bool) -> Found? {
        var (input, joints): (ByteStream, Joints?) = (Self.parts(of: file, until: 0, goingOnAt: 0), nil)
        if mayBeJoined {
            joints = Joints(
                video: av_find_best_stream(raw, AVMEDIA_TYPE_VIDEO, -1, -1, nil, 0),
                sound: av_find_best_stream(raw, AVMEDIA_TYPE_AUDIO, -1, -1, nil, 0))
        } else if isMatroska {
            guard let header = Self.firstCluster(of: file, from: 0, count: Self.longestHeader),
                let tail = Self.ends.lazy.compactMap({ length in
                    Self.firstCluster(of: file, from: max(header, file.size - length), count: Int(length))
                }).first
            else { return nil }
            input = Self.parts(of: file, until: header, goingOnAt: tail)
        }
        let ends = ends(of: input, &joints)
        return Found(version: file.version, ends: ends, firstJoint: joints?.first)
    }

    /// Returns a stream that joins two parts of a file: its first bytes until `end`, and those from `next` on. It cannot seek.
    private static func parts(of file: BlockFile, until end: Int64, goingOnAt next: Int64) -> ByteStream {
        ByteStream(length: nil, bufferSize: ByteStream.fileBufferSize) { buffer, position in
            if position >= end { return file.read(into: buffer, at: position - end + next) }
            return file.read(into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<min(buffer.count, Int(end - position))]), at: position)
        }
    }

    /// Tracks the time jumps of a file during a read to its end.
    private struct Joints {
        let video: Int32, sound: Int32
        /// The first jump, in the times before it.
        private(set) var first: MediaTime?
        private var clocks: (pictures: StreamClock, sound: StreamClock)
        private static let extent = StreamClock.Extent(mayJump: true, end: nil)

        init(video: Int32, sound: Int32) {
            (self.video, self.sound) = (video, sound)
            clocks = (StreamClock(), StreamClock(leads: video < 0))
        }

        /// Returns the offset for the times of a stream's next packet.
        mutating func offset(of index: Int32, at time: MediaTime, lasting duration: MediaTime) -> MediaTime {
            var step: (offset: MediaTime, isJump: Bool)
            switch index {
            case video: step = clocks.pictures.offset(at: time, lasting: duration, beside: clocks.sound, within: Self.extent)
            case sound: step = clocks.sound.offset(at: time, lasting: duration, beside: clocks.pictures, within: Self.extent)
            default: return .zero
            }
            if step.isJump { first = first ?? time + step.offset }
            return step.offset
        }
    }

    /// Returns the ends of the streams, in their order; nil for a stream without a timed packet. `joints` makes the times continuous across
    /// jumps.
    private func ends(of input: ByteStream, _ joints: inout Joints?) -> [MediaTime?] {
        var context = avformat_alloc_context()
        defer { avformat_close_input(&context) }
        context?.pointee.pb = input.context
        context?.pointee.flags |= AVFMT_FLAG_CUSTOM_IO
        // This context must not open anything else.
        context?.pointee.protocol_whitelist = av_strdup("none")
        guard avformat_open_input(&context, "", raw.pointee.iformat, nil) >= 0, let opened = context else { return [] }
        var ends: [MediaTime?] = []
        let packet = Packet()
        for _ in 0..<Self.mostPackets {
            av_packet_unref(packet.raw)
            guard av_read_frame(opened, packet.raw) >= 0 else { break }
            let index = Int(packet.raw.pointee.stream_index)
            guard index < opened.pointee.nb_streams, index < raw.pointee.nb_streams, let stream = opened.pointee.streams[index],
                let own = raw.pointee.streams[index]
            else { continue }
            var duration = stream.time(packet.raw.pointee.duration) ?? .zero
            if duration <= .zero { duration = av_guess_frame_rate(raw, own, nil).frameDuration ?? .zero }
            while ends.count <= index { ends.append(nil) }
            var said = stream.time(packet.raw.pointee.pts == kAV_NOPTS_VALUE ? packet.raw.pointee.dts : packet.raw.pointee.pts)
            if let decoding = stream.time(packet.raw.pointee.dts), let time = said {
                said = time + (joints?.offset(of: Int32(index), at: decoding, lasting: duration) ?? .zero)
            }
            // Pictures without a container have no times: each follows the one before.
            let before = ends[index] ?? .zero
            ends[index] = max(before, (said ?? before) + duration)
        }
        return ends
    }

    /// Stores these ends in the context's streams.
    private func take(_ ends: [MediaTime?]) {
        let base = shim_rational(1, AV_TIME_BASE)
        let start = MediaTime(ticks: raw.pointee.start_time, of: base) ?? .zero
        for (index, end) in ends.prefix(Int(raw.pointee.nb_streams)).enumerated() {
            guard let end, let stream = raw.pointee.streams[index], shim_stream_is_attached_picture(stream) == 0 else { continue }
            let begin = stream.time(stream.pointee.start_time) ?? start
            if end > begin { stream.pointee.duration = (end - begin).ticks(of: stream.pointee.time_base) }
        }
        guard let end = ends.compactMap({ $0 }).max(), end > start else { return }
        raw.pointee.duration = (end - start).ticks(of: base)
        raw.pointee.duration_estimation_method = AVFMT_DURATION_FROM_STREAM
    }

    /// Returns the offset of the first Matroska cluster within `count` bytes from `begin`; nil if there is none. A cluster ID counts only
    /// if the length behind it is followed by an element that begins a cluster.
    private static func firstCluster(of file: BlockFile, from begin: Int64, count: Int) -> Int64? {
        return file.bytes(at: begin, count: count)?.withUnsafeBufferPointer { bytes in
            for index in 0..<max(0, bytes.count - 16) {
                guard bytes[index] == 0x1F, bytes[index + 1] == 0x43, bytes[index + 2] == 0xB6, bytes[index + 3] == 0x75 else { continue }
                let length = bytes[index + 4].leadingZeroBitCount + 1
                // Timestamp, checksum, padding, position, size of the one before.
                if length <= 8, [0xE7, 0xBF, 0xEC, 0xA7, 0xAB].contains(bytes[index + 4 + length]) { return begin + Int64(index) }
            }
            return nil
        }
    }
}

extension MediaReader {
    /// Returns the length found in a file, for another process that opens it; empty without a result.
    package static func foundLength(of path: String) -> [Int] { FormatContext.known.withLock { $0[Path(path)]?.words ?? [] } }

    /// Takes over another process's result for a file (``foundLength(of:)``). It is valid for the file version in it.
    package static func takeFoundLength(_ words: [Int], of path: String) {
        guard let found = FormatContext.Found(words: words) else { return }
        FormatContext.note(found, of: Path(path))
    }
}
