import KioskMedia
import KioskPlatform

/// The sound of one playthrough at its rate, with its pitch kept: the state that its ``PlaythroughReader`` keeps of it.
///
/// The sound is enqueued later than the pictures, and comes to a change of the rate later. Until then the change waits in ``rateChanges``.
/// When it is carried out, the filter of the rate before still holds back sound. What that puts the sound ahead of the picture is silence,
/// what it puts it behind is left out.
struct PlaythroughSound: ~Copyable {
    /// Whether the source has given its last sample.
    private(set) var hasEnded = false
    /// Whether any of it has been enqueued, of a playthrough that is only sound.
    var hasGiven = false
    /// The changes of the rate that the sound has not come to.
    private(set) var rateChanges: [TimeMapping] = []
    /// Item time at which the reader's sound began, and the frames read from it since, less those of the present filter.
    private var begin: MediaTime
    private var framesRead = 0
    /// Sound to come before the reader's: what the filter of the rate before held back.
    private var leftover: [Float] = []
    private var rate: Double
    /// nil at a rate of 1, and without libavfilter.
    private var tempo: TempoFilter?

    /// Sound from item time `begin` on.
    init(at begin: MediaTime, rate: Double) { (self.begin, self.rate) = (begin, rate) }

    /// Whether it can be had at the present rate.
    var hasFilter: Bool { rate == 1 || tempo != nil }

    /// Begins anew at an item time the reader has been moved to.
    mutating func restart(at begin: MediaTime, rate: Double, format: AudioFormat) {
        (self.begin, framesRead, leftover, rateChanges, hasEnded) = (begin, 0, [], [], false)
        setRate(rate, format: format)
    }

    /// The reader gives out other sound than before, of which the first sample is that of item time `begin`.
    mutating func follow(from begin: MediaTime, format: AudioFormat) {
        (self.begin, framesRead, leftover, hasEnded) = (begin, 0, [], false)
        setRate(rate, format: format)
    }

    private mutating func setRate(_ rate: Double, format: AudioFormat) {
        self.rate = rate
        tempo = rate == 1 ? nil : TempoFilter(rate: rate, format: format)
    }

    /// Fills `destination` from `reader`, at the present rate; returns the frames filled, fewer only where the sound has ended.
    mutating func read(into destination: UnsafeMutableBufferPointer<Float>, channelCount: Int, from reader: any ItemReader) -> Int {
        let head = min(leftover.count, destination.count)
        for index in 0..<head { unsafe destination[index] = leftover[index] }
        leftover.removeFirst(head)
        let rest = unsafe UnsafeMutableBufferPointer(rebasing: destination[head...])
        var frames = head / channelCount
        if tempo != nil {
            frames += unsafe tempo!.read(into: rest) { unsafe reader.readSamples(into: $0, channelCount: channelCount) }
        } else {
            let count = unsafe reader.readSamples(into: rest, channelCount: channelCount)
            framesRead += count
            frames += count
        }
        if frames < destination.count / channelCount { hasEnded = true }
        return frames
    }

    // MARK: Changes of the rate

    /// The pictures go on by another mapping from its instant on; so does the sound when it comes there.
    mutating func follow(_ mapping: TimeMapping) {
        if rateChanges.last?.instant == mapping.instant { rateChanges.removeLast() }
        rateChanges.append(mapping)
    }

    /// Takes over the rate of the first of ``rateChanges``, and keeps what the filter of the rate before has held back.
    mutating func changeRate(format: AudioFormat) -> TimeMapping {
        let change = rateChanges.removeFirst()
        framesRead += tempo?.framesRead ?? 0
        if tempo != nil { leftover += tempo!.drain() }
        setRate(change.rate, format: format)
        return change
    }

    /// Brings the sound, enqueued up to the timeline instant `written`, to where `change` has it: with silence or by leaving some out.
    mutating func catchUp(with change: TimeMapping, written: MediaTime, format: AudioFormat, from reader: any ItemReader) {
        let channels = format.channelCount
        func time(_ frames: Int) -> MediaTime { .seconds(Double(frames) / Double(format.sampleRate)) }
        let expected = change.itemTime(at: written + time(leftover.count / channels))
        // More than a minute is a jump of the file's times, which the reader makes good.
        let ahead = min(max((begin + time(framesRead) - expected).seconds, -60), 60)
        if ahead > 0 {
            leftover += [Float](repeating: 0, count: Int(ahead / change.rate * Double(format.sampleRate)) * channels)
        } else {
            skip(Int(-ahead * Double(format.sampleRate)), channelCount: channels, of: reader)
        }
    }

    /// Reads so many frames of sound and leaves them out.
    private mutating func skip(_ frames: Int, channelCount: Int, of reader: any ItemReader) {
        var left = frames
        var chunk = [Float](repeating: 0, count: min(left, 4096) * channelCount)
        while left > 0 {
            let read = unsafe chunk.withUnsafeMutableBufferPointer { buffer in
                let wanted = unsafe UnsafeMutableBufferPointer(rebasing: buffer[..<(min(left, 4096) * channelCount)])
                return unsafe reader.readSamples(into: wanted, channelCount: channelCount)
            }
            if read == 0 { return }
            framesRead += read
            left -= read
        }
    }
}
