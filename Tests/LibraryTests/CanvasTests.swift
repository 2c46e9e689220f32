import CKioskCairo
import Glibc
import KioskControls
import KioskDisplay
import KioskPlayer
import TestSupport
import Testing

/// A screen as PNG, decoded: 0xRRGGBB row by row.
struct Screen {
    let width: Int, height: Int
    let pixels: [UInt32]

    init(_ png: [UInt8]) throws {
        let path = "/tmp/kiosk-screen-\(getpid())-\(UInt64.random(in: 0...UInt64.max)).png"
        let file = try #require(fopen(path, "wb"))
        fwrite(png, 1, png.count, file)
        fclose(file)
        defer { unlink(path) }
        let surface = cairo_image_surface_create_from_png(path)
        defer { cairo_surface_destroy(surface) }
        let (width, height) = (Int(cairo_image_surface_get_width(surface)), Int(cairo_image_surface_get_height(surface)))
        let data = try #require(cairo_image_surface_get_data(surface))
        let stride = Int(cairo_image_surface_get_stride(surface))
        (self.width, self.height) = (width, height)
        pixels = (0..<width * height).map { index in
            UnsafeRawPointer(data).load(fromByteOffset: index / width * stride + index % width * 4, as: UInt32.self) & 0xffffff
        }
    }

    /// Returns a function for the share of pixels in a region that are not as in another screen.
    func changes(from other: Screen) -> (Region) -> Double {
        { region in
            let columns = Int(region.x * Double(width))..<Int((region.x + region.width) * Double(width))
            let rows = Int(region.y * Double(height))..<Int((region.y + region.height) * Double(height))
            let changed = rows.reduce(0) { sum, y in sum + columns.count { pixels[y * width + $0] != other.pixels[y * width + $0] } }
            return Double(changed) / Double(columns.count * rows.count)
        }
    }
}

/// Compares drawings of an application with pixels that are known.
@Suite(.blocking) struct CanvasTests {
    private func pixel(_ bitmap: Bitmap, _ x: Int, _ y: Int) -> UInt32 { bitmap.pixels[y * bitmap.width + x] }

    @Test func `shapes cover their pixels, and no others`() {
        var canvas = Canvas(width: 60, height: 40)
        #expect(canvas.bitmap().pixels == Array(repeating: 0, count: 2400), "transparent at first")
        canvas.fill(.rectangle(x: 10, y: 5, width: 20, height: 10), with: Color(red: 1, green: 0, blue: 0))
        var bitmap = canvas.bitmap()
        for y in 0..<40 {
            for x in 0..<60 { #expect(pixel(bitmap, x, y) == (10..<30 ~= x && 5..<15 ~= y ? 0xffff_0000 : 0), "\(x), \(y)") }
        }
        // Later drawings lie over earlier ones; the colours are premultiplied.
        canvas.fill(.rectangle(x: 0, y: 20, width: 60, height: 20), with: .white.opacity(0.5))
        canvas.fill(.circle(x: 45, y: 10, radius: 6), with: Color(red: 0, green: 0, blue: 1))
        canvas.stroke(.line(from: .init(x: 0, y: 30), to: .init(x: 60, y: 30)), with: .black, lineWidth: 2)
        bitmap = canvas.bitmap()
        #expect([0x8080_8080, 0x7f7f_7f7f].contains(pixel(bitmap, 3, 25)))
        #expect(pixel(bitmap, 45, 10) == 0xff00_00ff && pixel(bitmap, 40, 4) == 0, "a circle is round")
        #expect(pixel(bitmap, 30, 29) == 0xff00_0000 && pixel(bitmap, 30, 30) == 0xff00_0000 && pixel(bitmap, 30, 33) != 0xff00_0000)

        var round = Canvas(width: 40, height: 40)
        round.fill(.rectangle(x: 0, y: 0, width: 40, height: 40, cornerRadius: 15), with: .white)
        #expect(pixel(round.bitmap(), 1, 1) == 0 && pixel(round.bitmap(), 20, 1) == 0xffff_ffff, "round corners")
        var frame = Canvas(width: 40, height: 40)
        frame.stroke(.rectangle(x: 5, y: 5, width: 30, height: 30), with: .white, lineWidth: 4)
        #expect(pixel(frame.bitmap(), 20, 20) == 0 && pixel(frame.bitmap(), 5, 20) == 0xffff_ffff, "a line has an inside")
        var triangle = Canvas(width: 40, height: 40)
        triangle.fill(.polygon([.init(x: 0, y: 0), .init(x: 40, y: 0), .init(x: 0, y: 40)]), with: .white)
        #expect(pixel(triangle.bitmap(), 8, 8) == 0xffff_ffff && pixel(triangle.bitmap(), 35, 35) == 0)
    }

    @Test func `a bitmap is drawn in a size`() throws {
        let source = try #require(Bitmap(width: 2, height: 1) { x, _ in x == 0 ? 0xffff_0000 : 0xff00_ff00 })
        var canvas = Canvas(width: 40, height: 20)
        canvas.draw(source, x: 0, y: 0, width: 40, height: 20)
        #expect(pixel(canvas.bitmap(), 2, 10) == 0xffff_0000 && pixel(canvas.bitmap(), 37, 10) == 0xff00_ff00)
        var small = Canvas(width: 40, height: 20)
        small.draw(source, x: 10, y: 10, opacity: 0)
        #expect(small.bitmap().pixels.allSatisfy { $0 == 0 })
        small.draw(source, x: 10, y: 10)
        #expect(pixel(small.bitmap(), 10, 10) == 0xffff_0000 && pixel(small.bitmap(), 12, 10) == 0)
    }

    private struct Extent {
        var columns: ClosedRange<Int>, rows: ClosedRange<Int>
    }

    /// Returns the columns and rows of a bitmap on which something is drawn.
    private func extent(_ bitmap: Bitmap) -> Extent? {
        let drawn = bitmap.pixels.indices.filter { bitmap.pixels[$0] != 0 }
        let (columns, rows) = (drawn.map { $0 % bitmap.width }, drawn.map { $0 / bitmap.width })
        guard let left = columns.min(), let right = columns.max(), let top = rows.min(), let bottom = rows.max() else { return nil }
        return Extent(columns: left...right, rows: top...bottom)
    }

    @Test func `text is where it belongs, as large as it says, in its colour`() throws {
        let font = Canvas.Font(size: 40, isBold: true)
        let size = Canvas.size(of: "Mill", font: font)
        #expect(size.width > 40 && size.width < 160 && size.height > 30 && size.height < 80, "\(size)")
        func drawn(_ alignment: Canvas.TextAlignment, width: Double? = nil, text: String = "Mill") -> Extent? {
            var canvas = Canvas(width: 600, height: 200)
            canvas.draw(text, x: 300, y: 20, width: width, font: font, color: Color(red: 1, green: 0, blue: 0), alignment: alignment)
            let bitmap = canvas.bitmap()
            #expect(bitmap.pixels.contains(0xffff_0000) && bitmap.pixels.allSatisfy { $0 & 0xffff == 0 }, "red, and nothing else")
            return extent(bitmap)
        }
        let leading = try #require(drawn(.leading)), center = try #require(drawn(.center)), trailing = try #require(drawn(.trailing))
        #expect(leading.columns.lowerBound >= 299 && leading.columns.upperBound <= 302 + Int(size.width))
        #expect(abs(center.columns.lowerBound + center.columns.upperBound - 600) < 12, "\(center)")
        #expect(trailing.columns.upperBound <= 301 && trailing.columns.lowerBound >= 298 - Int(size.width))
        #expect(leading.rows.lowerBound >= 20 && leading.rows.upperBound <= 20 + Int(size.height))
        let broken = try #require(drawn(.trailing, width: 120, text: "Mill Mill Mill"))
        #expect(broken.rows.count > leading.rows.count * 3 / 2, "long lines are broken")
        #expect(broken.columns.lowerBound >= 300 && abs(broken.columns.upperBound - 420) < 12, "and aligned within their width")
        let plain = Canvas.size(of: "Mill", font: .init(size: 80))
        #expect(plain.width > size.width * 1.5)
    }

    @Test func `numbers that are none draw nothing, and end nothing`() {
        var canvas = Canvas(width: -3, height: 20)
        #expect(canvas.width == 1 && Canvas(width: .max, height: 1).width == 16384)
        canvas = Canvas(width: 20, height: 20)
        for bad in [Double.nan, .infinity, -.infinity, 1e300, -1e300] {
            canvas.fill(.circle(x: bad, y: 100, radius: 1), with: .white)
            canvas.stroke(.line(from: .init(x: bad, y: -50), to: .init(x: 5, y: -50)), with: .white, lineWidth: 1)
            let color = Color(red: bad, green: bad, blue: bad, opacity: bad)
            canvas.draw("x", x: bad, y: 100, width: bad, font: .init(size: bad), color: color)
            if let bitmap = Bitmap(width: 1, height: 1, pixels: [0xffff_ffff]) {
                canvas.draw(bitmap, x: 100, y: bad, width: bad, height: bad, opacity: bad)
            }
        }
        canvas.fill(.polygon([]), with: .white)
        canvas.fill(.rectangle(x: 5, y: 5, width: 5, height: 5, cornerRadius: .nan), with: .white)
        #expect(pixel(canvas.bitmap(), 7, 7) == 0xffff_ffff, "later drawings are there")
    }

    @Test func `a drawing lies over the picture`() async throws {
        let display = VideoOutput.offscreen(width: 640, height: 360)
        let player = Player(PlayerItem(try Clips.numbered("canvas.mp4", frames: 60)), video: display)
        defer {
            player.stop()
            display.close()
        }
        try #require(await eventually { player.statistics.framesShown > 0 })
        var canvas = Canvas(width: 100, height: 50)
        canvas.fill(Color(red: 0, green: 1, blue: 0))
        display.overlay = [OverlayPicture(canvas.bitmap(), x: 500, y: 300)]
        #expect(
            await eventually {
                guard let screen = try? Screen(display.png()) else { return false }
                return screen.pixels[325 * 640 + 550] == 0x00ff00 && screen.pixels[290 * 640 + 550] != 0x00ff00
            })
    }
}
