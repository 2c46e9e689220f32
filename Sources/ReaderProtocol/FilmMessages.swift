import KioskMedia
import KioskPlatform
import KioskVocabulary

// A process of the same kind as a reader makes films. Pictures and samples lie in shared memory, and the bytes of the film go back through
// it. Only the player's side has the file.
//
//     player ── frame, samples, finish ──▶ process ── free, write, finished ──▶ player ──▶ file
//
// The process waits for the answer to each `write`, so the muxer learns of disk errors.

/// The film that a process has to make.
package struct FilmJob: Hashable, Sendable {
    package var format: FilmFormat
    package var source: Source

    /// The origin of the packets.
    package enum Source: Hashable, Sendable {
        /// Encoders, which get pictures and samples.
        case encoders
        /// Clips: the process copies their pictures; samples come from the player.
        case clips
        /// The film of that name in the folder that the order may reach: remuxed with its index first.
        case film(String)
    }

    package init(_ format: FilmFormat, from source: Source = .encoders) { (self.format, self.source) = (format, source) }

    /// The layout of the shared memory.
    package var layout: FilmLayout { FilmLayout(format) }
}

/// The memory of a film in the making: rooms for pictures and samples, then one for bytes of the film.
package struct FilmLayout: Hashable, Sendable {
    /// Bytes of a room: enough for a picture of the film's size in any format, and for one of another size that is not much larger.
    package let roomBytes: Int
    /// Enough to draw a picture while another one is encoded and another one waits.
    package static let rooms = 4
    package static let outputBytes = 1 << 20
    private static let leastRoom = 4 << 20

    fileprivate init(_ format: FilmFormat) {
        let pixels = (format.video?.width ?? 0) * (format.video?.height ?? 0)
        roomBytes = max(4 * pixels + PictureRules.slack, Self.leastRoom) & ~4095
    }

    package func begin(ofRoom room: Int) -> Int { room * roomBytes }
    package var output: Int { Self.rooms * roomBytes }
    package var byteCount: Int { output + Self.outputBytes }
    /// Memory for encoders: they keep some seconds of pictures before and behind the current one.
    package var encoderBytes: Int { roomBytes * 128 }
}

/// A message of the player about a film in the making.
package enum FilmStep: Hashable, Sendable {
    /// A picture in the room of its slot, shown from its time on; its duration if known.
    case frame(PictureRecord)
    /// A number of samples per channel in a room, interleaved.
    case samples(room: Int, count: Int)
    /// The same number of silent samples.
    case silence(Int)
    /// A clip whose pictures to copy from `start` to `end` (nil: its end); its descriptor comes with this. Answered by `looked`.
    case clip(start: MediaTime, end: MediaTime?)
    /// Copies the pictures before a time (nil: all), after some clips have begun. Answered by `copied`.
    case copy(until: MediaTime?, [Playthrough])
    /// Nothing more comes.
    case finish
    /// The result of a `write`: 0, or an errno.
    case written(Int32)

    /// A clip, by its number in the order of the `clip` messages, and its start time in the film.
    package struct Playthrough: Hashable, Sendable {
        package var clip: Int, instant: MediaTime

        package init(clip: Int, instant: MediaTime) { (self.clip, self.instant) = (clip, instant) }
    }

    /// The most clips that can begin in one vblank.
    static let mostPlaythroughs = 4096
}

/// A message of a process about its film.
package enum FilmNews: Hashable, Sendable {
    /// The process can begin: the encoder of the pictures, and a note on its choice.
    case began(encoder: String?, note: String?)
    /// A room is free again.
    case free(room: Int)
    /// Bytes of the film in the output room: their offset in the film, and their number.
    case write(at: Int64, count: Int)
    /// Flushes the written part to disk.
    case sync
    /// The obstacles to copying a clip, one line each.
    case looked([String])
    /// The number of pictures copied in all.
    case copied(Int64)
    case failed(FilmError.Reason)
    /// The process has written all of it.
    case finished
}

// MARK: As bytes

extension FilmFormat.Container: WireChoice {}
extension FilmFormat.VideoCodec: WireChoice {}
extension FilmFormat.Colour: WireChoice {}
extension EncoderSetting: WireChoice {}

extension EncoderWish: WireRecord {
    package static var blank: EncoderWish { EncoderWish(.software) }
    package static let fields: [WireField<Self>] = [.value(\.setting), .exact(\.device, .location)]
}

extension FilmFormat.Video: WireRecord {
    package static var blank: Self { Self(width: 2, height: 2, frameRate: 30) }
    package static let fields: [WireField<Self>] = [
        .number(\.width, 2...16384), .number(\.height, 2...16384), .value(\.codec), .value(\.encoder), .number(\.frameRate, 1...1000),
        .number(\.quality, 0...51), .number(\.bitRate, 0...1 << 32), .number(\.bitRateLimit, 0...1 << 32), .value(\.orientation),
        .value(\.colour), .value(\.keyFrameInterval),
        .value(\.isLive), .number(\.threads, 0...64),
    ]
}

extension FilmFormat.Audio: WireRecord {
    package static var blank: Self { Self(.blank) }
    package static let fields: [WireField<Self>] = [.value(\.samples), .number(\.bitRate, 1...1 << 24)]
}

extension FilmFormat.Metadata: WireRecord {
    package static var blank: Self { Self() }
    package static let fields: [WireField<Self>] = [
        .exact(\.title, .words), .exact(\.artist, .words), .exact(\.album, .words), .exact(\.date, .words), .exact(\.comment, .words),
    ]
}

extension FilmFormat: WireRecord {
    package static var blank: FilmFormat { FilmFormat(video: nil, audio: nil) }
    package static let fields: [WireField<Self>] = [
        .value(\.container), .value(\.video), .value(\.audio), .value(\.isIndexFirst), .value(\.metadata),
    ]
}

extension FilmJob: WireRecord {
    package static var blank: FilmJob { FilmJob(.blank) }
    package static let fields: [WireField<Self>] = [.value(\.format), .value(\.source)]
}

extension FilmJob.Source: WireValue {
    package func write(to wire: inout WireWriter) {
        switch self {
        case .encoders: wire.put(0 as UInt8)
        case .clips: wire.put(1 as UInt8)
        case .film(let name): wire.put(2 as UInt8, WireText(exactly: name, .location))
        }
    }

    package init(from wire: inout WireReader) throws(WireError) {
        switch try wire.take() as UInt8 {
        case 0: self = .encoders
        case 1: self = .clips
        case 2: self = .film(try wire.text(.location) ?? "")
        case let kind: throw .unknown("film", Int(kind))
        }
    }
}

extension PictureRecord: WireValue {
    package func write(to wire: inout WireWriter) {
        let raw = RawPicture(self)
        for index in raw.words.indices { wire.put(raw.words[index]) }
    }

    /// A picture in a film's memory; only such pictures cross this way.
    package init(from wire: inout WireReader) throws(WireError) {
        var raw = RawPicture()
        for index in raw.words.indices { raw.words[index] = try wire.take() }
        let rules = PictureRules(arenaBytes: .max, pictureMemory: .max)
        do throws(ReaderLie) { self = try PictureRecord.checked(raw, rules) } catch { throw .unknown("picture", 0) }
    }
}

extension FilmStep.Playthrough: WireRecord {
    package static var blank: Self { Self(clip: 0, instant: .zero) }
    package static let fields: [WireField<Self>] = [.number(\.clip, 0...1 << 20), .value(\.instant)]
}

extension FilmStep: WireValue {
    package func write(to wire: inout WireWriter) {
        switch self {
        case .frame(let record): wire.put(0 as UInt8, record)
        case .samples(let room, let count): wire.put(1 as UInt8, room, count)
        case .silence(let count): wire.put(2 as UInt8, count)
        case .finish: wire.put(3 as UInt8)
        case .written(let code): wire.put(4 as UInt8, code)
        case .clip(let start, let end): wire.put(5 as UInt8, start, end)
        case .copy(let time, let playthroughs):
            wire.put(6 as UInt8, time)
            wire.put(list: playthroughs)
        }
    }

    package init(from wire: inout WireReader) throws(WireError) {
        let number = try wire.take() as UInt8
        switch number {
        case 0: self = .frame(try wire.take())
        case 1: self = .samples(room: try wire.take(in: 0...FilmLayout.rooms - 1), count: try wire.take(in: 0...1 << 32))
        case 2: self = .silence(try wire.take(in: 0...1 << 40))
        case 3: self = .finish
        case 4: self = .written(try wire.take())
        case 5: self = .clip(start: try wire.take(), end: try wire.take())
        case 6: self = .copy(until: try wire.take(), try wire.list(atMost: Self.mostPlaythroughs))
        default: throw .unknown("step", Int(number))
        }
    }
}

extension FilmNews: WireValue {
    private static let mostObstacles = 32

    package func write(to wire: inout WireWriter) {
        switch self {
        case .began(let encoder, let note): wire.put(0 as UInt8, WireText(encoder, .name), WireText(note, .words))
        case .free(let room): wire.put(1 as UInt8, room)
        case .write(let place, let count): wire.put(2 as UInt8, place, count)
        case .sync: wire.put(3 as UInt8)
        case .failed(let reason): wire.put(4 as UInt8, reason)
        case .finished: wire.put(5 as UInt8)
        case .looked(let obstacles):
            wire.put(6 as UInt8)
            wire.put(list: obstacles.prefix(Self.mostObstacles).map { WireText($0, .words) })
        case .copied(let count): wire.put(7 as UInt8, count)
        }
    }

    package init(from wire: inout WireReader) throws(WireError) {
        let number = try wire.take() as UInt8
        switch number {
        case 0: self = .began(encoder: try wire.words(.name), note: try wire.words(.words))
        case 1: self = .free(room: try wire.take())
        case 2: self = .write(at: try wire.take(), count: try wire.take())
        case 3: self = .sync
        case 4: self = .failed(try wire.take())
        case 5: self = .finished
        case 6: self = .looked(try wire.texts(atMost: Self.mostObstacles, .words).map(\.printable))
        case 7: self = .copied(try wire.take())
        default: throw .unknown("news", Int(number))
        }
    }
}

extension FilmError.Reason: WireValue {
    private static let plain: [Self] = [
        .noSpace, .noFolder, .permissionDenied, .isReadOnly, .isBeingWritten, .isDirectory, .isNoFile,
    ]
    /// The most encoders in a list of attempts.
    private static let mostTried = 64

    package func write(to wire: inout WireWriter) {
        switch self {
        case .noSpace, .noFolder, .permissionDenied, .isReadOnly, .isBeingWritten, .isDirectory, .isNoFile:
            wire.put(UInt8(clamping: Self.plain.firstIndex(of: self) ?? 0))
        case .noEncoder(let codec, let tried):
            wire.put(64 as UInt8, WireText(codec, .name))
            wire.put(list: tried.prefix(Self.mostTried).map { WireText($0, .words) })
        case .cannotWrite(let text): wire.put(65 as UInt8, WireText(text, .words))
        case .encoderFailed(let text): wire.put(66 as UInt8, WireText(text, .words))
        case .unsupportedPicture(let text): wire.put(67 as UInt8, WireText(text, .words))
        case .unreadable(let text): wire.put(68 as UInt8, WireText(text, .words))
        }
    }

    package init(from wire: inout WireReader) throws(WireError) {
        let number = Int(try wire.take() as UInt8)
        switch number {
        case 64:
            self = .noEncoder(codec: try wire.words(.name) ?? "", tried: try wire.texts(atMost: Self.mostTried, .words).map(\.printable))
        case 65: self = .cannotWrite(try wire.words(.words) ?? "")
        case 66: self = .encoderFailed(try wire.words(.words) ?? "")
        case 67: self = .unsupportedPicture(try wire.words(.words) ?? "")
        case 68: self = .unreadable(try wire.words(.words) ?? "")
        default:
            guard Self.plain.indices.contains(number) else { throw .unknown("reason", number) }
            self = Self.plain[number]
        }
    }
}
