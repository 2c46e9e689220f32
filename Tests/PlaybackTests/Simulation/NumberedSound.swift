import Glibc

/// Sound that says which it is: a slow tone in two channels, cosine and sine, whose phase tells a sample's number but for whole turns.
enum NumberedSound {
    /// Samples of one turn.
    private static let turn = 1000.0

    /// `count` samples from number `first` on, interleaved.
    static func samples(from first: Int64, count: Int) -> [Float] {
        (0..<count).flatMap { offset -> [Float] in
            let phase = 2 * Double.pi * Double(first + Int64(offset)).truncatingRemainder(dividingBy: turn) / turn
            return [Float(cos(phase)), Float(sin(phase))]
        }
    }

    /// The number of a sample, but for whole turns; nil for silence.
    static func place(of sample: SIMD2<Double>) -> Double? {
        sample == .zero ? nil : atan2(sample.y, sample.x) / (2 * .pi) * turn
    }

    /// That one of a place's numbers that is nearest to `number`.
    static func number(at place: Double, nearest number: Double) -> Double { place + ((number - place) / turn).rounded() * turn }

    /// The numbers of samples that follow each other, each within half a turn of the one before.
    static func numbers(of places: some Sequence<Double?>) -> [Double?] {
        var last = 0.0
        return places.map { place in
            guard let place else { return nil }
            last = number(at: place, nearest: last)
            return last
        }
    }
}
