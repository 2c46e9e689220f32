import Foundation

/// A dump of the machine's screen: the pixels of a `screendump`.
struct ScreenDump: Equatable {
    let width: Int
    let height: Int
    /// Three bytes per pixel: red, green, blue.
    let pixels: [UInt8]

    /// Reads a PPM file as QEMU writes it: `P6`, width, height, 255, each separated by one newline or blank, then the pixels.
    init(ppm data: [UInt8]) throws {
        var fields: [Int] = []
        var offset = 2
        while fields.count < 3, offset < data.count {
            let digits = data[offset...].prefix { $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }
            if let number = Int(String(decoding: digits, as: UTF8.self)) { fields.append(number) }
            offset += digits.count + 1
        }
        guard data.starts(with: Array("P6".utf8)), fields.count == 3, data.count == offset + fields[0] * fields[1] * 3 else {
            throw MachineError("screendump: not a whole PPM file")
        }
        (width, height) = (fields[0], fields[1])
        pixels = Array(data[offset...])
    }

    /// The number burned into the 320x180 picture, which is scaled to fit: 16 cells at its bottom left, most significant bit first, with
    /// the inverted bits above them. nil for any other picture.
    var number: Int? {
        let scale = min(Double(width) / 320, Double(height) / 180)
        let (left, top) = ((Double(width) - 320 * scale) / 2, (Double(height) - 180 * scale) / 2)
        var number = 0
        for cell in 0..<16 {
            let x = Int(left + (Double(cell) * 16 + 8) * scale)
            guard let bit = bit(x, Int(top + 172 * scale)), let inverted = self.bit(x, Int(top + 156 * scale)), bit != inverted else {
                return nil
            }
            number = number << 1 | bit
        }
        return number
    }

    /// Returns 1 for white, 0 for black, nil for any other colour.
    private func bit(_ x: Int, _ y: Int) -> Int? {
        let pixel = pixels[(y * width + x) * 3..<(y * width + x) * 3 + 3]
        if pixel.allSatisfy({ $0 > 192 }) { return 1 }
        return pixel.allSatisfy { $0 < 64 } ? 0 : nil
    }
}

/// The clips of the playlist in their order, as frame numbers.
struct PlayOrder {
    /// The frame numbers of the clip on the disk, and of the one on the stick.
    static let disk = 1...60
    static let stick = 101...145
    static let whole = PlayOrder(clips: [disk, stick])
    /// The clips' frames per second.
    private static let frameRate = 15.0

    let clips: [ClosedRange<Int>]

    /// Returns the number of steps forward from `other` to `number`, past the end of the loop if necessary; nil if one is not in the order.
    func distance(from other: Int, to number: Int) -> Int? {
        guard let from = place(of: other), let to = place(of: number) else { return nil }
        return (to - from + count) % count
    }

    /// Returns the pairs of numbers that cannot follow each other: one is not in the order, or the second is behind the first. Between two
    /// looks the player can advance less than half of the loop; a larger distance was a step back. If this process was delayed for longer
    /// than that, the pair does not count.
    func faults(in seen: Sightings) -> [(before: Int, after: Int)] {
        zip(seen.frames, seen.frames.dropFirst()).filter { before, after in
            guard let distance = distance(from: before.number, to: after.number) else { return true }
            let elapsed = after.time.end.timeIntervalSince(before.time.start)
            return distance > count / 2 && elapsed * Self.frameRate < Double(count / 2)
        }.map { ($0.number, $1.number) }
    }

    /// Returns how often the numbers changed from one clip to the next.
    func seams(in seen: Sightings) -> Int {
        let numbers = seen.frames.map(\.number)
        return zip(numbers, numbers.dropFirst()).count { before, after in clip(of: before) != clip(of: after) || after < before }
    }

    private var count: Int { clips.reduce(0) { $0 + $1.count } }

    private func clip(of number: Int) -> Int? { clips.firstIndex { $0.contains(number) } }

    private func place(of number: Int) -> Int? {
        guard let clip = clip(of: number) else { return nil }
        return clips[..<clip].reduce(0) { $0 + $1.count } + number - clips[clip].lowerBound
    }
}
