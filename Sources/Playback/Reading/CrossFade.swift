import KioskMedia
import KioskPlatform
import KioskVocabulary

/// A playthrough that is fading out while the next one, which is the feeder's, fades in.
///
/// The playthrough that ends is enqueued up to the frame at which the fade begins. There its reader is handed over with that frame in hand,
/// and is read on here. Each enqueued frame of the next playthrough gets the old picture of that instant, and each sample its old sample.
/// The display mixes the pictures (``SceneOutput/prepare(_:)``). A frame that stands for long, above all a still, is enqueued in pieces
/// during the fade. Used by the feeder's thread alone.
final class CrossFade {
    /// The instants at which it begins and ends.
    let begin: MediaTime, end: MediaTime
    /// The playthrough that fades out.
    let outgoing: PlaythroughReader
    private var picture: VideoFrame?
    private var upcoming: TimedFrame?

    /// The longest frame that is not cut into pieces, and the length of a piece.
    static let longestFrame = MediaTime.milliseconds(50)
    static let pieceLength = MediaTime(nanoseconds: 1_000_000_000 / 30)

    /// Creates the fade-out of `outgoing`, from its picture in hand at `begin` on, for `duration`.
    init(_ outgoing: PlaythroughReader, at begin: MediaTime, for duration: MediaTime) {
        self.begin = begin
        end = begin + duration
        self.outgoing = outgoing
        upcoming = outgoing.takeFadeOut()
    }

    /// Returns the share of the next playthrough at an instant, 0…1.
    func share(at time: MediaTime) -> Double { min(max((time - begin).seconds / (end - begin).seconds, 0), 1) }

    /// Returns the picture beneath the next playthrough's picture from `start` to `stop`; nil once the fade is over.
    func underlay(from start: MediaTime, to stop: MediaTime) -> Underlay? {
        guard start < end else { return nil }
        while let next = upcoming.take() {
            if outgoing.mapping.instant(of: next.time) > start, picture != nil {
                upcoming = .some(next)
                break
            }
            picture = next.intoFrame()
            if !outgoing.playthrough.isStill { upcoming = outgoing.reader.nextFrame() }
        }
        let middle = start + (stop - start).scaled(by: 0.5)
        guard let shown = picture?.shared() else { return nil }
        return Underlay(picture: shown, gravity: outgoing.playthrough.item.gravity, share: share(at: middle))
    }

    /// Mixes the sound of the ending playthrough into the `count` frames of sound at `samples`, which begin at `time`. The gains add up to
    /// constant power.
    func mix(into samples: inout [Float], count: Int, from time: MediaTime, scratch: inout [Float], format: AudioFormat) {
        let channels = format.channelCount
        let filled = unsafe scratch.withUnsafeMutableBufferPointer { buffer in
            unsafe outgoing.readSound(into: UnsafeMutableBufferPointer(rebasing: buffer[..<(count * channels)]), channelCount: channels)
        }
        var volume = outgoing.gain(at: time)
        for frame in 0..<count {
            let now = time + .seconds(Double(frame) / Double(format.sampleRate))
            let share = share(at: now)
            if outgoing.playthrough.item.volumes != nil { volume = outgoing.gain(at: now) }
            let (rising, falling) = (Float(share.squareRoot()), Float((1 - share).squareRoot() * volume))
            for index in frame * channels..<(frame + 1) * channels {
                samples[index] = samples[index] * rising + (frame < filled ? scratch[index] * falling : 0)
            }
        }
    }
}

/// A picture that shows through another one while that fades in.
struct Underlay: ~Copyable, Sendable {
    let picture: VideoFrame
    /// How the picture is fitted to the screen.
    let gravity: VideoGravity
    /// The share of the upper picture in the mixture, 0…1.
    let share: Double
}
