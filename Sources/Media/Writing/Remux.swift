import CKioskFFmpeg
import Glibc

extension FilmWriter {
    /// Puts a fragmented recording together anew as a plain MP4 at `target`, with its index first; its packets are copied. Of a recording
    /// that was cut off that is what can be read of it. `source` stays; blocks for the disk.
    ///
    /// - Throws: ``FilmError`` where nothing of `source` can be read, or `target` cannot be written.
    package static func remux(from source: String, to target: String) throws(FilmError) {
        var context: UnsafeMutablePointer<AVFormatContext>?
        var status = FilmInput.open(source, &context)
        guard status >= 0, let input = context else { throw FilmError(source, .unreadable(averrorText(status))) }
        defer { avformat_close_input(&context) }
        status = avformat_find_stream_info(input, nil)
        guard status >= 0 else { throw FilmError(source, .unreadable(averrorText(status))) }

        var file = try FilmFile.create(target, fragmented: false)
        var tracks: [Int32: Int] = [:]
        for index in 0..<Int32(input.pointee.nb_streams) {
            guard let stream = input.pointee.streams[Int(index)] else { continue }
            let kind = stream.pointee.codecpar.pointee.codec_type
            guard kind == AVMEDIA_TYPE_VIDEO || kind == AVMEDIA_TYPE_AUDIO else { continue }
            try file.addCopy(of: stream)
            tracks[index] = tracks.count
        }
        guard !tracks.isEmpty else { throw FilmError(source, .unreadable("it has neither a picture nor sound")) }
        try file.begin(title: av_dict_get(input.pointee.metadata, "title", nil, 0).map { String(cString: $0.pointee.value) })
        let packet = Packet()
        var count = 0
        while av_read_frame(input, packet.raw) >= 0 {
            let index = packet.raw.pointee.stream_index
            guard let track = tracks[index], let stream = input.pointee.streams[Int(index)] else {
                av_packet_unref(packet.raw)
                continue
            }
            try file.write(packet.raw, track: track, in: stream.pointee.time_base)
            count += 1
        }
        guard count > 0 else { throw FilmError(source, .unreadable("it ends before its first second")) }
        try file.finish()
    }
}
