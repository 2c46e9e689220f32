import CKioskMedia

/// Changes the speed of sound and keeps its pitch, between a source of samples and their consumer. The corresponding library is libavfilter
/// (atempo), which loads at the first use.
package struct TempoFilter: ~Copyable, @unchecked Sendable {
    // Sendable because only its single owner uses the pointer.
    private let tempo: OpaquePointer
    private let format: AudioFormat
    private var input: [Float]
    private var hasSentEnd = false
    /// The frames taken from the source so far.
    package private(set) var framesRead = 0

    /// Creates a filter for `rate` item seconds a second (0.5…100). nil if libavfilter is missing; the player then leaves out the sound.
    package init?(rate: Double, format: AudioFormat) {
        guard let opened = kiosk_tempo_open(rate, Int32(format.sampleRate), Int32(format.channelCount)) else { return nil }
        tempo = opened
        self.format = format
        input = [Float](repeating: 0, count: 1024 * format.channelCount)
    }

    deinit { kiosk_tempo_close(tempo) }

    /// Fills `destination` (whole frames) with stretched samples; returns the number of frames, fewer only at the end. `source` fills its
    /// buffer with samples to stretch, and returns the number of frames, 0 at its end.
    package mutating func read(
        into destination: UnsafeMutableBufferPointer<Float>, from source: (UnsafeMutableBufferPointer<Float>) -> Int
    ) -> Int {
        let channels = format.channelCount
        let wanted = destination.count / channels
        var filled = 0
        while filled < wanted {
            let count = kiosk_tempo_receive(tempo, destination.baseAddress! + filled * channels, Int32(wanted - filled))
            if count > 0 {
                filled += Int(count)
            } else if hasSentEnd {
                break
            } else {
                let frames = input.withUnsafeMutableBufferPointer { source($0) }
                framesRead += frames
                if frames == 0 { hasSentEnd = true }
                if kiosk_tempo_send(tempo, input, Int32(frames)) < 0 { hasSentEnd = true }
            }
        }
        return filled
    }

    /// Returns the stretched samples still in the filter, and ends it.
    package mutating func drain() -> [Float] {
        if !hasSentEnd { _ = kiosk_tempo_send(tempo, nil, 0) }
        hasSentEnd = true
        var rest: [Float] = []
        while true {
            let count = input.withUnsafeMutableBufferPointer { kiosk_tempo_receive(tempo, $0.baseAddress!, 1024) }
            if count <= 0 { return rest }
            rest += input[..<(Int(count) * format.channelCount)]
        }
    }
}
