import Testing

@testable import KioskMedia

/// The sound of a live stream whose sample clock and timestamps come from different crystals.
@Suite struct SoundCompensationTests {
    /// Follows packets of 1024 samples with jittering timestamps; returns the distances of the samples from their correct times, in
    /// seconds.
    private func distances(drift: Double, jitter: Double, hours: Double) -> (first: [Double], later: [Double], rates: [Double]) {
        var compensation = SoundCompensation()
        let elapsed = 1024.0 / 48_000
        var distance = 0.0
        var outcome = (first: [Double](), later: [Double](), rates: [Double]())
        var state: UInt64 = 5
        for packet in 0..<Int(hours * 3600 / elapsed) {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            let tremor = jitter * (Double(state >> 11) / Double(1 << 52) - 1)
            compensation.follow(distance: distance + tremor, elapsed: elapsed)
            distance += elapsed * (drift - compensation.rate)
            if Double(packet) * elapsed < 600 { outcome.first.append(distance) } else { outcome.later.append(distance) }
            outcome.rates.append(compensation.rate)
        }
        return outcome
    }

    /// Uncorrected, 200 ppm make 50 ms in four minutes.
    @Test(arguments: [-400e-6, -200e-6, -50e-6, 50e-6, 200e-6, 400e-6]) func theSamplesStayWithTheirTimestamps(_ drift: Double) {
        let (first, later, rates) = distances(drift: drift, jitter: 0.005, hours: 1)
        #expect(first.allSatisfy { abs($0) < 0.02 }, "\(first.map { abs($0) }.max() ?? 0)")
        #expect(later.allSatisfy { abs($0) < 0.002 }, "\(later.map { abs($0) }.max() ?? 0)")
        #expect(rates.allSatisfy { abs($0) <= SoundCompensation.limit })
    }

    @Test func soundThatAgreesIsLeftAlone() {
        #expect(distances(drift: 0, jitter: 0.015, hours: 0.5).rates.allSatisfy { $0 == 0 })
    }

    @Test func aFaultIsFollowedAsFarAsTheLimit() {
        var compensation = SoundCompensation()
        for _ in 0..<1000 { compensation.follow(distance: 0.04, elapsed: 0.02) }
        #expect(compensation.rate == SoundCompensation.limit)
        compensation.realigned()
        for _ in 0..<5000 { compensation.follow(distance: 0, elapsed: 0.02) }
        #expect(abs(compensation.rate) < 0.0007, "no more is learned than crystals differ by")
    }
}
