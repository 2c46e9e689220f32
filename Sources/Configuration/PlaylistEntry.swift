import KioskPlatform
import KioskVocabulary

/// One `[[playlist]]`: what to play and what it says about how. nil is what the file leaves out.
package struct PlaylistEntry: Hashable, Sendable {
    /// `source`: a file, a folder, a list or a URL.
    package var source: PlaylistSource
    /// `recursive`.
    package var isRecursive: Bool?
    /// `gravity`.
    package var gravity: VideoGravity?
    /// `volume`, 0…100.
    package var volume: Int?
    /// `muted`.
    package var isMuted: Bool?
    /// `deinterlace`.
    package var deinterlace: Deinterlace?
    /// `repeat`, at least 1.
    package var repeatCount: Int?
    /// `start`.
    package var start: MediaTime?
    /// `end`, after `start`.
    package var end: MediaTime?
    /// `duration`, more than zero.
    package var duration: MediaTime?
    /// `image-duration`, more than zero.
    package var imageDuration: MediaTime?
    /// `title`.
    package var title: String?
    /// `decoder`.
    package var decoder: DecoderSetting?
    /// `audio-track`.
    package var audioTrack: TrackChoice?
    /// `video-track`.
    package var videoTrack: TrackChoice?
    /// `reconnect`, `timeout`, `latency`, `headers`, `user-agent`, `ca-file`, `tls-verify` and `allow-network`.
    package var stream = StreamChoices()
    /// `wait-for`: whether it is `tap`.
    package var waitsForTap: Bool?
    /// `on-tap`.
    package var onTap: Command?

    /// An entry that says nothing but its source.
    package init(source: PlaylistSource) { self.source = source }

    /// One item for the engine: what this entry says, and `configuration`'s defaults for what it does not.
    ///
    /// - Parameters:
    ///   - source: an absolute path or a URL, one of those the entry's source stands for.
    ///   - version: of the file, where that is known.
    package func resolved(source: String, version: FileVersion? = nil, in configuration: Configuration) -> PlaylistItem {
        PlaylistItem(
            source: source, version: version, gravity: gravity ?? configuration.display.gravity, volume: Double(volume ?? 100) / 100,
            isMuted: isMuted ?? false, repeatCount: repeatCount ?? 1, start: start ?? .zero, end: end, duration: duration,
            imageDuration: imageDuration, waitsForTap: waitsForTap ?? false, onTap: onTap, title: title,
            deinterlace: deinterlace ?? configuration.playback.deinterlace, decoder: decoder ?? configuration.playback.decoder,
            audioTrack: audioTrack ?? configuration.playback.audioTrack, videoTrack: videoTrack ?? .automatic,
            stream: stream.resolved(in: configuration.network))
    }
}

extension Configuration {
    /// An item of a source that is on no `[[playlist]]`: what a key, a tap or `fallback` plays.
    package func item(of source: String) -> PlaylistItem {
        PlaylistEntry(source: PlaylistSource(source, relativeTo: "/")).resolved(source: source, in: self)
    }

    /// What is fetched without verifying who sends it, by its names.
    package var unverifiedSources: [String] {
        if !network.verifiesTLS { return ["[network]"] }
        return playlist.filter { $0.stream.verifiesTLS == false }.map(\.source.location)
    }
}
