import KioskPlatform

/// The sound of a source: its decoder, fed from the packets that the demuxer reads.
///
/// Where another sound track of the source is selected in mid-play, what has been read of the one before is still heard: it lies before the
/// place from which the demuxer gives out packets of the new one. So there is neither a hole nor anything to be read again, and a live
/// stream can do it, too. The end of the one before is faded out, the beginning of the new one in, since a step in the sound is a click.
struct SoundTrack: ~Copyable, Sendable {
    private var decoder: AudioDecoder
    /// The track before, as long as there is sound of it.
    private var outgoing: Outgoing?
    /// Frames of the present track that are still to be faded in, and of how many.
    private var fadeIn = (left: 0, length: 0)

    private struct Outgoing: ~Copyable, Sendable {
        var decoder: AudioDecoder
        var packets: PacketQueue
    }

    init(_ decoder: consuming AudioDecoder) { self.decoder = decoder }

    /// A track that follows another one, of which `packets` have not been decoded.
    init(_ decoder: consuming AudioDecoder, after former: consuming SoundTrack, _ packets: consuming PacketQueue) {
        self.decoder = decoder
        var former = former
        // Where that one has not been heard yet either, what was before it goes on to its end.
        if let outgoing = former.outgoing.take() {
            self.outgoing = consume outgoing
        } else {
            outgoing = Outgoing(decoder: former.decoder, packets: packets)
        }
    }

    /// What has not been decoded in full so far, in container time.
    var damage: MediaDamage { decoder.damage }

    /// Converted samples in memory.
    var sampleCount: Int { decoder.sampleCount }

    /// Begins anew: the next sample is the one of container time `time`.
    mutating func restart(at time: MediaTime) {
        outgoing = nil
        fadeIn = (0, 0)
        decoder.restart(at: time)
    }

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
        var filled = readOutgoing(into: destination, channelCount: channelCount)
        while filled < wanted {
            if decoder.availableFrames > 0 {
                let begin = filled
                filled += decoder.take(into: UnsafeMutableBufferPointer(rebasing: destination[(filled * channelCount)...]))
                fadeIn(destination, from: begin, to: filled, channelCount: channelCount)
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

    // MARK: The track before

    /// Frames over which a track that gives way is faded out, and the one that follows in: 5 ms at 48 kHz.
    private static let fadeFrames = 240

    /// Fills `destination` with what is left of the track before; returns the frames filled. Behind the last of them the present track begins.
    private mutating func readOutgoing(into destination: UnsafeMutableBufferPointer<Float>, channelCount: Int) -> Int {
        guard outgoing != nil else { return 0 }
        let wanted = destination.count / channelCount
        var filled = 0
        while filled < wanted {
            if outgoing!.decoder.availableFrames > 0 {
                filled += outgoing!.decoder.take(into: UnsafeMutableBufferPointer(rebasing: destination[(filled * channelCount)...]))
            } else if outgoing!.decoder.hasEnded {
                break
            } else if outgoing!.decoder.decodeNext() {
                continue
            } else if let packet = outgoing!.packets.popFirst() {
                outgoing!.decoder.send(packet)
            } else {
                outgoing!.decoder.sendEnd()
            }
        }
        // The end is faded as far as it lies in one piece: what has been handed out before cannot be.
        guard filled < wanted else { return filled }
        let length = min(filled, Self.fadeFrames)
        for frame in 0..<length {
            let gain = Float(length - frame) / Float(length + 1)
            for channel in 0..<channelCount { destination[(filled - length + frame) * channelCount + channel] *= gain }
        }
        decoder.restart(at: outgoing!.decoder.endTime)
        fadeIn = (Self.fadeFrames, Self.fadeFrames)
        outgoing = nil
        return filled
    }

    private mutating func fadeIn(_ samples: UnsafeMutableBufferPointer<Float>, from begin: Int, to end: Int, channelCount: Int) {
        for frame in begin..<min(end, begin + fadeIn.left) {
            let gain = Float(fadeIn.length - fadeIn.left + 1) / Float(fadeIn.length + 1)
            for channel in 0..<channelCount { samples[frame * channelCount + channel] *= gain }
            fadeIn.left -= 1
        }
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
