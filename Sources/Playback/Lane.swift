import Media
import Platform

/// The item that the feeder is laying: its reader, and how its time lies on the timeline. Used by the feeder's thread alone.
final class Lane {
    let reader: any ItemReader
    var turn: Turn
    /// Item time that lies at timeline instant `anchor`; both move when the rate changes.
    var anchorItemTime: MediaTime
    var anchor: MediaTime
    var rate: Double
    /// Item time at which to stop, by the configuration.
    var limit: MediaTime?
    /// Whether the container tells how long it is.
    var isLengthKnown = true
    /// Timeline instant at which the pictures laid so far end; of a turn that is only sound, the sound.
    var pictureEnd: MediaTime
    /// Whether every picture has been laid; the turn then ends at `pictureEnd`.
    var picturesDone = false
    var soundEnded = false
    /// Whether its sound is its length; a cover is no picture in this sense.
    let isSoundOnly: Bool
    /// The one picture of a turn that is only sound, once it has been read.
    var cover: VideoFrame?
    var isFirst = true
    /// Whether something was wrong with this turn, so that the complaint stands.
    var isFlawed = false
    /// How many of the reader's problems have been told.
    var problemsTold = 0
    /// Whether any of its sound has been laid.
    var hasSounded = false
    /// Item time from which on the next turn fades in; nil for a cut.
    var fadeBegin: MediaTime?
    /// The frame at which it begins to fade out; the pictures laid end before it.
    var fading: TimedFrame?
    /// What is still to be laid of a picture that is laid in pieces.
    var rest: TimedFrame?
    init(
        reader: any ItemReader, turn: Turn, at itemTime: MediaTime, anchor: MediaTime, rate: Double, limit: MediaTime?
    ) {
        self.reader = reader
        (soundBegin, soundRate) = (itemTime, rate)
        self.turn = turn
        anchorItemTime = itemTime
        self.anchor = anchor
        self.rate = rate
        self.limit = limit
        pictureEnd = anchor
        isSoundOnly = reader.description.video == nil
    }

    /// Whether its reading was given up because something else is wanted; nothing it gives is to be believed then.
    var isCancelled: Bool { reader.interruption.cancelled }

    /// Whether there is sound of it to be read. Where the sound is the item's length it is read even if it is muted; without libavfilter there is none at
    /// another speed than one.
    var givesSound: Bool {
        guard !turn.isStill, reader.hasSound, !soundEnded else { return false }
        return isSoundOnly || !turn.item.isMuted && (soundRate == 1 || tempo != nil)
    }

    /// The timeline instant of an item time.
    func timeline(_ itemTime: MediaTime) -> MediaTime { anchor + (itemTime - anchorItemTime).scaled(by: 1 / rate) }

    /// The item time up to which pictures have been laid.
    var laidItemTime: MediaTime { anchorItemTime + (pictureEnd - anchor).scaled(by: rate) }

    /// The next picture to lay: the one it was to fade out from, where nothing came of that, else the reader's.
    func nextFrame() -> TimedFrame? {
        if let frame = fading.take() { return frame }
        return reader.nextFrame()
    }

    /// Item time at which the reader's sound began, and the frames read from it since, less those of the present filter.
    private var soundBegin: MediaTime
    private var framesRead = 0
    /// Sound to come before the reader's: what the filter of the rate before held back.
    private var leftover: [Float] = []
    /// The rate of the sound, which is laid later than the pictures, and comes to a change of rate later.
    private var soundRate: Double
    private var tempo: TempoFilter?
    /// The changes it has not come to: at a timeline instant, where an item time lies, to a rate.
    private(set) var rateChanges: [(at: MediaTime, itemTime: MediaTime, rate: Double)] = []

    /// Fills `destination` with sound at the lane's rate; returns the frames filled, fewer only when it has ended.
    func readSound(into destination: UnsafeMutableBufferPointer<Float>, channelCount: Int) -> Int {
        let head = min(leftover.count, destination.count)
        for index in 0..<head { unsafe destination[index] = leftover[index] }
        leftover.removeFirst(head)
        let rest = unsafe UnsafeMutableBufferPointer(rebasing: destination[head...])
        let frames: Int
        if tempo != nil {
            frames = unsafe tempo!.read(into: rest) { [reader] in unsafe reader.readSamples(into: $0, channelCount: channelCount) }
        } else {
            frames = unsafe reader.readSamples(into: rest, channelCount: channelCount)
            framesRead += frames
        }
        return head / channelCount + frames
    }

    /// Begins anew at an item time the reader has been moved to.
    func restart(at itemTime: MediaTime, anchor: MediaTime, rate: Double, format: AudioFormat) {
        (anchorItemTime, self.anchor, pictureEnd, self.rate) = (itemTime, anchor, anchor, rate)
        (picturesDone, soundEnded, isFirst) = (false, false, true)
        (soundBegin, framesRead, leftover, rateChanges) = (itemTime, 0, [], [])
        fading = nil
        rest = nil
        setSoundRate(rate, format: format)
    }

    private func setSoundRate(_ rate: Double, format: AudioFormat) {
        soundRate = rate
        tempo = rate == 1 ? nil : TempoFilter(rate: rate, format: format)
    }

    /// Changes the rate from the end of the pictures laid so far on; the sound follows when it has been laid up to there.
    func setRate(_ rate: Double) {
        anchorItemTime = laidItemTime
        anchor = pictureEnd
        self.rate = rate
        if rateChanges.last?.at == anchor { rateChanges.removeLast() }
        rateChanges.append((anchor, anchorItemTime, rate))
    }

    /// Carries out the first of ``rateChanges``, up to which, or further, sound has been laid: up to `written`.
    func changeSoundRate(written: MediaTime, format: AudioFormat) {
        let change = rateChanges.removeFirst()
        framesRead += tempo?.framesRead ?? 0
        if tempo != nil { leftover += tempo!.drain() }
        setSoundRate(change.rate, format: format)
        // Nothing is made ready or skipped of what is not heard: while nobody reads, it falls behind by all that is played.
        guard givesSound else { return }
        // The filter held back sound that was meant for the old rate: what that puts it ahead of the picture is silence, what it puts it
        // behind is left out.
        let channels = format.channelCount
        func time(_ frames: Int) -> MediaTime { .seconds(Double(frames) / Double(format.sampleRate)) }
        let next = written + time(leftover.count / channels)
        let expected = change.itemTime + (next - change.at).scaled(by: change.rate)
        // More than a minute is a jump of the file's times, which the reader makes good.
        let ahead = min(max((soundBegin + time(framesRead) - expected).seconds, -60), 60)
        if ahead > 0 {
            leftover += [Float](repeating: 0, count: Int(ahead / change.rate * Double(format.sampleRate)) * channels)
        } else {
            skip(Int(-ahead * Double(format.sampleRate)), channelCount: channels)
        }
    }

    /// Reads so many frames of sound and leaves them out.
    private func skip(_ frames: Int, channelCount: Int) {
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
