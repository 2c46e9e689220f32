import KioskMedia
import KioskVocabulary

/// The tracks of one kind among which a viewer chooses: AVMediaSelectionGroup. The options are the values of `subtitle-track` and
/// `audio-track`.
struct MediaSelectionGroup: Hashable, Sendable {
    struct Option: Hashable, Sendable {
        var displayName: String
        var choice: TrackChoice
    }

    var kind: TrackKind
    var options: [Option]
    /// The index of the option in use.
    var selected: Int?

    /// The heading of the options.
    var title: String { kind == .audio ? "Sound" : "Subtitles" }
}

extension NowPlaying {
    /// The subtitles, if there are some, and the sound tracks, if a viewer can hear several.
    var selectionGroups: [MediaSelectionGroup] { [subtitleGroup, soundGroup].compactMap { $0 } }

    private func tracks(of kind: TrackKind) -> [AssetTrack] { tracks.filter { $0.kind == kind && TrackChoice.numbers ~= $0.number } }

    private var sound: AssetTrack? { tracks.first { $0.kind == .audio && $0.id == selectedTracks[.audio] } }

    /// The subtitles. Automatic is an option if it selects a track; otherwise it is the same as off.
    var subtitleGroup: MediaSelectionGroup? {
        let tracks = tracks(of: .subtitle)
        if tracks.isEmpty { return nil }
        let names = tracks.displayNames, asked = asked.subtitle ?? .automatic
        func place(_ choice: TrackChoice) -> Int? {
            tracks.subtitles(choice, sound: sound?.language).flatMap { track in tracks.firstIndex { $0.id == track.id } }
        }
        var options = [MediaSelectionGroup.Option(displayName: "Off", choice: .off)]
        let automatic = place(.automatic)
        if let automatic { options.append(.init(displayName: "Auto: " + names[automatic], choice: .automatic)) }
        let first = options.count
        options += zip(tracks, names).map { .init(displayName: $1, choice: .number($0.number)) }
        let selected = asked == .automatic ? first - 1 : place(asked).map { first + $0 } ?? 0
        return MediaSelectionGroup(kind: .subtitle, options: options, selected: selected)
    }

    /// The sound tracks. An item without selected sound has no choice.
    private var soundGroup: MediaSelectionGroup? {
        let tracks = tracks(of: .audio)
        guard tracks.count > 1, let sound else { return nil }
        let options = zip(tracks, tracks.displayNames).map {
            MediaSelectionGroup.Option(displayName: $1, choice: .number($0.number))
        }
        // A newly chosen track is heard a second or two after the request.
        let asked = options.firstIndex { $0.choice == self.asked.audio }
        return MediaSelectionGroup(kind: .audio, options: options, selected: asked ?? tracks.firstIndex { $0.id == sound.id })
    }

    /// The notice about the next subtitles, in one line: `Subtitles: Deutsch`; nil without subtitles.
    var nextSubtitleNotice: String? {
        let tracks = tracks(of: .subtitle)
        guard let group = subtitleGroup else { return nil }
        let next = tracks.firstIndex { $0.id == selectedTracks[.subtitle] }.map { $0 + 1 } ?? 0
        let choice = tracks.indices.contains(next) ? TrackChoice.number(tracks[next].number) : .off
        return group.options.first { $0.choice == choice }.map { "\(group.title): \($0.displayName)" }
    }
}

extension [AssetTrack] {
    /// The names of tracks of one kind, all different: their languages, such as `English (SDH)`. Tracks of one language get their titles
    /// added, and those with the same title their numbers.
    fileprivate var displayNames: [String] {
        func distinct(_ names: [String], _ more: (AssetTrack) -> String?) -> [String] {
            let counts = Dictionary(names.map { ($0, 1) }, uniquingKeysWith: +)
            return zip(self, names).map { track, name in
                guard counts[name] != 1, let more = more(track) else { return name }
                return "\(name) · \(more)"
            }
        }
        let titled = distinct(map(\.displayName)) { track in
            // An isolate: right-to-left letters in it move no other text.
            track.language?.autonym == nil ? nil : track.plainTitle.map { "\u{2068}\($0)\u{2069}" }
        }
        return distinct(titled) { "\($0.number)" }
    }
}

extension AssetTrack {
    /// Its language, otherwise its title, otherwise its number, and its purpose.
    fileprivate var displayName: String {
        let marks = [isForced ? "forced" : nil, isForHardOfHearing ? "SDH" : nil].compactMap { $0 }
        let name = language?.autonym ?? plainTitle ?? language?.description ?? "Track \(number)"
        return marks.isEmpty ? name : "\(name) (\(marks.joined(separator: ", ")))"
    }

    /// Its title without format characters, which could turn or hide letters around it. It is nil for a file beside the clip, whose title
    /// is the file name and tells a viewer nothing.
    fileprivate var plainTitle: String? {
        guard !isBeside, let title else { return nil }
        // These two join letters and emoji.
        let scalars = title.unicodeScalars.filter { scalar in
            scalar.properties.generalCategory != .format || scalar == "\u{200C}" || scalar == "\u{200D}"
        }
        return scalars.contains { !$0.properties.isWhitespace } ? String(String.UnicodeScalarView(scalars)) : nil
    }
}
