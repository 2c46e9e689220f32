import KioskMedia
import KioskPlatform
import KioskVocabulary

// Another sound track of a playthrough, while it is read.

extension PlaythroughReader {
    /// Whether its sound is not to be heard. It is read nevertheless where it has been read before, so that it can be heard again at once.
    var isSilenced: Bool { playthrough.item.isMuted || playthrough.item.audioTrack == .off }

    /// Plays the sound track that was chosen of its item since it was opened; `written` is the timeline instant up to which sound has been
    /// enqueued. What has been read of the track before is heard first.
    /// Returns whether it was another than is read.
    func select(audio choice: TrackChoice, written: MediaTime, format: AudioFormat) -> Bool {
        guard choice != playthrough.item.audioTrack else { return false }
        playthrough.item.audioTrack = choice
        if playthrough.item.isMuted, !isSoundOnly { return true }
        let time = mapping.itemTime(at: max(written, mapping.instant))
        switch reader.select(audio: choice, at: time) {
        case .unchanged: break
        // A track that had ended may be followed by a longer one.
        case .follows: if sound.hasEnded { sound.follow(from: time, format: format) }
        case .begins: sound.follow(from: time, format: format)
        }
        return true
    }
}
