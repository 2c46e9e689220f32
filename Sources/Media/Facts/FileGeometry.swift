import CKioskFFmpeg
import KioskPlatform
import KioskVocabulary

// The display geometry in a local file's headers, as far as libavformat does not pass it on. It is the EXIF orientation of PNG, WebP and
// TIFF, and the rotation (`irot`, `imir`) of AVIF. It is also the visible part of a video (PixelCrop of Matroska, `clap` of MP4). Each
// value is checked when it is read. An invalid value counts as missing.

/// The display geometry of a file's pictures.
struct FileGeometry: Hashable, Sendable {
    /// The rotation that makes a stored picture upright; nil if the file does not say.
    var orientation: Orientation?
    /// The visible parts of the picture tracks, each by its place among them, from 0, or by its id.
    var crops: [Crop] = []
    /// The length by the header of an MP4, in seconds; nil if the header has none, as for a fragmented film.
    var seconds: Double?

    /// The visible part of one track's pictures.
    struct Crop: Hashable, Sendable {
        /// The place among the picture tracks, or the container's id; one of them is nil.
        var place: Int?, id: Int?
        /// The pixels cut off at each edge.
        var left = 0, top = 0, right = 0, bottom = 0
        /// The shape of the visible part in Matroska: pixels across and down of the display; nil if not given.
        var display: PixelSize?

        /// Whether the crop removes something, and leaves something of a picture of this size.
        func fits(width: Int, height: Int) -> Bool {
            let edges = [left, top, right, bottom]
            return edges.allSatisfy { 0...65536 ~= $0 } && edges.contains { $0 > 0 } && left + right < width && top + bottom < height
        }
    }

    init() {}

    /// Reads the local file at `path`, in libavformat's format `format`. Blocks to read its headers.
    init(_ path: String, format: String, interruption: Interruption) {
        self.init()
        let kinds = ["png_pipe", "webp_pipe", "tiff_pipe", "image2", "mov", "matroska"]
        guard kinds.contains(where: format.hasPrefix), let file = try? BlockFile(path, interruption: interruption) else { return }
        self = FileGeometry(Bytes(file.size) { offset, count in file.bytes(at: offset, count: count) })
    }

    /// Reads the geometry from these bytes of a file.
    init(_ bytes: Bytes) {
        let beginning = bytes.at(0, 12) ?? []
        if beginning.starts(with: [0x89, 0x50, 0x4E, 0x47]) {
            orientation = Self.exif(ofPNG: bytes)
        } else if beginning.starts(with: "RIFF".utf8), beginning.dropFirst(8).starts(with: "WEBP".utf8) {
            orientation = Self.exif(ofWebP: bytes)
        } else if beginning.starts(with: "II*\0".utf8) || beginning.starts(with: "MM\0*".utf8) {
            orientation = Self.exif(bytes, at: 0)
        } else if beginning.starts(with: [0x1A, 0x45, 0xDF, 0xA3]) {
            crops = Self.crops(ofMatroska: bytes)
        } else if beginning.dropFirst(4).starts(with: "ftyp".utf8) {
            let isImage = ["avif", "avis", "mif1", "msf1"].contains { beginning.dropFirst(8).elementsEqual($0.utf8) }
            if isImage {
                orientation = Self.orientation(ofHEIF: bytes)
            } else if let movie = Self.box("moov", of: bytes) {
                (crops, seconds) = (Self.crops(of: movie, bytes), Self.seconds(of: movie, bytes))
            }
        }
    }

    /// The bytes of a file, by offset.
    struct Bytes {
        let count: Int64
        private let read: (Int64, Int) -> [UInt8]?

        init(_ count: Int64, _ read: @escaping (Int64, Int) -> [UInt8]?) { (self.count, self.read) = (count, read) }

        /// Returns `count` bytes at an offset; nil if there are fewer.
        func at(_ offset: Int64, _ count: Int) -> [UInt8]? {
            guard offset >= 0, count >= 0, offset <= self.count - Int64(count) else { return nil }
            return read(offset, count).flatMap { $0.count == count ? $0 : nil }
        }

        /// Returns a number of up to 7 bytes, big-endian unless `isLittle`.
        func number(_ offset: Int64, _ count: Int, isLittle: Bool = false) -> Int? {
            at(offset, count).map { bytes in (isLittle ? bytes.reversed() : bytes).reduce(0) { $0 << 8 | Int($1) } }
        }
    }
}

// MARK: EXIF

extension FileGeometry {
    /// The most chunks, boxes or entries that a reader looks at.
    private static let mostParts = 1000

    private static func exif(ofPNG bytes: Bytes) -> Orientation? {
        var place: Int64 = 8
        for _ in 0..<mostParts {
            guard let length = bytes.number(place, 4), let type = bytes.at(place + 4, 4) else { return nil }
            if type.elementsEqual("eXIf".utf8) { return exif(bytes, at: place + 8) }
            place += 12 + Int64(length)
        }
        return nil
    }

    private static func exif(ofWebP bytes: Bytes) -> Orientation? {
        var place: Int64 = 12
        for _ in 0..<mostParts {
            guard let type = bytes.at(place, 4), let length = bytes.number(place + 4, 4, isLittle: true) else { return nil }
            if type.elementsEqual("EXIF".utf8) {
                // Some writers add the prefix of a JPEG's EXIF.
                let hasName = bytes.at(place + 8, 6)?.elementsEqual("Exif\0\0".utf8) ?? false
                return exif(bytes, at: place + (hasName ? 14 : 8))
            }
            place += 8 + Int64(length + length % 2)
        }
        return nil
    }

    /// Returns the orientation in a TIFF header at `base`, from which its offsets count.
    private static func exif(_ bytes: Bytes, at base: Int64) -> Orientation? {
        guard let mark = bytes.at(base, 4) else { return nil }
        let isLittle = mark.elementsEqual("II*\0".utf8)
        guard isLittle || mark.elementsEqual("MM\0*".utf8), let first = bytes.number(base + 4, 4, isLittle: isLittle),
            let count = bytes.number(base + Int64(first), 2, isLittle: isLittle)
        else { return nil }
        for entry in 0..<min(count, mostParts) {
            let place = base + Int64(first) + 2 + Int64(entry) * 12
            // The tag Orientation, one number of two bytes.
            guard let tag = bytes.number(place, 2, isLittle: isLittle) else { return nil }
            if tag == 0x112 { return bytes.number(place + 8, 2, isLittle: isLittle).flatMap(Orientation.init(exif:)) }
        }
        return nil
    }
}

extension Orientation {
    /// Creates an orientation from its EXIF number, 1 to 8.
    init?(exif number: Int) {
        let known: [(Rotation, Bool)] = [
            (.none, false), (.none, true), (.clockwise180, false), (.clockwise180, true), (.clockwise270, true), (.clockwise90, false),
            (.clockwise90, true), (.clockwise270, false),
        ]
        guard known.indices ~= number - 1 else { return nil }
        self.init(rotation: known[number - 1].0, isMirrored: known[number - 1].1)
    }
}

// MARK: Boxes of MP4 and HEIF

extension FileGeometry {
    private struct Box {
        var type: String
        var begin: Int64, end: Int64
    }

    /// Returns a top-level box. It is among the first 16; a fragmented film has a thousand others.
    private static func box(_ type: String, of bytes: Bytes) -> Box? {
        boxes(bytes, 0, bytes.count, until: type, most: 16).last { $0.type == type }
    }

    /// Returns the boxes between two offsets; ends after the first of type `wanted`.
    private static func boxes(
        _ bytes: Bytes, _ begin: Int64, _ end: Int64, until wanted: String? = nil, most: Int = mostParts
    ) -> [Box] {
        var boxes: [Box] = []
        var place = begin
        while place + 8 <= end, boxes.count < most, boxes.last.map({ $0.type != wanted }) ?? true {
            guard let short = bytes.number(place, 4), let type = bytes.at(place + 4, 4) else { break }
            var (size, header) = (Int64(short), Int64(8))
            if short == 1 {
                // The length has 8 bytes; 7 are enough for any file.
                guard bytes.number(place + 8, 1) == 0, let long = bytes.number(place + 9, 7) else { break }
                (size, header) = (Int64(long), 16)
            }
            if short == 0 { size = end - place }
            guard size >= header, size <= end - place else { break }
            boxes.append(Box(type: String(decoding: type, as: UTF8.self), begin: place + header, end: place + size))
            place += size
        }
        return boxes
    }

    private static func box(_ path: String..., in outer: Box, of bytes: Bytes) -> Box? {
        var box = outer
        for type in path {
            // Skips the start of a full box.
            let skipped: Int64 = box.type == "meta" ? 4 : box.type == "stsd" ? 8 : 0
            guard let inner = boxes(bytes, box.begin + skipped, box.end).first(where: { $0.type == type }) else { return nil }
            box = inner
        }
        return box
    }

    private static func seconds(of movie: Box, _ bytes: Bytes) -> Double? {
        guard let header = box("mvhd", in: movie, of: bytes), let version = bytes.number(header.begin, 1) else { return nil }
        let place = header.begin + (version == 1 ? 20 : 12)
        // If the length has 8 bytes, 7 are enough. All ones mean none.
        guard let scale = bytes.number(place, 4), scale > 0,
            let ticks = version == 1 ? bytes.number(place + 5, 7) : bytes.number(place + 4, 4), ticks > 0,
            version == 1 ? bytes.number(place + 4, 1) == 0 : ticks != UInt32.max
        else { return nil }
        return Double(ticks) / Double(scale)
    }

    private static func crops(of movie: Box, _ bytes: Bytes) -> [Crop] {
        boxes(bytes, movie.begin, movie.end).filter { $0.type == "trak" }.compactMap { track in
            guard let header = box("tkhd", in: track, of: bytes), let version = bytes.number(header.begin, 1),
                let id = bytes.number(header.begin + (version == 1 ? 20 : 12), 4),
                let descriptions = box("mdia", "minf", "stbl", "stsd", in: track, of: bytes),
                box("mdia", "minf", "vmhd", in: track, of: bytes) != nil,
                let entry = boxes(bytes, descriptions.begin + 8, descriptions.end).first,
                let width = bytes.number(entry.begin + 24, 2), let height = bytes.number(entry.begin + 26, 2),
                let aperture = boxes(bytes, entry.begin + 78, entry.end).first(where: { $0.type == "clap" })
            else { return nil }
            return crop(bytes, aperture, id: id, width: width, height: height)
        }
    }

    /// Reads the clean aperture: width, height, and the offset of its centre from the picture's. Each is a fraction of two 32-bit numbers.
    private static func crop(_ bytes: Bytes, _ aperture: Box, id: Int, width: Int, height: Int) -> Crop? {
        let parts = (0..<4).compactMap { part -> Double? in
            let place = aperture.begin + Int64(part * 8)
            guard let above = bytes.number(place, 4), let below = bytes.number(place + 4, 4), below != 0 else { return nil }
            return Double(Int32(truncatingIfNeeded: above)) / Double(below)
        }
        guard parts.count == 4, 1...Double(width) ~= parts[0], 1...Double(height) ~= parts[1], abs(parts[2]) < 65536, abs(parts[3]) < 65536
        else { return nil }
        var crop = Crop(id: id)
        crop.left = Int(saturating: ((Double(width) - parts[0]) / 2 + parts[2]).rounded())
        crop.top = Int(saturating: ((Double(height) - parts[1]) / 2 + parts[3]).rounded())
        crop.right = width - Int(saturating: parts[0].rounded()) - crop.left
        crop.bottom = height - Int(saturating: parts[1].rounded()) - crop.top
        return crop
    }

    /// Returns the orientation of the primary item from its properties, in their order. They are `irot` (counter-clockwise quarters) and
    /// `imir` (0 exchanges top and bottom, 1 left and right).
    private static func orientation(ofHEIF bytes: Bytes) -> Orientation? {
        guard let meta = box("meta", of: bytes),
            let primary = box("pitm", in: meta, of: bytes), let version = bytes.number(primary.begin, 1),
            let item = bytes.number(primary.begin + 4, version == 0 ? 2 : 4),
            let container = box("iprp", "ipco", in: meta, of: bytes), let links = box("iprp", "ipma", in: meta, of: bytes)
        else { return nil }
        let properties = boxes(bytes, container.begin, container.end)
        guard let linksVersion = bytes.number(links.begin, 1), let flags = bytes.number(links.begin + 1, 3),
            let count = bytes.number(links.begin + 4, 4)
        else { return nil }
        var place = links.begin + 8
        for _ in 0..<min(count, mostParts) {
            let (idSize, indexSize) = (linksVersion == 0 ? 2 : 4, flags & 1 == 0 ? 1 : 2)
            guard let id = bytes.number(place, idSize), let linked = bytes.number(place + Int64(idSize), 1) else { return nil }
            place += Int64(idSize) + 1
            if id == item {
                let indices = (0..<linked).compactMap {
                    bytes.number(place + Int64($0 * indexSize), indexSize).map { $0 & (indexSize == 1 ? 0x7F : 0x7FFF) }
                }
                return orientation(indices.filter { properties.indices ~= $0 - 1 }.map { properties[$0 - 1] }, bytes)
            }
            place += Int64(linked * indexSize)
        }
        return nil
    }

    private static func orientation(_ properties: [Box], _ bytes: Bytes) -> Orientation? {
        var orientation: Orientation?
        for property in properties {
            guard ["irot", "imir"].contains(property.type), let value = bytes.number(property.begin, 1) else { continue }
            let before = orientation ?? .up
            if property.type == "irot" {
                orientation = Orientation(rotation: before.rotation + Rotation(quarters: 4 - value & 3), isMirrored: before.isMirrored)
            } else {
                // A left-right exchange after a rotation equals one before the opposite rotation. Top and bottom add half a turn.
                let back = Rotation(quarters: 4 - before.rotation.rawValue / 90)
                orientation = Orientation(
                    rotation: back + (value & 1 == 0 ? Rotation.clockwise180 : Rotation.none), isMirrored: !before.isMirrored)
            }
        }
        return orientation
    }
}

extension Rotation {
    fileprivate init(quarters: Int) { self = Rotation(rawValue: quarters % 4 * 90) ?? Rotation.none }
}

// MARK: Matroska

extension FileGeometry {
    /// Returns the Matroska elements between two offsets, each with the bounds of its content; up to the first cluster.
    private static func elements(_ bytes: Bytes, _ begin: Int64, _ end: Int64) -> [(id: Int, begin: Int64, end: Int64)] {
        var elements: [(id: Int, begin: Int64, end: Int64)] = []
        var place = begin
        while place < end, elements.count < mostParts {
            guard let first = bytes.number(place, 1) else { break }
            let idLength = UInt8(first).leadingZeroBitCount + 1
            guard idLength <= 4, let id = bytes.number(place, idLength), let mark = bytes.number(place + Int64(idLength), 1) else { break }
            let length = UInt8(mark).leadingZeroBitCount + 1
            guard length <= 8, id != 0x1F43_B675 else { break }
            let content = place + Int64(idLength + length)
            var size = Int64(mark & (0xFF >> length))
            var isUnknown = mark == 0xFF >> (length - 1)
            for byte in bytes.at(place + Int64(idLength) + 1, length - 1) ?? [] {
                if byte != 0xFF { isUnknown = false }
                size = size << 8 | Int64(byte)
            }
            let last = isUnknown || size > end - content ? end : content + size
            elements.append((id, content, last))
            place = last
        }
        return elements
    }

    private static func crops(ofMatroska bytes: Bytes) -> [Crop] {
        guard let segment = elements(bytes, 0, bytes.count).first(where: { $0.id == 0x1853_8067 }),
            let tracks = elements(bytes, segment.begin, segment.end).first(where: { $0.id == 0x1654_AE6B })
        else { return [] }
        var crops: [Crop] = []
        for track in elements(bytes, tracks.begin, tracks.end) where track.id == 0xAE {
            guard let video = elements(bytes, track.begin, track.end).first(where: { $0.id == 0xE0 }) else { continue }
            var crop = Crop(place: crops.count)
            var display: (width: Int?, height: Int?), unit = 0
            for element in elements(bytes, video.begin, video.end) where element.end - element.begin <= 7 {
                guard let value = bytes.number(element.begin, Int(element.end - element.begin)) else { continue }
                switch element.id {
                case 0x54AA: crop.bottom = value
                case 0x54BB: crop.top = value
                case 0x54CC: crop.left = value
                case 0x54DD: crop.right = value
                case 0x54B0: display.width = value
                case 0x54BA: display.height = value
                case 0x54B2: unit = value
                default: break
                }
            }
            if let width = display.width, let height = display.height, 1...65536 ~= width, 1...65536 ~= height, unit < 4 {
                crop.display = PixelSize(width: width, height: height)
            }
            crops.append(crop)
        }
        return crops
    }
}
