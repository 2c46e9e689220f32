import Bed

/// The clip `flash` of Tests/Clips/make: frame 16 of every 30 is white, and a beep of 50 ms begins with it.
enum FlashAndBeep {
    /// Returns whether the frame with this number is white.
    static func isFlash(_ number: Int) -> Bool { number % 30 == 16 }

    /// Returns, for each flash, the time from it to the nearest beep; negative if the beep came first. A flash without a beep within 400 ms
    /// is left out.
    static func offsets(flashes: [Duration], beeps: [Duration]) -> [Duration] {
        flashes.compactMap { flash in
            beeps.map { $0 - flash }.min { $0.magnitude < $1.magnitude }.flatMap { $0.magnitude < .milliseconds(400) ? $0 : nil }
        }
    }
}

extension Duration {
    fileprivate var magnitude: Duration { self < .zero ? .zero - self : self }
}
