import Glibc
import KioskMedia
import KioskPlatform
import KioskReaders
import KioskVocabulary

/// The settings of a recording.
package struct RecordingRequest: Hashable, Sendable {
    /// The MP4 file.
    package var path: String
    /// Whether to replace an existing file.
    package var replaces = false
    /// The length; nil for no limit.
    package var duration: MediaTime?
    /// The size of the file; nil for no limit. The film ends when a second more would exceed it; an encoder may be behind by more.
    package var mostBytes: Int?
    /// How a player must rotate the camera's pictures.
    package var orientation = Orientation.up
    /// The codec and the quality of the video (``FilmFormat/Video/quality``).
    package var codec: FilmFormat.VideoCodec?
    package var quality = 23
    /// Whether the processor or the hardware encodes the video.
    package var encoder = EncoderWish(.automatic)

    package init(path: String) { self.path = path }
}

/// The result of a recording.
package struct RecordingReport: Hashable, Sendable {
    /// The file; nil if there is none.
    package var path: String?
    /// The time of its first picture; nil if there is none.
    package var begin: HostTime?
    package var length = MediaTime.zero
    package var width: Int, height: Int
    package var rate: Double
    package var pictureCount = 0
    /// Camera pictures missing in the film; later pictures keep their times.
    package var droppedCount = 0
    /// FFmpeg's name of the encoder.
    package var encoder = ""
    package var hasSound: Bool
    /// Notes, one line each.
    package var notes: [String] = []
    /// The note that applies to every recording: why the processor encodes, although the hardware was requested.
    package var encoderNote: String?
    /// The limit of the request that ended it.
    package var limit: Limit?
    /// The failure that ended the recording early; the file keeps the part before it.
    package var failure: CaptureError?
}

extension RecordingReport {
    /// A limit of a request: ``RecordingRequest/duration`` or ``RecordingRequest/mostBytes``.
    package enum Limit: Hashable, Sendable { case duration, size }
}

/// A film in progress: takes pictures and sound, and writes each at its time. Belongs to the writing thread.
struct Recording: ~Copyable {
    let request: RecordingRequest
    private var writer: FilmWriter?
    /// The readers that encode, and assemble the film at the end.
    private let readers: Readers
    private let format: AudioFormat?
    private let width: Int, height: Int, rate: Double
    private(set) var film = FilmClock()
    private let encoder: String
    private let encoderNote: String?
    private var pictureCount = 0
    private var notes: [String] = []
    /// The last picture, which waits for the next one: only its time tells how long this one lasts.
    private var lastPicture = MediaTime.zero
    private var frameDuration: MediaTime
    private var dropped: Int?
    private var droppedNow = 0
    /// The requested end, and how long to wait for the sound until then.
    private var end: (time: MediaTime, deadline: HostTime)?
    private var isOpen = true
    /// The bytes written, and the number of the next sample.
    private(set) var byteCount = 0, samplePosition = 0
    private(set) var failure: CaptureError?
    private var limit: RecordingReport.Limit?

    /// How long sound may be missing before kiosk writes silence.
    private static let patience = MediaTime.seconds(1)

    /// Starts the file. `colours` are the camera's; nil for JPEG's.
    static func open(
        _ request: RecordingRequest, _ format: CameraFormat, colours: CameraColours?, samples: AudioFormat?, by readers: Readers = .shared
    ) throws(CaptureError) -> Recording {
        if let status = stat(at: request.path), !request.replaces, !status.isFolder { throw .outputExists(request.path) }
        var video = FilmFormat.Video(width: format.width, height: format.height, frameRate: format.rate)
        (video.orientation, video.codec, video.quality, video.isLive) = (request.orientation, request.codec, request.quality, true)
        video.encoder = request.encoder
        video.colour = colours?.isBT709 == true ? .bt709 : .bt601
        let bytes = bytesPerSecond(video, hasSound: samples != nil)
        try RecordingFile.checkSpace(at: request.path, bytesPerSecond: bytes, duration: request.duration)
        let film = FilmFormat(container: .fragmentedMP4, video: video, audio: samples.map { .init($0) })
        let writer = try CaptureError.writing { () throws(FilmError) in try FilmWriter.open(request.path, film, by: readers) }
        return Recording(request, consume writer, video, samples: samples, readers)
    }

    /// Returns the disk space that a second of film may need.
    static func bytesPerSecond(_ video: FilmFormat.Video, hasSound: Bool) -> Double {
        Double(EncoderChoice.bitRate(video) + (hasSound ? 192_000 : 0)) / 8
    }

    private init(
        _ request: RecordingRequest, _ writer: consuming FilmWriter, _ video: FilmFormat.Video, samples: AudioFormat?, _ readers: Readers
    ) {
        (self.request, format, self.readers) = (request, samples, readers)
        (width, height, rate) = (video.width, video.height, video.frameRate)
        frameDuration = .seconds(1 / min(max(video.frameRate, 1), 240))
        encoder = writer.videoEncoder ?? ""
        encoderNote = writer.videoEncoderNote
        notes = encoderNote.map { [$0] } ?? []
        self.writer = consume writer
    }

    /// The length of the film so far.
    var elapsed: MediaTime { pictureCount == 0 ? .zero : lastPicture + frameDuration }
    var isPaused: Bool { film.isPaused }
    /// Pictures missing in the film.
    var droppedCount: Int { max(0, droppedNow - (dropped ?? droppedNow)) }

    func tell(_ status: inout CaptureSession.Status) {
        status.phase = isPaused ? .paused : .recording
        (status.path, status.elapsed, status.duration) = (request.path, elapsed, request.duration)
        (status.byteCount, status.droppedCount) = (byteCount, droppedCount)
    }

    mutating func pause(at time: HostTime) { film.pause(at: time) }
    mutating func resume(at time: HostTime) { film.resume(at: time) }
    mutating func note(_ text: String) { if !notes.contains(text) { notes.append(text) } }

    /// Ends the film at `time`.
    mutating func end(at time: HostTime) {
        guard end == nil else { return }
        end = (film.film(time) ?? elapsed, .now + .milliseconds(600))
    }

    /// Ends the film here because of a failure.
    mutating func fail(_ error: CaptureError) {
        if failure == nil { failure = error }
        if end == nil { end = (elapsed, .now) }
    }

    /// Whether everything has been written, or will never arrive.
    var isComplete: Bool {
        guard let end else { return false }
        if !isOpen || format == nil || pictureCount == 0 { return true }
        return soundTime >= min(end.time, elapsed) || end.deadline <= .now
    }

    private var soundTime: MediaTime {
        format.map { .seconds(Double(samplePosition) / Double($0.sampleRate)) } ?? .zero
    }

    // MARK: Pictures

    /// Writes a picture; `count` is the number that the camera has dropped in all.
    mutating func write(_ picture: borrowing CapturedPicture, dropped count: Int) {
        guard end == nil else { return }
        film.begin(at: picture.time)
        if dropped == nil || film.isPaused { dropped = count - (dropped.map { droppedNow - $0 } ?? 0) }
        droppedNow = count
        guard let time = film.film(picture.time) else { return }
        if let duration = request.duration, time >= duration {
            (end, limit) = ((duration, .now + .milliseconds(600)), .duration)
            return
        }
        do throws(FilmError) {
            let taken = try writer?.write(picture.frame, at: time, duration: picture.frameDuration) ?? false
            if taken {
                (lastPicture, frameDuration) = (time, picture.frameDuration)
                pictureCount += 1
            }
            byteCount = writer?.byteCount ?? byteCount
            if let most = request.mostBytes, Self.size(after: byteCount, elapsed) > Double(most) {
                (end, limit) = ((elapsed, .now + .milliseconds(600)), .size)
            }
            try bridge()
        } catch { failWriting(error) }
    }

    /// Returns the size of a file in a second. The encoder and the current fragment hold back up to that much.
    private static func size(after byteCount: Int, _ elapsed: MediaTime) -> Double {
        Double(byteCount) + Double(byteCount) / max(elapsed.seconds, 1)
    }

    /// Writes silence if the microphone has stopped, so that pictures do not pile up in memory.
    private mutating func bridge() throws(FilmError) {
        guard let format, lastPicture - soundTime > Self.patience else { return }
        let missing = lastPicture - soundTime - .milliseconds(500)
        try writeSilence(Int(missing.seconds * Double(format.sampleRate)))
    }

    private mutating func writeSilence(_ count: Int) throws(FilmError) {
        try writer?.writeSilence(count)
        if isOpen { samplePosition += max(0, count) }
    }

    // MARK: Sound

    /// Writes the output of ``SoundResampler``.
    mutating func write(_ piece: SoundResampler.Piece) {
        guard let format else { return }
        var samples = piece.samples[...]
        var silence = piece.silence
        if let end {
            let left = max(0, Int(end.time.seconds * Double(format.sampleRate)) - samplePosition)
            silence = min(silence, left)
            samples = samples.prefix((left - silence) * format.channelCount)
        }
        do throws(FilmError) {
            if silence > 0 { try writeSilence(silence) }
            let wrote: Result<Void, FilmError>? = samples.withUnsafeBufferPointer { buffer in
                Result { () throws(FilmError) in try writer?.write(samples: buffer) }
            }
            if case .failure(let error)? = wrote { throw error }
            if isOpen { samplePosition += samples.count / format.channelCount }
        } catch { failWriting(error) }
    }

    private mutating func failWriting(_ error: FilmError) {
        // The file is intact: it is finished with the frames that the encoder has output.
        if case .encoderFailed = error.reason { return fail(.film(error)) }
        writer = nil
        isOpen = false
        fail(error.reason == .noSpace ? .diskFull(path: request.path) : .film(error))
    }

    // MARK: The end

    /// Ends the file, and converts it into a plain MP4.
    mutating func finish() -> RecordingReport {
        var report = RecordingReport(
            path: request.path, begin: film.start, length: elapsed, width: width, height: height, rate: rate, pictureCount: pictureCount,
            droppedCount: droppedCount, encoder: encoder, hasSound: format != nil, notes: notes, encoderNote: encoderNote,
            limit: limit, failure: failure)
        guard pictureCount > 0 else {
            writer?.discard()
            if !isOpen { unlink(FilmWriter.draftPath(of: request.path)) }
            (report.path, report.failure) = (nil, failure ?? .nothingRecorded)
            return report
        }
        if isOpen {
            do throws(FilmError) {
                let wanted = Int(elapsed.seconds * Double(format?.sampleRate ?? 0))
                if wanted > samplePosition { try writeSilence(wanted - samplePosition) }
                try writer?.finish()
                try RecordingFile.finish(request.path, by: readers)
                return report
            } catch {
                report.failure = report.failure ?? (error.reason == .noSpace ? .diskFull(path: request.path) : .film(error))
            }
            writer = nil
        }
        if access(FilmWriter.draftPath(of: request.path), F_OK) == 0, !RecordingFile.salvage(request.path, by: readers) {
            report.path = nil
        }
        return report
    }

    /// Discards the film: no file is left.
    mutating func discard() { writer?.discard() }
}
