/// The measured quantities. Times in JSON are milliseconds unless the name says otherwise.
enum Measure: String, CaseIterable {
    case firstPicture
    case motion
    case wrongHolds
    case skippedFrames
    case stepsBack
    case cleanSeams
    case lastFrameHold
    case firstFrameHold
    case soundHole
    case cpu
    case steadyCPU
    case peakMemory
    case peakShare
    case soundOffset
    case touch
    case key
    case nextItem
    case systemCalls
    case instructions

    /// The heading of its column.
    var title: String {
        switch self {
        case .firstPicture: "first picture, ms"
        case .motion: "in motion, ms"
        case .wrongHolds: "wrong holds, %"
        case .skippedFrames: "skipped, ‰"
        case .stepsBack: "steps back"
        case .cleanSeams: "clean seams"
        case .lastFrameHold: "last frame, vblanks"
        case .firstFrameHold: "first frame, vblanks"
        case .soundHole: "hole in the sound, ms"
        case .cpu: "CPU, s/1000 frames"
        case .steadyCPU: "from 2 s on"
        case .peakMemory: "peak memory, MB"
        case .peakShare: "of all processes (Pss), MB"
        case .soundOffset: "sound after picture, ms"
        case .touch: "touch to vblank, ms"
        case .key: "key to vblank, ms"
        case .nextItem: "next item, ms"
        case .systemCalls: "system calls a frame"
        case .instructions: "instructions a frame, millions"
        }
    }

    /// The way to combine its samples into one cell of a table.
    enum Form {
        /// Median (smallest…largest), with this number of decimals.
        case spread(Int)
        /// Samples of 1 for good and 0 for bad: "good of all".
        case share
        /// Median, then the 99th percentile of the distance from 0.
        case percentiles
    }

    var form: Form {
        switch self {
        case .cleanSeams: .share
        case .soundOffset: .percentiles
        case .wrongHolds, .cpu, .steadyCPU, .systemCalls, .instructions: .spread(1)
        default: .spread(0)
        }
    }

    /// Returns one cell of a table.
    func cell(_ values: [Double]) -> String {
        let samples = Samples(values)
        guard let median = samples.median, let low = samples.minimum, let high = samples.maximum else { return "–" }
        switch form {
        case .share: return "\(values.count { $0 == 1 }) of \(values.count)"
        case .percentiles: return "\(median.text(1, signed: true)), p99 \((samples.magnitudes.percentile(99) ?? 0).text(1))"
        case .spread(let decimals):
            let ends = [low, high].map { $0.text(decimals) }
            return ends[0] == ends[1] ? ends[0] : "\(median.text(decimals)) (\(ends[0])…\(ends[1]))"
        }
    }
}

extension Double {
    /// Returns the number with `decimals` decimals, and never "-0".
    func text(_ decimals: Int, signed: Bool = false) -> String {
        var scale = 1
        for _ in 0..<decimals { scale *= 10 }
        let units = Int((magnitude * Double(scale)).rounded())
        let sign = units == 0 ? "" : self < 0 ? "-" : signed ? "+" : ""
        guard decimals > 0 else { return "\(sign)\(units)" }
        let fraction = String(units % scale)
        return "\(sign)\(units / scale)." + String(repeating: "0", count: decimals - fraction.count) + fraction
    }
}
