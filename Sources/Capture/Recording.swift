import Glibc
import KioskMedia
import KioskPlatform
import KioskReaders
import KioskVocabulary

/// What is to be recorded, and where to.
package struct RecordingRequest: Hashable, Sendable {
    /// The MP4 file.
    package var path: String
    /// Whether a file of that name may be replaced.
    package var replaces = false
    /// How long; nil until somebody ends it.
    package var duration: MediaTime?
    /// How a player has to rotate the camera's pictures.
    package var orientation = Orientation.up
    /// What encodes the pictures, and how well (``FilmFormat/Video/quality``).
    package var codec: FilmFormat.VideoCodec?
    package var quality = 23
    /// Whether the processor or the hardware encodes them.
    package var encoder = EncoderWish(.automatic)

    package init(path: String) { self.path = path }
}

/// What has come of a recording.
package struct RecordingReport: Hashable, Sendable {
    /// The file; nil where nothing came of it.
    package var path: String?
    /// When its first picture was taken; nil where there is none.
    package var begin: HostTime?
    package var length = MediaTime.zero
    package var width: Int, height: Int
    package var rate: Double
    package var pictureCount = 0
    /// Pictures that the camera had and the film has not; what comes after them keeps its time.
    package var droppedCount = 0
    /// FFmpeg's name of the encoder.
    package var encoder = ""
    package var hasSound: Bool
    /// What is to be known, one line each.
    package var notes: [String] = []
    /// That of the notes that is so with every recording: why the processor encodes what the hardware was to.
    package var encoderNote: String?
    /// What ended it before it should; the file has what had been recorded.
    package var failure: CaptureError?
}

/// A film that is being written: pictures and sound in, each put at its time. Belongs to the thread that writes.
struct Recording: ~Copyable {
    let request: RecordingRequest
    private var writer: FilmWriter?
    /// What encodes, and puts the film together at the end.
    private let readers: Readers
    private let format: AudioFormat?
    private let width: Int, height: Int, rate: Double
    private(set) var film = FilmClock()
    private let encoder: String
    private let encoderNote: String?
    private var pictureCount = 0
    private var notes: [String] = []
    /// The picture that waits for the next one, by whose time it is known how long it lasts.
    private var lastPicture = MediaTime.zero
    private var frameDuration: MediaTime
    private var dropped: Int?
    private var droppedNow = 0
    /// Where it is to end, once somebody has said so, and until when sound is awaited.
    private var end: (time: MediaTime, deadline: HostTime)?
    private var isOpen = true
    /// Bytes that have been written, and the sample that is to be written next.
    private(set) var byteCount = 0, samplePosition = 0
    private(set) var failure: CaptureError?

    /// What of sound may be missing before silence is written instead.
    private static let patience = MediaTime.seconds(1)

    /// Begins the file. `colours` are the camera's, nil those of JPEG.
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

    /// What a film may need on the disk.
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

    /// How much of the film there is.
    var elapsed: MediaTime { pictureCount == 0 ? .zero : lastPicture + frameDuration }
    var isPaused: Bool { film.isPaused }
    /// Pictures that are missing in the film.
    var droppedCount: Int { max(0, droppedNow - (dropped ?? droppedNow)) }

    func tell(_ status: inout CaptureSession.Status) {
        status.phase = isPaused ? .paused : .recording
        (status.path, status.elapsed, status.duration) = (request.path, elapsed, request.duration)
        (status.byteCount, status.droppedCount) = (byteCount, droppedCount)
    }

    mutating func pause(at time: HostTime) { film.pause(at: time) }
    mutating func resume(at time: HostTime) { film.resume(at: time) }
    mutating func note(_ text: String) { if !notes.contains(text) { notes.append(text) } }

    /// Nothing from `time` on belongs to it.
    mutating func end(at time: HostTime) {
        guard end == nil else { return }
        end = (film.film(time) ?? elapsed, .now + .milliseconds(600))
    }

    /// It ends here, and should not.
    mutating func fail(_ error: CaptureError) {
        if failure == nil { failure = error }
        if end == nil { end = (elapsed, .now) }
    }

    /// Whether all of it has been written, or will never come.
    var isComplete: Bool {
        guard let end else { return false }
        if !isOpen || format == nil || pictureCount == 0 { return true }
        return soundTime >= min(end.time, elapsed) || end.deadline <= .now
    }

    private var soundTime: MediaTime {
        format.map { .seconds(Double(samplePosition) / Double($0.sampleRate)) } ?? .zero
    }

    // MARK: Pictures

    /// Writes a picture, of a camera that has dropped so many in all.
    mutating func write(_ picture: borrowing CapturedPicture, dropped count: Int) {
        guard end == nil else { return }
        film.begin(at: picture.time)
        if dropped == nil || film.isPaused { dropped = count - (dropped.map { droppedNow - $0 } ?? 0) }
        droppedNow = count
        guard let time = film.film(picture.time) else { return }
        if let duration = request.duration, time >= duration {
            end = (duration, .now + .milliseconds(600))
            return
        }
        do throws(FilmError) {
            let taken = try writer?.write(picture.frame, at: time, duration: picture.frameDuration) ?? false
            if taken {
                (lastPicture, frameDuration) = (time, picture.frameDuration)
                pictureCount += 1
            }
            byteCount = writer?.byteCount ?? byteCount
            try bridge()
        } catch { failWriting(error) }
    }

    /// Writes silence where a microphone says nothing any more, so that pictures do not pile up in memory.
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

    /// Writes what ``SoundResampler`` has made of sound.
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
        // The file is sound, and is finished with what has come out of the encoder.
        if case .encoderFailed = error.reason { return fail(.film(error)) }
        writer = nil
        isOpen = false
        fail(error.reason == .noSpace ? .diskFull(path: request.path) : .film(error))
    }

    // MARK: The end

    /// Ends the file, and makes a plain MP4 of it.
    mutating func finish() -> RecordingReport {
        var report = RecordingReport(
            path: request.path, begin: film.start, length: elapsed, width: width, height: height, rate: rate, pictureCount: pictureCount,
            droppedCount: droppedCount, encoder: encoder, hasSound: format != nil, notes: notes, encoderNote: encoderNote,
            failure: failure)
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

    /// Gives it up: nothing is left.
    mutating func discard() { writer?.discard() }
}
