import KioskPlatform

/// The sound of a source: its decoder, fed with the demuxer's packets.
///
/// After a change of sound track in mid-play, the packets already read of the former track still play. They lie before the demuxer's first
/// packet of the new track. So there is no hole, and nothing to read again; a live stream can change, too. The former track fades out and
/// the new one fades in, since a step in the sound is a click.
struct SoundTrack: ~Copyable, Sendable {
    private var decoder: AudioDecoder
    /// The former track, while it still has sound.
    private var outgoing: Outgoing?
    /// The frames of the present track still to fade in, and the length of the fade.
    private var fadeIn = (left: 0, length: 0)

    private struct Outgoing: ~Copyable, Sendable {
        var decoder: AudioDecoder
        var packets: PacketQueue
    }

    init(_ decoder: consuming AudioDecoder) { self.decoder = decoder }

    /// Creates a track after another one with the undecoded `packets`.
    init(_ decoder: consuming AudioDecoder, after former: consuming SoundTrack, _ packets: consuming PacketQueue) {
        self.decoder = decoder
        var former = former
        // If that track has not been heard yet either, the one before it plays to its end.
        if let outgoing = former.outgoing.take() {
            self.outgoing = consume outgoing
        } else {
            outgoing = Outgoing(decoder: former.decoder, packets: packets)
        }
    }

    /// The damage found so far, in container time.
    var damage: MediaDamage { decoder.damage }

    /// The number of converted samples in memory.
    var sampleCount: Int { decoder.sampleCount }

    /// Restarts: the next sample is the one at container time `time`.
    mutating func restart(at time: MediaTime) {
        outgoing = nil
        fadeIn = (0, 0)
        decoder.restart(at: time)
    }

    /// Decodes until samples are available; returns false if there are none. Blocks for reading.
    mutating func decodeFirst(from demuxer: inout Demuxer) -> Bool {
        while decoder.availableFrames == 0 {
            if decoder.hasEnded { return false }
            if !decode(for: &demuxer) { feed(from: &demuxer) }
        }
        return true
    }

    /// Fills `destination` (whole frames) with the next samples; returns the number of frames, fewer only at the end of the sound. If the
    /// pictures continue without sound, it fills silence: reading on would make the pictures wait. Blocks for reading.
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

    // MARK: The former track

    /// The frames of the fade from a track to the next: 5 ms at 48 kHz.
    private static let fadeFrames = 240

    /// Fills `destination` with the rest of the former track; returns the number of frames. The present track begins after them.
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
        // Fades only the end in this call; earlier samples are already out.
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

    /// Decodes one more piece; returns false if the decoder needs a packet.
    private mutating func decode(for demuxer: inout Demuxer) -> Bool {
        defer { if let problem = decoder.problem { demuxer.report(problem) } }
        return decoder.decodeNext()
    }

    /// Sends the decoder its next packet, or the end. Reads one if the queue is empty.
    private mutating func feed(from demuxer: inout Demuxer) {
        if let packet = demuxer.sound.popFirst() {
            decoder.send(packet)
        } else if !demuxer.read() {
            decoder.sendEnd()
        }
    }
}
