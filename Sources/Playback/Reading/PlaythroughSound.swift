import KioskMedia
import KioskPlatform

/// The sound of one playthrough at its rate, with its pitch kept: a part of the state of ``PlaythroughReader``.
///
/// The sound is enqueued later than the pictures, and reaches a change of the rate later. Until then the change waits in ``rateChanges``.
/// When it is carried out, the filter of the old rate still holds back sound. If that puts the sound ahead of the picture, silence fills
/// the difference; if it puts it behind, that much is left out.
struct PlaythroughSound: ~Copyable {
    /// Whether the source has given its last sample.
    private(set) var hasEnded = false
    /// Whether any sound has been enqueued, of a playthrough with only sound.
    var hasGiven = false
    /// The rate changes that the sound has not reached.
    private(set) var rateChanges: [TimeMapping] = []
    /// The item time at which the reader's sound began, and the frames read from it since, without those of the present filter.
    private var begin: MediaTime
    private var framesRead = 0
    /// Sound to play before the reader's: the filter of the old rate held it back.
    private var leftover: [Float] = []
    private var rate: Double
    /// nil at a rate of 1, and without libavfilter.
    private var tempo: TempoFilter?

    /// Creates the sound from item time `begin` on.
    init(at begin: MediaTime, rate: Double) { (self.begin, self.rate) = (begin, rate) }

    /// Whether sound is available at the present rate.
    var hasFilter: Bool { rate == 1 || tempo != nil }

    /// Starts over at an item time, after a seek of the reader.
    mutating func restart(at begin: MediaTime, rate: Double, format: AudioFormat) {
        (self.begin, framesRead, leftover, rateChanges, hasEnded) = (begin, 0, [], [], false)
        setRate(rate, format: format)
    }

    /// Follows the reader to another sound track, whose first sample is at item time `begin`.
    mutating func follow(from begin: MediaTime, format: AudioFormat) {
        (self.begin, framesRead, leftover, hasEnded) = (begin, 0, [], false)
        setRate(rate, format: format)
    }

    private mutating func setRate(_ rate: Double, format: AudioFormat) {
        self.rate = rate
        tempo = rate == 1 ? nil : TempoFilter(rate: rate, format: format)
    }

    /// Fills `destination` from `reader`, at the present rate. Returns the frames filled, fewer only if the sound has ended.
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

    // MARK: Rate changes

    /// Notes that the pictures go on by another mapping from its instant on; the sound follows when it gets there.
    mutating func follow(_ mapping: TimeMapping) {
        if rateChanges.last?.instant == mapping.instant { rateChanges.removeLast() }
        rateChanges.append(mapping)
    }

    /// Takes over the rate of the first of ``rateChanges``, and keeps the sound that the filter of the old rate held back.
    mutating func changeRate(format: AudioFormat) -> TimeMapping {
        let change = rateChanges.removeFirst()
        framesRead += tempo?.framesRead ?? 0
        if tempo != nil { leftover += tempo!.drain() }
        setRate(change.rate, format: format)
        return change
    }

    /// Moves the sound, enqueued up to the timeline instant `written`, to its time in `change`: adds silence, or leaves some sound out.
    mutating func catchUp(with change: TimeMapping, written: MediaTime, format: AudioFormat, from reader: any ItemReader) {
        let channels = format.channelCount
        func time(_ frames: Int) -> MediaTime { .seconds(Double(frames) / Double(format.sampleRate)) }
        let expected = change.itemTime(at: written + time(leftover.count / channels))
        // More than a minute is a jump in the file's timestamps, which the reader corrects.
        let ahead = min(max((begin + time(framesRead) - expected).seconds, -60), 60)
        if ahead > 0 {
            leftover += [Float](repeating: 0, count: Int(ahead / change.rate * Double(format.sampleRate)) * channels)
        } else {
            skip(Int(-ahead * Double(format.sampleRate)), channelCount: channels, of: reader)
        }
    }

    /// Reads `frames` frames of sound and discards them.
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
