import CKioskFFmpeg
import KioskPlatform
import KioskVocabulary

// Another sound track in mid-play: the picture, which is decoded from the same packets as before, notices nothing.

extension MediaReader {
    /// What has followed from a selection.
    package enum AudioSelection: Hashable, Sendable {
        /// The track is played already, or there is no such.
        case unchanged
        /// Its sound follows on what is read already.
        case follows
        /// Its sound begins at the time that was named: there was none before.
        case begins
    }

    /// Plays another sound track from where the source has been read to: what has been read of the present one is heard before it. Where no
    /// sound is read the new one begins at item time `time`, or where the source has been read to. `off` is for who reads the sound.
    package mutating func select(audio choice: TrackChoice, at time: MediaTime) -> AudioSelection {
        guard let samples, choice != .off else { return .unchanged }
        let index = demuxer.source.format.stream(choice, of: .audio, related: demuxer.source.streams.video)
        if let problem = demuxer.source.format.problem(with: choice, of: .audio) { demuxer.report(problem) }
        guard index >= 0, index != demuxer.source.streams.audio, let stream = demuxer.source.stream(index) else { return .unchanged }
        let decoder: AudioDecoder
        do throws(MediaError) {
            try demuxer.source.format.checkCodec(stream, demuxer.source.name)
            decoder = try AudioDecoder.open(
                stream, source: demuxer.source.name, output: samples, isLive: description.isLive,
                end: demuxer.source.format.soundEnd(of: stream))
        } catch {
            demuxer.report("cannot play its audio track “\(choice)”: \(error.reason.text)")
            return .unchanged
        }
        description.audio = AssetDescription.Audio(stream, within: description.duration)
        let packets = demuxer.selectSound(index)
        if let former = sound.take() {
            sound = SoundTrack(decoder, after: former, packets)
            return .follows
        }
        var track = SoundTrack(decoder)
        track.restart(at: origin + time)
        sound = consume track
        return .begins
    }

    /// The streams that are played, by their kind.
    package var selectedTracks: [TrackKind: Int] {
        var selected: [TrackKind: Int] = [:]
        if description.video != nil { selected[.video] = Int(demuxer.source.streams.video) }
        if hasSound { selected[.audio] = Int(demuxer.source.streams.audio) }
        return selected
    }
}
