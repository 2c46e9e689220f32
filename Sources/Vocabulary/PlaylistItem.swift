import KioskPlatform

/// An entry of the playlist: a source and its settings.
package struct PlaylistItem: Hashable, Sendable {
    /// An absolute path, or a URL that libavformat opens.
    package var path: Path
    package var source: String {
        get { path.string }
        set { path = Path(newValue) }
    }
    /// The version of its file, if the file is watched: a file with other contents is another item. nil if it is not watched.
    package var version: FileVersion?
    /// How to fit the picture to the screen.
    package var gravity: VideoGravity
    /// Loudness of this item, 0…1, on the same scale as the player's and on top of it.
    package var volume: Double
    /// Loudness over the time since the beginning of a playthrough, instead of ``volume``; nil if it does not change. Only for films.
    package var volumes: Ramps<Double>?
    package var isMuted: Bool
    /// The number of showings in a row, at least 1.
    package var repeatCount: Int
    package var start: MediaTime
    /// The time in the source to end at; nil is its end.
    package var end: MediaTime?
    /// The duration of one playthrough: a still is held for it, a longer clip is cut, a shorter one repeats from `start`. nil is the clip's
    /// own duration; for a still, ``imageDuration``.
    package var duration: MediaTime?
    /// How long a still is held; clips have their own duration. It overrides ``duration``; nil is that, else
    /// `PlaybackEngine.Options.imageDuration`.
    package var imageDuration: MediaTime?
    /// Whether it repeats, without a seam, until ``PlayerCommand/waitEnded`` requests the next item.
    package var waitsForTap: Bool
    /// The command of a tap while it is shown, instead of the usual one.
    package var onTap: Command?
    /// Its title on the screen; nil is the title in the file, else its name.
    package var title: String?
    package var deinterlace: Deinterlace
    package var decoder: DecoderSetting
    /// How long the previous item fades into it, if that is less than the playlist's transition; zero is a cut. nil is the playlist's.
    package var transition: MediaTime?
    package var audioTrack: TrackChoice
    package var videoTrack: TrackChoice
    package var subtitleTrack = TrackChoice.automatic
    /// How to fetch it over the network.
    package var stream: StreamSettings

    /// The last part of its path or URL, without a password or a query: its name in a line without room for more.
    package var name: String {
        let shown = source.withoutCredentials
        return (isURL(source) ? shown.prefix { $0 != "?" } : shown[...]).split(separator: "/").last.map(String.init) ?? "?"
    }

    /// The same without a file name extension: its name on the screen if nothing else is known.
    package var plainName: String {
        // A URL without a path is named by its host, whose dots start no extension.
        if isURL(source), source.withoutCredentials.prefix(while: { $0 != "?" }).split(separator: "/").count < 3 { return name }
        let parts = name.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count > 1, let ending = parts.last, 1...5 ~= ending.count, parts[0] != "" || parts.count > 2 else { return name }
        return parts.dropLast().joined(separator: ".")
    }

    /// The duration of one playthrough, whatever the file's own is; nil if the list states none.
    package func slot(isStill: Bool) -> MediaTime? { isStill ? imageDuration ?? duration : duration }

    /// The command of a tap while it is shown; nil for the usual one.
    package var tap: Command? { onTap ?? (waitsForTap ? .player(.waitEnded) : nil) }

    /// Creates an item that plays all of `source` once.
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

/// Whether libavformat takes `source` for something other than a file path: it begins with a scheme and `://` (`https://…`, `rtsp://…`) and
/// is no file URL.
package func isURL(_ source: String) -> Bool {
    let scheme = source.unicodeScalars.prefix { $0 != ":" }
    guard let first = scheme.first, first.isASCII, first.properties.isAlphabetic else { return false }
    guard source.unicodeScalars[scheme.endIndex...].starts(with: "://".unicodeScalars) else { return false }
    return scheme.allSatisfy { $0.isASCII && ($0.properties.isAlphabetic || "0123456789+.-".unicodeScalars.contains($0)) }
        && !hasFileScheme(source)
}

/// Whether a source comes over the network, or from another URL that is no file's. A session description (.sdp) is a file that names a
/// stream.
package func isStream(_ source: String) -> Bool { isURL(source) || source.lowercased().hasSuffix(".sdp") }

private func hasFileScheme(_ source: String) -> Bool { source.utf8.prefix(5).elementsEqual("file:".utf8) { $0 | 0x20 == $1 | 0x20 } }

/// Returns the path of a file URL: `file:clip.mp4`, `file:///my%20clip.mp4` and `file://localhost/clip.mp4`. Any other text stays as it is,
/// also a file URL of another host. So a file has one name in this program, whichever form it came in.
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

/// Decodes the percent escapes of a text; nil if there is none, or if the result is no valid path.
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
