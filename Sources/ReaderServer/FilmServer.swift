import CKioskFFmpeg
import Glibc
import KioskMedia
import KioskPlatform
import KioskReaderProtocol
import KioskVocabulary

/// Makes a film from a player's pictures and samples, and sends its bytes back. An encoder that crashes costs only the film.
///
/// One thread.
enum FilmServer {
    /// Does the job until the player has gone, or the film is finished. Blocks until then.
    ///
    /// - Parameter written: the file of the film, to read back.
    static func serve(
        _ job: FilmJob, _ reach: SourceReach, on channel: ReaderChannel, _ page: ControlPage, _ memory: SharedMemory,
        _ written: SharedDescriptor
    ) {
        let output = SentOutput(channel, page, memory, at: job.layout.output, written)
        do throws(FilmError) {
            switch job.source {
            case .film(let name):
                guard case .success(let file) = channel.ask(for: name, in: reach.folder) else {
                    throw FilmError(name, .unreadable("it cannot be opened"))
                }
                channel.send(.film(.began(encoder: nil, note: nil)))
                try FilmEncoder.remux(try FilmInput(file, path: name), to: output, path: name)
            case .clips:
                channel.send(.film(.began(encoder: nil, note: nil)))
                try copy(job, output, channel, page, memory)
            case .encoders:
                var film = try FilmEncoder.open(output, job.format, path: "")
                channel.send(.film(.began(encoder: film.videoEncoder, note: film.videoEncoderNote)))
                try carryOut(job, &film, channel, page, memory)
            }
            channel.send(.film(.finished))
        } catch {
            channel.send(.film(.failed(error.reason)))
        }
    }

    /// Takes pictures and samples until the player ends them. If the encoder fails, the film has the pictures that it delivered before.
    private static func carryOut(
        _ job: FilmJob, _ film: inout FilmEncoder, _ channel: ReaderChannel, _ page: ControlPage, _ memory: SharedMemory
    ) throws(FilmError) {
        var hasFailed = false
        while let order = channel.nextOrder()?.order {
            guard case .film(let step) = order else { continue }
            if case .finish = step { return try film.finish() }
            do throws(FilmError) {
                switch step {
                case .frame(let record):
                    let room = Room(record.slot, channel, memory)
                    guard !hasFailed, let frame = frame(record, room) else { break }
                    try film.write(frame, at: record.time, duration: record.duration > .zero ? record.duration : nil)
                case .samples(let room, let count):
                    let room = Room(room, channel, memory)
                    try room.withSamples(job, count) { samples throws(FilmError) in try film.write(samples: samples) }
                case .silence(let count): try film.writeSilence(count)
                case .finish, .written, .clip, .copy: break
                }
            } catch {
                guard case .encoderFailed = error.reason, !hasFailed else { throw error }
                hasFailed = true
                channel.send(.film(.failed(error.reason)))
            }
            page.advance()
        }
        throw FilmError("", .cannotWrite("it has been given up"))
    }

    /// The same with copied pictures. The film begins once its clips have been examined.
    private static func copy(
        _ job: FilmJob, _ output: SentOutput, _ channel: ReaderChannel, _ page: ControlPage, _ memory: SharedMemory
    ) throws(FilmError) {
        let copy = PacketCopy(into: job.format.container)
        while let (order, _, descriptor) = channel.nextOrder() {
            guard case .film(.clip(let start, let end)) = order else {
                var film = try FilmEncoder.open(output, job.format, path: "", copying: copy.stream)
                return try carryOut(order, copy, job, &film, channel, page, memory)
            }
            var status = stat()
            guard let descriptor, fstat(descriptor.raw, &status) == 0 else { throw FilmError("", errno: EBADF) }
            channel.send(.film(.looked(copy.add(OpenedFile(descriptor, FileVersion(status)), start: start, end: end))))
            page.advance()
        }
    }

    private static func carryOut(
        _ first: ReaderOrder, _ copy: PacketCopy, _ job: FilmJob, _ film: inout FilmEncoder, _ channel: ReaderChannel, _ page: ControlPage,
        _ memory: SharedMemory
    ) throws(FilmError) {
        var next: ReaderOrder? = first
        while let order = next {
            switch order {
            case .film(.finish): return try film.finish()
            case .film(.copy(let time, let playthroughs)):
                for playthrough in playthroughs { copy.begin(playthrough.clip, at: playthrough.instant) }
                try copy.write(until: time, to: &film)
                channel.send(.film(.copied(copy.count)))
            case .film(.samples(let room, let count)):
                let room = Room(room, channel, memory)
                try room.withSamples(job, count) { samples throws(FilmError) in try film.write(samples: samples) }
            case .film(.silence(let count)): try film.writeSilence(count)
            default: break
            }
            page.advance()
            next = channel.nextOrder()?.order
        }
        throw FilmError("", .cannotWrite("it has been given up"))
    }

    /// A room with a picture or samples; its last reference returns it to the player.
    private final class Room {
        let memory: SharedMemory
        private let number: Int, channel: ReaderChannel

        init(_ number: Int, _ channel: ReaderChannel, _ memory: SharedMemory) {
            (self.number, self.channel, self.memory) = (number, channel, memory)
        }

        deinit { channel.send(.film(.free(room: number))) }

        func withSamples(
            _ job: FilmJob, _ count: Int, _ body: (UnsafeBufferPointer<Float>) throws(FilmError) -> Void
        ) throws(FilmError) {
            let samples = count * (job.format.audio?.samples.channelCount ?? 1)
            guard samples <= job.layout.roomBytes / MemoryLayout<Float>.size else { return }
            let place = (memory.bytes.baseAddress! + job.layout.begin(ofRoom: number)).assumingMemoryBound(to: Float.self)
            try body(UnsafeBufferPointer(start: place, count: samples))
        }
    }

    /// Returns the picture of a record in its room; nil without memory for its description. The corresponding C functions are
    /// `av_frame_alloc` and `av_buffer_create`.
    private static func frame(_ record: PictureRecord, _ room: Room) -> VideoFrame? {
        guard let extents = PlaneExtents(format: record.format, width: record.width, height: record.height),
            let base = room.memory.bytes.baseAddress, let av = av_frame_alloc()
        else { return nil }
        let opaque = Unmanaged.passRetained(room).toOpaque()
        let first = (base + Int(record.offsets[0])).assumingMemoryBound(to: UInt8.self)
        let buffer = av_buffer_create(
            first, extents.byteCount, { opaque, _ in opaque.map { Unmanaged<Room>.fromOpaque($0).release() } }, opaque,
            AV_BUFFER_FLAG_READONLY)
        guard let buffer else {
            Unmanaged<Room>.fromOpaque(opaque).release()
            av.free()
            return nil
        }
        av.pointee.buf.0 = buffer
        for plane in 0..<extents.planeCount {
            let end = Int(record.offsets[plane]) + Int(record.strides[plane]) * (extents.rows[plane] - 1) + extents.rowBytes[plane]
            guard end <= room.memory.bytes.count else {
                av.free()
                return nil
            }
            av.setPlane(plane, (base + Int(record.offsets[plane])).assumingMemoryBound(to: UInt8.self), record.strides[plane])
        }
        record.describe(av)
        return VideoFrame(adopting: av, orientation: record.orientation)
    }
}

/// Sends the bytes of a film to the player through shared memory.
private final class SentOutput: FilmOutput {
    private let channel: ReaderChannel
    private let page: ControlPage
    private let memory: SharedMemory
    private let place: Int
    private let written: SharedDescriptor

    init(_ channel: ReaderChannel, _ page: ControlPage, _ memory: SharedMemory, at place: Int, _ written: SharedDescriptor) {
        (self.channel, self.page, self.memory, self.place, self.written) = (channel, page, memory, place, written)
    }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) -> Int32 {
        var done = 0
        while done < bytes.count {
            let part = bytes[done..<min(bytes.count, done + FilmLayout.outputBytes)]
            UnsafeMutableRawBufferPointer(rebasing: memory.bytes[place...]).copyMemory(from: UnsafeRawBufferPointer(rebasing: part))
            channel.send(.film(.write(at: offset + Int64(done), count: part.count)))
            guard let code = channel.nextWritten() else { return EPIPE }
            if code != 0 { return code }
            done += part.count
            page.advance()
        }
        return 0
    }

    func read(into bytes: UnsafeMutableRawBufferPointer, at offset: Int64) -> Int {
        page.advance()
        var count: Int
        repeat { count = pread(written.raw, bytes.baseAddress, bytes.count, off_t(offset)) } while count < 0 && errno == EINTR
        return count < 0 ? -Int(errno) : count
    }

    func sync() { channel.send(.film(.sync)) }
    func advance() { page.advance() }
}
