/// The state that a display latched at one vblank: a line of the kernel's own log, taken inside its vblank timer.
package struct Vblank: Sendable, Equatable {
    /// The kernel's count of vblanks. It continues while nothing watches, so a step of more than 1 is a gap in the log.
    package var sequence: Int
    /// The time of the vblank, from the start of the player.
    package var time: Duration
    /// The delay from the vblank to its interrupt handler.
    package var lateness: Duration
    /// The number of commits since the previous vblank.
    package var commits: Int
    /// A sum over sampled pixels of all planes; equal for equal pictures.
    package var hash: UInt64
    /// The number in the cells of the picture. Meaningless if the picture is not a numbered clip (0 if black).
    package var number: Int
    /// The raw 16 cells, the leftmost in the highest bit, for tests that need cells rather than a number.
    package var cells = 0
    /// The planes, from the lowest upwards.
    package var planes: [Plane]

    /// A plane as it was scanned out.
    package struct Plane: Sendable, Equatable {
        /// The kernel's object ids.
        package var plane: Int, framebuffer: Int
        /// The fourcc of the framebuffer, such as XR24 or NV12.
        package var format: String
        /// The part of the framebuffer and its place on the display, in pixels.
        package var source: Rectangle, destination: Rectangle
        /// DRM_MODE_ROTATE_*: 1 is upright.
        package var rotation: Int
    }

    /// A rectangle in pixels.
    package struct Rectangle: Sendable, Equatable {
        package var x: Int, y: Int, width: Int, height: Int

        /// Creates a rectangle with its upper left corner at `x`, `y`.
        package init(x: Int, y: Int, width: Int, height: Int) { (self.x, self.y, self.width, self.height) = (x, y, width, height) }
    }

    /// Creates a vblank by hand, for tests of the analysis.
    package init(
        sequence: Int, time: Duration, number: Int, lateness: Duration = .zero, commits: Int = 0, hash: UInt64 = 0, planes: [Plane] = []
    ) {
        (self.sequence, self.time, self.number) = (sequence, time, number)
        (self.lateness, self.commits, self.hash, self.planes) = (lateness, commits, hash, planes)
    }

    /// Reads a line "seq vblank_us irq_late_us commits hash code plane:fb:FOURCC:sx,sy,sw,sh:dx,dy,dw,dh:rotation …".
    ///
    /// - Parameter start: the start of the player on the line's clock, in microseconds.
    package init?(line: some StringProtocol, start: Int) {
        let words = line.split(separator: " ")
        guard words.count >= 6, let sequence = Int(words[0]), let time = Int(words[1]), let late = Int(words[2]),
            let commits = Int(words[3]), let hash = UInt64(words[4], radix: 16), let cells = Int(words[5])
        else { return nil }
        // The number of a field: the first of 16 cells is white, the others are a Gray code.
        let number = cells >> 15 == 1 ? [1, 2, 4, 8].reduce(cells & 0x7FFF) { $0 ^ $0 >> $1 } : cells
        let planes = words.dropFirst(6).compactMap { Plane($0) }
        guard planes.count == words.count - 6 else { return nil }
        self.init(
            sequence: sequence, time: .microseconds(time - start), number: number, lateness: .microseconds(late), commits: commits,
            hash: hash, planes: planes)
        self.cells = cells
    }

    /// Returns the vblanks of all complete lines of a log. Skips a last line that was cut off when the watcher stopped.
    package static func log(_ text: String, start: Int) -> [Vblank] {
        text.split(separator: "\n").compactMap { Vblank(line: $0, start: start) }
    }
}

extension Vblank.Plane {
    init?(_ word: some StringProtocol) {
        let parts = word.split(separator: ":")
        guard parts.count == 6, let plane = Int(parts[0]), let framebuffer = Int(parts[1]), let rotation = Int(parts[5]),
            let source = Vblank.Rectangle(parts[3]), let destination = Vblank.Rectangle(parts[4])
        else { return nil }
        self.init(
            plane: plane, framebuffer: framebuffer, format: String(parts[2]), source: source, destination: destination, rotation: rotation)
    }
}

extension Vblank.Rectangle {
    init?(_ text: some StringProtocol) {
        let numbers = text.split(separator: ",").compactMap { Int($0) }
        guard numbers.count == 4 else { return nil }
        self.init(x: numbers[0], y: numbers[1], width: numbers[2], height: numbers[3])
    }
}
