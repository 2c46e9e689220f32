import Media
import Platform

/// Lays the sound of turns into the audio queue. Used by the feeder's thread alone.
///
/// The rule for sound and picture of unequal length: an item lasts as long as its picture. Sound is written only up to the end of the pictures laid
/// so far; missing sound is silence; sound that is left over when the picture ends is faded out over the last ``GainRamp/duration``. An item
/// without a picture lasts as long as its sound.
struct SoundFeed: ~Copyable {
    private let queue: AudioQueue
    private var samples: [Float]
    private var mixing: [Float]
    private var ramp = GainRamp()

    /// Frames laid in one go at most: a small part of what the queue holds, or there might never be room for them.
    private let chunkFrames: Int

    init(_ queue: AudioQueue) {
        self.queue = queue
        chunkFrames = min(2048, queue.format.sampleRate / 20)
        samples = [Float](repeating: 0, count: chunkFrames * queue.format.channelCount)
        mixing = samples
    }

    /// The timeline instant up to which sound has been laid.
    var end: MediaTime { queue.time(ofSample: Double(queue.writtenSamples)) }

    /// Frames of a turn that may be laid now, in one go.
    func wanted(of lane: Lane) -> Int {
        if lane.isSoundOnly { return lane.picturesDone ? 0 : chunkFrames }
        // The last stretch waits until it is known whether the item ends there and its sound has to be faded.
        let until = lane.picturesDone ? lane.pictureEnd : lane.pictureEnd - GainRamp.duration
        var frames = max(0, frames(to: until))
        // No further than to where it is to change its rate.
        if let change = lane.rateChanges.first(where: { self.frames(to: $0.at) > 0 }) { frames = min(frames, self.frames(to: change.at)) }
        if frames <= chunkFrames { return frames }
        // What is left for the last go is enough to be faded.
        return min(chunkFrames, frames - self.frames(in: GainRamp.duration))
    }

    private func frames(in time: MediaTime) -> Int { Int(queue.sample(at: time)) }
    private func frames(to time: MediaTime) -> Int { Int(queue.sample(at: time) - queue.writtenSamples) }

    /// Has the sound of a turn change its rate where the pictures did, once it has been laid up to there.
    func followRate(of lane: Lane) {
        while let change = lane.rateChanges.first, frames(to: change.at) <= 0 { lane.changeSoundRate(written: end, format: queue.format) }
    }

    /// Lays so many frames beneath the pictures of a turn, silence where it has no more, with what fades out mixed in.
    mutating func lay(_ frames: Int, of lane: Lane, fade: CrossFade?) {
        let channels = queue.format.channelCount
        if fade != nil { ramp.reset() }
        let filled = read(frames, of: lane)
        for index in filled * channels..<frames * channels { samples[index] = 0 }
        let isLast = lane.picturesDone && queue.writtenSamples + Int64(frames) >= queue.sample(at: lane.pictureEnd)
        if isLast, filled == frames, lane.fading == nil, hasSurplus(lane) {
            GainRamp.fadeOut(&samples, count: frames, format: queue.format)
        }
        let begin = end
        if let fade, begin < fade.end { fade.mix(into: &samples, count: frames, from: begin, scratch: &mixing, format: queue.format) }
        queue.write(samples.span.extracting(first: frames * channels))
    }

    /// Lays up to so many frames of a turn that is only sound, and moves its end; returns how many there were, fewer only at its end.
    mutating func layAlone(_ frames: Int, of lane: Lane) -> Int {
        var filled = read(frames, of: lane)
        if let limit = lane.limit {
            filled = min(filled, max(0, self.frames(to: lane.timeline(limit))))
        }
        queue.write(samples.span.extracting(first: filled * queue.format.channelCount))
        if filled > 0 { lane.hasSounded = true }
        lane.pictureEnd = end
        return filled
    }

    /// Lays silence up to a timeline instant; false where there is no room for it, or nothing to lay.
    func laySilence(to time: MediaTime) -> Bool {
        let frames = frames(to: time)
        guard frames > 0, queue.room(wanting: 0) >= frames else { return false }
        queue.write([Float](repeating: 0, count: frames * queue.format.channelCount).span)
        return true
    }

    /// What is laid next follows on nothing.
    mutating func reset() { ramp.reset() }

    /// Reads up to so many frames of a turn into `samples`, as loud as they are to be; returns how many there were.
    private mutating func read(_ frames: Int, of lane: Lane) -> Int {
        let channels = queue.format.channelCount
        followRate(of: lane)
        var filled = 0
        if lane.givesSound {
            filled = unsafe samples.withUnsafeMutableBufferPointer { buffer in
                let destination = unsafe UnsafeMutableBufferPointer(rebasing: buffer[..<(frames * channels)])
                return unsafe lane.readSound(into: destination, channelCount: channels)
            }
            if filled < frames { lane.soundEnded = true }
        }
        let gain = lane.turn.item.isMuted ? 0 : Float(AudioQueue.gain(ofVolume: lane.turn.item.volume))
        ramp.apply(gain, to: &samples, count: filled, format: queue.format)
        if filled < frames { ramp.reset() }
        return filled
    }

    /// Whether there is sound left that will not be heard; asked once, when the turn ends. A codec's padding behind the end that the container
    /// tells is not sound.
    private func hasSurplus(_ lane: Lane) -> Bool {
        let asset = lane.reader.description
        if let video = asset.video, let sound = asset.audio, let duration = sound.duration {
            let soundEnd = (sound.start ?? .zero) + duration - (video.start ?? .zero)
            if soundEnd <= lane.laidItemTime + .milliseconds(1) { return false }
        }
        var probe = [Float](repeating: 0, count: queue.format.channelCount)
        return unsafe probe.withUnsafeMutableBufferPointer {
            unsafe lane.reader.readSamples(into: $0, channelCount: queue.format.channelCount)
        } > 0
    }
}
