import Bed
import Testing

extension BedTests {
    /// The place of the picture, judged by the marks in its corners: clockwise from the top left red, green, yellow, blue.
    @Suite struct Geometry {
        static let marks = [Picture.Color(255, 0, 0), .init(0, 255, 0), .init(255, 255, 0), .init(0, 0, 255)]
        static let background = Picture.Color(0x20, 0x80, 0xA0)

        /// The 4:3 picture in 1280x720, with each gravity and rotation: a still, converted in software, and a film, scaled and turned by
        /// planes.
        @Test(arguments: [0, 90, 180, 270], ["convert", "copy"]) func `gravity and rotation`(rotation: Int, path: String) async throws {
            let gravities = ["fit", "stretch", "fill"]
            let picture = try BedGallery.path(path == "copy" ? "corners.mp4" : "corners.png")
            let configuration = KioskConfiguration(
                display: "rotation = \(rotation)\nbackground = \"#2080a0\"\npicture-path = \"\(path)\"",
                playlist: gravities.map { "source = \"\(picture)\"\ngravity = \"\($0)\"" + (path == "copy" ? "" : "\nduration = 2") })
            let machine = Machine { ($0.time, $0.recordsSound, $0.planesScale) = (.free, false, true) }
            let record = try await Bed.run("turned \(rotation) \(path)", for: .seconds(6.2), .kiosk(configuration), on: machine) { at in
                for (index, gravity) in gravities.enumerated() { at(Double(index) * 2 + 1, .screenshot(), gravity) }
            }
            let formats = Set(record.vblanks.filter { $0.time > .seconds(1) && $0.time < .seconds(6) }.flatMap { $0.planes.map(\.format) })
            #expect(formats == (path == "copy" ? ["XR24", "YU12"] : ["XR24"]))
            let turned = rotation % 180 != 0
            // 960x720 upright, 540x720 on its side.
            let width = turned ? 540 : 960
            let left = (1280 - width) / 2
            let fit = try #require(record.screenshots["fit"])
            expectMarks(fit, x: left...left + width - 1, y: 0...719, rotation)
            #expect(
                fit[left - 20, 360].isLike(Self.background, within: 4) && fit[left + width + 20, 360].isLike(Self.background, within: 4))
            let stretch = try #require(record.screenshots["stretch"])
            expectMarks(stretch, x: 0...1279, y: 0...719, rotation)
            // Fill: the corners lie outside, no background is left, and the square in the middle is a larger square.
            let fill = try #require(record.screenshots["fill"])
            for x in stride(from: 0, to: 1280, by: 4) {
                for y in stride(from: 0, to: 720, by: 4) where fill[x, y].isLike(Self.background, within: 16) {
                    Issue.record("the background is seen at \(x), \(y)")
                    return
                }
            }
            // The square has a quarter of the picture's height.
            expectSquare(fit, turned ? (135, 135) : (180, 180))
            expectSquare(stretch, turned ? (320, 135) : (240, 180))
            expectSquare(fill, turned ? (320, 320) : (240, 240))
        }

        /// Expects the white square in the middle to have this size, within 4 pixels.
        private func expectSquare(_ picture: Picture, _ size: (Int, Int), sourceLocation: SourceLocation = #_sourceLocation) {
            func reach(_ pixel: (Int) -> Picture.Color) -> Int { (1...200).last { pixel($0).red > 128 } ?? 0 }
            let width = reach { picture[640 + $0, 360] } + reach { picture[640 - $0, 360] }
            let height = reach { picture[640, 360 + $0] } + reach { picture[640, 360 - $0] }
            #expect(abs(width - size.0) <= 4 && abs(height - size.1) <= 4, "\(width), \(height)", sourceLocation: sourceLocation)
        }

        private func expectMarks(_ picture: Picture, x: ClosedRange<Int>, y: ClosedRange<Int>, _ rotation: Int) {
            let inset = 6
            let corners = [
                (x.lowerBound, y.lowerBound), (x.upperBound, y.lowerBound), (x.upperBound, y.upperBound), (x.lowerBound, y.upperBound),
            ]
            for (index, corner) in corners.enumerated() {
                let inside = (
                    corner.0 + (corner.0 == x.lowerBound ? inset : -inset), corner.1 + (corner.1 == y.lowerBound ? inset : -inset)
                )
                let mark = Self.marks[(index + 4 - rotation / 90) % 4]
                #expect(picture[inside.0, inside.1].isLike(mark), "corner \(index) is \(picture[inside.0, inside.1])")
            }
        }
    }
}
