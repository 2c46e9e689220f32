import Foundation

/// A screenshot: all planes that a display scans out, 8 bits a colour.
package struct Picture: Sendable, Equatable {
    package let width: Int, height: Int
    /// Red, green, blue; row by row from the top.
    package let bytes: [UInt8]

    /// The colour of a pixel.
    package struct Color: Sendable, Equatable, CustomStringConvertible {
        package var red: Int, green: Int, blue: Int

        /// Creates a colour from values from 0 to 255.
        package init(_ red: Int, _ green: Int, _ blue: Int) { (self.red, self.green, self.blue) = (red, green, blue) }

        /// The three numbers.
        package var description: String { "(\(red), \(green), \(blue))" }

        /// Whether no component differs by more than `tolerance`: limited-range YUV and chroma at half the size change colours a little.
        package func isLike(_ other: Color, within tolerance: Int = 40) -> Bool {
            abs(red - other.red) <= tolerance && abs(green - other.green) <= tolerance && abs(blue - other.blue) <= tolerance
        }
    }

    /// Reads a binary PPM with 8 bits a colour.
    package init?(ppm: [UInt8]) {
        let header = ppm.prefix(64).split(maxSplits: 4, omittingEmptySubsequences: true) { $0 == 32 || $0 == 10 }
        guard header.count >= 4, header[0].elementsEqual("P6".utf8), let width = Int(String(decoding: header[1], as: UTF8.self)),
            let height = Int(String(decoding: header[2], as: UTF8.self)), header[3].elementsEqual("255".utf8)
        else { return nil }
        let start = header[3].endIndex + 1
        guard width > 0, height > 0, ppm.count >= start + width * height * 3 else { return nil }
        (self.width, self.height, bytes) = (width, height, Array(ppm[start..<start + width * height * 3]))
    }

    /// The pixel at `x`, `y` from the upper left.
    package subscript(x: Int, y: Int) -> Color {
        let at = 3 * (y * width + x)
        return Color(Int(bytes[at]), Int(bytes[at + 1]), Int(bytes[at + 2]))
    }

    /// Whether all pixels have one colour, within 2 for each component.
    package var isUniform: Bool {
        let first = self[0, 0]
        return stride(from: 0, to: bytes.count, by: 3).allSatisfy {
            Color(Int(bytes[$0]), Int(bytes[$0 + 1]), Int(bytes[$0 + 2])).isLike(first, within: 2)
        }
    }

    /// The mean brightness of a rectangle, 0 to 255.
    package func brightness(of area: Vblank.Rectangle) -> Double {
        var sum = 0
        for y in area.y..<area.y + area.height {
            for x in area.x..<area.x + area.width { sum += self[x, y].red + self[x, y].green + self[x, y].blue }
        }
        return Double(sum) / Double(3 * area.width * area.height)
    }

    /// Writes an image file of the kind that its name ends with. Scales it to `width`, if given, with the same aspect ratio.
    package func write(to path: String, width: Int? = nil) throws {
        let draft = NSTemporaryDirectory() + "kiosk-picture-\(getpid())-\(UUID().uuidString).ppm"
        defer { unlink(draft) }
        try (Data("P6 \(self.width) \(height) 255\n".utf8) + Data(bytes)).write(to: URL(fileURLWithPath: draft))
        let scale = width.map { ["-vf", "scale=\($0):-2:flags=lanczos"] } ?? []
        let quality = path.hasSuffix(".jpg") ? ["-q:v", "3"] : []
        let outcome = try Outcome.of(
            ["/usr/bin/env", "ffmpeg", "-nostdin", "-loglevel", "error", "-y", "-i", draft] + scale + quality + [path])
        guard outcome.status == 0 else { throw BedError.failed("ffmpeg: \(outcome.errors)") }
    }
}
