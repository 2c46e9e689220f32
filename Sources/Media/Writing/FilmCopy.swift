import CKioskFFmpeg

extension FilmEncoder {
    /// Remuxes a fragmented recording as a plain MP4 with its index first, and copies its packets. From a truncated recording it copies the
    /// readable part.
    ///
    /// - Parameter path: the path for messages.
    /// - Throws: ``FilmError`` if nothing is readable, or `output` takes nothing.
    package static func remux(_ input: FilmInput, to output: any FilmOutput, path: String) throws(FilmError) {
        var file = try FilmFile(output, .mp4, path: path)
        var tracks: [Int32: Int] = [:]
        for index in 0..<Int32(input.raw.pointee.nb_streams) {
            guard let stream = input.raw.pointee.streams[Int(index)] else { continue }
            let kind = stream.pointee.codecpar.pointee.codec_type
            guard kind == AVMEDIA_TYPE_VIDEO || kind == AVMEDIA_TYPE_AUDIO else { continue }
            try file.addCopy(of: stream)
            tracks[index] = tracks.count
        }
        guard !tracks.isEmpty else { throw FilmError(path, .unreadable("it has neither a picture nor sound")) }
        var metadata = FilmFormat.Metadata()
        metadata.title = av_dict_get(input.raw.pointee.metadata, "title", nil, 0).map { String(cString: $0.pointee.value) }
        try file.begin(metadata)
        let packet = Packet()
        var count = 0
        while av_read_frame(input.raw, packet.raw) >= 0 {
            let index = packet.raw.pointee.stream_index
            guard let track = tracks[index], let stream = input.raw.pointee.streams[Int(index)] else {
                av_packet_unref(packet.raw)
                continue
            }
            try file.write(packet.raw, track: track, in: stream.pointee.time_base)
            count += 1
        }
        guard count > 0 else { throw FilmError(path, .unreadable("it ends before its first second")) }
        try file.finish()
    }
}
