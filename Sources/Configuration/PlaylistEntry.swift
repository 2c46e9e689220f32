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

    /// How long one entry may hold up a thread.
    package static let expansionLimit = MediaTime.seconds(5)

    /// The items that the playlist stands for now, what is wrong with its folders and lists, one line each, and the folders that it takes whole.
    ///
    /// Blocks, for each entry no longer than `limit`: a dead server or a dying disk can hold up a thread that asks for a file's name for
    /// ever. Such a thread is left behind.
    package func expandPlaylist(
        limit: MediaTime = Configuration.expansionLimit
    ) -> (items: [PlaylistItem], problems: [String], folders: [String]) {
        var expansion: (items: [PlaylistItem], problems: [String], folders: [String]) = ([], [], [])
        for entry in playlist {
            let answer = Monitor<SourceExpansion?>(nil)
            Thread("folders") {
                let found = entry.expand()
                answer.signal { $0 = found }
            }.detach()
            let found = answer.wait(until: .now + limit) { $0 }
            expansion.folders += found?.folders.filter { $0.value == .all }.map(\.key.string) ?? []
            let sources = found?.sources ?? (entry.assumed.map { [$0] } ?? [])
            expansion.items += sources.map { entry.resolved(source: $0.source, in: self) }
            let seconds = Int(saturating: limit.seconds.rounded(.up))
            expansion.problems += found?.problems ?? ["\(entry.source.location): no answer for \(seconds) s: its disk or its server hangs"]
        }
        return expansion
    }
}

extension PlaylistEntry {
    /// What it is taken for while it has never answered: a file by its name is itself.
    package var assumed: SourceExpansion.Found? { source.isNamedAsFile ? .init(source.location) : nil }

    /// What it stands for now. May block for ever.
    package func expand() -> SourceExpansion { source.expand(isRecursive: isRecursive ?? false) }
}
