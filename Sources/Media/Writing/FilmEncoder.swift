import CKioskFFmpeg
import KioskPlatform
import KioskVocabulary

/// Encodes a film from pictures with their times, and from consecutive samples.
///
///     pictures ──▶ VideoEncoder ──┐
///     samples ───▶ AudioEncoder ──┴─▶ FilmFile ──▶ FilmOutput
///
/// Both begin at zero, the beginning of the film. Keep pictures and samples about equally far: the muxer holds the lead of either in
/// memory.
///
/// It blocks for encoding and for its output. One thread at a time owns it. After an error nothing more can be written. The film can then
/// be finished only if the picture encoder failed.
package struct FilmEncoder: ~Copyable, Sendable {
    private var file: FilmFile
    private let video: VideoEncoder?
    private let audio: AudioEncoder?
    private let audioFormat: AudioFormat?
    private let audioTrack: Int

    /// Opens the encoders, and begins a film with `output` for its bytes; `path` is for messages.
    ///
    /// - Throws: ``FilmError`` if an encoder is missing, or the output takes nothing.
    package static func open(_ output: any FilmOutput, _ format: FilmFormat, path: String) throws(FilmError) -> FilmEncoder {
        try open(output, format, path: path, copying: nil)
    }

    /// Opens a film with pictures copied from the track `source`, which must exist until this returns; nil encodes them.
    package static func open(
        _ output: any FilmOutput, _ format: FilmFormat, path: String, copying source: UnsafeMutablePointer<AVStream>?
    ) throws(FilmError) -> FilmEncoder {
        // The encoders first: if one is missing, the disk is untouched.
        let video: VideoEncoder? =
            if source == nil, let track = format.video { try VideoEncoder.open(track, path: path) } else { nil }
        let audio: AudioEncoder? = if let track = format.audio { try AudioEncoder.open(track, path: path) } else { nil }
        var file = try FilmFile(output, format.container, path: path)
        if let context = video?.context, let track = format.video {
            let stream = try file.addTrack(context)
            if track.orientation != .up {
                let matrix = track.orientation.displayMatrix(width: track.width, height: track.height)
                if shim_stream_set_display_matrix(stream, matrix) < 0 { throw FilmError(path, .cannotWrite("out of memory")) }
            }
        }
        if let source { try file.addCopy(of: source) }
        if let context = audio?.context { _ = try file.addTrack(context) }
        try file.begin(format.metadata, isIndexFirst: format.isIndexFirst)
        return FilmEncoder(
            file: file, video: video, audio: audio, audioFormat: format.audio?.samples, audioTrack: format.video == nil ? 0 : 1)
    }

    /// FFmpeg's name of the picture encoder.
    package var videoEncoder: String? { video?.name }
    /// A note about the choice of encoder; nil for none.
    package var videoEncoderNote: String? { video?.note }

    // MARK: Pictures

    /// Writes a picture shown from `time` until the next one, or for `duration` if it is the last. Scales and converts it if its size or
    /// its pixel format differs.
    ///
    /// - Returns: false if `time` is not later than that of the picture before. This picture is dropped.
    @discardableResult package mutating func write(
        _ frame: borrowing VideoFrame, at time: MediaTime, duration: MediaTime? = nil
    ) throws(FilmError) -> Bool {
        let isTaken = try video?.send(frame, at: time, duration: duration) ?? false
        try writePictures()
        return isTaken
    }

    private mutating func writePictures() throws(FilmError) {
        while let video, try video.receive() { try file.write(video.packet, track: 0, in: video.packetTimeBase) }
    }

    /// Writes a packet of a copied track, with its times in `base`; empties the packet.
    package mutating func write(copied packet: UnsafeMutablePointer<AVPacket>, in base: AVRational) throws(FilmError) {
        try file.write(packet, track: 0, in: base)
    }

    // MARK: Sound

    /// Writes interleaved samples after those before.
    package mutating func write(samples: UnsafeBufferPointer<Float>) throws(FilmError) {
        guard let audioFormat else { return }
        try write(samples.baseAddress, count: samples.count / audioFormat.channelCount)
    }

    /// Writes silence of `count` samples for each channel.
    package mutating func writeSilence(_ count: Int) throws(FilmError) { try write(nil, count: max(count, 0)) }

    private mutating func write(_ samples: UnsafePointer<Float>?, count: Int) throws(FilmError) {
        var done = 0
        while let audio, done < count {
            done += audio.fill(samples, from: done, count: count)
            if audio.isFull {
                try audio.send()
                try writeSound()
            }
        }
    }

    private mutating func writeSound() throws(FilmError) {
        while let audio, try audio.receive() {
            try file.write(audio.packet, track: audioTrack, in: audio.context.pointee.time_base)
        }
    }

    // MARK: The end

    /// Encodes the rest, and writes the index. If the picture encoder has failed (``FilmError/Reason/encoderFailed(_:)``), the film keeps
    /// the pictures that it had already encoded.
    package mutating func finish() throws(FilmError) {
        if let video, !video.hasFailed {
            try video.sendEnd()
            try writePictures()
        }
        try audio?.send()
        try audio?.sendEnd()
        try writeSound()
        try file.finish()
    }
}

extension Orientation {
    /// Returns the nine numbers of a track's display matrix (`tkhd`) for rotating a stored picture of this size.
    func displayMatrix(width: Int, height: Int) -> [Int32] {
        let upright = transform(width: Double(width), height: Double(height))
        func fixed(_ number: Double) -> Int32 { Int32(saturating: number * 65536) }
        return [
            fixed(upright.a), fixed(upright.b), 0, fixed(upright.c), fixed(upright.d), 0, fixed(upright.tx), fixed(upright.ty), 1 << 30,
        ]
    }
}
