/// Samples of one measure, from one run or from several together.
struct Samples: Equatable {
    private let sorted: [Double]

    /// Creates samples from values in any order.
    init(_ values: [Double]) { sorted = values.sorted() }

    var count: Int { sorted.count }
    var minimum: Double? { sorted.first }
    var maximum: Double? { sorted.last }
    var mean: Double? { sorted.isEmpty ? nil : sorted.reduce(0, +) / Double(count) }

    /// The middle sample, or the mean of the two in the middle.
    var median: Double? {
        guard let maximum else { return nil }
        let middle = count / 2
        return count % 2 == 1 ? sorted[middle] : middle == 0 ? maximum : (sorted[middle - 1] + sorted[middle]) / 2
    }

    /// Returns the smallest sample that `percent` of all do not exceed (nearest rank). With few samples, p99 is the largest.
    func percentile(_ percent: Double) -> Double? {
        guard !sorted.isEmpty else { return nil }
        let rank = Int((percent / 100 * Double(count)).rounded(.up))
        return sorted[min(count, max(1, rank)) - 1]
    }

    /// The samples' absolute values.
    var magnitudes: Samples { Samples(sorted.map(abs)) }
}
