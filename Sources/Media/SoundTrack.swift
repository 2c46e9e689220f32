import KioskPlatform

/// The sound of a source: its decoder, fed from the packets that the demuxer reads.
struct SoundTrack: ~Copyable, Sendable {
    private var decoder: AudioDecoder

    init(_ decoder: consuming AudioDecoder) { self.decoder = decoder }

    /// Converted samples in memory.
    var sampleCount: Int { decoder.sampleCount }

    /// Begins anew: the next sample is the one of container time `time`.
    mutating func restart(at time: MediaTime) { decoder.restart(at: time) }

    /// Decodes until there are samples to be taken; false when there are none. Blocks for reading.
    mutating func decodeFirst(from demuxer: inout Demuxer) -> Bool {
        while decoder.availableFrames == 0 {
            if decoder.hasEnded { return false }
            if !decode(for: &demuxer) { feed(from: &demuxer) }
        }
        return true
    }

    /// Fills `destination` (whole frames) with the next samples; returns the frames filled, fewer only when the sound has ended. Where the
    /// pictures go on and no sound comes, it is silence: reading on for it would keep the pictures waiting. Blocks for reading.
    mutating func read(into destination: UnsafeMutableBufferPointer<Float>, channelCount: Int, from demuxer: inout Demuxer) -> Int {
        let wanted = destination.count / channelCount
        var filled = 0
        while filled < wanted {
            if decoder.availableFrames > 0 {
                filled += decoder.take(into: UnsafeMutableBufferPointer(rebasing: destination[(filled * channelCount)...]))
            } else if decoder.hasEnded {
                break
            } else if decode(for: &demuxer) {
                continue
            } else if !demuxer.sound.isEmpty {
                feed(from: &demuxer)
            } else if demuxer.isSoundMissing(from: decoder.endTime) {
                decoder.pass(frames: wanted - filled)
            } else if demuxer.isFull {
                demuxer.report("its sound ends early, as it lies too far from its picture in the file: remux it (ffmpeg -i IN -c copy OUT)")
                decoder.sendEnd()
            } else {
                feed(from: &demuxer)
            }
        }
        return filled
    }

    /// Goes on decoding by one piece; false where the decoder needs a packet for that.
    private mutating func decode(for demuxer: inout Demuxer) -> Bool {
        defer { if let problem = decoder.problem { demuxer.report(problem) } }
        return decoder.decodeNext()
    }

    /// Hands the decoder its next packet, which is read where none is queued, or tells it that none follows.
    private mutating func feed(from demuxer: inout Demuxer) {
        if let packet = demuxer.sound.popFirst() {
            decoder.send(packet)
        } else if !demuxer.read() {
            decoder.sendEnd()
        }
    }
}
