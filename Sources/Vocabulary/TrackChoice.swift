/// What kind of track a source has: AVMediaType's words.
package enum TrackKind: String, Hashable, Sendable, CaseIterable { case audio, video, subtitle }

/// Which track of a kind is played.
package enum TrackChoice: WordedChoice {
    /// The one that libavformat takes for the best: what the file marks as its default, then the one with most channels or pixels. Of subtitles, what is
    /// forced in the language of the sound, or a file beside the source that names no language.
    case automatic
    /// The n-th of its kind, from 1.
    case number(Int)
    /// The best of those in a language, and the automatic one where there is none in it (``LanguageCode``).
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

/// Which tracks of an item are to be played, where somebody has chosen while it was on the playlist: what its entry says does not hold then.
package struct TrackSelection: Hashable, Sendable {
    /// nil is what the entry says.
    package var audio: TrackChoice?, video: TrackChoice?, subtitle: TrackChoice?

    package init(audio: TrackChoice? = nil, video: TrackChoice? = nil, subtitle: TrackChoice? = nil) {
        (self.audio, self.video, self.subtitle) = (audio, video, subtitle)
    }
}

extension PlaylistItem {
    /// The item with the tracks that were chosen of it.
    package func selecting(_ selection: TrackSelection?) -> PlaylistItem {
        guard let selection else { return self }
        var item = self
        item.audioTrack = selection.audio ?? audioTrack
        item.videoTrack = selection.video ?? videoTrack
        item.subtitleTrack = selection.subtitle ?? subtitleTrack
        return item
    }
}
