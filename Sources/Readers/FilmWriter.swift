import CKioskFFmpeg
import Glibc
import KioskMedia
import KioskPlatform
import KioskReaderProtocol
import KioskReaderServer
import KioskVocabulary

/// Writes a film: pictures with their times, and consecutive samples. A process of its own encodes them.
///
///     pictures ──▶ memory ──▶ FilmServer ──▶ bytes ──▶ FilmDraft
///     samples ───▶
///
/// Both begin at zero, the beginning of the file. Keep them about equally far at any moment: the muxer keeps the part that is ahead in
/// memory. The file gets its name only in ``finish()``. A value discarded before leaves no file, except the written part of a fragmented
/// one (``draftPath(of:)``).
///
/// It blocks while the encoder is behind, and for the disk. It is not shared: one thread at a time owns it. A later call than the one at
/// fault reports an error. After an error nothing more can be written. ``finish()`` works only if the picture encoder failed and its
/// process is alive.
package struct FilmWriter: ~Copyable, Sendable {
    private let film: FilmProcess

    /// Returns the path of the file at `path` until it is finished, in the same folder. The draft of a fragmented file is playable.
    package static func draftPath(of path: String) -> String { FilmDraft.draftPath(of: path) }

    /// Opens the encoders, unless it copies pictures from clips, and begins a file for `path`. ``finish()`` replaces a file of that name.
    ///
    /// - Throws: ``FilmError`` if an encoder is missing, or the file cannot be written.
    package static func open(
        _ path: String, _ format: FilmFormat, copiesPictures: Bool = false, by readers: Readers = .shared
    ) throws(FilmError) -> FilmWriter {
        if copiesPictures { return FilmWriter(film: try FilmProcess(path, FilmJob(format, from: .clips), usesDevices: false, by: readers)) }
        // Without a device, if software does it as well.
        let wish = format.video?.encoder.setting ?? .software
        do throws(FilmError) {
            return FilmWriter(film: try FilmProcess(path, FilmJob(format), usesDevices: wish == .hardware, by: readers))
        } catch {
            guard case .noEncoder = error.reason, wish == .automatic else { throw error }
            return FilmWriter(film: try FilmProcess(path, FilmJob(format), usesDevices: true, by: readers))
        }
    }

    /// Remuxes a fragmented recording into a plain MP4 at `target`, with its index first; copies its packets. If the recording was cut off,
    /// takes its readable part. Keeps `source`; blocks for the disk.
    ///
    /// - Throws: ``FilmError`` if nothing of `source` can be read, or `target` cannot be written.
    package static func remux(from source: String, to target: String, by readers: Readers = .shared) throws(FilmError) {
        let name = String(source.split(separator: "/", omittingEmptySubsequences: false).last ?? "")
        let job = FilmJob(FilmFormat(video: nil, audio: nil), from: .film(name))
        let film: FilmProcess
        do throws(FilmError) { film = try FilmProcess(target, job, reading: Folder.of(source), usesDevices: false, by: readers) } catch {
            // An unreadable file is the source: name that one.
            if case .unreadable = error.reason { throw FilmError(source, error.reason) }
            throw error
        }
        do throws(FilmError) { try film.finish() } catch {
            if case .unreadable = error.reason { throw FilmError(source, error.reason) }
            throw error
        }
    }

    /// FFmpeg's name of the encoder of the pictures.
    package var videoEncoder: String? { film.encoder }
    /// A note on the choice of the encoder; nil for none.
    package var videoEncoderNote: String? { film.note }
    /// The number of samples written per channel.
    package var samplePosition: Int { film.samplePosition }
    /// The size of the file so far, in bytes.
    package var byteCount: Int { film.byteCount }

    /// Writes a picture. It is shown from `time` until the next one, or for `duration` if it is the last. Scales a picture of another size,
    /// and converts another pixel format.
    ///
    /// - Returns: false if `time` is not later than that of the previous picture: the picture is dropped.
    @discardableResult package mutating func write(
        _ frame: borrowing VideoFrame, at time: MediaTime, duration: MediaTime? = nil
    ) throws(FilmError) -> Bool {
        try film.write(frame, at: time, duration: duration)
    }

    /// The same with 8-bit planes of 4:2:0 of the track's size: luma, blue and red difference, and the stride of each in bytes. Copies the
    /// planes.
    @discardableResult package mutating func write(
        planes: (UnsafePointer<UInt8>, UnsafePointer<UInt8>, UnsafePointer<UInt8>), strides: (Int, Int, Int), at time: MediaTime,
        duration: MediaTime? = nil
    ) throws(FilmError) -> Bool {
        let planes = [planes.0, planes.1, planes.2].map { UnsafeRawPointer($0) }
        return try film.write(AV_PIX_FMT_YUV420P, planes, [strides.0, strides.1, strides.2], at: time, duration: duration)
    }

    /// The same with pixels of the track's size, each blue, green, red and an unused byte (DRM's XRGB8888), and the stride in bytes.
    @discardableResult package mutating func write(
        pixels: UnsafeRawPointer, stride: Int, at time: MediaTime, duration: MediaTime? = nil
    ) throws(FilmError) -> Bool {
        try film.write(kAV_PIX_FMT_XRGB8888, [pixels], [stride], at: time, duration: duration)
    }

    /// Examines the next clip of a film with copied pictures, before the first samples. The film plays it from `start` to `end` (nil: to
    /// its end). Reads the clip to its end.
    ///
    /// - Returns: the obstacles, one line each.
    package mutating func look(at source: String, start: MediaTime, end: MediaTime?) throws(FilmError) -> [String] {
        try film.look(at: source, start: start, end: end)
    }

    /// Copies the pictures before `time` of the film (nil: all), after some clips have begun; returns the number of pictures copied in all.
    package mutating func copy(until time: MediaTime?, _ begun: [FilmStep.Playthrough]) throws(FilmError) -> Int64 {
        try film.copy(until: time, begun)
    }

    /// Appends interleaved samples.
    package mutating func write(samples: UnsafeBufferPointer<Float>) throws(FilmError) { try film.write(samples: samples) }

    /// Appends `count` samples of silence per channel.
    package mutating func writeSilence(_ count: Int) throws(FilmError) { try film.writeSilence(max(count, 0)) }

    /// Flushes the encoders, writes the index, and gives the file its name once all of it is on the disk. If the picture encoder has failed
    /// (``FilmError/Reason/encoderFailed(_:)``), the film has the pictures that it delivered before. If its process has died, only the
    /// draft is left.
    package mutating func finish() throws(FilmError) { try film.finish() }

    /// Discards the file: deletes it, even a fragmented one.
    package mutating func discard() { film.discard() }
}

/// The process that makes a film, and the player's end of the conversation with it.
private final class FilmProcess: @unchecked Sendable {
    // Sendable because one thread at a time uses it.
    private let path: String, job: FilmJob
    private let draft: FilmDraft
    private let session: ReaderSession
    private let memory: SharedMemory
    private(set) var encoder: String?, note: String?
    private(set) var samplePosition = 0
    var byteCount: Int { Int(clamping: draft.byteCount) }
    private var lastTime: Int64?
    /// A bit for each free room.
    private var free: UInt8 = (1 << FilmLayout.rooms) - 1
    private var hasBegun = false, isFinished = false
    /// The answers to `look` and `copy`.
    private var looked: [String]?, copied: Int64?
    /// The first fault, and whether the process can finish the film nevertheless.
    private var failure: FilmError?, canFinish = true

    /// How long the process may make no progress. A slow processor takes long for a picture, a device does not. A live recording has failed
    /// anyway if its encoder takes that long.
    private let limit: MediaTime
    private static let liveLimit = MediaTime.seconds(2), deviceLimit = MediaTime.seconds(10), softwareLimit = MediaTime.seconds(60)
    private static let openingLimit = MediaTime.seconds(20)
    /// How long reading a clip may take, in the process's own time.
    private static let readingLimit = MediaTime.seconds(600)

    /// Blocks until the process takes pictures.
    init(_ path: String, _ job: FilmJob, reading folder: String? = nil, usesDevices: Bool, by readers: Readers) throws(FilmError) {
        (self.path, self.job) = (path, job)
        let format = job.format
        limit = format.video?.isLive == true ? Self.liveLimit : usesDevices ? Self.deviceLimit : Self.softwareLimit
        // The limits of AAC.
        if let samples = format.audio?.samples, !(8000...96_000 ~= samples.sampleRate && 1...8 ~= samples.channelCount) {
            throw FilmError(path, .noEncoder(codec: "AAC", tried: ["aac: \(samples.sampleRate) Hz, \(samples.channelCount) channels"]))
        }
        draft = try FilmDraft(path, isFragmented: format.container == .fragmentedMP4)
        guard let written = draft.reading() else { throw FilmError(path, errno: errno) }
        var reach = SourceReach()
        reach.folder = folder
        var order = OpenOrder(.film(job), "", reach: reach, pictureMemory: job.layout.encoderBytes)
        (order.isKept, order.usesDevices) = (true, usesDevices)
        if usesDevices { order.decoder = DecoderWish(.hardware, device: format.video?.encoder.device) }
        do throws(MediaError) { session = try ReaderSession(order, by: readers, written: written.raw, Interruption()) } catch {
            throw FilmError(path, .encoderFailed(error.reason.text))
        }
        guard let memory = SharedMemory(session.results.file.raw) else { throw FilmError(path, errno: ENOMEM) }
        self.memory = memory
        draft.begin()
        try wait(Self.openingLimit) { hasBegun }
    }

    // MARK: Pictures

    func write(_ frame: borrowing VideoFrame, at time: MediaTime, duration: MediaTime?) throws(FilmError) -> Bool {
        if frame.surface != nil {
            guard let plain = frame.downloaded() else {
                throw FilmError(path, .unsupportedPicture("the hardware decoder's driver does not let its pictures be read"))
            }
            return try write(plain, at: time, duration: duration)
        }
        let av = frame.av.pointee
        let data = [av.data.0, av.data.1, av.data.2, av.data.3], strides = [av.linesize.0, av.linesize.1, av.linesize.2, av.linesize.3]
        return try write(
            PictureRecord(frame), data.compactMap { $0.map { UnsafeRawPointer($0) } }, strides.map(Int.init), at: time, duration)
    }

    /// Writes a picture of the track's size, in one of two formats.
    func write(
        _ format: AVPixelFormat, _ planes: [UnsafeRawPointer], _ strides: [Int], at time: MediaTime, duration: MediaTime?
    ) throws(FilmError) -> Bool {
        guard let video = job.format.video else { return false }
        var record = PictureRecord(format: format.rawValue, width: video.width, height: video.height)
        let isRGB = format == kAV_PIX_FMT_XRGB8888
        record.matrix = UInt8(clamping: (isRGB ? AVCOL_SPC_RGB : video.colour == .bt709 ? AVCOL_SPC_BT709 : AVCOL_SPC_SMPTE170M).rawValue)
        record.range = UInt8(clamping: (isRGB ? AVCOL_RANGE_JPEG : AVCOL_RANGE_MPEG).rawValue)
        return try write(record, planes, strides, at: time, duration)
    }

    private func write(
        _ picture: PictureRecord, _ planes: [UnsafeRawPointer], _ strides: [Int], at time: MediaTime, _ duration: MediaTime?
    ) throws(FilmError) -> Bool {
        try check()
        let ticks = av_rescale(time.nanoseconds, 90_000, 1_000_000_000)
        if let lastTime, ticks <= lastTime { return false }
        var record = picture
        guard let extents = PlaneExtents(format: record.format, width: record.width, height: record.height),
            planes.count >= extents.planeCount
        else { throw unsupported(record) }
        let room = try takeRoom()
        var place = job.layout.begin(ofRoom: room)
        let end = place + job.layout.roomBytes - PictureRules.slack
        for plane in 0..<extents.planeCount {
            // Aligned rows for vector code.
            let stride = (extents.rowBytes[plane] + 63) & ~63
            guard place + stride * extents.rows[plane] <= end else {
                free |= 1 << UInt8(room)
                throw unsupported(record)
            }
            (record.offsets[plane], record.strides[plane]) = (UInt64(place), Int32(stride))
            for row in 0..<extents.rows[plane] {
                memcpy(memory.bytes.baseAddress! + place + row * stride, planes[plane] + row * strides[plane], extents.rowBytes[plane])
            }
            place += stride * extents.rows[plane]
        }
        (record.slot, record.time, record.duration) = (room, time, duration ?? .zero)
        lastTime = ticks
        session.send(.film(.frame(record)))
        try hear()
        return true
    }

    private func unsupported(_ record: PictureRecord) -> FilmError {
        let format = av_get_pix_fmt_name(AVPixelFormat(record.format)).map { String(cString: $0) } ?? "\(record.format)"
        return FilmError(path, .unsupportedPicture("\(record.width)×\(record.height) of pixel format \(format)"))
    }

    /// Waits for a free room and takes it.
    private func takeRoom() throws(FilmError) -> Int {
        try wait(limit) { free != 0 }
        let room = free.trailingZeroBitCount
        free &= ~(1 << UInt8(room))
        return room
    }

    // MARK: Copies

    func look(at source: String, start: MediaTime, end: MediaTime?) throws(FilmError) -> [String] {
        let file: OpenedFile
        do throws(FileFailure) { file = try OpenedFile(source) } catch {
            throw FilmError(source, .unreadable("it cannot be opened any more"))
        }
        looked = nil
        session.send(.film(.clip(start: start, end: end)), descriptor: file.descriptor.raw)
        // The process reads all of it.
        try wait(Self.readingLimit) { looked != nil }
        return looked ?? []
    }

    func copy(until time: MediaTime?, _ begun: [FilmStep.Playthrough]) throws(FilmError) -> Int64 {
        copied = nil
        session.send(.film(.copy(until: time, begun)))
        try wait(limit) { copied != nil }
        return copied ?? 0
    }

    // MARK: Sound

    func write(samples: UnsafeBufferPointer<Float>) throws(FilmError) {
        guard let channels = job.format.audio?.samples.channelCount else { return }
        var rest = samples[...]
        while !rest.isEmpty {
            try check()
            let most = job.layout.roomBytes / MemoryLayout<Float>.size / channels * channels
            let part = UnsafeBufferPointer(rebasing: rest.prefix(most))
            let room = try takeRoom()
            memcpy(memory.bytes.baseAddress! + job.layout.begin(ofRoom: room), part.baseAddress!, part.count * MemoryLayout<Float>.size)
            session.send(.film(.samples(room: room, count: part.count / channels)))
            samplePosition += part.count / channels
            rest = rest.dropFirst(part.count)
        }
        try hear()
    }

    func writeSilence(_ count: Int) throws(FilmError) {
        guard job.format.audio != nil, count > 0 else { return }
        try check()
        session.send(.film(.silence(count)))
        samplePosition += count
        try hear()
    }

    // MARK: The end

    func finish() throws(FilmError) {
        // The pictures that the encoder delivered before it failed.
        guard canFinish else { throw failure ?? FilmError(path, .encoderFailed("it has ended")) }
        session.send(.film(.finish))
        failure = nil
        try wait(max(limit, Self.deviceLimit)) { isFinished }
        try draft.finish()
    }

    func discard() {
        session.reader.end()
        draft.discard()
    }

    // MARK: Messages

    private func check() throws(FilmError) { if let failure { throw failure } }

    /// Takes the messages so far.
    private func hear() throws(FilmError) {
        while failure == nil, case .message(let message, _) = arrival(until: HostTime(nanoseconds: 0)) { take(message) }
        try check()
    }

    /// Waits until `isSo`; no longer than `limit` without progress.
    private func wait(_ limit: MediaTime, until isSo: () -> Bool) throws(FilmError) {
        var progress = session.page.progress
        var time = FairTime(session.reader.clock, every: limit.scaled(by: 0.2), from: .now)
        while true {
            try check()
            if isSo() { return }
            switch arrival(until: .now + .milliseconds(50)) {
            case .message(let message, _): take(message)
            case .death: break
            case .nothing:
                if session.page.progress != progress {
                    (progress, time) = (session.page.progress, FairTime(session.reader.clock, every: limit.scaled(by: 0.2), from: .now))
                }
                if time.total(at: .now) >= limit { die(.stalled(seconds: limit.seconds)) }
            }
        }
    }

    private func arrival(until deadline: HostTime) -> ReaderSession.Arrival {
        let arrival = session.receive(until: deadline)
        if case .death(let death) = arrival { die(death) }
        return arrival
    }

    private func die(_ death: ReaderDeath) {
        canFinish = false
        failure = FilmError(path, .encoderFailed(session.end(for: death, of: "process")))
    }

    private func take(_ message: ReaderMessage) {
        guard case .film(let news) = message else { return }
        switch news {
        case .began(let encoder, let note): (self.encoder, self.note, hasBegun) = (encoder, note, true)
        case .free(let room): if 0..<FilmLayout.rooms ~= room { free |= 1 << UInt8(room) }
        case .write(let offset, let count):
            var code = EINVAL
            if 1...FilmLayout.outputBytes ~= count {
                let begin = job.layout.output
                code = draft.write(UnsafeRawBufferPointer(rebasing: memory.bytes[begin..<begin + count]), at: offset)
            }
            session.send(.film(.written(code)))
        case .sync: draft.sync()
        case .failed(let reason):
            failure = FilmError(path, reason)
            if case .encoderFailed = reason, hasBegun { return }
            canFinish = false
        case .looked(let obstacles): looked = obstacles
        case .copied(let count): copied = count
        case .finished: isFinished = true
        }
    }
}
