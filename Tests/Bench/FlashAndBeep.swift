import Bed

/// The clip `flash` of Tests/Clips/make: frame 16 of every 30 is white, and with it begins a beep of 50 ms.
enum FlashAndBeep {
    /// Whether a frame is white, by its number.
    static func isFlash(_ number: Int) -> Bool { number % 30 == 16 }

    /// When each beep begins: the first sample that can be heard after a quarter of a second without one.
    static func beeps(in sound: Sound) -> [Duration] {
        var beeps: [Duration] = []
        var heard = -sound.rate
        for (index, sample) in sound.left.enumerated() where sample.magnitude > threshold {
            if index - heard > sound.rate / 4 { beeps.append(sound.time(of: index)) }
            heard = index
        }
        return beeps
    }

    /// 1 % of full scale; the second sample of the beep, which has half of it and 1 kHz, is over it.
    private static let threshold = 328

    /// How long after each flash the beep nearest to it began; below zero where it was before. A flash without one within 400 ms is left out.
    static func offsets(flashes: [Duration], beeps: [Duration]) -> [Duration] {
        flashes.compactMap { flash in
            beeps.map { $0 - flash }.min { $0.magnitude < $1.magnitude }.flatMap { $0.magnitude < .milliseconds(400) ? $0 : nil }
        }
    }
}

extension Duration {
    fileprivate var magnitude: Duration { self < .zero ? .zero - self : self }
}
