import KioskMedia
import KioskPlatform
import KioskVocabulary

// A picture is a record in the shared memory, which states the place of its planes in the arena. The reader chooses the place, and a record
// has the numbers of its AVFrame. The player copies a record once, and checks the copy. A picture on the screen lies in memory that the
// reader may still change, so the worst case is a wrong picture.

/// A record as stored in the shared memory. Check it before use.
package struct RawPicture: Sendable {
    static let byteCount = 128
    var words = InlineArray<16, UInt64>(repeating: 0)

    /// A number in a record, by its byte offset; none crosses a word.
    struct Field<Number: FixedWidthInteger>: Sendable {
        let offset: Int
    }

    /// An end record uses none of the fields after the first.
    static let kind = Field<UInt8>(offset: 0), place = Field<UInt8>(offset: 1), slot = Field<UInt16>(offset: 2)
    static let format = Field<Int32>(offset: 4), width = Field<UInt32>(offset: 8), height = Field<UInt32>(offset: 12)
    static let time = Field<Int64>(offset: 64), duration = Field<Int64>(offset: 72), nominalDuration = Field<Int64>(offset: 80)
    static let aspectNumerator = Field<Int32>(offset: 88), aspectDenominator = Field<Int32>(offset: 92)
    static let range = Field<UInt8>(offset: 96), primaries = Field<UInt8>(offset: 97), transfer = Field<UInt8>(offset: 98)
    static let matrix = Field<UInt8>(offset: 99), chromaPlace = Field<UInt8>(offset: 100), orientation = Field<UInt8>(offset: 101)
    static let flags = Field<UInt16>(offset: 102), buffer = Field<UInt16>(offset: 104)
    static func offset(_ plane: Int) -> Field<UInt64> { Field(offset: 16 + 8 * plane) }
    static func stride(_ plane: Int) -> Field<Int32> { Field(offset: 48 + 4 * plane) }
    // From 108 on there is room for the luminance of a mastering display.

    subscript<Number>(_ field: Field<Number>) -> Number {
        get { Number(truncatingIfNeeded: words[field.offset >> 3] >> (UInt64(field.offset & 7) * 8)) }
        set {
            let mask = UInt64.max >> UInt64(64 - Number.bitWidth), shift = UInt64(field.offset & 7) * 8
            let word = words[field.offset >> 3] & ~(mask << shift)
            words[field.offset >> 3] = word | (UInt64(truncatingIfNeeded: newValue) & mask) << shift
        }
    }

    /// The end of the pictures.
    static var end: RawPicture {
        var raw = RawPicture()
        raw[kind] = Kind.end.rawValue
        return raw
    }

    enum Kind: UInt8 { case picture, end }
}

/// A picture from a reader.
package struct PictureRecord: Hashable, Sendable {
    /// The kind of memory that it lies in.
    package enum Place: UInt8, CaseIterable, Sendable {
        /// The arena.
        case arena
        /// A display buffer that the player has lent.
        case planeBuffer
        /// A surface of a hardware decoder.
        case surface
        /// The player takes it by its slot from the reader in the same process. Only the times of the record count.
        case handed
    }

    package struct Flags: OptionSet, Hashable, Sendable {
        package let rawValue: UInt16
        package init(rawValue: UInt16) { self.rawValue = rawValue }

        /// The decoder had to conceal errors.
        package static let damaged = Flags(rawValue: 1)
        /// ``VideoFrame/takesPlaneMemory``.
        package static let takesPlaneMemory = Flags(rawValue: 2)
        /// ``VideoFrame/isPooled``.
        package static let pooled = Flags(rawValue: 4)
        package static let interlaced = Flags(rawValue: 8)
        /// ``MediaReader/isTooSlowForFields``.
        package static let tooSlowForFields = Flags(rawValue: 16)
    }

    /// The reader's number of it, which the player returns; below ``ControlLayout/pictureCount``.
    package var slot = 0
    package var place = Place.arena
    /// The number of the buffer or surface, if it lies in one.
    package var buffer = 0
    /// AVPixelFormat.
    package var format: Int32
    /// Pixels across and down.
    package var width: Int, height: Int
    /// The offsets of its planes in the arena, and bytes from row to row; 0 for missing planes. A palette is a plane of one row.
    package var offsets = SIMD4<UInt64>(), strides = SIMD4<Int32>()
    package var time = MediaTime.zero, duration = MediaTime.zero
    /// ``MediaReader/nominalFrameDuration`` as of this picture.
    package var nominalDuration: MediaTime?
    /// Width of a pixel divided by its height; 0/1 if unspecified.
    package var aspectNumerator: Int32 = 0, aspectDenominator: Int32 = 1
    /// AVColorRange, AVColorPrimaries, AVColorTransferCharacteristic, AVColorSpace, AVChromaLocation.
    package var range: UInt8 = 0, primaries: UInt8 = 2, transfer: UInt8 = 2, matrix: UInt8 = 2, chromaPlace: UInt8 = 0
    package var orientation = Orientation.up
    package var flags: Flags = []

    /// Creates a picture at offset 0 of the arena with no duration.
    package init(format: Int32, width: Int, height: Int) { (self.format, self.width, self.height) = (format, width, height) }
}

/// The limits to check a reader's pictures against.
package struct PictureRules: Hashable, Sendable {
    /// Bytes of its arena.
    package var arenaBytes: Int
    /// The most bytes of a picture.
    package var pictureMemory: Int
    /// The places allowed for its pictures.
    package var places: Set<PictureRecord.Place>

    package init(arenaBytes: Int, pictureMemory: Int, places: Set<PictureRecord.Place> = [.arena]) {
        (self.arenaBytes, self.pictureMemory, self.places) = (arenaBytes, pictureMemory, places)
    }

    static let longestSide = 16384
    static let longestStride = 1 << 20
    /// Bytes that must follow a plane: libswscale and libavcodec read beyond the end of a row.
    package static let slack = 4096
}

// MARK: As a record

extension RawPicture {
    init(_ picture: PictureRecord) {
        self[Self.kind] = Kind.picture.rawValue
        self[Self.place] = picture.place.rawValue
        self[Self.slot] = UInt16(clamping: picture.slot)
        self[Self.buffer] = UInt16(clamping: picture.buffer)
        self[Self.format] = picture.format
        (self[Self.width], self[Self.height]) = (UInt32(clamping: picture.width), UInt32(clamping: picture.height))
        for plane in 0..<4 { (self[Self.offset(plane)], self[Self.stride(plane)]) = (picture.offsets[plane], picture.strides[plane]) }
        (self[Self.time], self[Self.duration]) = (picture.time.nanoseconds, picture.duration.nanoseconds)
        self[Self.nominalDuration] = picture.nominalDuration?.nanoseconds ?? 0
        (self[Self.aspectNumerator], self[Self.aspectDenominator]) = (picture.aspectNumerator, picture.aspectDenominator)
        (self[Self.range], self[Self.primaries], self[Self.transfer]) = (picture.range, picture.primaries, picture.transfer)
        (self[Self.matrix], self[Self.chromaPlace]) = (picture.matrix, picture.chromaPlace)
        self[Self.orientation] = UInt8(picture.orientation.rotation.rawValue / 90) | (picture.orientation.isMirrored ? 4 : 0)
        self[Self.flags] = picture.flags.rawValue
    }
}

extension PictureRecord {
    /// Returns the picture of a record, or throws its fault. The caller checks whether its slot is free.
    static func checked(_ raw: RawPicture, _ rules: PictureRules) throws(ReaderLie) -> PictureRecord {
        guard let place = Place(rawValue: raw[RawPicture.place]), rules.places.contains(place) else {
            throw .place(raw[RawPicture.place])
        }
        let slot = raw[RawPicture.slot], buffer = raw[RawPicture.buffer]
        guard slot < ControlLayout.pictureCount else { throw .slot(slot) }
        guard buffer < ControlLayout.pictureCount else { throw .place(place.rawValue) }
        let sides = 1...UInt32(PictureRules.longestSide), width = raw[RawPicture.width], height = raw[RawPicture.height]
        guard sides ~= width, sides ~= height else { throw .size(width: width, height: height) }
        var picture = PictureRecord(format: raw[RawPicture.format], width: Int(width), height: Int(height))
        (picture.slot, picture.place, picture.buffer) = (Int(slot), place, Int(buffer))
        // The player chose the place of the others, or another message describes it.
        if place == .arena { try picture.takePlanes(raw, rules) }
        if place == .surface { try picture.checkSurface(rules) }
        picture.takeTimes(raw)
        picture.takeLooks(raw)
        return picture
    }

    private mutating func takePlanes(_ raw: RawPicture, _ rules: PictureRules) throws(ReaderLie) {
        guard let layout = PlaneExtents(format: format, width: width, height: height) else { throw .format(format) }
        guard layout.byteCount <= rules.pictureMemory else { throw .memory(layout.byteCount) }
        for plane in 0..<4 {
            let offset = raw[RawPicture.offset(plane)], stride = raw[RawPicture.stride(plane)]
            guard plane < layout.planeCount else {
                guard offset == 0, stride == 0 else { throw .plane(plane, offset: offset) }
                continue
            }
            let (row, rows) = (layout.rowBytes[plane], layout.rows[plane])
            guard Int(stride) >= row, stride <= PictureRules.longestStride else { throw .stride(plane: plane, stride) }
            // A stride has 20 bits and a side 14, so this is exact.
            let length = UInt64(clamping: Int(stride) * (rows - 1) + row + PictureRules.slack)
            let (end, overflow) = offset.addingReportingOverflow(length)
            guard !overflow, end <= UInt64(clamping: rules.arenaBytes) else { throw .plane(plane, offset: offset) }
            (offsets[plane], strides[plane]) = (offset, stride)
        }
    }

    private func checkSurface(_ rules: PictureRules) throws(ReaderLie) {
        guard SurfaceFormat(pixelFormat: format) != nil else { throw .format(format) }
        // The smallest size of these formats.
        let least = width * height * 3 / 2
        guard least <= rules.pictureMemory else { throw .memory(least) }
    }

    private mutating func takeTimes(_ raw: RawPicture) {
        let longest = MediaTime.longestPlausible.nanoseconds
        time = MediaTime(nanoseconds: min(max(raw[RawPicture.time], -longest), longest))
        duration = MediaTime(nanoseconds: min(max(raw[RawPicture.duration], 0), longest))
        let nominal = min(raw[RawPicture.nominalDuration], longest)
        nominalDuration = nominal > 0 ? MediaTime(nanoseconds: nominal) : nil
    }

    private mutating func takeLooks(_ raw: RawPicture) {
        let numerator = raw[RawPicture.aspectNumerator], denominator = raw[RawPicture.aspectDenominator]
        if 1...65535 ~= numerator, 1...65535 ~= denominator { (aspectNumerator, aspectDenominator) = (numerator, denominator) }
        func number(_ field: RawPicture.Field<UInt8>, atMost last: UInt8, else unspecified: UInt8) -> UInt8 {
            raw[field] <= last ? raw[field] : unspecified
        }
        range = number(RawPicture.range, atMost: 2, else: 0)
        primaries = number(RawPicture.primaries, atMost: 22, else: 2)
        transfer = number(RawPicture.transfer, atMost: 18, else: 2)
        matrix = number(RawPicture.matrix, atMost: 17, else: 2)
        chromaPlace = number(RawPicture.chromaPlace, atMost: 6, else: 0)
        let turn = number(RawPicture.orientation, atMost: 7, else: 0)
        orientation = Orientation(rotation: Rotation(rawValue: Int(turn & 3) * 90) ?? .none, isMirrored: turn & 4 != 0)
        flags = Flags(rawValue: raw[RawPicture.flags])
    }
}
