import Platform
import Playback

/// One `[[playlist]]`: what to play and what it says about how. nil is what the file leaves out.
public struct PlaylistEntry: Hashable, Sendable {
    /// `source`: a file, a folder, a list or a URL.
    public var source: PlaylistSource
    /// `gravity`.
    public var gravity: VideoGravity?
    /// `volume`, 0…100.
    public var volume: Int?
    /// `muted`.
    public var isMuted: Bool?
    /// `repeat`, at least 1.
    public var repeatCount: Int?
    /// `start`.
    public var start: MediaTime?
    /// `end`, after `start`.
    public var end: MediaTime?
    /// `duration`, more than zero.
    public var duration: MediaTime?

    /// An entry that says nothing but its source.
    public init(source: PlaylistSource) { self.source = source }

    /// One item for the engine: what this entry says, and `configuration`'s defaults for what it does not.
    ///
    /// - Parameter source: an absolute path or a URL, one of those the entry's source stands for.
    public func resolved(source: String, in configuration: Configuration) -> PlaylistItem {
        PlaylistItem(
            source: source, gravity: gravity ?? configuration.display.gravity, volume: Double(volume ?? 100) / 100,
            isMuted: isMuted ?? false, repeatCount: repeatCount ?? 1, start: start ?? .zero, end: end, duration: duration)
    }
}

extension Configuration {
    /// The playlist as the engine takes it: folders and lists replaced with what is in them now.
    ///
    /// Reads the file system, so it can block for as long as that does. `problems` are for the log, one line each: what is missing
    /// or unreadable is left out, since it may be back the next time.
    public func expandPlaylist() -> (items: [PlaylistItem], problems: [String]) {
        let expansions = playlist.map { expand($0) }
        return (expansions.flatMap(\.items), expansions.flatMap(\.problems))
    }

    /// The same for one entry.
    func expand(_ entry: PlaylistEntry) -> (items: [PlaylistItem], problems: [String]) {
        let expansion = entry.source.expand()
        return (expansion.sources.map { entry.resolved(source: $0, in: self) }, expansion.problems)
    }
}
