import Foundation

/// The sound that a sound card received: 16-bit samples of two channels, on the time axis of the run.
package struct Sound: Sendable, Equatable {
    /// Samples a second in each channel, by the clock of the run.
    package var rate: Double
    package var left: [Int16], right: [Int16]
    /// The time of the first sample, from the start of the player.
    package var start: Duration

    /// Creates a recording by hand, for tests of the analysis.
    package init(rate: Double = 48_000, left: [Int16], right: [Int16]? = nil, start: Duration = .zero) {
        (self.rate, self.left, self.right, self.start) = (rate, left, right ?? left, start)
    }

    /// The length of the recording.
    package var duration: Duration { .seconds(Double(left.count) / rate) }

    /// Returns the time at which sample `index` was played.
    package func time(of index: Int) -> Duration { start + .seconds(Double(index) / rate) }

    /// Each channel as a recording of its own.
    package var channels: [Sound] { [left, right].map { Sound(rate: rate, left: $0, start: start) } }

    /// The sound of a range of times, as far as it was recorded.
    package subscript(_ times: Range<Duration>) -> Sound {
        let bounds = [times.lowerBound, times.upperBound].map { min(left.count, max(0, Int(($0 - start) / .seconds(1) * rate))) }
        return Sound(
            rate: rate, left: Array(left[bounds[0]..<bounds[1]]), right: Array(right[bounds[0]..<bounds[1]]), start: time(of: bounds[0]))
    }

    /// Returns the sound without a stretch: the sound after the stretch follows directly on the sound before it.
    package func cutting(_ stretch: Stretch) -> Sound {
        let bounds = [stretch.start, stretch.start + stretch.duration].map { Int((($0 - start) / .seconds(1) * rate).rounded()) }
        func cut(_ samples: [Int16]) -> [Int16] { Array(samples[..<bounds[0]] + samples[bounds[1]...]) }
        return Sound(rate: rate, left: cut(left), right: cut(right), start: start)
    }

    /// The largest absolute value on either channel.
    package var peak: Int { max(left.map { Int($0.magnitude) }.max() ?? 0, right.map { Int($0.magnitude) }.max() ?? 0) }

    /// The largest difference between the channels in one sample.
    package var largestDifference: Int {
        var largest = 0
        for index in left.indices where left[index] != right[index] { largest = max(largest, abs(Int(left[index]) - Int(right[index]))) }
        return largest
    }

    /// Whether the sound is inaudible: no sample over -60 dB.
    package var isSilent: Bool { peak < 33 }

    /// The part from the first to the last audible sample; empty if there is none.
    package var audible: Sound {
        guard let first = left.firstIndex(where: { $0.magnitude > 500 }), let last = left.lastIndex(where: { $0.magnitude > 500 })
        else { return Sound(rate: rate, left: [], start: start) }
        return Sound(rate: rate, left: Array(left[first...last]), right: Array(right[first...last]), start: time(of: first))
    }

    /// A stretch of time.
    package struct Stretch: Sendable, Equatable {
        package var start: Duration, duration: Duration
    }

    /// The silences of 0.8 ms or more within the audible part.
    package var holes: [Stretch] {
        let sound = audible
        var holes: [Stretch] = []
        var begin: Int?
        for (index, sample) in sound.left.enumerated() {
            if sample.magnitude < 40 {
                begin = begin ?? index
            } else if let first = begin {
                let length = Double(index - first) / rate
                if length >= 0.0008 { holes.append(Stretch(start: sound.time(of: first), duration: .seconds(length))) }
                begin = nil
            }
        }
        return holes
    }

    /// The times at which sound begins: each first sample over 1 % of full scale after a quarter of a second without one.
    package var onsets: [Duration] {
        var onsets: [Duration] = []
        var heard = -Int(rate)
        for (index, sample) in left.enumerated() where sample.magnitude >= 328 {
            if index - heard > Int(rate / 4) { onsets.append(time(of: index)) }
            heard = index
        }
        return onsets
    }

    /// Returns the amplitude of a sine of this frequency in the left channel, in sample units (Goertzel's algorithm).
    package func level(at frequency: Double) -> Double {
        if left.isEmpty { return 0 }
        let coefficient = 2 * cos(2 * Double.pi * frequency / rate)
        var (last, before) = (0.0, 0.0)
        for sample in left { (last, before) = (Double(sample) + coefficient * last - before, last) }
        let power = last * last + before * before - coefficient * last * before
        return 2 * max(0, power).squareRoot() / Double(left.count)
    }

    /// The left channel, analysed as one continuous tone.
    package var tone: Tone? { Tone(self) }
}

/// A sine wave and its breaks. The length of a period is measured from one upward crossing of zero to the next.
package struct Tone: Sendable, Equatable {
    /// The frequency in Hz, from the unbroken periods.
    package var frequency: Double
    /// The places where samples were left out (durations below zero) or put in, and by how much, from 0.1 ms on.
    ///
    /// These are periods that differ by more than 3 % from the usual length. A codec bends the wave at the beginning of a clip: some
    /// periods become too long and as many too short. Neighbours within 10 ms are therefore added up.
    package var phaseJumps: [Sound.Stretch]
    /// The steps between samples that are too large for a sine of this loudness.
    package var clicks: [Duration]
    /// The largest step between two samples, and the largest step of the sine itself.
    package var largestStep: Int, expectedStep: Int

    init?(_ sound: Sound) {
        let sound = sound.audible
        let samples = sound.left
        var crossings: [Double] = []
        for index in samples.indices.dropFirst() where samples[index - 1] < 0 && samples[index] >= 0 {
            let (low, high) = (Double(samples[index - 1]), Double(samples[index]))
            crossings.append(Double(index) - high / (high - low))
        }
        let periods = zip(crossings, crossings.dropFirst()).map { ($0, $1 - $0) }
        guard periods.count >= 10 else { return nil }
        let usual = periods.map(\.1).sorted()[periods.count / 2]
        let whole = periods.filter { abs($0.1 / usual - 1) <= 0.03 }
        frequency = sound.rate * Double(whole.count) / whole.reduce(0) { $0 + $1.1 }
        var jumps: [Sound.Stretch] = []
        for (place, length) in periods where abs(length / usual - 1) > 0.03 {
            let jump = Sound.Stretch(start: sound.time(of: Int(place)), duration: .seconds((length - usual) / sound.rate))
            if let before = jumps.last, jump.start - before.start < .milliseconds(10) {
                jumps[jumps.count - 1].duration += jump.duration
            } else {
                jumps.append(jump)
            }
        }
        phaseJumps = jumps.filter { abs($0.duration / .seconds(1)) >= 0.0001 }
        let amplitude = samples.map(\.magnitude).sorted()[samples.count * 49 / 50]
        let expected = 2 * Double.pi / usual * Double(amplitude)
        let steps = zip(samples, samples.dropFirst()).map { abs(Int($1) - Int($0)) }
        (largestStep, expectedStep) = (steps.max() ?? 0, Int(expected))
        clicks = steps.indices.filter { Double(steps[$0]) > 1.6 * expected }.map { sound.time(of: $0) }
    }
}

extension Sound {
    /// Reads a WAV file of 16-bit samples of two channels behind a header of 44 bytes. Ignores the lengths in the header.
    ///
    /// - Parameters:
    ///   - positions: lines "FRAME US": a frame and the time it was played.
    ///   - origin: the start of the player on that clock.
    init?(wav: [UInt8], positions: String, origin: Int) {
        guard wav.count > 44, wav[8..<12].elementsEqual("WAVE".utf8) else { return nil }
        let nominal = Double(Int(wav[24]) | Int(wav[25]) << 8 | Int(wav[26]) << 16)
        let count = (wav.count - 44) / 4
        var (left, right) = ([Int16](), [Int16]())
        left.reserveCapacity(count)
        right.reserveCapacity(count)
        wav.withUnsafeBytes { bytes in
            for frame in 0..<count {
                left.append(Int16(littleEndian: bytes.loadUnaligned(fromByteOffset: 44 + 4 * frame, as: Int16.self)))
                right.append(Int16(littleEndian: bytes.loadUnaligned(fromByteOffset: 46 + 4 * frame, as: Int16.self)))
            }
        }
        // Each line says when frame 0 was played. Some lines are a moment late because the card advances in steps: the earliest is right.
        // If the card's clock is off, that time drifts earlier or later.
        let points = positions.split(separator: "\n").compactMap { line -> (frame: Double, zero: Double)? in
            let numbers = line.split(separator: " ").compactMap { Double($0) }
            return numbers.count == 2 ? (numbers[0], numbers[1] - numbers[0] * 1e6 / nominal) : nil
        }
        func earliest(_ points: some Sequence<(frame: Double, zero: Double)>) -> (frame: Double, zero: Double)? {
            points.min { $0.zero < $1.zero }
        }
        guard let early = earliest(points.prefix((points.count + 2) / 3)), let late = earliest(points.suffix((points.count + 2) / 3)) else {
            return nil
        }
        let drift = late.frame > early.frame ? (late.zero - early.zero) / (late.frame - early.frame) : 0
        self.init(
            rate: 1e6 / (1e6 / nominal + drift), left: left, right: right,
            start: .microseconds(Int((early.zero - early.frame * drift).rounded()) - origin))
    }
}
