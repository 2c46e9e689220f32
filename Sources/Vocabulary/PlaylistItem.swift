import KioskPlatform

/// One entry of the playlist: what to play, and how.
package struct PlaylistItem: Hashable, Sendable {
    /// An absolute path, or a URL that libavformat opens.
    package var path: Path
    package var source: String {
        get { path.string }
        set { path = Path(newValue) }
    }
    /// Which content of a file it is, where somebody watches that: a file with another content is another item. nil where nobody does.
    package var version: FileVersion?
    /// How the picture is fitted to the screen.
    package var gravity: VideoGravity
    /// Loudness of this item, 0…1, on the same scale as the player's and on top of it.
    package var volume: Double
    package var isMuted: Bool
    /// How many times in a row it is played, at least 1.
    package var repeatCount: Int
    package var start: MediaTime
    /// Where in the source to end; nil is its end.
    package var end: MediaTime?
    /// How long one playthrough lasts: a still is held for it, a longer clip is cut, a shorter one begins again from
    /// `start`. nil is the clip's own length; of a still, ``imageDuration``.
    package var duration: MediaTime?
    /// How long a still is held; clips have their own length. It comes before ``duration``; nil is that, else `PlaybackEngine.Options.imageDuration`.
    package var imageDuration: MediaTime?
    /// Whether it is repeated, without a seam, until ``Command/waitEnded`` asks for the next item.
    package var waitsForTap: Bool
    /// What a tap does while it is shown, instead of what a tap does otherwise.
    package var onTap: Command?
    /// What it is called on the screen; nil is the title in the file, else its name.
    package var title: String?
    package var deinterlace: Deinterlace
    package var decoder: DecoderSetting
    /// How long the item before fades into it, where that is less than the playlist's transition; zero is a cut. nil is the playlist's.
    package var transition: MediaTime?
    package var audioTrack: TrackChoice
    package var videoTrack: TrackChoice
    package var subtitleTrack = TrackChoice.automatic
    /// How it is fetched where it comes over the network.
    package var stream: StreamSettings

    /// The last part of its path or URL, without a password or a query: what it is called in a line that has no room for more.
    package var name: String {
        let shown = source.withoutCredentials
        return (isURL(source) ? shown.prefix { $0 != "?" } : shown[...]).split(separator: "/").last.map(String.init) ?? "?"
    }

    /// The same without the ending of a file's name: what it is called on the screen where nothing else is known.
    package var plainName: String {
        // A URL without a path is called by its host, whose dots end nothing.
        if isURL(source), source.withoutCredentials.prefix(while: { $0 != "?" }).split(separator: "/").count < 3 { return name }
        let parts = name.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count > 1, let ending = parts.last, 1...5 ~= ending.count, parts[0] != "" || parts.count > 2 else { return name }
        return parts.dropLast().joined(separator: ".")
    }

    /// How long one playthrough lasts, whatever the file's own length is; nil where the list does not say.
    package func slot(isStill: Bool) -> MediaTime? { isStill ? imageDuration ?? duration : duration }

    /// What a tap does while it is shown; nil where that is what a tap does otherwise.
    package var tap: Command? { onTap ?? (waitsForTap ? .player(.waitEnded) : nil) }

    /// An item that plays all of `source` once.
    package init(
        source: String, version: FileVersion? = nil, gravity: VideoGravity = .resizeAspect, volume: Double = 1, isMuted: Bool = false,
        repeatCount: Int = 1,
        start: MediaTime = .zero, end: MediaTime? = nil, duration: MediaTime? = nil, imageDuration: MediaTime? = nil,
        waitsForTap: Bool = false, onTap: Command? = nil, title: String? = nil, deinterlace: Deinterlace = .auto,
        decoder: DecoderSetting = .automatic, transition: MediaTime? = nil,
        audioTrack: TrackChoice = .automatic, videoTrack: TrackChoice = .automatic, stream: StreamSettings = StreamSettings()
    ) {
        (path, self.version) = (Path(source), version)
        self.gravity = gravity
        self.volume = volume
        self.isMuted = isMuted
        self.repeatCount = repeatCount
        self.start = start
        self.end = end
        (self.duration, self.imageDuration) = (duration, imageDuration)
        self.waitsForTap = waitsForTap
        self.onTap = onTap
        self.title = title
        self.deinterlace = deinterlace
        self.decoder = decoder
        self.transition = transition
        (self.audioTrack, self.videoTrack) = (audioTrack, videoTrack)
        self.stream = stream
    }
}

/// Whether `source` is something other than a file path for libavformat: it begins with a scheme and `://` (`https://…`, `rtsp://…`) that is
/// not a file's.
package func isURL(_ source: String) -> Bool {
    let scheme = source.unicodeScalars.prefix { $0 != ":" }
    guard let first = scheme.first, first.isASCII, first.properties.isAlphabetic else { return false }
    guard source.unicodeScalars[scheme.endIndex...].starts(with: "://".unicodeScalars) else { return false }
    return scheme.allSatisfy { $0.isASCII && ($0.properties.isAlphabetic || "0123456789+.-".unicodeScalars.contains($0)) }
        && !hasFileScheme(source)
}

/// Whether a source comes over the network, or from wherever else a URL leads that names no file. A session description (.sdp) is a file
/// that names a stream.
package func isStream(_ source: String) -> Bool { isURL(source) || source.lowercased().hasSuffix(".sdp") }

private func hasFileScheme(_ source: String) -> Bool { source.utf8.prefix(5).elementsEqual("file:".utf8) { $0 | 0x20 == $1 | 0x20 } }

/// The path that a file's URL names: `file:clip.mp4`, `file:///my%20clip.mp4` and `file://localhost/clip.mp4`; any other text as it is, and a file's
/// URL of another host, too. A file has one name in this program, by whichever of these it came in.
package func withoutFileScheme(_ source: String) -> String {
    guard hasFileScheme(source) else { return source }
    var rest = source.utf8.dropFirst(5)
    if rest.starts(with: "//".utf8) {
        let host = rest.dropFirst(2).prefix { $0 != UInt8(ascii: "/") }
        guard host.isEmpty || String(Substring(host)).lowercased() == "localhost" else { return source }
        rest = rest[host.endIndex...]
    }
    let path = String(Substring(rest))
    return path.isEmpty ? source : withoutPercents(path) ?? path
}

/// A text with its percent escapes replaced by what they stand for; nil where there is none, or what they stand for is no text of a path.
package func withoutPercents(_ text: String) -> String? {
    func digit(_ byte: UInt8) -> UInt8? { Character(UnicodeScalar(byte)).hexDigitValue.map(UInt8.init) }
    var bytes: [UInt8] = [], rest = Array(text.utf8)[...]
    while let byte = rest.popFirst() {
        if byte == UInt8(ascii: "%"), rest.count >= 2, let high = digit(rest[rest.startIndex]), let low = digit(rest[rest.startIndex + 1]) {
            bytes.append(high << 4 | low)
            rest = rest.dropFirst(2)
        } else {
            bytes.append(byte)
        }
    }
    return bytes.count == text.utf8.count || bytes.contains(0) ? nil : String(validating: bytes, as: UTF8.self)
}
