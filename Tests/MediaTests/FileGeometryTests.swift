import KioskPlatform
import KioskVocabulary
import TestSupport
import Testing

@testable import KioskMedia

/// Properties of a picture's presentation that a file states and libavformat does not report.
@Suite struct FileGeometryTests {
    private func geometry(_ bytes: [UInt8]) -> FileGeometry {
        FileGeometry(
            FileGeometry.Bytes(Int64(bytes.count)) { offset, count in Array(bytes[Int(offset)..<Int(offset) + count]) })
    }

    // MARK: EXIF

    /// A TIFF header with the tag Orientation after another tag.
    private static func exif(_ number: UInt8, isLittle: Bool) -> [UInt8] {
        isLittle
            ? Array("II*\0".utf8) + [8, 0, 0, 0, 2, 0, 0x00, 1, 3, 0, 1, 0, 0, 0, 9, 0, 0, 0]
                + [0x12, 1, 3, 0, 1, 0, 0, 0, number, 0, 0, 0, 0, 0, 0, 0]
            : Array("MM\0*".utf8) + [0, 0, 0, 8, 0, 2, 1, 0x00, 0, 3, 0, 0, 0, 1, 0, 9, 0, 0]
                + [1, 0x12, 0, 3, 0, 0, 0, 1, 0, number, 0, 0, 0, 0, 0, 0]
    }

    private static let turns: [(UInt8, Rotation, Bool)] = [
        (1, .none, false), (2, .none, true), (3, .clockwise180, false), (4, .clockwise180, true), (5, .clockwise270, true),
        (6, .clockwise90, false), (7, .clockwise90, true), (8, .clockwise270, false),
    ]

    @Test(arguments: turns) func theOrientationOfEXIF(number: UInt8, rotation: Rotation, isMirrored: Bool) {
        for isLittle in [true, false] {
            #expect(
                geometry(Self.exif(number, isLittle: isLittle)).orientation == Orientation(rotation: rotation, isMirrored: isMirrored))
        }
        #expect(geometry(Self.exif(number + 8, isLittle: true)).orientation == nil)
    }

    @Test func aPNGStandsUpright() throws {
        let plain = try Clips.bytes(Clips.named("still.png"))
        let turned = plain[..<33] + AssetFactsTests.chunk("eXIf", Self.exif(6, isLittle: false)) + plain[33...]
        try expectTurned(Clips.file("turned.png", Array(turned)))
    }

    @Test func aWebPStandsUpright() throws {
        var turned = try Clips.bytes(Clips.named("still.webp"))
        let exif = Self.exif(6, isLittle: true)
        turned += Array("EXIF".utf8) + [UInt8(exif.count), 0, 0, 0] + exif
        let size = turned.count - 8
        for index in 0..<4 { turned[4 + index] = UInt8(size >> (8 * index) & 255) }
        try expectTurned(Clips.file("turned.webp", turned))
    }

    @Test func aTIFFStandsUpright() throws {
        var bytes = try Clips.bytes(
            Clips.make("upright.tiff", ["-f", "lavfi", "-i", "testsrc2=s=320x180", "-frames:v", "1", "-pix_fmt", "rgb24", "-update", "1"]))
        #expect(bytes.starts(with: Array("II*\0".utf8)))
        func number(_ place: Int, _ count: Int) -> Int { (0..<count).reduce(0) { $0 | Int(bytes[place + $1]) << (8 * $1) } }
        func little(_ value: Int, _ count: Int) -> [UInt8] { (0..<count).map { UInt8(value >> (8 * $0) & 255) } }
        // Copies the directory to the end and inserts the orientation at its place: entries are sorted by tag.
        let directory = number(4, 4)
        var entries = (0..<number(directory, 2)).map { Array(bytes[directory + 2 + 12 * $0..<directory + 14 + 12 * $0]) }
        let place = try #require(entries.firstIndex { Int($0[0]) | Int($0[1]) << 8 > 0x112 })
        entries.insert([0x12, 1, 3, 0, 1, 0, 0, 0, 6, 0, 0, 0], at: place)
        if bytes.count % 2 != 0 { bytes.append(0) }
        let end = bytes.count
        bytes += little(entries.count, 2) + entries.joined() + little(0, 4)
        bytes.replaceSubrange(4..<8, with: little(end, 4))
        try expectTurned(Clips.file("turned.tiff", bytes))
    }

    private func expectTurned(_ path: String) throws {
        var reader = try MediaReader.open(path, samples: nil)
        let video = try #require(reader.description.video)
        #expect(video.orientation == Orientation(rotation: .clockwise90) && video.presentationSize == (180, 320), "\(path)")
        var orientation: Orientation?
        if let frame = reader.nextFrame() { orientation = frame.frame.orientation }
        #expect(orientation == video.orientation)
        let small = try #require(Thumbnail.make(of: path, fitting: 320, 320)?.picture)
        #expect((small.width, small.height) == (180, 320))
    }

    // MARK: AVIF

    private static func box(_ type: String, _ content: [UInt8]) -> [UInt8] {
        let size = content.count + 8
        return [UInt8(size >> 24 & 255), UInt8(size >> 16 & 255), UInt8(size >> 8 & 255), UInt8(size & 255)] + Array(type.utf8) + content
    }

    @Test(
        arguments: [
            ([("irot", 1)], Orientation(rotation: .clockwise270)), ([("irot", 2)], Orientation(rotation: .clockwise180)),
            ([("irot", 3)], Orientation(rotation: .clockwise90)), ([("imir", 1)], Orientation(isMirrored: true)),
            ([("imir", 0)], Orientation(rotation: .clockwise180, isMirrored: true)),
            // A quarter turn clockwise, then left and right exchanged: EXIF's 5.
            ([("irot", 3), ("imir", 1)], Orientation(rotation: .clockwise270, isMirrored: true)), ([], nil),
        ] as [([(String, UInt8)], Orientation?)])
    func theTurnOfAnAVIF(properties: [(String, UInt8)], orientation: Orientation?) {
        let boxes = Self.box("ispe", [UInt8](repeating: 0, count: 12)) + properties.flatMap { Self.box($0.0, [$0.1]) }
        let links: [UInt8] = [0, 1, 1, 1] + [0, 7, UInt8(properties.count + 1)] + (0...properties.count).map { UInt8($0 + 1) | 0x80 }
        let meta: [UInt8] =
            [0, 0, 0, 0] + Self.box("pitm", [0, 0, 0, 0, 0, 7])
            + Self.box(
                "iprp", Self.box("ipco", boxes) + Self.box("ipma", [0, 0, 0, 0, 0, 0, 0, 2] + links))
        let file = Self.box("ftyp", Array("avif\0\0\0\0".utf8)) + Self.box("meta", meta) + Self.box("mdat", [1, 2, 3])
        #expect(geometry(file).orientation == orientation)
        for count in 0..<file.count { _ = geometry(Array(file[..<count])) }
    }

    // MARK: Crops

    @Test func aMatroskaFileIsCropped() throws {
        // Replaces the stereo mode by the number of rows cropped at the bottom: 36 of 180.
        var bytes = try Clips.bytes(
            Clips.numbered("cropped-mono.mkv", frames: 10, sound: false, extra: ["-metadata:s:v:0", "stereo_mode=mono"]))
        let place = try #require(bytes.indices.dropLast(4).first { bytes[$0..<$0 + 4].elementsEqual([0x53, 0xB8, 0x81, 0]) })
        bytes.replaceSubrange(place..<place + 4, with: [0x54, 0xAA, 0x81, 36])
        try expect(Clips.file("cropped.mkv", bytes), width: 320, height: 144)
    }

    @Test func anMP4IsCropped() throws {
        func number(_ value: UInt8) -> [UInt8] { [0, 0, 0, value, 0, 0, 0, 1] }
        let path = try Self.describedMP4("cropped.mp4", Self.box("clap", number(160) + number(90) + number(0) + number(0)))
        try expect(path, width: 160, height: 90)
    }

    /// Makes an MP4 whose sample description contains `box`.
    private static func describedMP4(_ name: String, _ box: [UInt8]) throws -> String {
        var bytes = try Clips.bytes(
            Clips.numbered(
                "described-plain.mp4", frames: 10, sound: false,
                extra: [
                    "-movflags", "write_colr", "-color_primaries", "bt709", "-color_trc", "bt709", "-colorspace", "bt709", "-b:v", "1M",
                ]))
        // Replaces the boxes behind the codec's configuration.
        let names = ["colr", "pasp", "btrt"].compactMap { name in
            bytes.indices.dropLast(4).first { bytes[$0..<$0 + 4].elementsEqual(name.utf8) }
        }
        let begin = try #require(names.min()) - 4
        let size = names.reduce(0) { $0 + Int(bytes[$1 - 2]) << 8 + Int(bytes[$1 - 1]) }
        try #require(size >= box.count + 8)
        bytes.replaceSubrange(begin..<begin + size, with: box + Self.box("free", [UInt8](repeating: 0, count: size - box.count - 8)))
        return try Clips.file(name, bytes)
    }

    // MARK: Colours

    @Test("Dolby Vision whose colours are of no other standard is warned of", arguments: [5, 8]) func dolbyVision(profile: UInt8) throws {
        // Version 1.0, level 1, with metadata and a base layer.
        let record: [UInt8] = [1, 0, profile << 1, 1 << 3 | 1 << 2 | 1, profile == 8 ? 2 << 4 : 0] + [UInt8](repeating: 0, count: 19)
        let path = try Self.describedMP4("dolby-vision-\(profile).mp4", Self.box(profile == 5 ? "dvcC" : "dvvC", record))
        let reader = try MediaReader.open(path, samples: nil)
        #expect(reader.description.video?.dolbyVisionProfile == (profile == 5 ? 5 : nil))
        let problem = "is Dolby Vision (profile 5) and shown with green and purple colours: convert it to SDR (BT.709)"
        #expect(reader.problems.contains(problem) == (profile == 5), "\(reader.problems)")
    }

    private func expect(_ path: String, width: Int, height: Int) throws {
        var reader = try MediaReader.open(path, samples: nil, decoderThreads: 2)
        let video = try #require(reader.description.video)
        #expect(video.width == width && video.height == height && video.isCropped && video.pixelAspectRatio == 1)
        var count = 0
        while let frame = reader.nextFrame() {
            count += 1
            #expect(frame.frame.width == width && frame.frame.height == height)
        }
        #expect(count == 10)
        let small = try #require(Thumbnail.make(of: path, fitting: 320, 320)?.picture)
        #expect(small.width * height == small.height * width)
    }

    @Test func aCropThatMakesNoSenseIsNone() {
        var crop = FileGeometry.Crop()
        #expect(!crop.fits(width: 320, height: 180), "nothing is left out")
        crop.top = 36
        #expect(crop.fits(width: 320, height: 180) && !crop.fits(width: 320, height: 36))
        (crop.left, crop.right) = (-8, 8)
        #expect(!crop.fits(width: 320, height: 180))
        (crop.left, crop.right) = (300, 20)
        #expect(!crop.fits(width: 320, height: 180))
    }

    // MARK: Unreadable pictures

    @Test func aPictureOfAKindThatCannotBeReadSaysWhatItIs() throws {
        let heic = Self.box("ftyp", Array("heic\0\0\0\0mif1heic".utf8)) + Self.box("meta", [0, 0, 0, 0]) + Self.box("mdat", [1, 2, 3, 4])
        var animated = Array("RIFF".utf8) + [40, 0, 0, 0] + Array("WEBPVP8X".utf8) + [10, 0, 0, 0, 2, 0, 0, 0, 63, 0, 0, 63, 0, 0]
        animated += Array("ANIM".utf8) + [6, 0, 0, 0, 0, 0, 0, 0, 0, 0]
        for (name, bytes, kind) in [("a.heic", heic, UnreadableImage.heic), ("a.webp", animated, .animatedWebP)] {
            do throws(MediaError) {
                _ = try MediaReader.open(try! Clips.file(name, bytes), samples: nil)
                Issue.record("was opened")
            } catch {
                #expect(error.reason == .unreadableImage(kind), "\(error)")
            }
        }
        let still = try Clips.bytes(Clips.named("still.webp"))
        #expect(UnreadableImage(still) == nil && UnreadableImage([]) == nil && UnreadableImage(Array("ftyp".utf8)) == nil)
    }
}
