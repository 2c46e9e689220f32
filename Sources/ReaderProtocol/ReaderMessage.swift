import KioskMedia
import KioskPlatform
import KioskVocabulary

/// A message from a reader to its player. Texts are for people: the writer cuts them, and the other end removes control characters.
package enum ReaderMessage: Hashable, Sendable {
    /// The reader has locked itself in and waits for an order; once.
    case ready(ReaderReadiness)
    /// The contents of the source.
    case described(ReaderDescription)
    /// The tracks in use from now on.
    case selected(ReaderTracks)
    /// The order failed.
    case failed(MediaError.Reason)
    /// The order is done.
    case landed(Landing)
    /// A fault of the source; each comes once.
    case problem(String)
    /// The source ends early, and why. Comes before the rings say that it ends.
    case ended(String)
    /// All decoding damage so far.
    case damage(MediaDamage)
    case note(ReaderNote)
    case log(String)
    /// A request, with a number; the answer has the same number.
    case request(UInt32, ReaderRequest)
    /// The result of an order; its bytes lie in the memory for results.
    case result(ReaderResult)
    /// A surface of a device that holds pictures. One of its dma-bufs comes with the message.
    case surface(ReaderSurface)
    /// News of a film in the making.
    case film(FilmNews)
    /// Subtitles that have been drawn; their text.
    case subtitle(ReaderSubtitle)
    case cue(ReaderCue)
}

/// A surface of a device; picture records refer to it by number. It holds one picture in one format, in up to four dma-bufs. The
/// corresponding C type is `AVDRMFrameDescriptor` with one layer.
package struct ReaderSurface: Hashable, Sendable {
    /// A plane: the index of its dma-buf, the offset of its first byte, and the bytes from row to row.
    package struct Plane: Hashable, Sendable {
        package var object: Int, offset: Int, pitch: Int

        package init(object: Int, offset: Int, pitch: Int) { (self.object, self.offset, self.pitch) = (object, offset, pitch) }
    }

    /// Below ``ControlLayout/pictureCount``. A later surface may reuse it.
    package var number: Int
    /// The index of the dma-buf that comes with this message, and the number of dma-bufs.
    package var object = 0, objectCount = 1
    /// DRM's number of the format, and its modifier.
    package var format: UInt32, modifier: UInt64
    package var planes: [Plane]

    package static let mostObjects = 4, mostPlanes = 4

    /// Whether the layout is linear or unspecified: DRM_FORMAT_MOD_LINEAR and DRM_FORMAT_MOD_INVALID.
    package var isLinear: Bool { modifier == 0 || modifier == 0x00FF_FFFF_FFFF_FFFF }

    package init(number: Int, format: UInt32, modifier: UInt64, planes: [Plane]) {
        (self.number, self.format, self.modifier, self.planes) = (number, format, modifier, planes)
    }
}

/// How well a reader is locked in, in its own words.
package struct ReaderReadiness: Hashable, Sendable {
    /// Whether the kernel filters its system calls.
    package var hasFilter = false
    /// The version of Landlock in force; 0 for none.
    package var landlock = 0
    /// Whether libavfilter is loaded.
    package var hasDeinterlacer = false

    package init() {}
}

/// The tracks in use.
package struct ReaderTracks: Hashable, Sendable {
    /// Streams of the container, by their kind.
    package var selected: [TrackKind: Int] = [:]
    package var audio: AssetDescription.Audio?
    /// Whether there is a picture (a cover counts), and playable sound.
    package var hasPicture = false, hasSound = false

    package init() {}
}

/// An opened source.
package struct ReaderDescription: Hashable, Sendable {
    package var asset: AssetDescription
    package var tracks = ReaderTracks()
    /// ``MediaReader/nominalFrameDuration`` until a picture states another one.
    package var nominalFrameDuration: MediaTime?
    /// Search results for the next reader of this version of the file; the player does not interpret them.
    package var found: [Int] = []

    package init(_ asset: AssetDescription) { self.asset = asset }
}

/// The result of an order about time or tracks.
package struct Landing: Hashable, Sendable {
    /// Item time of the next picture and sample; nil if playback continues unchanged.
    package var time: MediaTime?
    /// The result of the selection of a sound track.
    package var selection: MediaReader.AudioSelection?
    /// The positions in the rings from which this applies: if there is a ``time``, drop everything before them.
    package var pictures: UInt32, sound: UInt32

    package init(_ time: MediaTime?, selection: MediaReader.AudioSelection? = nil, pictures: UInt32, sound: UInt32) {
        (self.time, self.selection, self.pictures, self.sound) = (time, selection, pictures, sound)
    }
}

/// A change that does not end the reading.
package enum ReaderNote: Hashable, Sendable {
    /// The decoder of its pictures now: `software`, or an interface and a device.
    case decoder(String)
    /// The throughput of its server's line, in bits a second (``Throughput``).
    case lineSpeed(Double)
    /// No device takes pictures of this shape (``MediaReader/shape``).
    case refusedByDevices(String)
    /// Its device has failed, with the reason.
    case deviceFailed(String)
    /// The name that an opened device gives itself.
    case device(String)
}

/// A request for something that a reader cannot get itself.
package enum ReaderRequest: Hashable, Sendable {
    /// A file: by its path, or by a path beneath a folder that it must not leave.
    case file(path: String, folder: String?)
    /// A reader with libavfilter instead of this one.
    case deinterlacer
    /// A reader that can draw text instead of this one.
    case subtitles
    /// A font of the machine.
    case font(FontWish)
    /// A reader with devices, or the player itself, instead of this reader: a device may decode the source.
    case device
    /// A buffer of memory that the display offers.
    case plane(PlaneOffer)
    /// The addresses of a host in `.local`; only a service of the machine knows them.
    case name(String)
}

/// The result of a role other than playing. A picture is given by its size here. Its pixels, 0xFFRRGGBB, lie in the memory for results, row
/// by row without gaps.
package enum ReaderResult: Hashable, Sendable {
    /// Whether it has previews.
    case previews(Bool)
    /// nil if none is found.
    case preview(ReaderPreview?)
    case thumbnail(ClipFacts, PixelSize?)
    /// A file of this codec, and its size in bytes.
    case cover(codec: String, byteCount: Int)
    case noCover
    /// The number of picture times, in nanoseconds each; nil if they are unknown.
    case times(Int?)
    /// The file is open; its descriptor comes with the message.
    case file
    /// The reason why the file cannot be opened.
    case noFile(FileFailure)
}

/// A key frame (``PreviewReader/Preview``).
package struct ReaderPreview: Hashable, Sendable {
    package var size: PixelSize
    package var time: MediaTime
    package var span: ClosedRange<MediaTime>

    package init(_ size: PixelSize, time: MediaTime, span: ClosedRange<MediaTime>) {
        (self.size, self.time, self.span) = (size, time, span)
    }
}

extension SmallPicture {
    /// Reads the picture of this size from `memory`; it had to fit into `most`.
    package init(_ size: PixelSize, in memory: UnsafeRawBufferPointer, fitting most: PixelSize) throws(ReaderLie) {
        guard size.width >= 1, size.height >= 1, size.width <= most.width, size.height <= most.height else {
            throw .result("a picture of \(size.width)×\(size.height) pixels")
        }
        let (count, overflow) = size.width.multipliedReportingOverflow(by: size.height)
        guard !overflow, count <= memory.count / 4 else { throw .result("a picture of \(count) pixels") }
        let pixels = (0..<count).map { unsafe memory.loadUnaligned(fromByteOffset: $0 * 4, as: UInt32.self) | 0xFF00_0000 }
        self.init(width: size.width, height: size.height, pixels: pixels)
    }
}

extension AssetCover {
    /// Reads the file of `byteCount` bytes from `memory`.
    package init(codec: String, byteCount: Int, in memory: UnsafeRawBufferPointer) throws(ReaderLie) {
        guard byteCount >= 1, byteCount <= memory.count else { throw .result("a cover of \(byteCount) bytes") }
        self.init(codec: codec, bytes: unsafe Array(memory[..<byteCount]))
    }
}

extension MediaTime {
    /// Returns the times of `count` pictures from `memory`, in order from zero.
    package static func times(_ count: Int, in memory: UnsafeRawBufferPointer) throws(ReaderLie) -> [MediaTime] {
        guard count >= 0, count <= memory.count / MemoryLayout<Int64>.size else { throw .result("times of \(count) pictures") }
        let times = (0..<count).map { index in
            unsafe MediaTime(nanoseconds: memory.loadUnaligned(fromByteOffset: index * MemoryLayout<Int64>.size, as: Int64.self))
        }
        let isPlausible = times.allSatisfy { .zero ... .longestPlausible ~= $0 } && !zip(times, times.dropFirst()).contains { $0 > $1 }
        guard isPlausible else { throw .result("times that no pictures have") }
        return times
    }
}

// MARK: As bytes

extension ReaderMessage: WireMessage {
    /// A thousand chapters with the longest titles.
    package static let mostParts = 20

    package func write(to wire: inout WireWriter) -> UInt16 {
        switch self {
        case .ready(let readiness): return wire.message(1, readiness)
        case .described(let description): return wire.message(2, description)
        case .selected(let tracks): return wire.message(3, tracks)
        case .failed(let reason): return wire.message(4, reason)
        case .landed(let landing): return wire.message(5, landing)
        case .problem(let text): return wire.message(6, WireText(text, .words))
        case .ended(let text): return wire.message(7, WireText(text, .words))
        case .damage(let damage): return wire.message(8, damage)
        case .note(let note): return wire.message(9, note)
        case .log(let line): return wire.message(10, WireText(line, .words))
        case .request(let number, let request): return wire.message(11, number, request)
        case .result(let result): return wire.message(12, result)
        case .surface(let surface): return wire.message(13, surface)
        case .film(let news): return wire.message(14, news)
        case .subtitle(let subtitle): return wire.message(15, subtitle)
        case .cue(let cue): return wire.message(16, cue)
        }
    }

    package init(kind: UInt16, from wire: inout WireReader) throws(WireError) {
        switch kind {
        case 1: self = .ready(try wire.take())
        case 2: self = .described(try wire.take())
        case 3: self = .selected(try wire.take())
        case 4: self = .failed(try wire.take())
        case 5: self = .landed(try wire.take())
        case 6: self = .problem(try wire.words(.words) ?? "")
        case 7: self = .ended(try wire.words(.words) ?? "")
        case 8: self = .damage(try wire.take())
        case 9: self = .note(try wire.take())
        case 10: self = .log(try wire.words(.words) ?? "")
        case 11: self = .request(try wire.take(), try wire.take())
        case 12: self = .result(try wire.take())
        case 13: self = .surface(try wire.take())
        case 14: self = .film(try wire.take())
        case 15: self = .subtitle(try wire.take())
        case 16: self = .cue(try wire.take())
        default: throw .unknown("message", Int(kind))
        }
    }
}

extension ReaderSurface: WireRecord {
    package static var blank: ReaderSurface { ReaderSurface(number: 0, format: 0, modifier: 0, planes: []) }
    package static let fields: [WireField<Self>] = [
        .number(\.number, 0...ControlLayout.pictureCount - 1), .number(\.object, 0...mostObjects - 1),
        .number(\.objectCount, 1...mostObjects),
        .value(\.format), .value(\.modifier), .list(\.planes, atMost: mostPlanes),
    ]
}

extension ReaderSurface.Plane: WireRecord {
    package static var blank: Self { Self(object: 0, offset: 0, pitch: 0) }
    package static let fields: [WireField<Self>] = [
        .number(\.object, 0...ReaderSurface.mostObjects - 1), .number(\.offset, 0...1 << 31),
        .number(\.pitch, 0...PictureRules.longestStride),
    ]
}

extension ReaderReadiness: WireRecord {
    package static var blank: ReaderReadiness { ReaderReadiness() }
    package static let fields: [WireField<Self>] = [.value(\.hasFilter), .number(\.landlock, 0...255), .value(\.hasDeinterlacer)]
}

extension ReaderTracks: WireRecord {
    package static var blank: ReaderTracks { ReaderTracks() }
    package static let fields: [WireField<Self>] =
        [.number(\.selected[.audio], 0...1 << 20), .number(\.selected[.video], 0...1 << 20), .number(\.selected[.subtitle], 0...1 << 20)]
        + [.value(\.audio), .value(\.hasPicture), .value(\.hasSound)]
}

extension ReaderDescription: WireRecord {
    package static var blank: ReaderDescription { ReaderDescription(.blank) }
    package static let fields: [WireField<Self>] = [
        .value(\.asset), .value(\.tracks), .value(\.nominalFrameDuration),
        .list(\.found, atMost: OpenOrder.mostFound),
    ]
}

extension Landing: WireRecord {
    package static var blank: Landing { Landing(nil, pictures: 0, sound: 0) }
    package static let fields: [WireField<Self>] = [.value(\.time), .value(\.selection), .value(\.pictures), .value(\.sound)]
}

extension ReaderNote: WireValue {
    package func write(to wire: inout WireWriter) {
        switch self {
        case .decoder(let name): wire.put(0 as UInt8, WireText(name, .names))
        case .lineSpeed(let rate): wire.put(1 as UInt8, rate)
        case .refusedByDevices(let shape): wire.put(2 as UInt8, WireText(shape, .names))
        case .deviceFailed(let reason): wire.put(3 as UInt8, WireText(reason, .words))
        case .device(let name): wire.put(4 as UInt8, WireText(name, .words))
        }
    }

    package init(from wire: inout WireReader) throws(WireError) {
        let number = try wire.take() as UInt8
        switch number {
        case 0: self = .decoder(try wire.words(.names) ?? "")
        case 1: self = .lineSpeed(try wire.take(in: Throughput.plausible))
        case 2: self = .refusedByDevices(try wire.words(.names) ?? "")
        case 3: self = .deviceFailed(try wire.words(.words) ?? "")
        case 4: self = .device(try wire.words(.words) ?? "")
        default: throw .unknown("note", Int(number))
        }
    }
}

extension ReaderRequest: WireValue {
    package func write(to wire: inout WireWriter) {
        switch self {
        case .file(let path, let folder): wire.put(0 as UInt8, WireText(exactly: path, .location), WireText(exactly: folder, .location))
        case .deinterlacer: wire.put(1 as UInt8)
        case .device: wire.put(2 as UInt8)
        case .name(let name): wire.put(3 as UInt8, WireText(exactly: name, .names))
        case .plane(let offer): wire.put(4 as UInt8, offer)
        case .subtitles: wire.put(5 as UInt8)
        case .font(let wish): wire.put(6 as UInt8, wish)
        }
    }

    package init(from wire: inout WireReader) throws(WireError) {
        let number = try wire.take() as UInt8
        switch number {
        case 0: self = .file(path: try wire.text(.location) ?? "", folder: try wire.text(.location))
        case 1: self = .deinterlacer
        case 2: self = .device
        case 3: self = .name(try wire.text(.names) ?? "")
        case 4: self = .plane(try wire.take())
        case 5: self = .subtitles
        case 6: self = .font(try wire.take())
        default: throw .unknown("request", Int(number))
        }
    }
}

extension ReaderPreview: WireRecord {
    package static var blank: ReaderPreview { ReaderPreview(.blank, time: .zero, span: .zero ... .zero) }
    package static let fields: [WireField<Self>] = [.value(\.size), .value(\.time), .value(\.span)]
}

extension ReaderResult: WireValue {
    package func write(to wire: inout WireWriter) {
        switch self {
        case .previews(let areThere): wire.put(0 as UInt8, areThere)
        case .preview(let preview): wire.put(1 as UInt8, preview)
        case .thumbnail(let facts, let picture): wire.put(2 as UInt8, facts, picture)
        case .cover(let codec, let byteCount): wire.put(3 as UInt8, WireText(codec, .name), byteCount)
        case .noCover: wire.put(4 as UInt8)
        case .file: wire.put(5 as UInt8)
        case .times(let count): wire.put(7 as UInt8, count)
        case .noFile(let failure): wire.put(6 as UInt8, failure)
        }
    }

    package init(from wire: inout WireReader) throws(WireError) {
        let number = try wire.take() as UInt8
        switch number {
        case 0: self = .previews(try wire.take())
        case 1: self = .preview(try wire.take())
        case 2: self = .thumbnail(try wire.take(), try wire.take())
        case 3: self = .cover(codec: try wire.words(.name) ?? "", byteCount: try wire.take(in: 0...1 << 40))
        case 4: self = .noCover
        case 5: self = .file
        case 7: self = .times(try wire.take())
        case 6: self = .noFile(try wire.take())
        default: throw .unknown("result", Int(number))
        }
    }
}
