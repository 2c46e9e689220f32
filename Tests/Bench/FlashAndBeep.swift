import Bed

/// The clip `flash` of Tests/Clips/make: frame 16 of every 30 is white, and with it begins a beep of 50 ms.
enum FlashAndBeep {
    /// Whether a frame is white, by its number.
    static func isFlash(_ number: Int) -> Bool { number % 30 == 16 }

    /// How long after each flash the beep nearest to it began; below zero where it was before. A flash without one within 400 ms is left
    /// out.
    static func offsets(flashes: [Duration], beeps: [Duration]) -> [Duration] {
        flashes.compactMap { flash in
            beeps.map { $0 - flash }.min { $0.magnitude < $1.magnitude }.flatMap { $0.magnitude < .milliseconds(400) ? $0 : nil }
        }
    }
}

extension Duration {
    fileprivate var magnitude: Duration { self < .zero ? .zero - self : self }
}
