/// The kind of a track: AVMediaType's words.
package enum TrackKind: String, Hashable, Sendable, CaseIterable { case audio, video, subtitle }

/// A choice of the track of a kind.
package enum TrackChoice: WordedChoice {
    /// libavformat's best track: the file's default, then the one with most channels or pixels. For subtitles, the forced ones in the
    /// language of the sound, or a file beside the source that names no language.
    case automatic
    /// The track of this number within its kind, from 1.
    case number(Int)
    /// The best track in a language, or the automatic one if no track is in it (``LanguageCode``).
    case language(LanguageCode)
    /// None.
    case off

    package static let words: KeyValuePairs<String, Self> = ["auto": .automatic, "off": .off]
    package static func other(_ text: String) -> Self? {
        guard let number = Int(text), text.allSatisfy({ $0.isASCII && $0.isNumber }) else {
            return LanguageCode(text).map { .language($0) }
        }
        return numbers ~= number ? .number(number) : nil
    }

    package static let numbers = 1...1000

    package var otherText: String {
        switch self {
        case .number(let number): "\(number)"
        case .language(let code): code.description
        case .automatic, .off: ""
        }
    }
}

/// The tracks of an item chosen while it was on the playlist; they override those of its entry.
package struct TrackSelection: Hashable, Sendable {
    /// nil keeps the choice of the entry.
    package var audio: TrackChoice?, video: TrackChoice?, subtitle: TrackChoice?

    package init(audio: TrackChoice? = nil, video: TrackChoice? = nil, subtitle: TrackChoice? = nil) {
        (self.audio, self.video, self.subtitle) = (audio, video, subtitle)
    }
}

extension PlaylistItem {
    /// Returns the item with the chosen tracks.
    package func selecting(_ selection: TrackSelection?) -> PlaylistItem {
        guard let selection else { return self }
        var item = self
        item.audioTrack = selection.audio ?? audioTrack
        item.videoTrack = selection.video ?? videoTrack
        item.subtitleTrack = selection.subtitle ?? subtitleTrack
        return item
    }
}
