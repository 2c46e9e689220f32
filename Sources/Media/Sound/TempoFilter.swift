import CKioskMedia

/// Sound at another speed with its pitch kept, between a source of samples and whoever takes them. The corresponding library is
/// libavfilter (atempo), which is loaded at the first use.
package struct TempoFilter: ~Copyable, @unchecked Sendable {
    // Sendable because the pointer is reached only through its single owner.
    private let tempo: OpaquePointer
    private let format: AudioFormat
    private var input: [Float]
    private var hasSentEnd = false
    /// Frames taken from the source so far.
    package private(set) var framesRead = 0

    /// A filter for `rate` item seconds a second (0.5…100); nil when libavfilter is missing, and the sound is left out then.
    package init?(rate: Double, format: AudioFormat) {
        guard let opened = kiosk_tempo_open(rate, Int32(format.sampleRate), Int32(format.channelCount)) else { return nil }
        tempo = opened
        self.format = format
        input = [Float](repeating: 0, count: 1024 * format.channelCount)
    }

    deinit { kiosk_tempo_close(tempo) }

    /// Fills `destination` (whole frames) with stretched samples; returns the frames filled, fewer only at the end. `source` fills what it
    /// is given with the samples to be stretched, and returns how many frames there were, 0 at its end.
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

    /// The stretched samples that the filter still holds; it gives out no more after them.
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
