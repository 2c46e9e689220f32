import CKioskFFmpeg
import KioskMedia
import KioskPlatform
import KioskVocabulary
import TestSupport
import Testing

@testable import KioskReaderProtocol

/// Tests of the records that a reader writes and the player checks.
@Suite struct PictureRecordTests {
    /// An arena of 1 MiB, and at most 512 KiB for a picture.
    private static let rules = PictureRules(arenaBytes: 1 << 20, pictureMemory: 1 << 19)
    private static let slack = UInt64(PictureRules.slack)

    /// 320x180 pixels in three planes, with gaps.
    private static let good: PictureRecord = {
        var picture = PictureRecord(format: AV_PIX_FMT_YUV420P.rawValue, width: 320, height: 180)
        (picture.slot, picture.offsets, picture.strides) = (63, [0, 70_000, 90_000, 0], [384, 192, 192, 0])
        (picture.time, picture.duration, picture.nominalDuration) = (.seconds(3), .milliseconds(40), .milliseconds(20))
        (picture.aspectNumerator, picture.aspectDenominator) = (64, 45)
        (picture.range, picture.primaries, picture.transfer, picture.matrix, picture.chromaPlace) = (1, 9, 16, 9, 1)
        (picture.orientation, picture.flags) = (Orientation(rotation: .clockwise90, isMirrored: true), [.damaged, .interlaced])
        return picture
    }()

    /// Other pixel formats: one plane, two planes, a palette, and pixels smaller than a byte.
    private static let others: [PictureRecord] = [
        (AV_PIX_FMT_BGRA, 100, 10, [8, 0, 0, 0], [400, 0, 0, 0]), (AV_PIX_FMT_NV12, 101, 11, [0, 4096, 0, 0], [128, 128, 0, 0]),
        (AV_PIX_FMT_PAL8, 33, 3, [0, 512, 0, 0], [64, 1024, 0, 0]), (AV_PIX_FMT_MONOWHITE, 9, 3, [0, 0, 0, 0], [2, 0, 0, 0]),
        (AV_PIX_FMT_YUVA420P, 16, 16, [0, 1024, 2048, 4096], [16, 8, 8, 16]),
        (AV_PIX_FMT_GBRP10LE, 20, 20, [0, 1024, 2048, 0], [40, 40, 40, 0]),
    ].map { format, width, height, offsets, strides in
        var picture = PictureRecord(format: format.rawValue, width: width, height: height)
        (picture.offsets, picture.strides) = (SIMD4(offsets.map { UInt64($0) }), SIMD4(strides.map { Int32($0) }))
        return picture
    }

    @Test(arguments: [good] + others) func goodOnesPass(picture: PictureRecord) throws {
        #expect(try PictureRecord.checked(RawPicture(picture), Self.rules) == picture)
    }

    /// Changes to a good record, and the expected error of each.
    private static let hostile: [(change: @Sendable (inout RawPicture) -> Void, lie: ReaderLie)] = [
        ({ $0[RawPicture.place] = 1 }, .place(1)), ({ $0[RawPicture.place] = 2 }, .place(2)), ({ $0[RawPicture.place] = 255 }, .place(255)),
        ({ $0[RawPicture.slot] = 64 }, .slot(64)), ({ $0[RawPicture.slot] = .max }, .slot(.max)),
        ({ $0[RawPicture.buffer] = 64 }, .place(0)),
        ({ $0[RawPicture.format] = -1 }, .format(-1)), ({ $0[RawPicture.format] = .max }, .format(.max)),
        ({ $0[RawPicture.format] = .min }, .format(.min)),
        ({ $0[RawPicture.format] = AV_PIX_FMT_VAAPI.rawValue }, .format(AV_PIX_FMT_VAAPI.rawValue)),
        ({ $0[RawPicture.format] = AV_PIX_FMT_DRM_PRIME.rawValue }, .format(AV_PIX_FMT_DRM_PRIME.rawValue)),
        ({ $0[RawPicture.width] = 0 }, .size(width: 0, height: 180)), ({ $0[RawPicture.height] = 0 }, .size(width: 320, height: 0)),
        ({ $0[RawPicture.width] = 16385 }, .size(width: 16385, height: 180)),
        ({ $0[RawPicture.height] = .max }, .size(width: 320, height: .max)),
        ({ ($0[RawPicture.width], $0[RawPicture.height]) = (1024, 1024) }, .memory(3 << 19)),
        ({ $0[RawPicture.stride(0)] = 319 }, .stride(plane: 0, 319)), ({ $0[RawPicture.stride(1)] = 0 }, .stride(plane: 1, 0)),
        ({ $0[RawPicture.stride(2)] = -192 }, .stride(plane: 2, -192)), ({ $0[RawPicture.stride(0)] = .min }, .stride(plane: 0, .min)),
        ({ $0[RawPicture.stride(0)] = 1 << 20 + 1 }, .stride(plane: 0, 1 << 20 + 1)),
        ({ $0[RawPicture.stride(0)] = .max }, .stride(plane: 0, .max)),
        ({ $0[RawPicture.stride(0)] = 1 << 20 }, .plane(0, offset: 0)),
        ({ $0[RawPicture.offset(0)] = 1 << 20 }, .plane(0, offset: 1 << 20)),
        ({ $0[RawPicture.offset(1)] = .max }, .plane(1, offset: .max)),
        ({ $0[RawPicture.offset(2)] = 1 << 63 }, .plane(2, offset: 1 << 63)),
        ({ $0[RawPicture.offset(2)] = .max - 20_000 }, .plane(2, offset: .max - 20_000)),
        ({ $0[RawPicture.offset(3)] = 1 }, .plane(3, offset: 1)), ({ $0[RawPicture.stride(3)] = 1 }, .plane(3, offset: 0)),
        ({ $0[RawPicture.format] = AV_PIX_FMT_GRAY8.rawValue }, .plane(1, offset: 70_000)),
    ]

    @Test(arguments: hostile.indices) func hostileOnesAreRefused(index: Int) {
        let (change, lie) = Self.hostile[index]
        var raw = RawPicture(Self.good)
        change(&raw)
        #expect(throws: lie) { try PictureRecord.checked(raw, Self.rules) }
    }

    /// The last byte of a plane and the slack behind it must lie in the arena.
    @Test func aPlaneEndsWhereTheArenaEnds() throws {
        var picture = Self.good
        let last = UInt64(Self.rules.arenaBytes) - UInt64(192 * 89 + 160) - Self.slack
        picture.offsets[2] = last
        #expect(try PictureRecord.checked(RawPicture(picture), Self.rules) == picture)
        picture.offsets[2] = last + 1
        #expect(throws: ReaderLie.plane(2, offset: last + 1)) { try PictureRecord.checked(RawPicture(picture), Self.rules) }
        // The player reads a palette as a whole.
        var palette = Self.others[2]
        palette.offsets[1] = UInt64(Self.rules.arenaBytes) - 1024 - Self.slack
        #expect(try PictureRecord.checked(RawPicture(palette), Self.rules) == palette)
        palette.offsets[1] += 1
        #expect(throws: ReaderLie.self) { try PictureRecord.checked(RawPicture(palette), Self.rules) }
        palette.strides[1] = 1020
        #expect(throws: ReaderLie.stride(plane: 1, 1020)) { try PictureRecord.checked(RawPicture(palette), Self.rules) }
    }

    /// The player corrects values that only look or sound wrong.
    @Test func numbersAreClamped() throws {
        var raw = RawPicture(Self.good)
        (raw[RawPicture.time], raw[RawPicture.duration], raw[RawPicture.nominalDuration]) = (.min, .min, .min)
        (raw[RawPicture.aspectNumerator], raw[RawPicture.aspectDenominator]) = (.max, -1)
        (raw[RawPicture.range], raw[RawPicture.primaries], raw[RawPicture.transfer]) = (3, 23, 19)
        (raw[RawPicture.matrix], raw[RawPicture.chromaPlace], raw[RawPicture.orientation]) = (18, 7, 8)
        let picture = try PictureRecord.checked(raw, Self.rules)
        #expect(picture.time == -MediaTime.longestPlausible && picture.duration == .zero && picture.nominalDuration == nil)
        #expect(picture.aspectNumerator == 0 && picture.aspectDenominator == 1)
        #expect((picture.range, picture.primaries, picture.transfer, picture.matrix) == (0, 2, 2, 2))
        #expect(picture.chromaPlace == 0 && picture.orientation == .up)
        (raw[RawPicture.time], raw[RawPicture.duration]) = (.max, .max)
        #expect(try PictureRecord.checked(raw, Self.rules).duration == MediaTime.longestPlausible)
    }

    @Test func everyOrientationCrosses() throws {
        for rotation in Rotation.allCases {
            for isMirrored in [false, true] {
                var picture = Self.good
                picture.orientation = Orientation(rotation: rotation, isMirrored: isMirrored)
                #expect(try PictureRecord.checked(RawPicture(picture), Self.rules) == picture)
            }
        }
    }

    /// A picture outside the arena has no planes in the record.
    @Test(arguments: [PictureRecord.Place.planeBuffer, .surface, .handed]) func onlyTheArenaHasPlanes(place: PictureRecord.Place) throws {
        var rules = Self.rules
        rules.places = [.arena, place]
        var picture = Self.good
        // The format of a surface is that of its content.
        let format = place == .surface ? AV_PIX_FMT_NV12 : AV_PIX_FMT_DRM_PRIME
        (picture.place, picture.buffer, picture.format) = (place, 9, format.rawValue)
        let checked = try PictureRecord.checked(RawPicture(picture), rules)
        #expect(checked.place == place && checked.buffer == 9 && checked.offsets == .zero && checked.strides == .zero)
    }

    @Test func aSurfaceHasAFormatThatIsKnownAndASizeThatMayBe() {
        var rules = Self.rules
        rules.places = [.arena, .surface]
        func isTaken(_ format: AVPixelFormat, width: Int = 64, height: Int = 64) -> Bool {
            var picture = PictureRecord(format: format.rawValue, width: width, height: height)
            picture.place = .surface
            return (try? PictureRecord.checked(RawPicture(picture), rules)) != nil
        }
        for format in [AV_PIX_FMT_NV12, AV_PIX_FMT_NV16, AV_PIX_FMT_P010LE, AV_PIX_FMT_YUV420P] { #expect(isTaken(format)) }
        for format in [AV_PIX_FMT_DRM_PRIME, AV_PIX_FMT_VAAPI, AV_PIX_FMT_RGB24, AV_PIX_FMT_NONE] { #expect(!isTaken(format)) }
        #expect(!isTaken(AV_PIX_FMT_NV12, width: 16384, height: 16384) && !isTaken(AV_PIX_FMT_NV12, width: 0))
    }

    /// A random record is refused, or lies in the arena.
    @Test func randomRecordsTrapNothing() {
        var random = Proof.Random()
        var isInside = true
        for _ in 0..<100_000 {
            var raw = RawPicture(Self.good)
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                let index = Int.random(in: raw.words.indices, using: &random)
                raw.words[index] =
                    Bool.random(using: &random) ? random.next() : raw.words[index] ^ (1 << UInt64.random(in: 0..<64, using: &random))
            }
            guard let picture = try? PictureRecord.checked(raw, Self.rules),
                let layout = PlaneExtents(format: picture.format, width: picture.width, height: picture.height)
            else { continue }
            isInside =
                isInside
                && (0..<layout.planeCount).allSatisfy { plane in
                    let length = UInt64(picture.strides[plane]) * UInt64(layout.rows[plane] - 1) + UInt64(layout.rowBytes[plane])
                    return picture.offsets[plane] + length + Self.slack <= UInt64(Self.rules.arenaBytes)
                }
        }
        #expect(isInside)
    }

    /// The fields do not overlap: each returns its value after all have been filled.
    @Test func fieldsAreApart() {
        var raw = RawPicture()
        func fill<Number>(_ field: RawPicture.Field<Number>) { raw[field] = Number(truncatingIfNeeded: ~0) }
        let before = (0..<16).map { raw.words[$0].nonzeroBitCount }.reduce(0, +)
        fill(RawPicture.kind)
        fill(RawPicture.place)
        fill(RawPicture.slot)
        fill(RawPicture.format)
        fill(RawPicture.width)
        fill(RawPicture.height)
        for plane in 0..<4 {
            fill(RawPicture.offset(plane))
            fill(RawPicture.stride(plane))
        }
        for field in [RawPicture.time, RawPicture.duration, RawPicture.nominalDuration] { fill(field) }
        for field in [RawPicture.aspectNumerator, RawPicture.aspectDenominator] { fill(field) }
        for field in [
            RawPicture.range, RawPicture.primaries, RawPicture.transfer, RawPicture.matrix, RawPicture.chromaPlace, RawPicture.orientation,
        ] { fill(field) }
        fill(RawPicture.flags)
        fill(RawPicture.buffer)
        let bits = (0..<16).map { raw.words[$0].nonzeroBitCount }.reduce(0, +)
        #expect(before == 0 && bits == 8 * (2 + 2 + 12 + 32 + 16 + 24 + 8 + 6 + 2 + 2))
    }
}
