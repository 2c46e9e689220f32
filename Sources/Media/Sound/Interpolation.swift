import CKioskMedia

/// The inner loop of reading sound between its samples (interpolation.c says why it is in C).
package enum Interpolation {
    /// How many samples of the source take part in one.
    package static let taps = Int(KIOSK_INTERPOLATION_TAPS)

    /// Writes `count` samples of one channel of interleaved sound. The first lies `fraction` behind sample `taps / 2 - 1` of `source`, each further
    /// one `ratio` source samples behind the one before.
    ///
    /// - Parameters:
    ///   - source: one channel's samples, at least as many as the last place needs.
    ///   - weights: ``taps`` for each of `phases` places between two samples, and for one place more.
    package static func read(
        _ count: Int, fraction: Double, ratio: Double, from source: [Float], taps weights: [Float], phases: Int,
        into samples: UnsafeMutableBufferPointer<Float>, channel: Int, of channels: Int
    ) {
        guard count > 0, let first = samples.baseAddress else { return }
        precondition(weights.count >= (phases + 1) * taps && (count - 1) * channels + channel < samples.count)
        precondition(source.count >= Int(fraction + Double(count - 1) * ratio) + taps)
        kiosk_interpolate(source, weights, Int64(phases), fraction, ratio, first + channel, Int64(count), Int64(channels))
    }
}
