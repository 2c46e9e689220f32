import CKioskMedia
import Glibc

/// Reads sound between its samples, to play it a little faster or slower than recorded.
///
/// A band-limited interpolation: a sinc of 32 samples under a Kaiser window. A table has it at 512 places between two samples, with linear
/// interpolation between these. Its error lies 80 dB and more below the signal up to 18 kHz at 48 kHz. Use it for ratios within a per cent
/// of 1; there is no low-pass for more.
package struct Interpolator: ~Copyable, Sendable {
    /// The number of samples used on each side of a place.
    package static let reach = taps / 2
    private static let taps = Int(KIOSK_INTERPOLATION_TAPS)
    private static let phases = 512

    /// The weights of the taps for each phase, and for one phase more.
    private let weights: [Float]
    /// One channel's samples, contiguous.
    private var window: [Float] = []

    /// Creates the tables, of some ten thousand values.
    package init() {
        weights = (0...Self.phases).flatMap { phase in
            let fraction = Double(phase) / Double(Self.phases)
            let values = (0..<2 * Self.reach).map { Self.tap(Double($0 - Self.reach + 1) - fraction) }
            let sum = values.reduce(0, +)  // keeps a constant unchanged
            return values.map { Float($0 / sum) }
        }
    }

    private static func tap(_ x: Double) -> Double {
        let edge = x / Double(reach)
        guard abs(edge) < 1 else { return 0 }
        let window = bessel(9 * (1 - edge * edge).squareRoot())
        return x == 0 ? window : window * sin(.pi * x) / (.pi * x)
    }

    /// Returns the modified Bessel function of order 0, by its series. The player needs some ten thousand values at its start, so the
    /// series ends at the first negligible term.
    private static func bessel(_ x: Double) -> Double {
        var (sum, term) = (1.0, 1.0)
        var k = 1.0
        while term > 1e-9 * sum {
            term *= (x / 2 / k) * (x / 2 / k)
            sum += term
            k += 1
        }
        return sum
    }

    /// Writes `count` frames. The first lies `fraction` after frame `Interpolator.reach - 1` of the source, each further one `ratio` source
    /// frames later. Calls `source(frame, channel)` for the frames needed, from 0 on.
    package mutating func read(
        _ count: Int, fraction: Double, ratio: Double, channels: Int, into samples: UnsafeMutableBufferPointer<Float>,
        source: (_ frame: Int, _ channel: Int) -> Float
    ) {
        guard count > 0, let first = samples.baseAddress else { return }
        precondition(count * channels <= samples.count)
        let needed = Int(fraction + Double(count - 1) * ratio) + Self.taps
        if window.count < needed { window = [Float](repeating: 0, count: needed) }
        for channel in 0..<channels {
            for frame in 0..<needed { window[frame] = source(frame, channel) }
            // In C, for a reason given in interpolation.c.
            kiosk_interpolate(
                window, weights, Int64(Self.phases), fraction, ratio, first + channel, Int64(count), Int64(channels))
        }
    }
}
