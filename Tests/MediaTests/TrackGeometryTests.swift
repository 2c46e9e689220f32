import KioskPlatform
import TestSupport
import Testing

@testable import KioskMedia

/// The geometry of stored pictures if the container, the codec and the picture disagree.
@Suite struct TrackGeometryTests {
    /// Makes a clip of 360x288 whose codec says square pixels, in a container that says 16:9.
    private func wide(_ suffix: String, codec: [String] = ["-c:v", "libx264"]) throws -> String {
        let square = try Clips.make(
            "square.\(suffix)", ["-f", "lavfi", "-i", "testsrc2=s=360x288:r=25:d=0.4,setsar=1", "-pix_fmt", "yuv420p"] + codec)
        return try Clips.make("wide.\(suffix)", ["-i", square, "-c", "copy", "-aspect", "16:9"])
    }

    @Test(arguments: [
        ("mkv", ["-c:v", "libx264"]), ("mp4", ["-c:v", "libx264"]), ("mov", ["-c:v", "libx264"]), ("webm", ["-c:v", "libvpx"]),
    ])
    func theContainerTellsTheShapeOfPixels(suffix: String, codec: [String]) throws {
        let path = try wide(suffix, codec: codec)
        var reader = try MediaReader.open(path, samples: nil)
        let listed = try #require(reader.description.video)
        #expect(abs(listed.pixelAspectRatio - 64.0 / 45) < 0.01 && listed.presentationSize == (512, 288))
        let drawn = reader.nextFrame()?.frame.pixelAspectRatio
        #expect(drawn == listed.pixelAspectRatio)
        let small = try #require(Thumbnail.make(of: path, fitting: 320, 320)?.picture)
        #expect((small.width, small.height) == (320, 180))
    }

    @Test func theDensityOfAStillIsForPrinting() throws {
        var jpeg = try Clips.bytes(
            Clips.make("density.jpg", ["-f", "lavfi", "-i", "testsrc2=s=320x180", "-frames:v", "1", "-update", "1"]))
        #expect(jpeg[6..<10].elementsEqual("JFIF".utf8))
        jpeg.replaceSubrange(13..<18, with: [1, 1, 44, 0, 1])
        try expectSquare(Clips.file("300x1.jpg", jpeg))
        let png = try Clips.bytes(Clips.make("density.png", ["-f", "lavfi", "-i", "testsrc2=s=320x180", "-frames:v", "1", "-update", "1"]))
        let density = AssetFactsTests.chunk("pHYs", [0, 0, 0, 72, 0, 0, 0, 144, 0])
        try expectSquare(Clips.file("72x144.png", png[..<33] + density + png[33...]))
    }

    private func expectSquare(_ path: String) throws {
        var reader = try MediaReader.open(path, samples: nil)
        let video = try #require(reader.description.video)
        let drawn = reader.nextFrame()?.frame.pixelAspectRatio
        #expect(video.pixelAspectRatio == 1 && drawn == 1, "\(path)")
    }
}
