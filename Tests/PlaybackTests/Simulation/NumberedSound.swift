import Glibc

/// Sound with numbered samples: a slow tone in two channels, cosine and sine. Its phase gives a sample's number, except for whole turns.
enum NumberedSound {
    /// The samples of one turn.
    private static let turn = 1000.0

    /// Returns `count` samples from number `first` on, interleaved.
    static func samples(from first: Int64, count: Int) -> [Float] {
        (0..<count).flatMap { offset -> [Float] in
            let phase = 2 * Double.pi * Double(first + Int64(offset)).truncatingRemainder(dividingBy: turn) / turn
            return [Float(cos(phase)), Float(sin(phase))]
        }
    }

    /// Returns the number of a sample, except for whole turns; nil for silence.
    static func place(of sample: SIMD2<Double>) -> Double? {
        sample == .zero ? nil : atan2(sample.y, sample.x) / (2 * .pi) * turn
    }

    /// Returns the number at a place that is nearest to `number`.
    static func number(at place: Double, nearest number: Double) -> Double { place + ((number - place) / turn).rounded() * turn }

    /// Returns the numbers of consecutive samples, each within half a turn of the one before.
    static func numbers(of places: some Sequence<Double?>) -> [Double?] {
        var last = 0.0
        return places.map { place in
            guard let place else { return nil }
            last = number(at: place, nearest: last)
            return last
        }
    }
}
