import KioskMedia
import KioskPlatform
import KioskVocabulary

/// Enqueues the sound of playthroughs. Used by the feeder's thread alone.
///
/// If sound and picture differ in length, an item lasts as long as its picture. Sound is written only up to the end of the pictures
/// enqueued so far, and missing sound is silence. Sound that is left over when the picture ends is faded out over the last
/// ``GainRamp/duration``. An item without a picture lasts as long as its sound.
struct SoundFeed: ~Copyable {
    private let queue: AudioQueue
    private var samples: [Float]
    private var mixing: [Float]
    private var ramp = GainRamp()

    /// The frames after which a changing volume is calculated anew: a millisecond.
    private static let volumeStep = 48

    /// The most frames enqueued in one go: a small part of the queue's capacity, or there might never be room for them.
    private let chunkFrames: Int

    init(_ queue: AudioQueue) {
        self.queue = queue
        chunkFrames = min(2048, queue.format.sampleRate / 20)
        samples = [Float](repeating: 0, count: chunkFrames * queue.format.channelCount)
        mixing = samples
    }

    /// The timeline instant up to which sound has been enqueued.
    var end: MediaTime { queue.time(ofSample: Double(queue.writtenSamples)) }

    /// Returns how many frames of a playthrough may be enqueued now, in one go.
    func wanted(of reader: PlaythroughReader) -> Int {
        if reader.isSoundOnly { return reader.isAtEnd ? 0 : chunkFrames }
        // The last stretch waits until the feeder knows whether the item ends there and its sound has to be faded.
        let until = reader.isAtEnd ? reader.end : reader.end - GainRamp.duration
        var frames = max(0, frames(to: until))
        // Stop at the next change of the rate.
        if let change = reader.soundRateChanges.first(where: { self.frames(to: $0.instant) > 0 }) {
            frames = min(frames, self.frames(to: change.instant))
        }
        if frames <= chunkFrames { return frames }
        // Leave enough for the last go to be faded.
        return min(chunkFrames, frames - self.frames(in: GainRamp.duration))
    }

    private func frames(in time: MediaTime) -> Int { Int(queue.sample(at: time)) }
    private func frames(to time: MediaTime) -> Int { Int(queue.sample(at: time) - queue.writtenSamples) }

    /// Changes the rate of a playthrough's sound where the pictures did, once the sound has been enqueued up to there.
    func followRate(of reader: PlaythroughReader) {
        while let change = reader.soundRateChanges.first, frames(to: change.instant) <= 0 {
            reader.changeSoundRate(written: end, format: queue.format)
        }
    }

    /// Enqueues `frames` frames beneath the pictures of a playthrough. Silence follows its end; the sound that fades out is mixed in.
    mutating func enqueue(_ frames: Int, of reader: PlaythroughReader, over fade: CrossFade?) {
        let channels = queue.format.channelCount
        if fade != nil { ramp.reset() }
        let filled = read(frames, of: reader)
        for index in filled * channels..<frames * channels { samples[index] = 0 }
        let isLast = reader.isAtEnd && queue.writtenSamples + Int64(frames) >= queue.sample(at: reader.end)
        if isLast, filled == frames, reader.fadeOutTime == nil, reader.hasSurplusSound(channelCount: channels) {
            GainRamp.fadeOut(&samples, count: frames, format: queue.format)
        }
        let begin = end
        if let fade, begin < fade.end { fade.mix(into: &samples, count: frames, from: begin, scratch: &mixing, format: queue.format) }
        queue.write(samples.span.extracting(first: frames * channels))
    }

    /// Enqueues up to `frames` frames of a playthrough with only sound, and moves its end. Returns how many there were, fewer only at its
    /// end.
    mutating func enqueueAlone(_ frames: Int, of reader: PlaythroughReader) -> Int {
        var filled = read(frames, of: reader)
        if let limit = reader.limit {
            filled = min(filled, max(0, self.frames(to: reader.mapping.instant(of: limit))))
        }
        queue.write(samples.span.extracting(first: filled * queue.format.channelCount))
        reader.enqueuedSound(filled, to: end, isLast: filled < frames)
        return filled
    }

    /// Enqueues silence up to a timeline instant. Returns false if there is no room for it, or none is missing.
    func enqueueSilence(to time: MediaTime) -> Bool {
        let frames = frames(to: time)
        guard frames > 0, queue.room(wanting: 0) >= frames else { return false }
        queue.write([Float](repeating: 0, count: frames * queue.format.channelCount).span)
        return true
    }

    /// Forgets the gain of the last sound: the next sound follows on nothing.
    mutating func reset() { ramp.reset() }

    /// Reads up to `frames` frames of a playthrough into `samples`, and applies its volume. Returns how many there were.
    private mutating func read(_ frames: Int, of reader: PlaythroughReader) -> Int {
        let format = queue.format
        followRate(of: reader)
        let filled = unsafe samples.withUnsafeMutableBufferPointer { buffer in
            let destination = unsafe UnsafeMutableBufferPointer(rebasing: buffer[..<(frames * format.channelCount)])
            return unsafe reader.readSound(into: destination, channelCount: format.channelCount)
        }
        if !reader.isSilenced, reader.playthrough.item.volumes != nil {
            var done = 0
            while done < filled {
                let block = min(filled - done, Self.volumeStep)
                let gain = reader.gain(at: end + .seconds(Double(done + block) / Double(format.sampleRate)))
                ramp.apply(Float(gain), to: &samples, from: done, count: block, format: format)
                done += block
            }
        } else {
            let gain = reader.isSilenced ? 0 : AudioQueue.gain(ofVolume: reader.playthrough.item.volume)
            ramp.apply(Float(gain), to: &samples, count: filled, format: format)
        }
        if filled < frames { ramp.reset() }
        return filled
    }
}

/// The gain of an item's sound: its volume, reached over ``duration`` after sound of another volume, and down to zero if the rest will not
/// be heard. A step in a tone is a click; a ramp of some milliseconds is not heard.
struct GainRamp {
    /// How long a gain takes from zero to one, and how long the end of a sound that is cut off fades.
    static let duration = MediaTime.milliseconds(5)

    /// The last factor of the sound enqueued last; nil if that is silence, and any gain may follow.
    private var last: Float?

    /// Multiplies `count` frames by `gain`, from frame `start` on.
    mutating func apply(_ gain: Float, to samples: inout [Float], from start: Int = 0, count: Int, format: AudioFormat) {
        var present = last ?? gain
        defer { last = count > 0 ? present : nil }
        guard present != 1 || gain != 1 else { return }
        let step = Float(1 / (Self.duration.seconds * Double(format.sampleRate)))
        for frame in start..<start + count {
            present = present < gain ? min(gain, present + step) : max(gain, present - step)
            for index in Self.samples(of: frame, format) { samples[index] *= present }
        }
    }

    /// Forgets the last gain: the next sound follows on silence, or fades in.
    mutating func reset() { last = nil }

    /// Fades the last of `count` frames down to nothing.
    static func fadeOut(_ samples: inout [Float], count: Int, format: AudioFormat) {
        let length = min(count, Int((duration.seconds * Double(format.sampleRate)).rounded()))
        for frame in 0..<length {
            let gain = Float(length - frame) / Float(length + 1)
            for index in Self.samples(of: count - length + frame, format) { samples[index] *= gain }
        }
    }

    private static func samples(of frame: Int, _ format: AudioFormat) -> Range<Int> {
        frame * format.channelCount..<(frame + 1) * format.channelCount
    }
}
