import CKioskFFmpeg
import KioskPlatform
import KioskVocabulary

/// Makes the bytes of a film: of pictures with their times, and samples one after another.
///
///     pictures ──▶ VideoEncoder ──┐
///     samples ───▶ AudioEncoder ──┴─▶ FilmFile ──▶ FilmOutput
///
/// Both begin at zero, the beginning of the film. What goes in has to be about equally far at any moment: the muxer keeps what is ahead in
/// memory.
///
/// It blocks for encoding and for its output, and is not shared: one thread at a time owns it. After an error nothing more can be written, and
/// only after one of the pictures' encoder can it be finished.
package struct FilmEncoder: ~Copyable, Sendable {
    private var file: FilmFile
    private let video: VideoEncoder?
    private let audio: AudioEncoder?
    private let audioFormat: AudioFormat?
    private let audioTrack: Int

    /// Opens the encoders, and begins a film whose bytes go to `output`; `path` is what messages name.
    ///
    /// - Throws: ``FilmError`` where an encoder is missing, or the output takes nothing.
    package static func open(_ output: any FilmOutput, _ format: FilmFormat, path: String) throws(FilmError) -> FilmEncoder {
        try open(output, format, path: path, copying: nil)
    }

    /// The same with pictures that are copied from the track `source`, which has to be there until this returns; nil to encode them.
    package static func open(
        _ output: any FilmOutput, _ format: FilmFormat, path: String, copying source: UnsafeMutablePointer<AVStream>?
    ) throws(FilmError) -> FilmEncoder {
        // The encoders first: where one is missing nothing has happened to the disk.
        let video: VideoEncoder? =
            if source == nil, let track = format.video { try VideoEncoder.open(track, path: path) } else { nil }
        let audio: AudioEncoder? = if let track = format.audio { try AudioEncoder.open(track, path: path) } else { nil }
        var file = try FilmFile(output, fragmented: format.container == .fragmentedMP4, path: path)
        if let context = video?.context, let track = format.video {
            let stream = try file.addTrack(context)
            if track.orientation != .up {
                let matrix = track.orientation.displayMatrix(width: track.width, height: track.height)
                if shim_stream_set_display_matrix(stream, matrix) < 0 { throw FilmError(path, .cannotWrite("out of memory")) }
            }
        }
        if let source { try file.addCopy(of: source) }
        if let context = audio?.context { _ = try file.addTrack(context) }
        try file.begin(title: format.title)
        return FilmEncoder(
            file: file, video: video, audio: audio, audioFormat: format.audio?.samples, audioTrack: format.video == nil ? 0 : 1)
    }

    /// FFmpeg's name of the encoder of the pictures.
    package var videoEncoder: String? { video?.name }
    /// What is to be known of its choice; nil for nothing.
    package var videoEncoderNote: String? { video?.note }

    // MARK: Pictures

    /// Writes a picture that is shown from `time` on, until the next one, or for `duration` where it is the last. One of another size is scaled, one
    /// of another pixel format converted.
    ///
    /// - Returns: false where `time` is not later than that of the picture before: it is left out.
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

    /// Writes a packet of a track that is copied, with its times in `base`; it is empty then.
    package mutating func write(copied packet: UnsafeMutablePointer<AVPacket>, in base: AVRational) throws(FilmError) {
        try file.write(packet, track: 0, in: base)
    }

    // MARK: Sound

    /// Writes interleaved samples behind those before.
    package mutating func write(samples: UnsafeBufferPointer<Float>) throws(FilmError) {
        guard let audioFormat else { return }
        try write(samples.baseAddress, count: samples.count / audioFormat.channelCount)
    }

    /// Writes `count` samples of each channel of silence.
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

    /// Encodes what is left, and writes the index. Where the encoder of the pictures has failed (``FilmError/Reason/encoderFailed(_:)``) the film has those that had come out of it.
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
    /// The nine numbers of a track's display matrix (`tkhd`) that rotate a stored picture of this size so.
    func displayMatrix(width: Int, height: Int) -> [Int32] {
        let one: Int32 = 1 << 16
        // Where the right and the down of the stored picture point to upright.
        var (a, b, c, d): (Int32, Int32, Int32, Int32) =
            switch rotation {
            case .none: (one, 0, 0, one)
            case .clockwise90: (0, one, -one, 0)
            case .clockwise180: (-one, 0, 0, -one)
            case .clockwise270: (0, -one, one, 0)
            }
        if isMirrored { (a, b) = (-a, -b) }
        // What is rotated out of the first quadrant is moved back into it.
        let x = (a < 0 ? width : 0) + (c < 0 ? height : 0), y = (b < 0 ? width : 0) + (d < 0 ? height : 0)
        return [a, b, 0, c, d, 0, Int32(x) << 16, Int32(y) << 16, 1 << 30]
    }
}
